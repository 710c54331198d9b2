//! Runs of statements in one block. The step of a fold is in the loop that computes the value, in the one that computes
//! states again, and often in the function without its derivative, too.
//!
//! Statements that only compute a value from others are not part of the order: Integers, conditions and addresses are
//! computed again where they are needed, in the function and out of it. A run is of the others. Those that may be equal
//! get one number; of the runs of numbers that are repeated, the one that saves most is tried first. Where its places
//! turn out to differ, or cannot be apart, its halves are tried.

use super::super::pass::ModuleCx;
use super::repeats::Repeats;
use super::shape::{Around, Place, Shape, is_apart, outlined, parameters, shape_of};
use super::{add, put_calls, value_of};
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::cache::Analyses;
use crate::analyses::independence::FunctionEffects;
use crate::analyses::roots::Root;
use crate::ir::{Block, FunId, Function, Local, Memory, Module, Operand, Scalar, Stmt};
use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet, FxHasher};
use std::collections::{BTreeSet, BinaryHeap};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// So many statements are worth a function, beside its call.
const WORTH_A_CALL: usize = 48;

/// A call has at most so many arguments and results: they go through memory.
const MOST_PASSED: usize = 64;

/// How often the statements of a module are looked at, at most, on average.
const MOST_LOOKS: usize = 32;

pub(super) fn run(cx: &mut ModuleCx, functions: usize) {
    let groups = Finder::of(cx).groups();
    let effects = FunctionEffects::of(cx.module, &mut *cx.analyses);
    let mut changes: IndexMap<FunId, Vec<Change>> = IndexMap::new();
    let mut number = functions;
    for Group { shape, places, results } in groups {
        let found: Vec<&Place> = places.iter().map(|found| &found.place).collect();
        let parameters = parameters(&found);
        let results: Vec<usize> = results.into_iter().collect();
        let function = outlined(cx.module, &shape, found[0], &parameters, &results, number + 1);
        let Some(id) = add(cx.module, function, &effects) else { continue };
        number += 1;
        for Found { place, block, gone } in places {
            let args = parameters.iter().map(|same| Operand::Local(place.outer[same[0]])).collect();
            let set: Vec<Local> = results.iter().map(|number| place.inner[*number]).collect();
            let call = Stmt::Call(set, id, args);
            changes.entry(place.function).or_default().push(Change { block, gone, call });
        }
    }
    let callers: IndexSet<FunId> = changes.keys().copied().collect();
    put_calls(cx.module, &callers, |id, body| replace(body, &mut 0, &changes[&id]));
}

/// A call in place of statements of a block.
struct Change {
    /// The number of the block in its function: see [`Text`].
    block: usize,
    /// The statements that go, by their places in the block.
    gone: BTreeSet<usize>,
    call: Stmt,
}

/// Puts the calls of a function in their places. `next` is the number of the block.
fn replace(block: &mut Block, next: &mut usize, changes: &[Change]) {
    let number = *next;
    *next += 1;
    block.stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|inner| replace(inner, next, changes));
    let own: Vec<&Change> = changes.iter().filter(|change| change.block == number).collect();
    if own.is_empty() {
        return;
    }
    let stmts = std::mem::take(&mut block.stmts);
    let is_within = |change: &Change, i: usize| change.gone.first() < Some(&i) && Some(&i) < change.gone.last();
    for (i, stmt) in stmts.iter().enumerate() {
        match own.iter().find(|change| change.gone.contains(&i)) {
            None if is_stack(stmt) && own.iter().any(|change| is_within(change, i)) => {}
            None => block.stmts.push(stmt.clone()),
            Some(change) if change.gone.first() == Some(&i) => {
                let within = (i..stmts.len()).filter(|i| is_within(change, *i)).map(|i| &stmts[i]);
                block.stmts.extend(within.filter(|stmt| is_stack(stmt)).cloned());
                block.stmts.push(change.call.clone());
            }
            Some(_) => {}
        }
    }
}

/// Returns whether a statement makes a buffer on the stack. It stays in the function: others may need the buffer.
fn is_stack(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Memory(Memory::Stack(..)))
}

/// A statement of a block that is in order with the others.
struct Item {
    /// The number of its block in [`Text::blocks`].
    block: usize,
    /// Its place in the block.
    stmt: usize,
    /// The item that it is in.
    parent: Option<usize>,
    /// One behind the last item in it.
    end: usize,
}

