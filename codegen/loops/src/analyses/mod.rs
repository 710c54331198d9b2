//! Finds facts about functions, for passes and for emission. An analysis changes nothing.

pub mod alias;
pub mod apart;
pub mod arena_balance;
pub mod cache;
pub mod clamps;
pub mod counts;
pub mod divergence;
pub mod effects;
pub mod extents;
pub mod fixed;
pub mod independence;
pub mod jam;
pub mod nests;
pub mod places;
pub mod ranges;
pub mod roots;
pub mod rows;
pub mod scopes;
pub mod single_iterations;
pub mod slices;
pub mod tables;
pub mod times;
pub mod verify;
pub mod watch;
pub mod why_serial;
pub mod worked_on;
