//! Stores what a loop computes for a later loop that would compute it again, as reverse derivatives do.
//!
//! ```text
//! for i in 0..n { x = exp (load v[i]); s }; ..; for k in 0..n { y = exp (load v[k]); t }
//!   =   b = alloc n; for i in 0..n { x = exp (load v[i]); store b[i] = x; s }; ..; for k in 0..n { y = load b[k]; t }
//! ```
//!
//! Equal values are found by numbering them (see `numbers`): operations, loads, loops, and buffers that are filled in
//! an iteration. So the elements of a product of matrices are found, too, for each iteration of a loop.
//!
//! Cost model (`Forward::Auto`): a store and a load cost less than a function of libm or a loop, and more than anything
//! else. So results of these are stored, and what is made of them. The buffer has an element for each iteration of the
//! loops around the value. `Forward::Store` stores whatever takes an operation on Floats, `Forward::Recompute` nothing.

mod numbers;

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::arena_balance::gives_all_back;
use crate::analyses::effects::Callees;
use crate::ir::{Block, Builder, For, Forward, Local, LocalInfo, Memory, Operand, Scalar, Stmt};
use lm::term::Span;
use numbers::{EnclosingLoop, Numbers, StoredValue};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// How many earlier loops are searched for what a loop computes again: loops over the same range with something
/// expensive in them. So the pass takes time in proportion to the length of a block.
const MOST_LOOPS: usize = 8;

/// As deep in blocks are the values that are stored, at most.
const MOST_ROUNDS: usize = 16;

/// The statements from one loop to the other are so many at most, those of the loops included.
const FARTHEST: usize = 1_000;

pub(super) fn run(cx: &mut FunctionCx) {
    let forward = cx.settings.forward;
    if forward == Forward::Recompute {
        return;
    }
    let Callees { summaries, takes } = cx.callees();
    // What is new in a block is not known for those around it before the next round.
    for _ in 0..MOST_ROUNDS {
        let aliases = cx.aliases();
        let is_new = cx.rewrite(|body, function| {
            let (likely, locals) = (body.likely_conditions(), &mut function.locals);
            Storer { aliases, summaries, takes, likely, locals, forward }.store_in_block(body)
        });
        if !is_new {
            break;
        }
    }
}

struct Storer<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    /// Which functions take from the arena.
    takes: &'a [bool],
    /// The conditions that mostly hold: the other side is not worth it.
    likely: FxHashSet<Local>,
    locals: &'a mut Vec<LocalInfo>,
    forward: Forward,
}

/// A value that the loop at `first` of a block computes, and the one at `second` again.
struct Again {
    first: usize,
    second: usize,
    /// The two values, and the loops around each, the outermost being that of the block.
    values: [Local; 2],
    around: [Vec<EnclosingLoop>; 2],
}

