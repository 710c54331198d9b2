//! Knows which Integers are sizes, which are equal, and which indices lie below which size.
//!
//! A check that a fact makes needless is not emitted. A fact holds in the block where it was learnt, and in
//! the blocks inside.

use crate::ir::{Local, Operand};
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Default)]
pub(super) struct SizeFacts {
    /// Not negative, and no more than elements fit in memory.
    sizes: FxHashSet<Local>,
    /// 0 <= index < size. An index is known nowhere outside of its loop.
    below: FxHashMap<Local, Operand>,
    /// Maps a number to an equal one that replaces it.
    equal: FxHashMap<Local, Operand>,
    /// The facts, in the order in which they were learnt.
    learnt: Vec<SizeFact>,
}

enum SizeFact {
    Size(Local),
    Equal(Local),
}

impl SizeFacts {
    /// Records that these numbers are the sizes of a tensor.
    pub(super) fn are_sizes(&mut self, sizes: &[Operand]) {
        for x in sizes.iter().filter_map(Operand::local) {
            if self.sizes.insert(x) {
                self.learnt.push(SizeFact::Size(x));
            }
        }
    }

    /// Returns whether a number is known to be no wrong size.
    pub(super) fn is_size(&self, n: &Operand) -> bool {
        match n {
            Operand::Integer(n) => (0..=crate::ir::MOST_ELEMENTS).contains(n),
            other => other.local().is_some_and(|x| self.sizes.contains(&x)),
        }
    }

    /// 0 <= index < size.
    pub(super) fn is_below(&mut self, index: Local, size: &Operand) {
        self.below.insert(index, size.clone());
    }

    /// Returns whether 0 <= index < size is known.
    pub(super) fn known_below(&self, index: &Operand, size: &Operand) -> bool {
        if let (Operand::Integer(i), Operand::Integer(n)) = (index, size) {
            return (0..*n).contains(i);
        }
        let bound = index.local().and_then(|x| self.below.get(&x));
        bound.is_some_and(|bound| self.known_equal(bound, size))
    }

    /// Records that two numbers are equal.
    pub(super) fn are_equal(&mut self, a: &Operand, b: &Operand) {
        let (a, b) = (self.resolved(a), self.resolved(b));
        let (x, stands) = match (a.local(), b.local()) {
            (Some(x), Some(y)) if x == y => return,
            (Some(x), Some(y)) if x.0 < y.0 => (y, a),
            (Some(x), _) => (x, b),
            (None, Some(y)) => (y, a),
            (None, None) => return,
        };
        self.equal.insert(x, stands);
        self.learnt.push(SizeFact::Equal(x));
    }

    pub(super) fn known_equal(&self, a: &Operand, b: &Operand) -> bool {
        self.resolved(a).same(&self.resolved(b))
    }

    /// To be given to [`SizeFacts::forget_since`] at the end of a block.
    pub(super) fn now(&self) -> usize {
        self.learnt.len()
    }

    /// Forgets the facts that were learnt in a block, at its end.
    pub(super) fn forget_since(&mut self, then: usize) {
        for fact in self.learnt.drain(then..) {
            match fact {
                SizeFact::Size(x) => drop(self.sizes.remove(&x)),
                SizeFact::Equal(x) => drop(self.equal.remove(&x)),
            }
        }
    }

    fn resolved(&self, a: &Operand) -> Operand {
        let mut a = a.clone();
        while let Some(other) = a.local().and_then(|x| self.equal.get(&x)) {
            a = other.clone();
        }
        a
    }
}
