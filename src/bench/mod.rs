//! Measurements of a function and its derivatives: times, in turns, and counts of what their loops do.
//!
//!   f, x --argument--> values --entries--> calls --measure--> samples --report, plot--> table, JSON, SVG

pub mod argument;
mod entry;
pub mod measure;
pub mod plot;
pub mod report;

pub use entry::{Entry, Point, parts};
