//! Derivations: their passes, schedules and types.

mod passes;
mod schedule;
mod typing;
