//! The command line, file by file.

mod cost;
mod laws;
mod progress;
mod strategies;
