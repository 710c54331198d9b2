//! The options of `lmc bench`.

use crate::benchmark::Entry;
use crate::cli::argument::PointOptions;
use crate::cli::choices::ChoiceOptions;
use crate::cli::native::{NativeOptions, threads};
use crate::cli::table_format::TableFormat;
use crate::cli::watch::WatchOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of `lmc bench`.
#[derive(clap::Args)]
pub struct BenchOptions {
    /// The files of the program; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// The function to measure.
    #[arg(long = "fun", value_name = "NAME")]
    pub(super) fun: String,
    #[command(flatten)]
    pub(super) point: PointOptions,
    /// The seed of random arguments, tangents and cotangents.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// The derivatives to compare with the function.
    #[arg(long, value_name = "ENTRY", value_delimiter = ',', value_enum,
        default_values_t = [Entry::Fwd, Entry::Rev, Entry::Vjp])]
    pub(super) entries: Vec<Entry>,
    /// Differentiate only with respect to these parameters, or components of parameters (`t.1`).
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',')]
    pub(super) wrt: Vec<String>,
    /// The least number of samples of each time.
    #[arg(long, value_name = "COUNT", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) samples: u32,
    /// The least time to take samples for each size.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub(super) time: Duration,
    /// The most threads that long loops may use, up to 1,024; 0 means one per processor.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    pub(super) threads: usize,
    /// Print the loops of each entry, too: how long they took, how long they take by the model by which loops get lanes,
    /// and why each runs as it does. Names are those of `lmc compile --emit loops`.
    #[arg(long)]
    pub(super) explain: bool,
    /// The format of the output.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub(super) format: TableFormat,
    /// Draw time against size to an SVG file; needs at least two sizes. `-` writes to standard output in place of the
    /// table.
    #[arg(long, value_name = "FILE")]
    pub(super) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(super) choices: ChoiceOptions,
    #[command(flatten)]
    pub(super) native: NativeOptions,
    #[command(flatten)]
    pub(super) watch: WatchOptions,
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
