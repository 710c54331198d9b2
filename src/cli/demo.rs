//! `lmc demo`.

use super::choices::ShownChoiceOptions;
use super::delta::{self, DeltaOptions, Reading};
use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::stages::StageOptions;
use super::watch::{Watch, WatchOptions, watched};
use crate::demos::{DEMOS, Demo};
use crate::derive::passes::inline_maps::takes_or_gives_map;
use crate::derive::pipeline::{Pipeline, Stage};
use crate::ks::diagnostic::Diagnostic;
use crate::ks::source::Source;
use clap::ValueEnum;
use lm::term::FunName;
use std::io::Write;

/// Options of `lmc demo`.
#[derive(clap::Args)]
pub struct DemoOptions {
    /// The name of a demo, or the files of a program; `-` is standard input.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The function to derive. Default: the function that the demo is about, or every function of the file.
    #[arg(long = "fun", value_name = "NAME")]
    fun: Vec<String>,
    #[command(flatten)]
    shown: StageOptions,
    /// Show only the stages with this heading, such as "Transposed Jacobian".
    #[arg(long, value_name = "NAME")]
    stage: Option<String>,
    /// The rules of the derivation: those of lmc, or only those that the notes print. They put maps in place of their
    /// names, derive reverse mode by ⊙ᴿ, and write indexing and sums by H.
    #[arg(long, value_enum, default_value_t = Rules::Lmc, conflicts_with = "derivation")]
    rules: Rules,
    /// Differentiate only with respect to these parameters, or components of parameters (`t.1`).
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',')]
    wrt: Vec<String>,
    #[command(flatten)]
    choices: ShownChoiceOptions,
    #[command(flatten)]
    delta: DeltaOptions,
    #[command(flatten)]
    watch: WatchOptions,
}

/// The rules of a derivation.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Rules {
    /// Those of the derivation.
    Lmc,
    /// Those of the working notes, as printed.
    Notes,
}

/// Prints the stages of derivations, or the list of demos.
pub fn demo(options: &DemoOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    match options.names.as_slice() {
        [] => list(out),
        _ => watched(&options.watch, |watch| derive(options, format, watch, out)),
    }
}

fn derive(options: &DemoOptions, format: ErrorFormat, watch: &Watch, out: &mut dyn Write) -> Result<(), Failure> {
    let demo = match options.names.as_slice() {
        [name] => DEMOS.iter().find(|demo| demo.name == *name),
        _ => None,
    };
    let (mut input, functions) = match demo {
        Some(demo) => of_demo(demo, options, format, watch)?,
        None => of_files(options, format, watch)?,
    };
    if options.choices.is_delta() {
        let function = traceable(functions, options)?;
        let (shown, stage) = (&options.shown, options.stage.as_deref());
        let choices = options.choices.choices(format)?;
        let reading = Reading { shown, stage, choices, format, watch };
        return delta::demo(&input, &function, &options.delta, &reading, out);
    }
    if options.delta.is_given() {
        return Err(Failure::Usage("`--at` and `--no-sharing` are for `--derivation delta`".into()));
    }
    for function in functions {
        let function = input.with_respect_to(function, &options.wrt)?;
        let stages = match options.rules {
            Rules::Lmc => input.pipeline.stages(&function, options.shown.trace),
            Rules::Notes => input.pipeline.stages_by_notes(&function, options.shown.trace),
        };
        let stages = stages.map_err(|error| input.underivable(error))?;
        options.shown.print(&function, &chosen(&stages, options)?, &input.pipeline, out)?;
        let warnings: Vec<_> = stages.iter().filter_map(|stage| late_loop(&function, stage, &input.pipeline)).collect();
        input.warn_at(warnings.into_iter());
    }
    Ok(())
}

