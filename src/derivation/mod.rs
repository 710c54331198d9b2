//! The derivations: each takes a definition and gives definitions.

pub mod jacobian;
mod tensors;