impl Storer<'_> {
    /// Returns whether there is something new in the block.
    fn store_in_block(&mut self, block: &mut Block) -> bool {
        let mut is_new = false;
        for stmt in &mut block.stmts {
            let is_likely = matches!(&stmt, Stmt::If(_, c, ..) if c.local().is_some_and(|c| self.likely.contains(&c)));
            let blocks = stmt.blocks_mut().take(if is_likely { 1 } else { 2 });
            blocks.for_each(|block| is_new |= self.store_in_block(block));
        }
        let again = if is_new { vec![] } else { self.find_repeats(block) };
        if !again.is_empty() {
            is_new = self.store_repeats(block, again);
        }
        is_new
    }

    /// Returns what the loops of a block compute again.
    fn find_repeats(&self, block: &Block) -> Vec<Again> {
        let mut again: Vec<Again> = Vec::new();
        let mut done: FxHashSet<Local> = FxHashSet::default();
        let mut seen: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (second, stmt) in block.stmts.iter().enumerate() {
            let Some(looped) = as_loop(stmt).filter(|looped| numbers::has_expensive(looped, self.forward)) else {
                continue;
            };
            let alike = seen.entry(format!("{:?}", looped.to)).or_default();
            for first in &alike[alike.len().saturating_sub(MOST_LOOPS)..] {
                for (x, y) in self.find_same_values(block, *first, second) {
                    // What was replaced is not there to be stored.
                    if !done.contains(&x.value) && done.insert(y.value) {
                        let (values, around) = ([x.value, y.value], [x.around, y.around]);
                        again.push(Again { first: *first, second, values, around });
                    }
                }
            }
            alike.push(second);
        }
        again
    }

    /// Returns the values of two loops that are the same, and worth to be stored.
    fn find_same_values(&self, block: &Block, first: usize, second: usize) -> Vec<(StoredValue, StoredValue)> {
        let [Some(a), Some(b)] = [first, second].map(|i| as_loop(&block.stmts[i])) else { return vec![] };
        let region = &block.stmts[first..=second];
        let is_far = || region.iter().map(length).sum::<usize>() > FARTHEST;
        if !matches!(a.from, Operand::Integer(0)) || !a.from.same(&b.from) || !a.to.same(&b.to) || is_far() {
            return vec![];
        }
        let mut numbers = Numbers::new(region, &self.aliases, self.summaries, self.locals, self.forward);
        let earlier: FxHashMap<String, StoredValue> =
            numbers.number_loop(a).into_iter().map(|x| (x.key.clone(), x)).collect();
        if earlier.is_empty() {
            return vec![];
        }
        let later = numbers.number_loop(b).into_iter();
        later.filter_map(|y| Some((earlier.get(&y.key)?.clone(), y))).collect()
    }

    fn store_repeats(&mut self, block: &mut Block, again: Vec<Again>) -> bool {
        let mut lives = self.lives(&block.stmts, &again);
        let again: Vec<Again> = again.into_iter().filter(|again| lives.contains_key(&again.first)).collect();
        let found: FxHashSet<Local> = again.iter().map(|again| again.values[1]).collect();
        // What gives something else, too, stays, and with it all that it gives.
        let mut values = FxHashSet::default();
        block.visit(&mut |stmt| values.extend(stmt.targets().into_iter().filter(|_| is_replaced(stmt, &found))));
        let again: Vec<Again> = again.into_iter().filter(|again| values.contains(&again.values[1])).collect();
        lives.retain(|first, _| again.iter().any(|again| again.first == *first));
        let mut used = FxHashSet::default();
        uses(block, &values, &mut used);
        let mut around: Vec<Neighbourhood> = block.stmts.iter().map(|_| Neighbourhood::default()).collect();
        for (first, life) in &lives {
            if let Some(end) = life.end {
                let mark = self.builder().local(Scalar::Mark.ty());
                around[*first].before.push(Stmt::Memory(Memory::Mark(mark)));
                around[end].after.push((*first, Stmt::Memory(Memory::Release(Operand::Local(mark)))));
            }
        }
        let mut stores = Stores::default();
        for again in again.iter().filter(|again| used.contains(&again.values[1])) {
            self.store_repeat(again, &mut around[lives[&again.first].start].before, &mut stores);
        }
        let names: FxHashMap<Local, Local> = stores.loads.iter().map(|(y, (z, _))| (*y, *z)).collect();
        for (mut stmt, around) in std::mem::take(&mut block.stmts).into_iter().zip(around) {
            for block in stmt.blocks_mut() {
                block.put_after(&mut stores.stores);
                load_instead(block, &values, &mut stores.loads);
                block.rename(&names);
            }
            block.stmts.extend(around.before);
            block.stmts.push(stmt);
            let mut after = around.after;
            // Marks go back in the reverse order.
            after.sort_by_key(|(first, _)| std::cmp::Reverse(*first));
            block.stmts.extend(after.into_iter().map(|(_, release)| release));
        }
        !names.is_empty()
    }

    fn store_repeat(&mut self, again: &Again, before: &mut Vec<Stmt>, stores: &mut Stores) {
        let [x, y] = again.values;
        let [around_x, around_y] =
            again.around.each_ref().map(|around| -> Vec<Local> { around.iter().map(|inner| inner.index).collect() });
        let (buffer, counts) = stores.buffers.entry(x).or_insert_with(|| {
            let mut builder = Builder { locals: self.locals };
            let counts: Vec<Operand> = again.around[0].iter().map(|inner| builder.times(&inner.to, before)).collect();
            let count = builder.product(&counts, before);
            let buffer = builder.local(builder.locals[x.0 as usize].ty.buffer());
            before.push(Stmt::Memory(Memory::Alloc { buffer, count, span: Span::default() }));
            let mut put = Vec::new();
            let place = builder.place(&around_x, &counts, &mut put);
            put.push(Stmt::Memory(Memory::Store(Operand::Local(buffer), place, Operand::Local(x))));
            stores.stores.insert(x, put);
            (buffer, counts)
        });
        let mut builder = Builder { locals: self.locals };
        let mut get = Vec::new();
        let place = builder.place(&around_y, counts, &mut get);
        let z = builder.local(builder.locals[y.0 as usize].ty);
        get.push(Stmt::Memory(Memory::Load(z, Operand::Local(*buffer), place)));
        stores.loads.insert(y, (z, get));
    }

    fn builder(&mut self) -> Builder<'_> {
        Builder { locals: self.locals }
    }

    /// Returns, for each loop that stores, the life of its buffers: the places of their allocation and of their
    /// release. Leaves out loops whose buffers would end too early or live too long.
    fn lives(&self, stmts: &[Stmt], again: &[Again]) -> FxHashMap<usize, Life> {
        let mut ends: FxHashMap<usize, usize> = FxHashMap::default();
        for again in again {
            let end = ends.entry(again.first).or_insert(again.second);
            *end = again.second.max(*end);
        }
        let mut known = FxHashMap::default();
        for (&first, &end) in &ends {
            // Marks may not cross: what starts in between ends later at most where this does.
            let crosses = |(f, e): (&usize, &usize)| *f > first && *f <= end && *e > end;
            let region = Block { stmts: stmts[first..=end].to_vec(), results: vec![] };
            let mut set = FxHashSet::default();
            region.visit(&mut |stmt| set.extend(stmt.targets().into_iter().chain(stmt.bound())));
            if !ends.iter().any(crosses) && gives_all_back(&region, &set, self.takes) {
                known.insert(first, Life { start: first, end: Some(end) });
                continue;
            }
            let counts = again.iter().filter(|again| again.first == first).flat_map(|again| &again.around[0]);
            let counts: Vec<Local> = counts.filter_map(|inner| inner.to.local()).collect();
            let start = start(stmts, first, &region, &set, &counts);
            if let Some(start) = start.filter(|start| self.takes_anyway(&stmts[..*start])) {
                known.insert(first, Life { start, end: None });
            }
        }
        known
    }

    /// Returns whether statements take memory that their block does not give back.
    fn takes_anyway(&self, stmts: &[Stmt]) -> bool {
        !gives_all_back(&Block { stmts: stmts.to_vec(), results: vec![] }, &FxHashSet::default(), self.takes)
    }
}

