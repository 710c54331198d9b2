//! The options of `lmc bench`.

use crate::benchmark::Entry;
use crate::cli::native::{NativeOptions, threads};
use crate::cli::watch::WatchOptions;
use crate::derive::Derivation;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of `lmc bench`.
#[derive(clap::Args)]
pub struct BenchOptions {
    /// The program; `-` is standard input.
    pub(super) file: String,
    /// The function.
    #[arg(long = "fun", value_name = "NAME")]
    pub(super) fun: String,
    /// The function's argument, as an expression of the program, a tuple for several parameters: `model 1000 25 10`. It
    /// may use n, which takes the values of --sizes. Without it, and without --sizes, the value of `example`, where the
    /// program has that function and it fits; otherwise random values.
    #[arg(long, value_name = "EXPRESSION")]
    pub(super) input: Option<String>,
    /// Values of n in --input; without --input, how many elements random tensors have in each dimension: Floats in
    /// [0, 1), Integers from 0 to n - 1.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) sizes: Vec<u32>,
    /// Seed of random arguments, tangents and cotangents.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// The derivatives that are compared with the function: fwd, rev, and with the value, jvp and vjp.
    #[arg(long, value_name = "ENTRY", value_delimiter = ',', value_enum, default_values_t = [Entry::Fwd, Entry::Rev, Entry::Vjp])]
    pub(super) entries: Vec<Entry>,
    /// Derivatives with respect to these parameters, or components of them (`t.1`), only.
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',')]
    pub(super) wrt: Vec<String>,
    /// Samples of each time, at least.
    #[arg(long, value_name = "COUNT", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) samples: u32,
    /// Samples are taken for so many seconds for each size, at least.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub(super) time: Duration,
    /// How many threads native code may use for long loops; 0 is one for each processor, 1,024 the most.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    pub(super) threads: usize,
    /// What is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(super) format: Format,
    /// Draw time against size to an SVG file, which needs two sizes at least; `-` is standard output, instead of the
    /// table.
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    /// The way to the derivatives.
    #[arg(long, value_enum, default_value_t)]
    pub(super) derivation: Derivation,
    #[command(flatten)]
    pub(super) native: NativeOptions,
    #[command(flatten)]
    pub(super) watch: WatchOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Format {
    /// Columns, for people.
    Table,
    /// One object on a line.
    Json,
}

fn seconds(given: &str) -> Result<Duration, String> {
    let seconds: f64 = given.parse().map_err(|_| String::from("not a number"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

impl BenchOptions {
    /// Returns whether the plot goes to standard output, where the table would go otherwise.
    pub(super) fn prints_plot(&self) -> bool {
        self.plot.as_deref() == Some(Path::new("-"))
    }
}
