//! Finds Integers that are known to be equal: by an earlier check, or by the branch.

use crate::ir::{Local, Op, Operand, Stmt};
use rustc_hash::FxHashMap;

/// Equalities that hold from here on in a block.
#[derive(Default)]
pub(super) struct Equal {
    /// The conditions that ask for equality, or for two things.
    conditions: FxHashMap<Local, (Op, Vec<Operand>)>,
    /// Maps a local to an equal operand.
    other: FxHashMap<Local, Operand>,
    /// The locals of that table, in order.
    learnt: Vec<Local>,
}

impl Equal {
    /// To be given to [`Equal::forget_since`] at the end of a block.
    pub(super) fn now(&self) -> usize {
        self.learnt.len()
    }

    /// Forgets what was learnt since.
    pub(super) fn forget_since(&mut self, then: usize) {
        for x in self.learnt.drain(then..) {
            self.other.remove(&x);
        }
    }

    /// Learns what holds after a statement.
    pub(super) fn learn_from(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(x, op @ (Op::EqI | Op::And), args) => {
                self.conditions.insert(*x, (*op, args.clone()));
            }
            Stmt::Check { condition, .. } => self.learn(condition),
            _ => {}
        }
    }

    /// The condition holds from here on.
    pub(super) fn learn(&mut self, condition: &Operand) {
        match condition.local().and_then(|x| self.conditions.get(&x).cloned()) {
            Some((Op::EqI, args)) => {
                let (a, b) = (self.standing_for(&args[0]), self.standing_for(&args[1]));
                match (a.local(), b.local()) {
                    _ if a.same(&b) => {}
                    (Some(x), _) => self.replace(x, b),
                    (None, Some(y)) => self.replace(y, a),
                    (None, None) => {}
                }
            }
            Some((Op::And, args)) => args.iter().for_each(|a| self.learn(a)),
            _ => {}
        }
    }

    fn replace(&mut self, x: Local, other: Operand) {
        self.other.insert(x, other);
        self.learnt.push(x);
    }

    /// Returns the same operand for all that are known to be equal.
    fn standing_for(&self, a: &Operand) -> Operand {
        let mut a = a.clone();
        while let Some(other) = a.local().and_then(|x| self.other.get(&x)) {
            a = other.clone();
        }
        a
    }

    /// Returns whether the two are known to be equal.
    pub(super) fn are(&self, a: &Operand, b: &Operand) -> bool {
        self.standing_for(a).same(&self.standing_for(b))
    }
}
