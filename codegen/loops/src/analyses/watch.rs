//! Numbers loops, so that code can tell of each of them how often and how long it ran.

use crate::ir::{For, FunId, Local, Module, Operand, Stmt};
use rustc_hash::FxHashMap;

/// A loop of a module: its function, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoopId {
    /// The function.
    pub function: FunId,
    /// The index of the loop, which no other loop of the function has.
    pub index: Local,
}

/// How many iterations loops made when they ran, on average: see [`Module::all_loops`].
pub type Iterations = FxHashMap<LoopId, f64>;

impl Module {
    /// Returns all loops, function by function, each behind the loop around it.
    pub fn all_loops(&self) -> Vec<LoopId> {
        let mut found = vec![];
        for (i, function) in self.functions.iter().enumerate() {
            function.body.visit(&mut |stmt| {
                if let Stmt::For(looped) = stmt {
                    found.push(LoopId { function: FunId(i), index: looped.index });
                }
            });
        }
        found
    }

    /// Numbers the loops that code for this module watches, from 0. Copies of a loop have its number.
    pub fn watch(&mut self, loops: &[LoopId]) {
        for (id, number) in loops.iter().zip(0..) {
            self.functions[id.function.0].locals[id.index.0 as usize].watched = Some(number);
        }
    }
}

impl For {
    /// Returns how many iterations it makes, where the text says so.
    pub fn known_iterations(&self) -> Option<f64> {
        match (&self.from, &self.to) {
            (Operand::Integer(from), Operand::Integer(to)) => Some(to.saturating_sub(*from).max(0) as f64),
            _ => None,
        }
    }
}