/// Returns the function to trace.
///
/// Errors: there are several, or an option is for derivations that make programs.
fn traceable(functions: Vec<FunName>, options: &DemoOptions) -> Result<FunName, Failure> {
    let foreign = if options.shown.trace { Some("--trace") } else { None };
    if let Some(option) = foreign.or((!options.wrt.is_empty()).then_some("--wrt")) {
        let message = "a trace has no rewrites, and its gradient has all inputs";
        return Err(Failure::Usage(format!("`{option}` does not go with `--derivation delta`: {message}")));
    }
    match <[FunName; 1]>::try_from(functions) {
        Ok([one]) => Ok(one),
        Err(several) => {
            let names: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            Err(Failure::Usage(format!("a trace is of one function: say which by `--fun`, of {}", names.join(", "))))
        }
    }
}

/// Returns a warning of the loops that depend on the direction, at the stage that has the cost, and at the first one.
fn late_loop(function: &FunName, stage: &Stage, pipeline: &Pipeline) -> Option<Diagnostic> {
    let late = stage.cost.as_ref()?.late_loops();
    let first = late.first()?;
    let each: Vec<String> = late.iter().map(ToString::to_string).collect();
    let message = format!(
        "`dual` leaves a loop that depends on the direction in the derivative of `{}`: {}",
        function.as_written(),
        each.join("; ")
    );
    let reverse = "`--derivation jacobian`, or `tupled`: reverse mode has no loop over directions";
    let remedy = match late.iter().filter_map(|l| l.call.as_ref()).find(|f| pipeline.can_inline(f)) {
        Some(f) => format!("write `($inline ({f} ..))` for the call, which laws then see through; or take {reverse}"),
        None => format!("take {reverse}"),
    };
    Some(Diagnostic::warning("W407", message).at(first.span).remedy(remedy))
}

/// Returns the stages with the heading that was asked for, or all stages.
fn chosen<'a>(stages: &'a [Stage], options: &DemoOptions) -> Result<Vec<&'a Stage>, Failure> {
    let Some(name) = &options.stage else { return Ok(stages.iter().collect()) };
    let chosen: Vec<&Stage> = stages.iter().filter(|stage| stage.heading.eq_ignore_ascii_case(name)).collect();
    if chosen.is_empty() {
        let known: Vec<String> = stages.iter().map(|stage| format!("`{}`", stage.heading)).collect();
        return Err(Failure::Usage(format!("there is no stage `{name}`; there are {}", known.join(", "))));
    }
    Ok(chosen)
}

fn list(out: &mut dyn Write) -> Result<(), Failure> {
    for demo in DEMOS {
        writeln!(out, "{:<13}  {}", demo.name, demo.shows)?;
    }
    Ok(())
}

fn of_demo(
    demo: &Demo,
    options: &DemoOptions,
    format: ErrorFormat,
    watch: &Watch,
) -> Result<(Input, Vec<FunName>), Failure> {
    let input = Input::check(
        Source::new(&format!("demos/{}.ks", demo.name), demo.text),
        options.choices.choices(format)?,
        format,
        watch,
    )?;
    let own = [demo.fun.to_string()];
    let functions = input.chosen(if options.fun.is_empty() { &own } else { &options.fun })?;
    Ok((input, functions))
}

fn of_files(options: &DemoOptions, format: ErrorFormat, watch: &Watch) -> Result<(Input, Vec<FunName>), Failure> {
    let is_name = |name: &&String| !name.contains(['.', '/', '-']) && !std::path::Path::new(name).exists();
    if let Some(name) = options.names.iter().find(is_name) {
        return Err(Failure::Usage(format!("there is no demo or file `{name}`; `lmc demo` lists the demos")));
    }
    let input = Input::read_for(&options.names, options.choices.choices(format)?, format, watch)?;
    let mut functions = input.chosen(&options.fun)?;
    let program = input.pipeline.program();
    let is_between_values = |f: &FunName| !takes_or_gives_map(&program.defs[f].fun);
    // Functions of linear maps have no derivatives. They are put in place of their calls.
    if options.fun.is_empty() && functions.iter().any(is_between_values) {
        functions.retain(is_between_values);
    }
    Ok((input, functions))
}
