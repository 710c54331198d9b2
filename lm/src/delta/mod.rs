//! Delta terms: the derivative of each number that a run computes, as data.
//!
//! ```text
//! d ::= Zero | Input x | Add d d | Scale k d | Share id d
//! ```
//!
//! A run pairs each Float with a term (`eval/dual.rs`), by the rule of its operation (`rule`). Each operation gives a
//! `Share`, whose ID is its place in the trace (`trace`). From the terms follows the gradient: by IDs, or by paths
//! (`backward`).
//!
//! Source: Smeding, Konarski, Peyton Jones, Fitzgibbon, dual-numbers reverse AD for arrays (technical report, July
//! 2025), sec. 2 and 4.1.

mod backward;
mod rule;
mod trace;

pub use backward::{ByPaths, ReversePass, TooManyVisits, Visit};
pub use rule::Rule;
pub use trace::{Kinds, Link, Node, Operation, Place, Trace, Traced};

pub(crate) use rule::{Dual, Term};