struct TextBlock<'a> {
    function: usize,
    /// Its number in the function: outer blocks come before inner ones, and those before others.
    number: usize,
    block: &'a Block,
    cold: bool,
}

/// Which items a block has, in sequence.
type Sequence = Vec<usize>;

/// The statements of a module, with numbers.
#[derive(Default)]
struct Text<'a> {
    blocks: Vec<TextBlock<'a>>,
    items: Vec<Item>,
    sequences: Vec<Sequence>,
    /// For each item a number that those have, too, that may be equal; none for one that has to stay where it is.
    symbols: Vec<Option<u64>>,
}

impl<'a> Text<'a> {
    fn of(module: &'a Module, likely: &[FxHashSet<Local>]) -> Text<'a> {
        let mut text = Text::default();
        for (i, function) in module.functions.iter().enumerate().filter(|(_, function)| !function.c_wrapper) {
            let mut reader = Reader { text: &mut text, function, number: i, likely: &likely[i], blocks: 0 };
            reader.add_block(&function.body, function.cold, None);
        }
        text
    }
}

struct Reader<'r, 'a> {
    text: &'r mut Text<'a>,
    function: &'a Function,
    number: usize,
    likely: &'r FxHashSet<Local>,
    blocks: usize,
}

/// What a statement uses of the marks of the arena, and what is to be compared of it.
#[derive(Default)]
struct Summed {
    hash: FxHasher,
    /// The marks from outside.
    marks: FxHashSet<Local>,
    stays: bool,
}

impl<'a> Reader<'_, 'a> {
    /// Adds the items of a block and of those in it. Returns a summary of each statement that is in order with others.
    fn add_block(&mut self, block: &'a Block, cold: bool, parent: Option<usize>) -> Vec<Summed> {
        let blocks = self.text.blocks.len();
        self.text.blocks.push(TextBlock { function: self.number, number: self.blocks, block, cold });
        self.blocks += 1;
        let own_marks: FxHashSet<Local> = block.stmts.iter().filter_map(mark_of).collect();
        let (mut sequence, mut summed) = (vec![], vec![]);
        for (i, stmt) in block.stmts.iter().enumerate() {
            if value_of(stmt).is_some() || is_stack(stmt) {
                continue;
            }
            let item = self.text.items.len();
            self.text.items.push(Item { block: blocks, stmt: i, parent, end: 0 });
            self.text.symbols.push(None);
            let sum = self.sum(stmt, cold, item);
            self.text.items[item].end = self.text.items.len();
            let stays = sum.stays || !sum.marks.is_subset(&own_marks);
            self.text.symbols[item] = (!stays).then(|| sum.hash.finish());
            sequence.push(item);
            summed.push(sum);
        }
        self.text.sequences.push(sequence);
        summed
    }

    fn sum(&mut self, stmt: &'a Stmt, cold: bool, item: usize) -> Summed {
        let mut sum = Summed { stays: matches!(stmt, Stmt::Bench { .. }), ..Summed::default() };
        self.add_head(stmt, &mut sum);
        let arms: Vec<&Block> = stmt.blocks().collect();
        let likely =
            matches!(stmt, Stmt::If(_, condition, ..) if condition.local().is_some_and(|x| self.likely.contains(&x)));
        for (i, inner) in arms.into_iter().enumerate() {
            let at_once = matches!(stmt, Stmt::For(looped) if looped.lanes > 1 || looped.jam > 1);
            let before = (self.text.items.len(), self.text.sequences.len());
            let cold = cold || likely && i == 1;
            for part in self.add_block(inner, cold, Some(item)) {
                part.hash.finish().hash(&mut sum.hash);
                sum.marks.extend(part.marks);
                sum.stays |= part.stays;
            }
            if at_once || matches!(stmt, Stmt::Bench { .. }) {
                // Iterations at once, in lanes or side by side, have no calls. What is measured stays as it is.
                self.text.sequences.truncate(before.1);
            }
            inner.stmts.iter().filter_map(mark_of).for_each(|m| _ = sum.marks.remove(&m));
            inner.stmts.iter().filter(|stmt| value_of(stmt).is_some()).for_each(|stmt| self.add_head(stmt, &mut sum));
        }
        sum
    }

