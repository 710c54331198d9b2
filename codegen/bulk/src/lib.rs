//! Bulk programs: whole arrays in place of loops over elements, for NumPy, JAX and XLA.
//!
//! ```text
//! lm::term --lower--> ir --emit--> NumPy, JAX, StableHLO
//!                     ir --raise--> lm::term
//! ```
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`ir`] | the language |
//! | [`scalar`] | the values of operations on numbers |
//! | [`builder`] | the laws, and what is made once |
//! | [`rules`] | the rules by name |
//! | [`lower()`] | from terms to bulk programs |
//! | [`raise()`] | from bulk programs back to terms, each operation a loop of its own |
//! | [`interp`] | their meaning |
//! | [`emit`] | their text in other languages |

pub mod builder;
pub mod emit;
pub mod interp;
pub mod ir;
mod lower;
mod raise;
mod refusal;
pub mod rules;
pub mod scalar;
mod unused;
mod verify;

pub use lower::{Known, SizesOf, lower, lower_for_derivation};
pub use raise::raise;
pub use refusal::{Reason, Refusal};
