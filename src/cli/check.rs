//! `lmc check`.

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::watch::Watch;
use std::io::Write;

/// Options of `lmc check`.
#[derive(clap::Args)]
pub struct CheckOptions {
    /// Programs; `-` is standard input.
    #[arg(required = true)]
    files: Vec<String>,
    /// The files are stages of a derivation, as `--dump-stages` and `lmc demo --format ks` print them.
    ///
    /// They may define derivatives of functions that they do not define, and ones that programs cannot ask for.
    #[arg(long)]
    stage: bool,
}

/// Reads and type-checks each file; all errors of all files are shown.
pub fn check(options: &CheckOptions, format: ErrorFormat, _: &mut dyn Write) -> Result<(), Failure> {
    let check = |file: &String| match options.stage {
        true => Input::check_stage(file, format),
        false => Input::read(file, format, &Watch::off()).map(|_| ()),
    };
    let outcomes: Vec<_> = options.files.iter().map(check).collect();
    outcomes.into_iter().collect()
}
