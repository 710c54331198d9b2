//! Finds the places beside an index where a condition says what the index is.
//!
//! ```text
//! for k { if k == i { .. s[k + 1] .. } else { .. } }   =   for k { if k == i { .. s[i + 1] .. } else { .. } }
//! ```
//!
//! i is known before the loop over k. So a step that changes the element i of an array, and looks at those beside it, does
//! so at places that do not vary, however it is written. The place k itself is left as it is, since the other side of the
//! condition may look there, too.

use crate::ir::{Block, Local, Op, Operand, Stmt};
use rustc_hash::FxHashMap;

/// The order in which a function's text sets locals and begins loops.
#[derive(Default)]
pub(super) struct Order {
    /// The results of a statement with blocks are set after these.
    set: FxHashMap<Local, usize>,
    /// By the loop's index.
    begun: FxHashMap<Local, usize>,
}

impl Order {
    pub(super) fn of(body: &Block) -> Order {
        let mut order = Order::default();
        order.read(body);
        order
    }

    fn read(&mut self, block: &Block) {
        for stmt in &block.stmts {
            if let Stmt::For(looped) = stmt {
                self.begun.insert(looped.index, self.set.len());
            }
            self.read_locals(stmt.bound());
            stmt.blocks().for_each(|block| self.read(block));
            self.read_locals(stmt.targets());
        }
    }

    fn read_locals(&mut self, xs: Vec<Local>) {
        for x in xs {
            self.set.insert(x, self.set.len());
        }
    }

    /// Returns the index of a loop that equal operands have in them, and what it is: known before the loop.
    pub(super) fn index_among(&self, equal: &[Operand]) -> Option<(Local, Operand)> {
        let [a, b] = equal else { return None };
        self.index_at(a, b).or_else(|| self.index_at(b, a))
    }

    fn index_at(&self, index: &Operand, place: &Operand) -> Option<(Local, Operand)> {
        let index = index.local()?;
        let begun = self.begun.get(&index)?;
        // A parameter is set nowhere.
        let is_before = place.local().and_then(|x| self.set.get(&x)).is_none_or(|set| set < begun);
        is_before.then(|| (index, place.clone()))
    }
}

/// Takes the places beside an index from what the index is.
pub(super) fn look_beside(block: &mut Block, index: Local, place: &Operand) {
    for stmt in &mut block.stmts {
        if let Stmt::Let(_, Op::AddI | Op::SubI, args) = stmt
            && args.iter().any(|a| matches!(a, Operand::Integer(_)))
        {
            args.iter_mut().filter(|a| a.local() == Some(index)).for_each(|a| *a = place.clone());
        }
        stmt.blocks_mut().for_each(|block| look_beside(block, index, place));
    }
}
