//! Finds buffers that hold one value throughout: nothing but stores of that value ever touches them. The value must be
//! known before the buffer is made, so that it can stand for every element. A buffer that is loaded is one if all that
//! it may be are, with one value that is known by then and set in no loop: the sizes of the rows of rows. (What is set in a
//! loop is another value in the iteration that made the buffer.)

use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::roots::Root;
use crate::ir::{Block, Function, Local, Memory, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns each such buffer, with the value.
pub(super) fn uniform(function: &Function, aliases: &Aliases, summaries: &[Summary]) -> FxHashMap<Local, Operand> {
    let mut finder = UniformFinder::default();
    finder.set(&function.params);
    finder.collect_in_block(&function.body, &|x| function.locals[x.0 as usize].ty.element().is_some());
    let mut uniform = own(function, aliases, summaries, &finder, &FxHashMap::default());
    // What is stored may be an element of such a buffer: the sizes of the states of one fold after another.
    while let elements = finder.elements_of(&uniform)
        && !elements.is_empty()
    {
        let more = own(function, aliases, summaries, &finder, &elements);
        let is_more = more.len() > uniform.len();
        uniform = more;
        if !is_more {
            break;
        }
    }
    let one_value = |x: &Local| {
        let roots = aliases.roots_of(*x);
        let mut made = roots.iter().map(|root| match root {
            Root::Made(b) => uniform.get(&b),
            Root::Inside(_) => None,
        });
        let value = made.next()??;
        let is_same = made.all(|other| other.is_some_and(|other| other.same(value)));
        let is_one = value.local().is_none_or(|value| !finder.in_loops.contains(&value));
        (is_same && is_one && finder.set_after(*x, value)).then(|| (*x, value.clone()))
    };
    let loaded: Vec<(Local, Operand)> = finder.loaded.iter().filter_map(one_value).collect();
    uniform.extend(loaded);
    uniform.extend(function.filled.iter().map(|(b, n)| (*b, Operand::Integer(*n))));
    uniform
}

/// Returns the buffers that are made here, with the values that alone are stored in them, where some locals are known to
/// be others.
fn own(
    function: &Function,
    aliases: &Aliases,
    summaries: &[Summary],
    finder: &UniformFinder,
    known: &FxHashMap<Local, Operand>,
) -> FxHashMap<Local, Operand> {
    let mut values: FxHashMap<Local, Option<Operand>> = FxHashMap::default();
    function.body.visit(&mut |stmt| {
        for b in stmt.writes().into_iter().chain(stmt.hands_over(summaries)) {
            let stored = if let Stmt::Memory(Memory::Store(_, _, a)) = stmt { Some(a.clone()) } else { None };
            let stored = stored.map(|a| a.local().and_then(|x| known.get(&x).cloned()).unwrap_or(a));
            let value = values.entry(b).or_insert_with(|| stored.clone());
            if !value.as_ref().zip(stored.as_ref()).is_some_and(|(a, b)| a.same(b)) {
                *value = None;
            }
        }
    });
    let is_alone = |b: Local| aliases.sharers(b).all(|x| x == b || !values.contains_key(&x));
    let known = values.iter().filter_map(|(b, value)| Some((*b, value.clone()?)));
    let is_made = |b: &Local| !finder.loaded.contains(b);
    known.filter(|(b, value)| is_made(b) && is_alone(*b) && finder.set_after(*b, value)).collect()
}

/// Holds the position of the statement that sets each local: its block, and its number in the block.
#[derive(Default)]
struct UniformFinder {
    places: FxHashMap<Local, (usize, usize)>,
    /// The blocks around each buffer that is made or loaded.
    around: FxHashMap<Local, Vec<usize>>,
    /// The buffers that are loaded.
    loaded: FxHashSet<Local>,
    /// The numbers that are loaded, and from where.
    elements: FxHashMap<Local, Local>,
    /// What is set in loops.
    in_loops: FxHashSet<Local>,
    /// How many loops there are around the statement at hand.
    loops: usize,
    blocks: Vec<usize>,
    block_count: usize,
}

impl UniformFinder {
    fn collect_in_block(&mut self, block: &Block, is_row: &impl Fn(Local) -> bool) {
        self.block_count += 1;
        self.blocks.push(self.block_count);
        for stmt in &block.stmts {
            let around = self.blocks.len();
            self.blocks.push(self.block_count + 1);
            let repeats = usize::from(matches!(stmt, Stmt::For(_) | Stmt::Bench { .. }));
            self.loops += repeats;
            self.set(&stmt.bound());
            self.blocks.truncate(around);
            stmt.blocks().for_each(|block| self.collect_in_block(block, is_row));
            self.loops -= repeats;
            self.set(&stmt.targets());
            if let Stmt::Memory(Memory::Alloc { buffer, .. }) = stmt {
                self.around.insert(*buffer, self.blocks.clone());
            }
            if let Stmt::Memory(Memory::Load(x, b, _)) = stmt {
                if is_row(*x) {
                    self.around.insert(*x, self.blocks.clone());
                    self.loaded.insert(*x);
                } else {
                    self.elements.extend(b.local().map(|b| (*x, b)));
                }
            }
        }
        self.blocks.pop();
    }

    /// Returns the numbers that are loaded from some buffers, with their values.
    fn elements_of(&self, uniform: &FxHashMap<Local, Operand>) -> FxHashMap<Local, Operand> {
        self.elements.iter().filter_map(|(x, b)| Some((*x, uniform.get(b)?.clone()))).collect()
    }

    fn set(&mut self, xs: &[Local]) {
        let block = self.blocks.last().copied().unwrap_or(0);
        self.in_loops.extend(xs.iter().filter(|_| self.loops > 0));
        for x in xs {
            self.places.insert(*x, (block, self.places.len()));
        }
    }

    /// Returns whether the value is known where the buffer is made or loaded.
    fn set_after(&self, b: Local, value: &Operand) -> bool {
        let Some(around) = self.around.get(&b) else { return false };
        let Some(x) = value.local() else { return true };
        let ((block, when), (_, made)) = (self.places[&x], self.places[&b]);
        when < made && (block == 0 || around.contains(&block))
    }
}
