//! Measurements of a function and its derivatives: times, in turns, and counts of what their loops do.
//!
//! ```text
//! f, x --argument--> values --entries--> calls --samples--> samples --report, plot--> table, JSON, SVG
//! ```

pub mod argument;
mod entry;
pub mod explained;

pub mod plot;
pub mod report;
pub mod samples;

pub use entry::{Entry, Point, parts};
