//! `lmc check`.

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::watch::Watch;
use std::io::Write;

/// Options of `lmc check`.
#[derive(clap::Args)]
pub struct CheckOptions {
    /// The programs to check; `-` is standard input.
    #[arg(required = true)]
    files: Vec<String>,
    /// Take the files for one program.
    #[arg(long, conflicts_with = "stage")]
    together: bool,
    /// Read stages of a derivation, as `--dump-stages` and `lmc demo --format ks` print them.
    ///
    /// Stages may define derivatives of functions that are not in the file, and derivatives that programs cannot
    /// request.
    #[arg(long)]
    stage: bool,
}

/// Reads and type-checks each file, or all files as one program; shows all errors of all files.
pub fn check(options: &CheckOptions, format: ErrorFormat, _: &mut dyn Write) -> Result<(), Failure> {
    // Freeing a large program takes a fifth of the time, and the process ends soon.
    let read = |files: &[String]| Input::read(files, format, &Watch::off()).map(std::mem::forget);
    if options.together {
        return read(&options.files);
    }
    let check = |file: &String| match options.stage {
        true => Input::check_stage(file, format),
        false => read(std::slice::from_ref(file)),
    };
    let outcomes: Vec<_> = options.files.iter().map(check).collect();
    outcomes.into_iter().collect()
}
