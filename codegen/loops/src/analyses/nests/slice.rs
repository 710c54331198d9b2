//! Computes numbers of a nest at other indices.

use super::Nest;
use crate::ir::{Builder, Local, LocalInfo, Operand, Stmt};
use rustc_hash::FxHashMap;

/// What the nest computes from its indices, at given ones.
pub struct Slice<'a> {
    nest: &'a Nest,
    known: FxHashMap<Local, Operand>,
}

impl<'a> Slice<'a> {
    /// At these values of indices, and of other locals of the nest.
    pub fn new(nest: &'a Nest, known: FxHashMap<Local, Operand>) -> Slice<'a> {
        Slice { nest, known }
    }

    /// Returns a number or a condition, if it is made by operations alone.
    pub fn value(&mut self, a: &Operand, locals: &mut Vec<LocalInfo>, out: &mut Vec<Stmt>) -> Option<Operand> {
        let Some(x) = a.local().filter(|x| self.nest.set.contains(x)) else { return Some(a.clone()) };
        if let Some(known) = self.known.get(&x) {
            return Some(known.clone());
        }
        let (op, args) = self.nest.made.get(&x)?;
        let args = args.iter().map(|arg| self.value(arg, locals, out)).collect::<Option<Vec<_>>>()?;
        let value = Builder { locals }.op(*op, args, out);
        self.known.insert(x, value.clone());
        Some(value)
    }
}