    /// Adds the statement itself, with the types of what it uses.
    fn add_head(&self, stmt: &Stmt, sum: &mut Summed) {
        let hash = &mut sum.hash;
        std::mem::discriminant(stmt).hash(hash);
        match stmt {
            Stmt::Let(_, op, _) => op.hash(hash),
            Stmt::Call(_, callee, _) => callee.hash(hash),
            Stmt::For(looped) => (looped.lanes, looped.jam, looped.on_threads).hash(hash),
            Stmt::Check { failure, span, .. } => (failure, span).hash(hash),
            Stmt::External { symbol, span, .. } => (symbol, span).hash(hash),
            Stmt::Memory(memory) => std::mem::discriminant(memory).hash(hash),
            Stmt::If(..) | Stmt::Bench { .. } | Stmt::Write(_) => {}
        }
        for operand in stmt.operands() {
            match operand.local() {
                Some(x) => {
                    let ty = self.function.locals[x.0 as usize].ty;
                    ty.hash(hash);
                    if ty.as_scalar() == Some(Scalar::Mark) {
                        sum.marks.insert(x);
                    }
                }
                None => operand.hash(hash),
            }
        }
    }
}

fn mark_of(stmt: &Stmt) -> Option<Local> {
    if let Stmt::Memory(Memory::Mark(m)) = stmt { Some(*m) } else { None }
}

/// Where a run is.
struct Found {
    place: Place,
    /// The number of its block in its function.
    block: usize,
    /// The statements that go, by their places in the block.
    gone: BTreeSet<usize>,
}

/// Places of one shape.
struct Group {
    shape: Shape,
    places: Vec<Found>,
    /// What one of them needs afterwards, by number.
    results: BTreeSet<usize>,
}

/// A run of items that may be repeated.
struct Candidate {
    /// The statements that a function of it saves, at most.
    saved: usize,
    length: usize,
    starts: Starts,
}

/// Where a run starts in the sequence of all.
enum Starts {
    Repeat(usize),
    At(Vec<usize>),
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Candidate) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> std::cmp::Ordering {
        (self.saved, self.length).cmp(&(other.saved, other.length))
    }
}

struct Finder<'a> {
    module: &'a Module,
    analyses: &'a mut Analyses,
    summaries: Vec<Summary>,
    likely: Vec<FxHashSet<Local>>,
    text: Text<'a>,
    /// The items of all blocks, one block behind the other; none between them.
    order: Vec<Option<usize>>,
    repeats: Repeats,
    /// How many statements there are in front of each place in `order`.
    before: Vec<usize>,
    /// Whether an item, or one in it, or one that it is in, goes.
    taken: Vec<bool>,
    /// What is known of a block, by its number in the text.
    scopes: FxHashMap<usize, Rc<Scope>>,
    looks: usize,
}

/// What is set in a block, and what uses it.
struct Scope {
    /// Where each value is computed that is computed from others alone.
    values: FxHashMap<Local, usize>,
    /// The statements that use each local; the number of statements for the results of the block.
    users: FxHashMap<Local, Vec<usize>>,
}

