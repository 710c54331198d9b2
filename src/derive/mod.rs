//! Derives: from a checked program to the derivatives of its functions.
//!
//! [`recipes`] lists which passes make which derivative. [`pipeline`] runs them to make the requested
//! derivatives, by one of the [`Derivation`]s. [`figures`] has the derivations of the papers, one file for each figure.
//! [`passes`] simplifies their results, and [`cost`] tells what they cost. [`typing`] has the types of derivatives.

pub mod call_order;
pub mod call_points;
mod checkpoint;
pub mod cost;
mod dependence;
mod derivation;
pub mod derived_call;
pub mod figures;
pub mod forms;
pub mod partial_eval;
pub mod passes;
mod passing_on;
pub mod pipeline;
pub mod postcondition;
pub mod recipes;
pub mod schedule;
mod strategy_mistake;
pub mod typing;

pub use checkpoint::Checkpoint;
pub use derivation::Derivation;
