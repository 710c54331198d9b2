//! The variables in scope.

use indexmap::IndexMap;
use lm::term::Var;
use std::sync::Arc;

/// What a name in scope stands for: a variable, or one whose definition has an error.
pub type Meaning = Option<Var>;

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
    /// Binds a name, hiding what it stood for.
    pub fn bind(&mut self, name: &Arc<str>, meaning: Meaning) {
        self.names.entry(name.clone()).or_default().push(meaning);
        self.order.push(name.clone());
    }

    /// The meaning of a name; `None` when it is not in scope.
    pub fn get(&self, name: &str) -> Option<&Meaning> {
        self.names.get(name)?.last()
    }

    /// The present point.
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

    /// The names in scope.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter(|(_, meanings)| !meanings.is_empty()).map(|(name, _)| &**name)
    }
}
