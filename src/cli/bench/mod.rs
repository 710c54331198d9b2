//! `lmc bench`.

mod options;
mod subject;

pub use options::BenchOptions;

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::table_format::TableFormat;
use super::watch::{Watch, watched};
use crate::benchmark::plot;
use crate::benchmark::report::{self, Row, Setting};
use crate::benchmark::samples::Effort;
use native::{Jit, Peaks};
use std::io::Write;
use std::path::Path;
use subject::Subject;

/// Prints times, ratios and rates.
pub fn bench(options: &BenchOptions, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    watched(&options.watch, |watch| bench_watched(options, format, watch, out))
}

fn bench_watched(
    options: &BenchOptions,
    format: ErrorFormat,
    watch: &Watch,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let sizes = sizes(options)?;
    let subject = Subject::new(options, format, watch)?;
    let native = options.native.options(watch);
    let mut jit = subject.compiled(Jit::new, &native)?;
    if options.threads != 1 {
        let refused = |error| Failure::Wrong(format!("{} threads cannot be had: {error}", options.threads));
        jit.set_threads(options.threads).map_err(refused)?;
    }
    // Counts do not depend on the optimisation level, and this code runs once.
    let once = native::Options { opt_level: native.opt_level.min(1), ..native.clone() };
    let counting = subject.compiled(Jit::counting, &once)?;
    let iterating = if options.explain { Some(subject.compiled(Jit::iterating, &once)?) } else { None };
    let peaks = watch.timings.time("measuring peaks", || native::peaks(options.native.target_cpu.as_deref()));
    let peaks = peaks.map_err(|error| subject.input.not_compiled(error))?;
    let is_table = options.format == TableFormat::Table && !options.prints_plot();
    if is_table {
        writeln!(out, "{}", report::heading())?;
        out.flush()?;
    }
    let effort = Effort { rounds: options.samples as usize, time: options.time };
    let mut rows = Vec::new();
    for size in sizes {
        let mut measured = watch.timings.time("measuring", || subject.measure(size, &jit, &counting, effort))?;
        if let Some(iterating) = &iterating {
            subject.explain(size, &jit, iterating, &native, &peaks, &mut measured)?;
        }
        if is_table {
            measured.iter().try_for_each(|row| writeln!(out, "{}", report::line(row, &peaks)))?;
            out.flush()?;
        }
        rows.extend(measured);
    }
    if is_table {
        rows.iter().filter_map(report::loops).try_for_each(|loops| writeln!(out, "{loops}"))?;
    }
    finish(options, &subject, &peaks, &rows, out)
}

/// Writes the part after all rows.
fn finish(
    options: &BenchOptions,
    subject: &Subject,
    peaks: &Peaks,
    rows: &[Row],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let function = subject.name().to_string();
    let (input, derivation) = (subject.description(), options.choices.derivation());
    let setting = Setting { function: &function, input: &input, derivation, threads: options.threads };
    match options.format {
        _ if options.prints_plot() => {}
        TableFormat::Table => writeln!(out, "{}", report::peaks(peaks))?,
        TableFormat::Json => write!(out, "{}", report::json(&setting, peaks, rows))?,
    }
    let Some(path) = &options.plot else { return Ok(()) };
    let svg = plot::svg(&setting, &plot::lines(rows));
    match options.prints_plot() {
        true => out.write_all(svg.as_bytes())?,
        false => native::write_file(path, svg.as_bytes()).map_err(|error| subject.input.not_compiled(error))?,
    }
    Ok(())
}

/// Returns the sizes in order, or a single `None` if no sizes are given.
fn sizes(options: &BenchOptions) -> Result<Vec<Option<u32>>, Failure> {
    let sizes = options.point.in_order();
    if options.plot.is_some() && sizes.len() < 2 {
        return Err(Failure::Usage("a plot needs two sizes at least: say `--sizes 100,1000,10000`".into()));
    }
    let is_same = |file: &String, path: &Path| {
        Path::new(file).canonicalize().is_ok_and(|file| path.canonicalize().is_ok_and(|path| path == file))
    };
    if let Some(path) = &options.plot
        && options.files.iter().any(|file| is_same(file, path))
    {
        return Err(Failure::Usage(format!("the program `{}` would be overwritten", path.display())));
    }
    Ok(sizes)
}
