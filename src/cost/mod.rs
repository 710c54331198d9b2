//! What a gradient costs: exact counts of a function and of its reverse derivatives at a point, and the bound on them.
//!
//! ```text
//! work of [vjp f], of [rev f]  <=  4 · max(p, 1) · max(work of f + Floats of argument and result, 4)
//! ```
//!
//! p is the nesting of array operations. The counts are those of the interpreter. `lmc cost`, the tests and the tables
//! of `docs/bound.md` measure by this module alone.
//!
//! [`crate::derive::cost`] has upper limits, as polynomials in sizes, without a point.
//!
//! Source: Huot and Shaikhha, Denotationally correct, purely functional, efficient reverse-mode automatic
//! differentiation, sec. 5.2 (counts) and 5.3 (nesting, Theorem 5.4).

mod measured;
mod nesting;
pub mod report;
mod weights;

pub use measured::{Error, Measured, call, counted};
pub use nesting::nesting;
pub use weights::{WEIGHTS, WORK, Weights, moves, work};

/// A gradient does at most so much for each thing that the function does, and for each level of nesting.
pub const PER_LEVEL: u64 = 4;

/// A function that does less than this counts as one that does so much.
pub const SMALL: u64 = 4;
