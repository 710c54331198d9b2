//! The command line, file by file.

mod laws;
mod progress;
mod strategies;
