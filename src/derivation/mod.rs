//! The derivations: each takes a definition and gives definitions.

pub mod jacobian;
pub mod shape;
mod tensors;
pub mod written;
