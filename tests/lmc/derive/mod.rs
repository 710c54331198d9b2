//! Derivations: their passes, schedules and types.

mod inline;
mod matrix;
mod passes;
mod schedule;
mod typing;
