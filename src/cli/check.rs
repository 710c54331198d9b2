//! `lmc check`.

use super::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use std::io::Write;

/// Options of `lmc check`.
#[derive(clap::Args)]
pub struct Options {
    /// Programs; `-` is standard input.
    #[arg(required = true)]
    files: Vec<String>,
}

/// Reads and type-checks each file; all errors of all files are shown.
pub fn check(options: &Options, format: ErrorFormat, _: &mut dyn Write) -> Result<(), Failure> {
    let outcomes: Vec<_> = options.files.iter().map(|file| Input::read(file, format).map(|_| ())).collect();
    outcomes.into_iter().collect()
}
