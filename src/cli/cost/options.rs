//! The options of `lmc cost`.

use crate::cli::argument::PointOptions;
use crate::cli::choices::SeveralChoicesOptions;
use crate::cli::table_format::TableFormat;
use crate::cli::watch::WatchOptions;

/// Options of `lmc cost`.
#[derive(clap::Args)]
pub struct CostOptions {
    /// The files of the program; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// The functions to measure; needed with --input. Default: every function of the file. In a file with a function
    /// `example`, without --sizes, only functions that take the value of `example`.
    #[arg(long = "fun", value_name = "NAME")]
    pub(super) fun: Vec<String>,
    #[command(flatten)]
    pub(super) point: PointOptions,
    /// The seed of random arguments.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Differentiate only with respect to these parameters, or components of parameters (`t.1`).
    #[arg(long, value_name = "PARAMETER", value_delimiter = ',')]
    pub(super) wrt: Vec<String>,
    /// Fail if the work of value and gradient, or of the gradient alone, is more than 4 * max(p, 1) times that of the
    /// function with the Floats of its argument and result. p is the nesting of array operations.
    #[arg(long)]
    pub(super) check: bool,
    /// The format of the output.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub(super) format: TableFormat,
    #[command(flatten)]
    pub(super) choices: SeveralChoicesOptions,
    #[command(flatten)]
    pub(super) watch: WatchOptions,
}
