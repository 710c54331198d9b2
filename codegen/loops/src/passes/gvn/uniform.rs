//! Finds buffers that hold one value throughout: nothing but stores of that value ever touches them. The value must be
//! known before the buffer is made, so that it can stand for every element.

use crate::analyses::alias::{Aliases, Summary};
use crate::ir::{Block, Function, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;

/// Returns each such buffer, with the value.
pub(super) fn uniform(function: &Function, aliases: &Aliases, summaries: &[Summary]) -> FxHashMap<Local, Operand> {
    let mut finder = UniformFinder::default();
    finder.set(&function.params);
    finder.collect_in_block(&function.body);
    let mut values: FxHashMap<Local, Option<Operand>> = FxHashMap::default();
    function.body.visit(&mut |stmt| {
        for b in stmt.writes().into_iter().chain(stmt.hands_over(summaries)) {
            let stored = if let Stmt::Memory(Memory::Store(_, _, a)) = stmt { Some(a.clone()) } else { None };
            let value = values.entry(b).or_insert_with(|| stored.clone());
            if !value.as_ref().zip(stored.as_ref()).is_some_and(|(a, b)| a.same(b)) {
                *value = None;
            }
        }
    });
    let is_alone = |b: Local| aliases.sharers(b).all(|x| x == b || !values.contains_key(&x));
    let known = values.iter().filter_map(|(b, value)| Some((*b, value.clone()?)));
    let own = known.filter(|(b, value)| is_alone(*b) && finder.made_after(*b, value));
    own.chain(function.filled.iter().map(|(b, n)| (*b, Operand::Integer(*n)))).collect()
}

/// Holds the position of the statement that sets each local: its block, and its number in the block.
#[derive(Default)]
struct UniformFinder {
    places: FxHashMap<Local, (usize, usize)>,
    /// The blocks around each buffer that is made.
    around: FxHashMap<Local, Vec<usize>>,
    blocks: Vec<usize>,
    block_count: usize,
}

impl UniformFinder {
    fn collect_in_block(&mut self, block: &Block) {
        self.block_count += 1;
        self.blocks.push(self.block_count);
        for stmt in &block.stmts {
            let around = self.blocks.len();
            self.blocks.push(self.block_count + 1);
            self.set(&stmt.bound());
            self.blocks.truncate(around);
            stmt.blocks().for_each(|block| self.collect_in_block(block));
            self.set(&stmt.targets());
            if let Stmt::Memory(Memory::Alloc { buffer, .. }) = stmt {
                self.around.insert(*buffer, self.blocks.clone());
            }
        }
        self.blocks.pop();
    }

    fn set(&mut self, xs: &[Local]) {
        let block = self.blocks.last().copied().unwrap_or(0);
        for x in xs {
            self.places.insert(*x, (block, self.places.len()));
        }
    }

    /// Returns whether the value is known where the buffer is made.
    fn made_after(&self, b: Local, value: &Operand) -> bool {
        let Some(around) = self.around.get(&b) else { return false };
        let Some(x) = value.local() else { return true };
        let ((block, when), (_, made)) = (self.places[&x], self.places[&b]);
        when < made && (block == 0 || around.contains(&block))
    }
}
