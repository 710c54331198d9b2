//! `lmc simplify`.

use super::choices::ChoiceOptions;
use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::stages::StageOptions;
use super::watch::{Watch, WatchOptions, watched};
use crate::derive::recipes::NormalForm;
use std::io::Write;

/// Options of `lmc simplify`.
#[derive(clap::Args)]
pub struct SimplifyOptions {
    /// The files of the program; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The function to simplify; may be repeated. Default: every function of the file.
    #[arg(long = "fun", value_name = "NAME")]
    fun: Vec<String>,
    /// Put the Jacobian of a function in place of its name, `[D f]`.
    #[arg(long)]
    inline: bool,
    /// Write maps of tuples as matrices: rows by lmVCat, in them columns by lmHCat, in them 0, 1 or a scale. Maps of
    /// numbers and tuples that are equal then look equal, but for their coefficients.
    #[arg(long)]
    matrix: bool,
    #[command(flatten)]
    shown: StageOptions,
    #[command(flatten)]
    choices: ChoiceOptions,
    #[command(flatten)]
    watch: WatchOptions,
}

/// Prints functions, and their normal form by the laws of linear maps.
pub fn simplify(options: &SimplifyOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    watched(&options.watch, |watch| simplify_watched(options, format, watch, out))
}

fn simplify_watched(
    options: &SimplifyOptions,
    format: ErrorFormat,
    watch: &Watch,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut input = Input::read_for(&options.files, options.choices.choices_to_show(format)?, format, watch)?;
    let form = NormalForm { has_jacobians: options.inline, is_matrix: options.matrix };
    for function in input.chosen(&options.fun)? {
        let stages = input.pipeline.normal_form(&function, form, options.shown.trace);
        let stages = stages.map_err(|error| input.underivable(error))?;
        options.shown.print(&function, &stages.iter().collect::<Vec<_>>(), &input.pipeline, out)?;
    }
    Ok(())
}
