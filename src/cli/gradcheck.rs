//! `lmc gradcheck`.

use super::choices::ChoiceOptions;
use super::error_format::ErrorFormat;
use super::failure::{Failure, warn};
use super::input::Input;
use super::native::NativeOptions;
use super::watch::{Watch, WatchOptions, watched};
use crate::gradcheck::{self, Comparison, Fault, Outside, Report, Worst};
use crate::ks::diagnostic::Diagnostic;
use lm::interp::Regrouped;
use lm::term::{FunName, Program};
use lm::value::Value;
use native::Jit;
use std::io::Write;

/// Options of `lmc gradcheck`.
#[derive(clap::Args)]
pub struct GradcheckOptions {
    /// The files of the program; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The functions to check. Default: every function whose result can vary. In a file with a function `example`,
    /// only functions that take the value of `example`.
    #[arg(long = "fun", value_name = "NAME")]
    fun: Vec<String>,
    /// Use only the interpreter, no native code.
    #[arg(long)]
    interpret: bool,
    /// Fail where an operation of the value or of a derivative has a result that is not finite, and name the first one.
    #[arg(long)]
    check_finite: bool,
    /// The number of points for each function. Points are random, or the value of `example` and points near it.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    points: u32,
    /// The seed of random points.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Differentiate only with respect to these parameters, or components of parameters (`t.1`).
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',')]
    wrt: Vec<String>,
    #[command(flatten)]
    choices: ChoiceOptions,
    #[command(flatten)]
    native: NativeOptions,
    #[command(flatten)]
    watch: WatchOptions,
}

/// Prints a table of errors. Fails if derivatives disagree, or could be compared nowhere.
pub fn gradcheck(options: &GradcheckOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    watched(&options.watch, |watch| gradcheck_watched(options, format, watch, out))
}

fn gradcheck_watched(
    options: &GradcheckOptions,
    format: ErrorFormat,
    watch: &Watch,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut input = Input::read_for(&options.files, options.choices.choices(format)?, format, watch)?;
    let mut functions = input.chosen(&options.fun)?;
    if options.fun.is_empty() {
        functions.retain(|f| gradcheck::is_worth_checking(input.pipeline.program(), f));
    }
    let functions: Vec<FunName> =
        functions.into_iter().map(|f| input.with_respect_to(f, &options.wrt)).collect::<Result<_, _>>()?;
    if functions.is_empty() {
        return Err(Failure::Wrong("no function takes and gives Floats; there is nothing to check".into()));
    }
    let mut entries: Vec<FunName> = Vec::new();
    for f in &functions {
        let names = gradcheck::prepare(&mut input.pipeline, f).map_err(|error| input.underivable(error))?;
        entries.extend(names);
    }
    let program = input.pipeline.program();
    let native = options.native.options(watch);
    let compiled = || -> Result<Jit, Failure> {
        let jit = Jit::new(program, &entries, &input.info(), &native);
        let mut jit = jit.map_err(|error| input.not_compiled(error))?;
        jit.set_stack(crate::compared_stack_size());
        Ok(jit)
    };
    let jit = if options.interpret { None } else { Some(compiled()?) };
    let width = width(input.pipeline.program(), &functions);
    writeln!(out, "{:<width$}  points  fwd-rev  fwd-fd   rev-fd   native  worst point", "function")?;
    let mut reports = Vec::new();
    for f in &functions {
        let report = watch.timings.time("comparing", || {
            let check = if options.check_finite { gradcheck::check_finite } else { gradcheck::check };
            check(&input.pipeline, jit.as_ref(), f, options.points as usize, options.seed)
        });
        rows(f, width, &report, out)?;
        out.flush()?;
        warnings(&input, f, &report, format);
        reports.push((f, report));
    }
    outcome(&input, &reports)
}

/// Writes what a table has no column for.
fn warnings(input: &Input, f: &FunName, report: &Report, format: ErrorFormat) {
    if let Some(error) = &report.stopped {
        input.run_time_error(error).report(format);
    }
    if let Some((point, error)) = &report.not_finite {
        warn(&format!("{}, at {}", input.placed(error), shortened(point)), format);
    }
    if let Some((point, found)) = &report.regrouped {
        input.warn_at([depends_on_grouping(point, found)].into_iter());
    }
    if report.stops_gradients && report.points > 0 {
        warn(&format!("`{f}` uses `stop_gradient`, so it was not compared with differences"), format);
    }
    if report.points > 0 && !report.empty.is_empty() {
        let names: Vec<String> = report.empty.iter().map(|(name, _)| format!("`{name}`")).collect();
        let was = if names.len() == 1 { "was" } else { "were" };
        let names = names.join(", ");
        warn(&format!("{names} of `{f}` {was} empty at all points, so nothing was compared there"), format);
    }
    if 0 < report.interpreted && report.interpreted < report.points {
        let (seen, all) = (report.interpreted, report.points);
        let text = format!(
            "native code of `{f}` was compared with the interpreter, which is slow here, at {seen} of {all} points \
             only; at the others it ran alone (`--interpret` uses the interpreter everywhere)"
        );
        warn(&text, format);
    }
}

fn depends_on_grouping(point: &Value, found: &Regrouped) -> Diagnostic {
    let Regrouped { span, from_left, in_halves } = found;
    let [from_left, in_halves, point] = [from_left, in_halves, point].map(shortened);
    let message = format!(
        "the value of this `reduce` depends on the grouping: {from_left} from the left, {in_halves} in halves, at {point}"
    );
    let remedy = "give `reduce` an associative function and its unit, or use `fold`, which goes from the left";
    Diagnostic::warning("W408", message).at(*span).remedy(remedy)
}

