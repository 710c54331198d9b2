//! `lmc bench`.

mod subject;

use super::ErrorFormat;
use super::failure::Failure;
use super::native::{NativeOptions, threads};
use super::watch::{Watch, WatchOptions, watched};
use crate::bench::measure::Effort;
use crate::bench::report::{self, Row, Setting};
use crate::bench::{Entry, plot};
use crate::derive::Derivation;
use native::{Jit, Peaks};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use subject::Subject;

/// Options of `lmc bench`.
#[derive(clap::Args)]
pub struct Options {
    /// The program; `-` is standard input.
    file: String,
    /// The function.
    #[arg(long = "fun", value_name = "NAME")]
    fun: String,
    /// The function's argument, as an expression of the program, a tuple for several parameters: `model 1000 25 10`. It
    /// may use n, which takes the values of --sizes. Without it, and without --sizes, the value of `example`, where the
    /// program has that function and it fits; otherwise random values.
    #[arg(long, value_name = "EXPRESSION")]
    input: Option<String>,
    /// Values of n in --input; without --input, how many elements random tensors have in each dimension: Floats in
    /// [0, 1), Integers from 0 to n - 1.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    sizes: Vec<u32>,
    /// Seed of random arguments, tangents and cotangents.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The derivatives that are compared with the function: fwd, rev, and with the value, jvp and vjp.
    #[arg(long, value_name = "ENTRY", value_delimiter = ',', value_enum, default_values_t = [Entry::Fwd, Entry::Rev, Entry::Vjp])]
    entries: Vec<Entry>,
    /// Derivatives with respect to these parameters, or components of them (`t.1`), only.
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',')]
    wrt: Vec<String>,
    /// Samples of each time, at least.
    #[arg(long, value_name = "COUNT", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Samples are taken for so many seconds for each size, at least.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    time: Duration,
    /// How many threads native code may use for long loops; 0 is one for each processor, 1,024 the most.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    threads: usize,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Draw time against size to an SVG file, which needs two sizes at least; `-` is standard output, instead of the
    /// table.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// The way to the derivatives.
    #[arg(long, value_enum, default_value_t)]
    derivation: Derivation,
    #[command(flatten)]
    native: NativeOptions,
    #[command(flatten)]
    watch: WatchOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
enum Format {
    /// Columns, for people.
    Table,
    /// One object on a line.
    Json,
}

fn seconds(given: &str) -> Result<Duration, String> {
    let seconds: f64 = given.parse().map_err(|_| String::from("not a number"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Prints times, ratios and rates.
pub fn bench(options: &Options, format: ErrorFormat, out: &mut dyn Write) -> Result<(), Failure> {
    watched(&options.watch, |watch| bench_watched(options, format, watch, out))
}

fn bench_watched(options: &Options, format: ErrorFormat, watch: &Watch, out: &mut dyn Write) -> Result<(), Failure> {
    let sizes = sizes(options)?;
    let subject = Subject::new(options, format, watch)?;
    let native = options.native.options(watch);
    let mut jit = subject.compiled(Jit::new, &native)?;
    if options.threads != 1 {
        let refused = |error| Failure::Wrong(format!("{} threads cannot be had: {error}", options.threads));
        jit.set_threads(options.threads).map_err(refused)?;
    }
    // What is counted does not depend on the level, and the code runs once.
    let counting = native::Options { opt_level: native.opt_level.min(1), ..native };
    let counting = subject.compiled(Jit::counting, &counting)?;
    let peaks = watch.timings.time("measuring peaks", || native::peaks(options.native.target_cpu.as_deref()));
    let peaks = peaks.map_err(|error| subject.input.not_compiled(error))?;
    let is_table = options.format == Format::Table && !prints_plot(options);
    if is_table {
        writeln!(out, "{}", report::heading())?;
        out.flush()?;
    }
    let effort = Effort { rounds: options.samples as usize, time: options.time };
    let mut rows = Vec::new();
    for size in sizes {
        let measured = watch.timings.time("measuring", || subject.measure(size, &jit, &counting, effort))?;
        if is_table {
            measured.iter().try_for_each(|row| writeln!(out, "{}", report::line(row, &peaks)))?;
            out.flush()?;
        }
        rows.extend(measured);
    }
    finish(options, &subject, &peaks, &rows, out)
}

/// What comes after all rows.
fn finish(
    options: &Options,
    subject: &Subject,
    peaks: &Peaks,
    rows: &[Row],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let function = subject.name().to_string();
    let (input, derivation) = (subject.description(), options.derivation.name());
    let setting = Setting { function: &function, input: &input, derivation, threads: options.threads };
    match options.format {
        _ if prints_plot(options) => {}
        Format::Table => writeln!(out, "{}", report::peaks(peaks))?,
        Format::Json => write!(out, "{}", report::json(&setting, peaks, rows))?,
    }
    let Some(path) = &options.plot else { return Ok(()) };
    let svg = plot::svg(&setting, &plot::lines(rows));
    match prints_plot(options) {
        true => out.write_all(svg.as_bytes())?,
        false => native::write_file(path, svg.as_bytes()).map_err(|error| subject.input.not_compiled(error))?,
    }
    Ok(())
}

fn prints_plot(options: &Options) -> bool {
    options.plot.as_deref() == Some(Path::new("-"))
}

/// The sizes, in order; one that is none where no sizes are given.
fn sizes(options: &Options) -> Result<Vec<Option<u32>>, Failure> {
    let mut sizes: Vec<Option<u32>> = options.sizes.iter().copied().map(Some).collect();
    sizes.sort();
    sizes.dedup();
    if options.plot.is_some() && sizes.len() < 2 {
        return Err(Failure::Usage("a plot needs two sizes at least: say `--sizes 100,1000,10000`".into()));
    }
    if let Some(path) = &options.plot
        && Path::new(&options.file).canonicalize().is_ok_and(|program| path.canonicalize().is_ok_and(|p| p == program))
    {
        return Err(Failure::Usage(format!("the program `{}` would be overwritten", path.display())));
    }
    if sizes.is_empty() {
        sizes.push(None);
    }
    Ok(sizes)
}
