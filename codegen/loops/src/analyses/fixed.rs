//! Finds what a loop does not change.

use crate::ir::{For, Local, Op, Operand, Stmt};
use rustc_hash::FxHashSet;

/// Holds what a loop sets, and what of that is the same in all iterations.
pub struct Fixed {
    set: FxHashSet<Local>,
    /// The Integers of its own block that are computed from what is outside, by operations that cannot fail.
    computed: FxHashSet<Local>,
}

impl Fixed {
    /// Returns what a loop sets.
    pub fn of(looped: &For) -> Fixed {
        let set = looped.carried.iter().map(|(y, _)| *y).chain([looped.index]).collect();
        let mut fixed = Fixed { set, computed: FxHashSet::default() };
        looped.body.visit(&mut |stmt| fixed.set.extend(stmt.targets().into_iter().chain(stmt.bound())));
        for stmt in &looped.body.stmts {
            if let Stmt::Let(x, Op::AddI | Op::SubI | Op::MulI | Op::NegI, args) = stmt
                && args.iter().all(|a| fixed.is_fixed(a))
            {
                fixed.computed.insert(*x);
            }
        }
        fixed
    }

    /// Returns whether an operand is known before the loop.
    pub fn is_outside(&self, a: &Operand) -> bool {
        a.local().is_none_or(|x| !self.set.contains(&x))
    }

    /// Returns whether an operand is known before the loop, or may be computed there.
    pub fn is_fixed(&self, a: &Operand) -> bool {
        self.is_outside(a) || a.local().is_some_and(|x| self.computed.contains(&x))
    }
}

/// Takes out of a loop's own block what computes some places that are the same in all iterations.
pub fn take_places(stmts: &mut Vec<Stmt>, mut wanted: Vec<Local>, fixed: &Fixed) -> Vec<Stmt> {
    let mut taken = Vec::new();
    for at in (0..stmts.len()).rev() {
        if stmts[at].targets().iter().any(|x| wanted.contains(x) && fixed.computed.contains(x)) {
            wanted.extend(stmts[at].operands().into_iter().filter_map(Operand::local));
            taken.push(stmts.remove(at));
        }
    }
    taken.reverse();
    taken
}
