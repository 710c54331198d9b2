//! Counts the rewrites of a pass, and stops it after a number of them.
//!
//! A pass that may do k rewrites does its first k, and leaves the rest of the definition as it is. So the results for
//! k = 0, 1, 2, .. are definitions of one meaning, each one rewrite after the last: a derivation, step by step.

use crate::term::Expr;
use std::sync::Arc;

/// One rewrite: a law, and the instance of it where the law is one of a table.
#[derive(Clone, Debug)]
pub struct Rewrite {
    /// The law's name.
    pub law: Arc<str>,
    /// The term before, and after with the bindings that the law made.
    pub instance: Option<(Expr, Expr)>,
}

/// The rewrites that a pass may do, and the last one that it did.
#[derive(Debug)]
pub struct Rewrites {
    left: usize,
    last: Option<Rewrite>,
    is_limited: bool,
}

impl Rewrites {
    /// Returns a budget without an end. It remembers no rewrite.
    pub fn all() -> Rewrites {
        Rewrites { left: 0, last: None, is_limited: false }
    }

    /// Returns a budget of some rewrites.
    pub fn first(n: usize) -> Rewrites {
        Rewrites { left: n, last: None, is_limited: true }
    }

    /// Returns whether there is an end: the rewrites before it may leave terms that the others would change.
    pub fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Returns whether no rewrite is left.
    pub fn is_spent(&self) -> bool {
        self.is_limited && self.left == 0
    }

    /// Returns whether one more rewrite is allowed, and counts it.
    pub fn may(&mut self, law: &str) -> bool {
        if self.is_spent() {
            return false;
        }
        self.count(|| Rewrite { law: law.into(), instance: None });
        true
    }

    /// Counts a rewrite, which was allowed.
    pub fn count(&mut self, rewrite: impl FnOnce() -> Rewrite) {
        if self.is_limited {
            self.left = self.left.checked_sub(1).expect("the rewrite was allowed");
            self.last = Some(rewrite());
        }
    }

    /// Returns the last rewrite, if all that were allowed were done.
    pub fn into_last(self) -> Option<Rewrite> {
        if self.is_spent() { self.last } else { None }
    }
}
