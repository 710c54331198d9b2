//! Derives: what makes derivatives of a checked program.

pub mod call_points;
pub mod partial_eval;
pub mod passes;
