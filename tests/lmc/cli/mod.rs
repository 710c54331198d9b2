//! The command line, file by file.

mod progress;
