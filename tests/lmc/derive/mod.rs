//! Derivations: their passes, schedules and types.

mod matrix;
mod passes;
mod schedule;
mod typing;
