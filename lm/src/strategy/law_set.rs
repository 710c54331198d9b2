//! Sets of laws, in which those that may apply to a term are found by its operator.

use crate::law::{Head, Law};
use crate::term::Expr;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A set of laws, tried in order, found by the operator at the root.
#[derive(Clone, Debug)]
pub struct LawSet {
    laws: Vec<Arc<Law>>,
    /// For each head of a law: the laws of that head and those of any, in order.
    by_head: FxHashMap<Head, Vec<Arc<Law>>>,
    /// The laws of any head.
    headless: Vec<Arc<Law>>,
}

impl LawSet {
    /// Returns the set of the given laws.
    pub fn new(laws: Vec<Arc<Law>>) -> LawSet {
        let mut by_head: FxHashMap<Head, Vec<Arc<Law>>> = FxHashMap::default();
        let mut headless = Vec::new();
        for law in &laws {
            match law.head() {
                Some(head) => by_head.entry(head).or_insert_with(|| headless.clone()).push(law.clone()),
                None => {
                    headless.push(law.clone());
                    by_head.values_mut().for_each(|laws| laws.push(law.clone()));
                }
            }
        }
        LawSet { laws, by_head, headless }
    }

    /// Returns the laws, in order.
    pub fn laws(&self) -> &[Arc<Law>] {
        &self.laws
    }

    /// Returns the laws that may apply to the term, in order.
    pub(crate) fn candidates(&self, e: &Expr) -> impl Iterator<Item = &Arc<Law>> {
        let at_head = Head::of(e).and_then(|head| self.by_head.get(&head));
        at_head.unwrap_or(&self.headless).iter()
    }
}
