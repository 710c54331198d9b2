//! Derivations: their passes, schedules and types.

mod inline;
mod passes;
mod schedule;
mod typing;
