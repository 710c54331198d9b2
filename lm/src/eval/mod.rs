//! Evaluates terms by their definition: the oracle of every other evaluator.
//!
//! ```text
//! [[k]] env = k                                 [[x]] env = env(x)
//! [[let p = e in b]] env = [[b]] env[p := [[e]] env]
//! [[\x. e]] env = v |-> [[e]] env[x := v]
//! [[op(e1, ..)]] env = op([[e1]] env, ..)       from left to right
//! ```
//!
//! There are no destinations, no plans and no values changed in place. A function is a Rust
//! closure. A linear map is one, too; its transpose follows from the law of adjoints alone, see `eval/map.rs`.
//!
//! [`Evaluator::trace`] evaluates dual numbers: each Float comes with its Delta term, see `eval/dual.rs`.
//!
//! It shares with the interpreter: the types of values and errors that enter and leave, the laws of the primitives'
//! derivatives, and the rows of `libm`.
//!
//! Takes: a program and arguments. Gives: the value, or the first error from left to right.

mod arrays;
mod dual;
mod environment;
mod evaluator;
mod map;
mod recorder;
mod scalars;
mod sum;
mod terms;
mod traced;
mod value;
mod vector;

pub use evaluator::Evaluator;
