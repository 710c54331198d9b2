//! The front end, file by file.

mod check;
mod diagnostic;
mod reader;
mod render;
mod source;