impl<'a> Finder<'a> {
    fn of(cx: &'a mut ModuleCx) -> Finder<'a> {
        let ModuleCx { module, analyses } = cx;
        let module: &Module = module;
        let summaries = analyses.summaries(module);
        let likely: Vec<_> = module.functions.iter().map(|function| function.body.likely_conditions()).collect();
        let text = Text::of(module, &likely);
        let (mut order, mut sequence, mut before) = (vec![], vec![], vec![0]);
        let mut symbols: IndexMap<u64, usize> = IndexMap::new();
        let mut add = |item: Option<usize>, symbol: Option<u64>| {
            let single = order.len();
            order.push(item);
            // What has to stay, and what is between blocks, is like nothing else.
            sequence.push(symbol.map_or((1, single), |symbol| {
                let next = symbols.len();
                (0, *symbols.entry(symbol).or_insert(next))
            }));
            let stmt = item.map(|item| &text.blocks[text.items[item].block].block.stmts[text.items[item].stmt]);
            let size = stmt.map_or(0, |stmt| 1 + stmt.blocks().map(Block::len).sum::<usize>());
            before.push(before[single] + size);
        };
        for items in &text.sequences {
            items.iter().for_each(|item| add(Some(*item), text.symbols[*item]));
            add(None, None);
        }
        let sequence: Vec<usize> = sequence.into_iter().map(|(kind, number)| kind * order.len() + number).collect();
        Finder {
            module,
            analyses,
            summaries,
            likely,
            repeats: Repeats::of(&sequence),
            taken: vec![false; text.items.len()],
            text,
            order,
            before,
            scopes: FxHashMap::default(),
            looks: 0,
        }
    }

    /// Chooses runs, those first that save most.
    fn groups(mut self) -> Vec<Group> {
        let mut groups = vec![];
        let repeats = self.repeats.runs.iter().enumerate();
        let mut waiting: BinaryHeap<Candidate> = repeats
            .map(|(number, (length, places))| {
                let start = self.repeats.first(places);
                let saved = (places.len() - 1) * self.size(start, *length);
                Candidate { saved, length: *length, starts: Starts::Repeat(number) }
            })
            .filter(|candidate| candidate.saved >= WORTH_A_CALL)
            .collect();
        let all = *self.before.last().expect("there is one more");
        while let Some(candidate) = waiting.pop() {
            if self.looks > MOST_LOOKS * all {
                break;
            }
            let starts = match candidate.starts {
                Starts::Repeat(number) => self.repeats.starts(&self.repeats.runs[number].1),
                Starts::At(starts) => starts,
            };
            self.looks += starts.len();
            let Some((length, starts)) = self.free(candidate.length, starts) else { continue };
            let size = self.size(starts[0], length);
            let saved = (starts.len() - 1) * size;
            if size < WORTH_A_CALL {
                continue;
            }
            if saved < candidate.saved {
                waiting.push(Candidate { saved, length, starts: Starts::At(starts) });
                continue;
            }
            match self.group(length, &starts) {
                Some((group, of)) => {
                    of.iter().for_each(|start| self.take(*start, length));
                    groups.push(group);
                }
                None => {
                    let half = length / 2;
                    let behind: Vec<usize> = starts.iter().map(|start| start + half).collect();
                    for (length, starts) in [(half, starts), (length - half, behind)] {
                        let saved = (starts.len() - 1) * self.size(starts[0], length);
                        waiting.push(Candidate { saved, length, starts: Starts::At(starts) });
                    }
                }
            }
        }
        groups
    }

    /// Returns how many statements a run has, without those that only compute a value.
    fn size(&self, start: usize, length: usize) -> usize {
        self.before[start + length] - self.before[start]
    }

    /// Returns the run, or its beginning, with those of its starts where nothing of it goes with another one.
    fn free(&self, length: usize, starts: Vec<usize>) -> Option<(usize, Vec<usize>)> {
        let free_from = |start: usize| {
            let items = self.order[start..start + length].iter();
            items.take_while(|item| item.is_some_and(|item| !self.taken[item])).count()
        };
        let mut free: Vec<(usize, usize)> = starts.into_iter().map(|start| (free_from(start), start)).collect();
        let mut lengths: Vec<usize> = free.iter().map(|(length, _)| *length).collect();
        lengths.sort_unstable();
        let mut length = *lengths.iter().rev().nth(1).filter(|length| **length > 0)?;
        free.retain(|(own, _)| *own >= length);
        if let Some(gap) = free.windows(2).map(|pair| pair[1].1 - pair[0].1).min().filter(|gap| *gap < length) {
            // It overlaps itself: a part of it is repeated that does not.
            length = gap;
        }
        Some((length, free.into_iter().map(|(_, start)| start).collect()))
    }

    fn take(&mut self, start: usize, length: usize) {
        for item in self.order[start..start + length].iter().flatten() {
            self.taken[*item..self.text.items[*item].end].fill(true);
            let mut around = self.text.items[*item].parent;
            while let Some(parent) = around.filter(|parent| !self.taken[*parent]) {
                self.taken[parent] = true;
                around = self.text.items[parent].parent;
            }
        }
    }

    /// Returns the largest group of places that have one shape, with their starts.
    fn group(&mut self, length: usize, starts: &[usize]) -> Option<(Group, Vec<usize>)> {
        let mut shapes: IndexMap<Shape, Vec<(Found, BTreeSet<usize>, usize)>, FxBuildHasher> = IndexMap::default();
        for start in starts {
            self.looks += self.size(*start, length);
            if let Some((shape, found, results)) = self.shape(*start, length) {
                shapes.entry(shape).or_default().push((found, results, *start));
            }
        }
        let (shape, found) =
            shapes.into_iter().filter(|(_, found)| found.len() > 1).max_by_key(|(_, found)| found.len())?;
        let results: BTreeSet<usize> = found.iter().flat_map(|(_, results, _)| results.iter().copied()).collect();
        let places: Vec<&Place> = found.iter().map(|(found, ..)| &found.place).collect();
        if parameters(&places).len() + results.len() > MOST_PASSED {
            return None;
        }
        if !found.iter().all(|(found, ..)| self.may_return(&shape, &found.place, &results)) {
            return None;
        }
        let starts = found.iter().map(|(_, _, start)| *start).collect();
        Some((Group { shape, places: found.into_iter().map(|(found, ..)| found).collect(), results }, starts))
    }

    fn aliases(&mut self, function: usize) -> Rc<Aliases> {
        self.analyses.aliases(FunId(function), &self.module.functions[function], &self.summaries)
    }

    /// Returns what is in a place, and the numbers of what is needed of it afterwards; nothing where it cannot be a
    /// function.
    fn shape(&mut self, start: usize, length: usize) -> Option<(Shape, Found, BTreeSet<usize>)> {
        let items: Vec<usize> = self.order[start..start + length].iter().copied().collect::<Option<_>>()?;
        let of = self.text.items[items[0]].block;
        let TextBlock { function, number, block, cold } = self.text.blocks[of];
        let scope = self.scopes.entry(of).or_insert_with(|| Rc::new(Scope::of(block))).clone();
        let gone: BTreeSet<usize> = items.iter().map(|item| self.text.items[*item].stmt).collect();
        let aliases = self.aliases(function);
        let around = Around {
            id: FunId(function),
            function: &self.module.functions[function],
            aliases: &aliases,
            likely: &self.likely[function],
            summaries: &self.summaries,
        };
        let moved = scope.with_values(block, &gone, around.function);
        let (needed, gone) = scope.needed(block, &gone, &moved, around.function);
        let stmts: Vec<Stmt> = moved.iter().map(|i| block.stmts[*i].clone()).collect();
        if !stmts.iter().any(works) {
            return None;
        }
        let whole = Block { stmts, results: vec![] };
        let (shape, place) = shape_of(whole.stmts.clone(), cold, around);
        let is_fit = is_apart(&place, &whole, around) && keeps_addresses(&place, &whole, around);
        let results: Option<BTreeSet<usize>> =
            needed.iter().map(|x| place.inner.iter().position(|inner| inner == x)).collect();
        Some((shape, Found { place, block: number, gone }, results?)).filter(|_| is_fit)
    }

    /// Returns whether the results of a call may be these. No mark is one, nor what lies on the stack, and no two of
    /// them share memory.
    fn may_return(&mut self, shape: &Shape, place: &Place, results: &BTreeSet<usize>) -> bool {
        let aliases = self.aliases(place.function.0);
        let function = &self.module.functions[place.function.0];
        let mut stack = FxHashSet::default();
        shape.visit(&mut |stmt| {
            if let Stmt::Memory(Memory::Stack(x, _)) = stmt {
                stack.insert(place.inner[x.0 as usize]);
            }
        });
        let of: Vec<Local> = results.iter().map(|number| place.inner[*number]).collect();
        let ty = |x: &Local| function.locals[x.0 as usize].ty;
        let buffers: Vec<Local> = of.iter().copied().filter(|x| ty(x).as_scalar().is_none()).collect();
        let is_on_stack = |root: Root| matches!(root, Root::Made(x) if stack.contains(&x));
        let stays = |x: &Local| !aliases.roots_of(*x).is_empty() && !aliases.reach(*x).iter().any(is_on_stack);
        let mut pairs = buffers.iter().enumerate().flat_map(|(i, x)| buffers[..i].iter().map(move |y| (*x, *y)));
        of.iter().all(|x| ty(x).as_scalar() != Some(Scalar::Mark))
            && buffers.iter().all(stays)
            && pairs.all(|(x, y)| aliases.reach(x).is_disjoint(&aliases.reach(y)))
    }
}

/// Returns whether a statement takes time beside a call.
fn works(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For(_) | Stmt::Call(..)) || stmt.blocks().any(|block| block.stmts.iter().any(works))
}

