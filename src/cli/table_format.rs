//! The format of what commands measure.

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum TableFormat {
    /// Columns of text.
    Table,
    /// One JSON object per line.
    Json,
}
