//! Bulk programs: whole arrays in place of loops over elements, for NumPy, JAX and XLA.
//!
//! ```text
//! lm::term --lower--> ir --emit--> NumPy, JAX, StableHLO
//! ```
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`ir`] | the language |
//! | [`scalar`] | the values of operations on numbers |
//! | [`builder`] | the laws, and what is made once |
//! | [`lower()`] | from terms to bulk programs |
//! | [`interp`] | their meaning |
//! | [`emit`] | their text in other languages |

pub mod builder;
pub mod emit;
pub mod interp;
pub mod ir;
mod lower;
mod refusal;
pub mod scalar;
mod unused;
mod verify;

pub use lower::{Known, SizesOf, lower};
pub use refusal::{Reason, Refusal};
