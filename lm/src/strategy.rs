//! Strategies: the places and the order in which laws are applied.
//!
//! ```text
//! id t         = t                              repeat s     = try (s ; repeat s)
//! fail t       = failure                        topDown s    = s <+ one (topDown s)
//! (s1 ; s2) t  = s2 (s1 t)                      bottomUp s   = one (bottomUp s) <+ s
//! (s1 <+ s2) t = s1 t, or s2 t when s1 fails    normalize s  = repeat (topDown s)
//! try s        = s <+ id                        innermost s  = all (innermost s) ; try (s ; innermost s)
//!
//! one, some, all: s at the first child where it succeeds, at those where it does, at all or fail;
//! child i: s at the i-th child.
//! ```
//!
//! Source: Using rewrite strategies for efficient functional automatic differentiation (FTfJP 2023),
//! sec. 5.1.
//!
//! `innermost` reaches the same normal form as `normalize`, for a confluent set of laws. It does not walk the term
//! again for each step, but remembers which nodes are normal. So its work is the size of the term plus the number of
//! rewrites.

use crate::law::{Head, Law};
use crate::term::Expr;
use rustc_hash::FxHashMap;
use std::fmt;
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

/// A strategy. It prints as in the file's head.
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
    /// Never fails.
    Try(Arc<Strategy>),
    /// As often as possible.
    Repeat(Arc<Strategy>),
    /// At the first child where it succeeds.
    One(Arc<Strategy>),
    /// At each child where it succeeds; at least one.
    Some(Arc<Strategy>),
    /// At every child.
    All(Arc<Strategy>),
    /// At the child of that number, from 0, in order of evaluation.
    Child(usize, Arc<Strategy>),
    /// At the topmost, leftmost place where it succeeds.
    TopDown(Arc<Strategy>),
    /// At the lowest, leftmost place where it succeeds.
    BottomUp(Arc<Strategy>),
    /// Everywhere, until nothing changes, from the leaves.
    Innermost(Arc<Strategy>),
    /// Everywhere, until nothing changes, from the root.
    Normalize(Arc<Strategy>),
}

impl Strategy {
    /// Returns `innermost` of a set of laws.
    pub fn innermost(laws: Vec<Arc<Law>>) -> Strategy {
        Strategy::Innermost(Arc::new(Strategy::Laws(Arc::new(LawSet::new(laws)))))
    }

    /// Returns the laws that it may apply, in order.
    pub fn laws(&self) -> Vec<Arc<Law>> {
        match self {
            Strategy::Id | Strategy::Fail => Vec::new(),
            Strategy::Laws(set) => set.laws.clone(),
            Strategy::Seq(a, b) | Strategy::Choice(a, b) => [a.laws(), b.laws()].concat(),
            Strategy::Try(s)
            | Strategy::Repeat(s)
            | Strategy::One(s)
            | Strategy::Some(s)
            | Strategy::All(s)
            | Strategy::Child(_, s)
            | Strategy::TopDown(s)
            | Strategy::BottomUp(s)
            | Strategy::Innermost(s)
            | Strategy::Normalize(s) => s.laws(),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Id => write!(f, "id"),
            Strategy::Fail => write!(f, "fail"),
            Strategy::Laws(set) => {
                let names: Vec<&str> = set.laws.iter().map(|law| &*law.name).collect();
                write!(f, "{}", names.join(" <+ "))
            }
            Strategy::Seq(a, b) => write!(f, "({a} ; {b})"),
            Strategy::Choice(a, b) => write!(f, "({a} <+ {b})"),
            Strategy::Try(s) => write!(f, "try({s})"),
            Strategy::Repeat(s) => write!(f, "repeat({s})"),
            Strategy::One(s) => write!(f, "one({s})"),
            Strategy::Some(s) => write!(f, "some({s})"),
            Strategy::All(s) => write!(f, "all({s})"),
            Strategy::Child(i, s) => write!(f, "child({i}, {s})"),
            Strategy::TopDown(s) => write!(f, "topDown({s})"),
            Strategy::BottomUp(s) => write!(f, "bottomUp({s})"),
            Strategy::Innermost(s) => write!(f, "innermost({s})"),
            Strategy::Normalize(s) => write!(f, "normalize({s})"),
        }
    }
}
