//! Interprets programs and counts their operations: the reference for the cost of derivatives.
//!
//! It follows the text of the language, not speed. Every derivation, optimisation level and back end must agree with
//! it. It evaluates into destinations, as native code does, so that its counts are those of native code; the meaning of
//! terms without any plan is in `eval`.
//!
//! `interpreter` holds the state, `terms` evaluates terms, `prims` and `arrays` the primitives, `vector_space` sums and
//! products, `accumulate` and `target` in-place addition, `counts` the counts of operations, `finite` the search for the
//! first result that is not finite, and `grouping` that for a `reduce` whose value depends on the grouping.

mod accumulate;
mod arrays;
mod calls;
mod counts;
mod finite;
mod functions;
mod grouping;
pub(crate) mod interpreter;
mod prims;
mod rounding;
mod sizes;
mod target;
mod terms;
mod vector_space;

pub use crate::runtime_error::{ErrorKind, RuntimeError};
pub use crate::value::{Closure, Env};
pub use arrays::BENCH_TIME;
pub use counts::Counts;
pub use finite::NotFinite;
pub use interpreter::{Interpreter, Regrouped};
pub use prims::ranhashdoub;
