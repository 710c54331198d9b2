//! `lmc gradcheck`.

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::input::Input;
use super::native::NativeOptions;
use super::watch::{Watch, WatchOptions, watched};
use crate::derive::Derivation;
use crate::gradcheck::{self, Report, Worst};
use lm::term::FunName;
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
    /// The number of points for each function. Points are random, or the value of `example` and points near it.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    points: u32,
    /// The seed of random points.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Differentiate only with respect to these parameters, or components of parameters (`t.1`).
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',')]
    wrt: Vec<String>,
    /// The derivation of the derivatives.
    #[arg(long, value_enum, default_value_t)]
    derivation: Derivation,
    #[command(flatten)]
    native: NativeOptions,
    #[command(flatten)]
    watch: WatchOptions,
}

/// Prints a table of errors; fails if derivatives disagree.
pub fn gradcheck(options: &GradcheckOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    watched(&options.watch, |watch| gradcheck_watched(options, format, watch, out))
}

fn gradcheck_watched(
    options: &GradcheckOptions,
    format: ErrorFormat,
    watch: &Watch,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut input = Input::read_for(&options.files, options.derivation, format, watch)?;
    let mut functions = input.chosen(&options.fun)?;
    if options.fun.is_empty() {
        functions.retain(|f| gradcheck::is_worth_checking(input.pipeline.program(), f));
    }
    let functions: Vec<FunName> =
        functions.into_iter().map(|f| input.with_respect_to(f, &options.wrt)).collect::<Result<_, _>>()?;
    if functions.is_empty() {
        return Err(Failure::Wrong("no function takes and gives Floats; there is nothing to check".into()));
    }
    for f in &functions {
        gradcheck::prepare(&mut input.pipeline, f).map_err(|error| input.underivable(error))?;
    }
    let entries: Vec<FunName> = functions.iter().flat_map(gradcheck::names).collect();
    let program = input.pipeline.program();
    let native = options.native.options(watch);
    let compiled = || -> Result<Jit, Failure> {
        let jit = Jit::new(program, &entries, &input.info(), &native);
        let mut jit = jit.map_err(|error| input.not_compiled(error))?;
        jit.set_stack(crate::native_stack_size());
        Ok(jit)
    };
    let jit = if options.interpret { None } else { Some(compiled()?) };
    let width = functions.iter().map(|f| f.to_string().chars().count()).max().unwrap_or(0).max("function".len());
    writeln!(out, "{:<width$}  points  fwd-rev  fwd-fd   native  worst point", "function")?;
    let (mut all_agree, mut is_tried) = (true, false);
    for f in &functions {
        let report = watch.timings.time("comparing", || {
            gradcheck::check(&input.pipeline, jit.as_ref(), f, options.points as usize, options.seed)
        });
        row(&f.to_string(), width, &report, out)?;
        if let Some(error) = &report.stopped {
            out.flush()?;
            input.run_time_error(error).report(format);
        }
        all_agree &= report.agrees();
        is_tried |= report.points > 0 || report.stopped.is_some();
    }
    if all_agree {
        return Ok(());
    }
    if !is_tried {
        return Err(Failure::Wrong(
            "nothing was compared: the functions have no value at any point that was tried".into(),
        ));
    }
    let (fr, fd) = (gradcheck::FORWARD_REVERSE, gradcheck::DIFFERENCES);
    let native_limit = gradcheck::native_limit(jit.as_ref());
    Err(Failure::Wrong(format!(
        "the derivatives disagree (limits: {fr:e} between forward and reverse, {fd:e} from differences, \
         {native_limit:e} between interpreter and native code)"
    )))
}

fn row(name: &str, width: usize, report: &Report, out: &mut dyn Write) -> Result<(), Failure> {
    let worst = |w: &Worst| if w.point.is_some() { format!("{:.1e}", w.error) } else { "-".into() };
    let native = match report.native.error {
        _ if report.native.point.is_none() => "-".into(),
        0.0 => "equal".into(),
        error => format!("{error:.1e}"),
    };
    let point = report.native.point.as_ref().filter(|_| report.native.error > report.native_limit);
    let point = point.or(report.differences.point.as_ref());
    let point = point.map_or(String::from("no point in the domain was found"), shortened);
    let (fr, fd) = (worst(&report.forward_reverse), worst(&report.differences));
    writeln!(out, "{name:<width$}  {:>6}  {fr:>7}  {fd:>7}  {native:<7} {point}", report.points)?;
    Ok(())
}

/// Writes a value, cut off at the end of a line, since arrays are long.
fn shortened(point: &lm::value::Value) -> String {
    const LONGEST: usize = 120;
    let text = point.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ..", &text[..end]),
        None => text,
    }
}
