//! Measurements, file by file.

mod argument;
mod report;
mod samples;