/// How long the buffers of a loop live, by places in the block.
struct Life {
    /// They are made before that statement.
    start: usize,
    /// They go after that statement, or else with the rest of the block's memory.
    end: Option<usize>,
}

/// Returns where to make what the loop at `first` stores, so that the statements from it on do not release it: before
/// the mark to which they do. The sizes must be known there.
fn start(stmts: &[Stmt], first: usize, region: &Block, set: &FxHashSet<Local>, sizes: &[Local]) -> Option<usize> {
    let mut released = FxHashSet::default();
    region.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Release(m) | Memory::Slide(_, _, m)) = stmt {
            released.extend(m.local());
        }
    });
    let set_at = |m: &Local| stmts[..first].iter().position(|stmt| stmt.targets().contains(m));
    let outer = released.difference(set).map(set_at).collect::<Option<Vec<usize>>>()?;
    let start = outer.into_iter().min().unwrap_or(first);
    let is_known = |n: &Local| !stmts[start..first].iter().any(|stmt| stmt.targets().contains(n));
    sizes.iter().all(is_known).then_some(start)
}

/// The statements inserted before and after a statement. Each one after it has the number of the storing loop.
#[derive(Default)]
struct Neighbourhood {
    before: Vec<Stmt>,
    after: Vec<(usize, Stmt)>,
}

/// The buffers of values, what stores them, and what loads them instead of computing them again.
#[derive(Default)]
struct Stores {
    buffers: FxHashMap<Local, (Local, Vec<Operand>)>,
    stores: FxHashMap<Local, Vec<Stmt>>,
    loads: FxHashMap<Local, (Local, Vec<Stmt>)>,
}

fn as_loop(stmt: &Stmt) -> Option<&For> {
    if let Stmt::For(looped) = stmt { Some(looped) } else { None }
}

fn length(stmt: &Stmt) -> usize {
    1 + stmt.blocks().map(Block::len).sum::<usize>()
}

/// Returns whether a statement does nothing but compute such values.
fn is_replaced(stmt: &Stmt, values: &FxHashSet<Local>) -> bool {
    let targets = stmt.targets();
    !targets.is_empty() && targets.iter().all(|x| values.contains(x))
}

/// Collects the values that are used by statements other than those that compute them.
fn uses(block: &Block, values: &FxHashSet<Local>, used: &mut FxHashSet<Local>) {
    for stmt in block.stmts.iter().filter(|stmt| !is_replaced(stmt, values)) {
        used.extend(stmt.operands().into_iter().filter_map(Operand::local));
        stmt.blocks().for_each(|block| uses(block, values, used));
    }
    used.extend(block.results.iter().filter_map(Operand::local));
}

/// Replaces the computation of values by loads. The checks of the computation passed the first time.
fn load_instead(block: &mut Block, values: &FxHashSet<Local>, loads: &mut FxHashMap<Local, (Local, Vec<Stmt>)>) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        if is_replaced(&stmt, values) {
            let found = stmt.targets().into_iter().filter_map(|x| loads.remove(&x));
            block.stmts.extend(found.flat_map(|(_, stmts)| stmts));
            continue;
        }
        stmt.blocks_mut().for_each(|block| load_instead(block, values, loads));
        block.stmts.push(stmt);
    }
}
