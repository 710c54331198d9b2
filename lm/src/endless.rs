//! Tells why rewriting does not come to an end.

use crate::alpha;
use crate::term::{Expr, Span};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// The nodes that may be visited, for each step that may be taken.
pub(crate) const VISITS: usize = 50;

/// The nodes by which terms may grow, for each step that may be taken.
pub(crate) const GROWTH: usize = 10;

/// The most recursions of `mu` in each other, for which there is a stack.
pub(crate) const MOST_RECURSIONS: usize = 100_000;

/// Rewriting did not end within its fuel.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("rewriting does not come to an end: {why}")]
pub struct OutOfFuel {
    /// The steps taken.
    pub steps: usize,
    /// The laws of the cycle, or else of the last steps, most frequent first.
    pub laws: Vec<Arc<str>>,
    /// The place of the term that was rewritten last.
    pub term: Span,
    /// The place of the loop, in the texts of its library.
    pub strategy: Option<Span>,
    /// The sign of divergence.
    pub why: Box<Divergence>,
}

/// A sign that rewriting does not come to an end.
#[derive(Clone, Debug, PartialEq)]
pub enum Divergence {
    /// A loop is at a term where it was before.
    Cycle {
        /// The step after which it was there first.
        first: usize,
        /// The step after which it is there again.
        again: usize,
        /// The laws of the steps between, each once.
        laws: Vec<Arc<str>>,
    },
    /// The terms grow beyond a limit.
    Growth {
        /// The number of nodes that came.
        nodes: usize,
        /// The steps taken.
        steps: usize,
        /// The most frequent law of the last steps, and how many of these it took.
        most: Option<(Arc<str>, usize)>,
    },
    /// The steps, or the nodes visited, are more than the limit.
    Steps {
        /// The steps taken.
        steps: usize,
        /// The laws applied last, most frequent first.
        laws: Vec<Arc<str>>,
    },
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Divergence::Cycle { first, again, laws } => {
                write!(f, "after step {again} the term is that of step {first} again: {}", undoing(laws))
            }
            Divergence::Growth { nodes, steps, most } => {
                write!(f, "the term grew by {nodes} nodes in {steps} steps")?;
                match most {
                    Some((law, count)) => write!(f, "; most of the last steps are by `{law}` ({count})"),
                    None => Ok(()),
                }
            }
            Divergence::Steps { steps: 0, .. } => write!(f, "it goes over the term without a step"),
            Divergence::Steps { steps, laws } => {
                write!(f, "it is not done after {steps} steps; the laws applied last: {}", listed(laws))
            }
        }
    }
}

fn undoing(laws: &[Arc<str>]) -> String {
    match laws {
        [] => "no law changed it".into(),
        [one] => format!("`{one}` undoes itself"),
        several => format!("{} undo each other", listed(several)),
    }
}

/// Returns names in quotes: `a`, `b` and `c`.
fn listed(names: &[Arc<str>]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} and {last}", first.join(", ")),
        None => String::from("none"),
    }
}

/// The number of last steps that a diagnostic looks at.
const WINDOW: usize = 64;

/// The laws and places of the last steps.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    steps: usize,
    last: VecDeque<Arc<str>>,
    place: Span,
}

impl Recent {
    /// Adds a step.
    pub(crate) fn step(&mut self, law: &Arc<str>, place: Span) {
        if self.last.len() == WINDOW {
            self.last.pop_front();
        }
        self.last.push_back(law.clone());
        self.steps += 1;
        if place != Span::default() {
            self.place = place;
        }
    }

    /// Returns the number of steps.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// Returns the laws of the last n steps, each with their number, most frequent first.
    fn counted(&self, n: usize) -> Vec<(Arc<str>, usize)> {
        let mut counts: indexmap::IndexMap<Arc<str>, usize> = indexmap::IndexMap::new();
        self.last.iter().rev().take(n).for_each(|law| *counts.entry(law.clone()).or_default() += 1);
        counts.sort_by(|_, a, _, b| b.cmp(a));
        counts.into_iter().collect()
    }

    fn names(&self, n: usize) -> Vec<Arc<str>> {
        self.counted(n).into_iter().map(|(law, _)| law).collect()
    }

    fn because(&self, why: Divergence) -> OutOfFuel {
        let (steps, laws, term) = (self.steps, self.names(WINDOW), self.place);
        OutOfFuel { steps, laws, term, strategy: None, why: Box::new(why) }
    }

    /// Returns the error of rewriting that took all its steps.
    pub(crate) fn out_of_steps(&self) -> OutOfFuel {
        self.because(Divergence::Steps { steps: self.steps, laws: self.names(WINDOW) })
    }

    /// Returns the error of terms that grew by so many nodes.
    pub(crate) fn too_large(&self, nodes: usize) -> OutOfFuel {
        let most = self.counted(WINDOW).into_iter().next();
        self.because(Divergence::Growth { nodes, steps: self.steps, most })
    }
}

/// The round of a loop from which on its terms are compared. Loops that end seldom come so far.
const FIRST_ROUND: usize = 16;

/// The rounds of one loop. The term of one round is kept and compared with the later ones; twice as many rounds later,
/// another one is. So a cycle is found within three times its length (Brent 1980), and nothing but a cycle.
#[derive(Debug, Default)]
pub struct Rounds {
    round: usize,
    kept: Option<Kept>,
}

#[derive(Debug)]
struct Kept {
    round: usize,
    step: usize,
    term: Expr,
}

impl Rounds {
    /// Compares the term of the next round with the one that is kept.
    ///
    /// Errors: they are the same.
    pub(crate) fn compare(&self, e: &Expr, recent: &Recent) -> Result<(), OutOfFuel> {
        match &self.kept {
            Some(kept) if kept.term.size() == e.size() && alpha::exprs(&kept.term, e) => {
                let laws = recent.names(recent.steps - kept.step);
                let why = Divergence::Cycle { first: kept.step, again: recent.steps, laws: laws.clone() };
                Err(OutOfFuel { laws, ..recent.because(why) })
            }
            _ => Ok(()),
        }
    }

    /// Begins a round.
    pub(crate) fn enter(&mut self, e: &Expr, recent: &Recent) {
        self.round += 1;
        if self.round >= FIRST_ROUND && self.round.is_power_of_two() {
            self.kept = Some(Kept { round: self.round, step: recent.steps, term: e.clone() });
        }
    }

    /// Ends a round of a recursion. Its term is no longer under way.
    pub fn leave(&mut self) {
        if self.kept.as_ref().is_some_and(|kept| kept.round == self.round) {
            self.kept = None;
        }
        self.round -= 1;
    }

    /// Returns the number of rounds.
    pub(crate) fn count(&self) -> usize {
        self.round
    }
}
