//! `lmc demo --derivation delta`: a run on dual numbers at a point, and the sweep back over its trace.
//!
//! Source: the report of `lm::delta`, Fig. 3 (dual numbers), Fig. 4 (an example) and Fig. 5 (the sweep).

mod run;
mod text;

use super::argument::{Argument, lack_of_floats};
use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::stages::StageOptions;
use super::watch::Watch;
use crate::benchmark::parts;
use crate::derive::passes::inline_maps::takes_or_gives_map;
use crate::ks::front::Choices;
use lm::delta::TooManyVisits;
use lm::eval::Evaluator;
use lm::interp::{Interpreter, RuntimeError};
use lm::term::{Fun, FunName};
use run::Run;
use std::io::{Write, sink};
use text::{by_ids, by_paths, counts, duals, gradient, nodes};

/// The most visits without IDs.
const MOST_VISITS: u64 = 10_000_000;

/// What `--derivation delta` takes.
#[derive(clap::Args)]
pub struct DeltaOptions {
    /// The point of the trace of `--derivation delta`, an expression of the program such as `0.5`; a tuple for several
    /// parameters. Default: the value of the program's function `example`, if it fits.
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    at: Option<String>,
    /// Go back over the trace of `--derivation delta` without IDs, along every path: up to 10,000,000 visits.
    #[arg(long)]
    no_sharing: bool,
}

impl DeltaOptions {
    /// Returns whether one of them is given.
    pub fn is_given(&self) -> bool {
        self.at.is_some() || self.no_sharing
    }
}

/// A way to read and to show a program.
pub struct Reading<'a> {
    pub shown: &'a StageOptions,
    /// The heading of the only stage to show.
    pub stage: Option<&'a str>,
    pub choices: Choices,
    pub format: ErrorFormat,
    pub watch: &'a Watch,
}

/// The headings, in order.
const HEADINGS: [&str; 6] =
    ["Original definition", "Dual numbers", "Trace", "Backpropagation", "Value and gradient", "Counts"];

/// Prints the stages of a trace.
///
/// Errors: the function has no gradient, there is no point, or the run stops.
pub fn demo(
    input: &Input,
    name: &FunName,
    options: &DeltaOptions,
    reading: &Reading,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let is_shown = |heading: &str| reading.stage.is_none_or(|stage| stage.eq_ignore_ascii_case(heading));
    if !HEADINGS.iter().any(|heading| is_shown(heading)) {
        let known: Vec<String> = HEADINGS.iter().map(|heading| format!("`{heading}`")).collect();
        let stage = reading.stage.unwrap_or_default();
        return Err(Failure::Usage(format!("there is no stage `{stage}`; there are {}", known.join(", "))));
    }
    let fun = input.measurable(name)?;
    is_differentiable(input, &fun)?;
    let run = traced(input, &fun, options, reading)?;
    let texts = [duals(&run), nodes(&run), back(input, name, &run, options)?, gradient(&run), counts(&run)];
    if is_shown(HEADINGS[0]) {
        let def = &input.pipeline.program().defs[name];
        reading.shown.print_definition(HEADINGS[0], def, out)?;
    }
    for (heading, text) in HEADINGS[1..].iter().zip(&texts).filter(|(heading, _)| is_shown(heading)) {
        reading.shown.print_lines(heading, text, out)?;
    }
    Ok(())
}

fn is_differentiable(input: &Input, fun: &Fun) -> Result<(), Failure> {
    let name = &fun.name;
    let message = match lack_of_floats(fun) {
        _ if takes_or_gives_map(fun) => format!("`{name}` takes or gives a linear map: trace a function that calls it"),
        Some(lack) => format!("`{name}` {lack} no Float: it has no derivative"),
        None => return Ok(()),
    };
    Err(input.wrong_at(input.place(name).unwrap_or_default(), message))
}

/// Runs the function at its point.
fn traced(input: &Input, fun: &Fun, options: &DeltaOptions, reading: &Reading) -> Result<Run, Failure> {
    let given = ("--at", options.at.as_deref());
    let found = Argument::at_point(input, fun, given, reading.choices.clone(), reading.format, reading.watch)?;
    let Some((argument, mut input)) = found else {
        let (name, ty) = (&fun.name, fun.argument());
        let point = if fun.params.len() == 1 { "0.5" } else { "'(tuple 0.5 1.5)'" };
        return Err(Failure::Usage(format!(
            "a trace needs a point: say an argument of `{name}`, of type `{ty}`, by `--at EXPRESSION`, such as \
             `--at {point}`; or define `example`"
        )));
    };
    let needed = argument.function().into_iter().try_for_each(|name| input.pipeline.require(name));
    needed.and_then(|()| input.pipeline.require_traced(&fun.name)).map_err(|error| input.underivable(error))?;
    let program = input.pipeline.program_as_written();
    let run = || -> Result<Run, RuntimeError> {
        let point = argument.at(fun, None, 0, |name, args| Interpreter::new(&program).call(name, args))?;
        let args = parts(fun, &point);
        let traced = Evaluator::new(&program, sink()).trace(&fun.name, &args)?;
        Ok(Run { params: program.defs[&fun.name].params.clone(), args, point, traced })
    };
    reading.watch.timings.time("tracing", run).map_err(|error| argument.stopped(&input, &error))
}

/// Returns the sweep back, by IDs or along paths.
fn back(input: &Input, name: &FunName, run: &Run, options: &DeltaOptions) -> Result<String, Failure> {
    if !options.no_sharing {
        return Ok(by_ids(run));
    }
    let found = run.traced.by_paths(&run.cotangent(), MOST_VISITS);
    let found = found.map_err(|TooManyVisits { visits }| {
        let visits = visits.map_or("more than 2^128".into(), |visits| visits.to_string());
        let nodes = run.traced.trace.len();
        let message = format!(
            "without IDs, {nodes} operations of `{name}` take {visits} visits, and {MOST_VISITS} are the most; without \
             `--no-sharing`, each takes one"
        );
        input.wrong_at(input.place(name).unwrap_or_default(), message)
    })?;
    Ok(by_paths(run, &found))
}