/// Returns the failure that a command ends in: of functions that disagree; else of functions that were compared nowhere.
fn outcome(input: &Input, reports: &[(&FunName, Report)]) -> Result<(), Failure> {
    let disagreeing =
        reports.iter().flat_map(|(f, report)| report.faults().into_iter().map(move |fault| (f, report, fault)));
    let disagreeing: Vec<String> = disagreeing.map(|(f, report, fault)| wrong(f, report, fault)).collect();
    if !disagreeing.is_empty() {
        return Err(Failure::Wrong(disagreeing.join("; ")));
    }
    let nowhere: Vec<String> = reports
        .iter()
        .filter(|(_, report)| report.points == 0 || report.had_no_numbers())
        .map(|(f, report)| undecided(input, f, report))
        .collect();
    if nowhere.is_empty() { Ok(()) } else { Err(Failure::Undecided(nowhere.join("; "))) }
}

fn wrong(f: &FunName, report: &Report, fault: Fault) -> String {
    let [_, forward, reverse] = gradcheck::names(f);
    let by = match report.parameters_with(fault).as_slice() {
        [] => String::new(),
        names => format!(" with respect to `{}`", names.join("`, `")),
    };
    match fault {
        Fault::ForwardReverse => {
            format!("`{forward}` and `{reverse}` disagree{by} (limit {:e})", gradcheck::FORWARD_REVERSE)
        }
        Fault::Forward => format!("`{forward}` disagrees with differences{by} (limit {:e})", gradcheck::DIFFERENCES),
        Fault::Reverse => format!("`{reverse}` disagrees with differences{by} (limit {:e})", gradcheck::DIFFERENCES),
        Fault::Native => {
            format!(
                "native code of `{f}` or its derivatives disagrees with the interpreter (limit {:e})",
                report.native_limit
            )
        }
        Fault::NotFinite => format!("`{f}` or a derivative has a result that is not finite"),
        Fault::Stopped => format!("a derivative of `{f}` or its example stops with an error"),
    }
}

/// Returns why a function was compared at no point.
fn undecided(input: &Input, f: &FunName, report: &Report) -> String {
    if report.had_no_numbers() {
        let remedy = "a function `example` can give a point that has elements";
        return format!("`{f}` was compared at no point with numbers: what varies was empty at all of them; {remedy}");
    }
    let Outside { stopped, infinite, without_derivative } = &report.outside;
    let why = match (without_derivative, infinite, stopped) {
        (Some(point), ..) => format!("its value is finite at {}, but its derivative is not", shortened(point)),
        (_, Some(point), _) => format!("its value is not finite at {}", shortened(point)),
        (.., Some((point, error))) => {
            format!("at {} it stops: {}", shortened(point), input.placed(error))
        }
        (None, None, None) => "no point was tried".into(),
    };
    format!("`{f}` was compared at no point: {why}; a function `example` can give a point of its domain")
}

/// Returns the width of the column of names.
fn width(program: &Program, functions: &[FunName]) -> usize {
    let parameters = functions.iter().flat_map(|f| gradcheck::ways(program, f));
    let parameters = parameters.map(|(name, _)| INDENT + name.chars().count());
    let names = functions.iter().map(|f| f.to_string().chars().count());
    names.chain(parameters).max().unwrap_or(0).max("function".len())
}

/// The number of blanks before the name of a parameter.
const INDENT: usize = 2;

/// Writes the row of a function, and one for each of several parameters.
fn rows(f: &FunName, width: usize, report: &Report, out: &mut dyn Write) -> Result<(), Failure> {
    let native = match report.native.error {
        _ if report.native.point.is_none() => "-".into(),
        0.0 => "equal".into(),
        error => format!("{error:.1e}"),
    };
    let whole = columns(&report.whole);
    let (name, points, point) = (f.to_string(), report.points, worst_point(report));
    writeln!(out, "{name:<width$}  {points:>6}  {whole}  {native:<7} {point}")?;
    for parameter in report.parameters.iter().filter(|_| report.points > 0) {
        let columns = columns(&parameter.comparison);
        writeln!(out, "{:INDENT$}{:<rest$}  {:>6}  {columns}", "", parameter.name, "", rest = width - INDENT)?;
    }
    Ok(())
}

fn columns(comparison: &Comparison) -> String {
    let worst = |w: &Worst| if w.point.is_some() { format!("{:.1e}", w.error) } else { "-".into() };
    let Comparison { forward_reverse, differences, reverse_differences } = comparison;
    let [fr, fd, rd] = [forward_reverse, differences, reverse_differences].map(worst);
    format!("{fr:>7}  {fd:>7}  {rd:>7}")
}

/// Returns the point at which native code fails, or else that of the largest error of a derivative.
fn worst_point(report: &Report) -> String {
    let Comparison { forward_reverse, differences, reverse_differences } = &report.whole;
    let native = Some(&report.native).filter(|native| native.error > report.native_limit);
    let all = native.into_iter().chain([differences, reverse_differences, forward_reverse]);
    all.into_iter().find_map(|worst| worst.point.as_ref()).map_or_else(|| nowhere(report), shortened)
}

/// Returns the words of a row without a point.
fn nowhere(report: &Report) -> String {
    let words = match report.outside.without_derivative {
        Some(_) => "the derivative is not finite where the value is",
        None => "no point in the domain was found",
    };
    words.into()
}

/// Writes a value, cut off at the end of a line, since arrays are long.
fn shortened(point: &Value) -> String {
    const LONGEST: usize = 120;
    let text = point.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ..", &text[..end]),
        None => text,
    }
}
