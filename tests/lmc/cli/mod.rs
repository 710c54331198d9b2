//! The command line, file by file.

mod cost;
mod demo;
mod laws;
mod progress;
mod strategies;
