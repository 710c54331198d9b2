//! The form of strategies that the rewriter applies: names have their meaning.

use super::combinator::Combinator;
use super::law_set::LawSet;
use crate::law::Law;
use crate::term::Span;
use std::sync::Arc;

/// A strategy.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// Succeeds, changing nothing.
    Id,
    /// Fails.
    Fail,
    /// The first law of the set that applies at the root.
    Laws(Arc<LawSet>),
    /// One after the other.
    Seq(Arc<Strategy>, Arc<Strategy>),
    /// The second where the first fails.
    Choice(Arc<Strategy>, Arc<Strategy>),
    /// A combinator of one strategy.
    With(Combinator, Arc<Strategy>),
    /// The strategy, in which the variable of that number is the whole.
    Mu(u32, Arc<Strategy>),
    /// A variable.
    Var(u32),
    /// The strategy, in which laws apply so many times at most.
    Fuel(usize, Arc<Strategy>),
    /// A pass over the definition.
    Pass(Arc<str>),
    /// The strategy, whose result is shown under a heading.
    Stage(Arc<str>, Arc<Strategy>),
    /// A strategy, with its place in the texts of its library.
    Placed(Span, Arc<Strategy>),
}

impl Strategy {
    /// Returns a set of laws as a strategy.
    pub fn laws_of(laws: Vec<Arc<Law>>) -> Strategy {
        Strategy::Laws(Arc::new(LawSet::new(laws)))
    }

    /// Returns a combinator of this strategy.
    pub fn with(self, combinator: Combinator) -> Strategy {
        Strategy::With(combinator, Arc::new(self))
    }

    /// Returns `innermost` of a set of laws.
    pub fn innermost(laws: Vec<Arc<Law>>) -> Strategy {
        Strategy::laws_of(laws).with(Combinator::Innermost)
    }

    /// Returns whether it goes on for as long as a strategy succeeds, or comes back to itself.
    pub(crate) fn is_loop(&self) -> bool {
        match self {
            Strategy::With(combinator, _) => combinator.loops(),
            Strategy::Mu(..) => true,
            _ => false,
        }
    }

    /// Returns the strategies that it is made of.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Arc<Strategy>> {
        let [first, second] = match self {
            Strategy::Id | Strategy::Fail | Strategy::Laws(_) | Strategy::Var(_) | Strategy::Pass(_) => [None, None],
            Strategy::Seq(a, b) | Strategy::Choice(a, b) => [Some(a), Some(b)],
            Strategy::With(_, s) | Strategy::Mu(_, s) | Strategy::Fuel(_, s) => [Some(s), None],
            Strategy::Stage(_, s) | Strategy::Placed(_, s) => [Some(s), None],
        };
        first.into_iter().chain(second)
    }

    /// Returns the laws that it may apply, in order.
    pub fn laws(&self) -> Vec<Arc<Law>> {
        match self {
            Strategy::Laws(set) => set.laws().to_vec(),
            _ => self.parts().flat_map(|s| s.laws()).collect(),
        }
    }

    /// Returns the headings of its stages, in the order in which they are shown.
    pub fn headings(&self) -> Vec<Arc<str>> {
        let inner = self.parts().flat_map(|s| s.headings());
        let own = if let Strategy::Stage(heading, _) = self { Some(heading.clone()) } else { None };
        inner.chain(own).collect()
    }

    /// Returns whether it has a pass or a stage: then it is one of whole definitions.
    pub fn has_passes(&self) -> bool {
        matches!(self, Strategy::Pass(_) | Strategy::Stage(..)) || self.parts().any(|s| s.has_passes())
    }
}
