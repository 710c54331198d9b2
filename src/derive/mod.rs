//! Derives: from a checked program to the derivatives of its functions.
//!
//! [`recipes`] lists which passes make which derivative. [`pipeline`] runs them for what is asked for, by the ways that
//! [`Derivation`] names. [`figures`] has the derivations of the papers, one file for each figure. [`passes`] has what
//! simplifies their results. [`typing`] has the types of derivatives.

pub mod call_order;
pub mod call_points;
mod derivation;
pub mod figures;
pub mod forms;
pub mod partial_eval;
pub mod passes;
pub mod pipeline;
pub mod postcondition;
pub mod recipes;
pub mod schedule;
pub mod typing;

pub use derivation::Derivation;
