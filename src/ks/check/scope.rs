//! The variables in scope.

use indexmap::IndexMap;
use lm::term::{Expr, Var};
use std::sync::Arc;

/// The meaning of a name in scope.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// A variable.
    Variable(Var),
    /// A function: a parameter of type `Lam`, where the definition is looked at for one call.
    Function(Expr),
    /// A variable whose definition has an error.
    Unknown,
}

/// The variables in scope, innermost last.
#[derive(Debug, Default)]
pub struct Scope {
    names: IndexMap<Arc<str>, Vec<Meaning>>,
    order: Vec<Arc<str>>,
}

/// A point in the history of a scope.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

impl Scope {
    /// Binds a name, hiding its old meaning.
    pub fn bind(&mut self, name: &Arc<str>, meaning: Meaning) {
        self.names.entry(name.clone()).or_default().push(meaning);
        self.order.push(name.clone());
    }

    /// Returns the meaning of a name; `None` when it is not in scope.
    pub fn get(&self, name: &str) -> Option<&Meaning> {
        self.names.get(name)?.last()
    }

    /// Returns the present point.
    pub fn mark(&self) -> Mark {
        Mark(self.order.len())
    }

    /// Forgets what was bound since the mark.
    pub fn forget(&mut self, mark: Mark) {
        for name in self.order.drain(mark.0..) {
            if let Some(meanings) = self.names.get_mut(&name) {
                meanings.pop();
            }
        }
    }

    /// Returns the names in scope.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(|name| &**name)
    }
}