/// Returns whether addresses are only put into what the statements make: a caller does not see where else they are.
fn keeps_addresses(place: &Place, stmts: &Block, around: Around) -> bool {
    let Around { function, aliases, .. } = around;
    let made: FxHashSet<Local> = place.inner.iter().copied().collect();
    let is_table = |a: &Operand| function.ty(a).element().is_some_and(|ty| ty.as_scalar().is_none());
    let mut keeps = true;
    stmts.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Store(b, ..) | Memory::Move { to: b, .. }) = stmt
            && is_table(b)
        {
            keeps &= b.local().is_some_and(|b| aliases.is_made_among(b, &made));
        }
    });
    keeps
}

impl Scope {
    fn of(block: &Block) -> Scope {
        let mut scope = Scope { values: FxHashMap::default(), users: FxHashMap::default() };
        for (i, stmt) in block.stmts.iter().enumerate() {
            scope.values.extend(value_of(stmt).map(|x| (x, i)));
            let mut used: FxHashSet<Local> = stmt.operands().into_iter().filter_map(Operand::local).collect();
            stmt.blocks().for_each(|inner| inner.visit_operands(&mut |a| used.extend(a.local())));
            used.into_iter().for_each(|x| scope.users.entry(x).or_default().push(i));
        }
        let results: FxHashSet<Local> = block.results.iter().filter_map(Operand::local).collect();
        results.into_iter().for_each(|x| scope.users.entry(x).or_default().push(block.stmts.len()));
        scope
    }

