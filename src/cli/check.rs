//! `lmc check`.

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::watch::Watch;
use crate::ks::front::Choices;
use crate::ks::source::Position;
use std::io::Write;

/// What to do with sizes that are not known to be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Sizes {
    /// List what is proved, and what is checked when the program runs.
    Report,
    /// Refuse what is not proved (E242).
    Strict,
}

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
    /// What to do with sizes in types that are not known to be right.
    #[arg(long, value_enum, num_args = 0..=1, default_missing_value = "report", require_equals = true,
        conflicts_with = "stage")]
    sizes: Option<Sizes>,
}

/// Reads and type-checks each file, or all files as one program; shows all errors of all files.
pub fn check(options: &CheckOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    let mut read = |files: &[String]| {
        let choices = Choices { strict_sizes: options.sizes == Some(Sizes::Strict), ..Choices::default() };
        let input = Input::read_for(files, choices, format, &Watch::off())?;
        if options.sizes == Some(Sizes::Report) {
            report(&input, out)?;
        }
        // Freeing a large program takes a fifth of the time, and the process ends soon.
        std::mem::forget(input);
        Ok(())
    };
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

/// Lists what types with sizes ask for.
fn report(input: &Input, out: &mut dyn Write) -> Result<(), Failure> {
    let proved = input.size_checks.iter().filter(|check| check.is_proved).count();
    writeln!(out, "proved {proved}, at run time {}", input.size_checks.len() - proved)?;
    for check in &input.size_checks {
        let (file, Position { line, column }) = input.source.place(check.span.start);
        let answer = if check.is_proved { "proved" } else { "at run time" };
        writeln!(out, "{file}:{line}:{column}: {answer}: {}", check.what)?;
    }
    Ok(())
}
