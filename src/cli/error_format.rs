//! `--error-format`, an option of every command.

use crate::ks::render::Format;

/// The format of error messages.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum ErrorFormat {
    /// Several lines, with the source line.
    Human,
    /// `file:line:column: message`.
    Short,
    /// One JSON object per line: severity, code, message, file, line, column, notes.
    Json,
}

impl From<ErrorFormat> for Format {
    fn from(format: ErrorFormat) -> Format {
        match format {
            ErrorFormat::Human => Format::Human,
            ErrorFormat::Short => Format::Short,
            ErrorFormat::Json => Format::Json,
        }
    }
}