    /// Returns whether a value is computed again in a function that needs it. Floats are passed, but for those that are
    /// computed from what the run sets.
    fn is_copied(&self, i: usize, block: &Block, first: usize, function: &Function) -> bool {
        let is_float = |x: Local| function.locals[x.0 as usize].ty.as_scalar() == Some(Scalar::Float);
        i > first || !value_of(&block.stmts[i]).is_some_and(is_float)
    }

    /// Returns the statements of a run and those that compute what it needs.
    fn with_values(&self, block: &Block, run: &BTreeSet<usize>, function: &Function) -> BTreeSet<usize> {
        let first = *run.first().expect("a run has statements");
        let mut moved = run.clone();
        let mut waiting: Vec<usize> = run.iter().copied().collect();
        while let Some(i) = waiting.pop() {
            let mut used: Vec<Local> = block.stmts[i].operands().into_iter().filter_map(Operand::local).collect();
            block.stmts[i].blocks().for_each(|inner| inner.visit_operands(&mut |a| used.extend(a.local())));
            let values = used.into_iter().filter_map(|x| self.values.get(&x).copied());
            let new = values.filter(|i| self.is_copied(*i, block, first, function)).filter(|i| moved.insert(*i));
            waiting.extend(new.collect::<Vec<_>>());
        }
        moved
    }

    /// Returns what is needed of a run afterwards, and the statements that go.
    fn needed(
        &self,
        block: &Block,
        run: &BTreeSet<usize>,
        moved: &BTreeSet<usize>,
        function: &Function,
    ) -> (IndexSet<Local>, BTreeSet<usize>) {
        let first = *run.first().expect("a run has statements");
        let is_float = |i: usize| {
            value_of(&block.stmts[i])
                .is_some_and(|x| function.locals[x.0 as usize].ty.as_scalar() == Some(Scalar::Float))
        };
        let mut gone = run.clone();
        gone.extend(moved.iter().copied().filter(|i| *i > first && is_float(*i)));
        let mut lives: FxHashMap<usize, bool> = FxHashMap::default();
        let targets = gone.iter().flat_map(|i| block.stmts[*i].targets());
        let needed = targets.filter(|x| self.is_needed(*x, block, &gone, &mut lives)).collect();
        (needed, gone)
    }

    /// Returns whether something outside of a run needs a local, directly or by values that are computed from it.
    fn is_needed(&self, x: Local, block: &Block, gone: &BTreeSet<usize>, lives: &mut FxHashMap<usize, bool>) -> bool {
        let users = self.users.get(&x).map_or(&[][..], |users| users);
        users.iter().any(|user| {
            if gone.contains(user) {
                return false;
            }
            let Some(value) = block.stmts.get(*user).and_then(value_of) else { return true };
            if let Some(known) = lives.get(user) {
                return *known;
            }
            let lives_on = self.is_needed(value, block, gone, lives);
            lives.insert(*user, lives_on);
            lives_on
        })
    }
}
