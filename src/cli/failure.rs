//! Why a command did not succeed, how it is shown, and what it exits with.

use super::error_format::ErrorFormat;
use crate::ks::render::json_without_code;
use crate::ks::source::Position;
use std::process::ExitCode;

/// A command that did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The program or its data is wrong; the text says how. Status 1.
    Wrong(String),
    /// The same, at a place of a file.
    WrongAt(String, Position, String),
    /// The same, already shown.
    Shown,
    /// The command line is wrong. Status 2.
    Usage(String),
    /// Nobody reads our output any more: no error.
    BrokenPipe,
}

impl Failure {
    /// Shows the failure on stderr, and gives the exit status.
    pub fn report(self, format: ErrorFormat) -> ExitCode {
        let (json, status) = (format == ErrorFormat::Json, self.status());
        match self {
            Failure::Wrong(text) | Failure::Usage(text) if json => {
                eprint!("{}", json_without_code("error", text.trim_end(), None));
            }
            Failure::WrongAt(file, position, text) if json => {
                eprint!("{}", json_without_code("error", text.trim_end(), Some((&file, position))));
            }
            Failure::Wrong(text) | Failure::Usage(text) => eprintln!("error: {}", text.trim_end()),
            Failure::WrongAt(file, Position { line, column }, text) => {
                eprintln!("{file}:{line}:{column}: {}", text.trim_end());
            }
            Failure::Shown | Failure::BrokenPipe => {}
        }
        status
    }

    fn status(&self) -> ExitCode {
        match self {
            Failure::Wrong(_) | Failure::WrongAt(..) | Failure::Shown => ExitCode::from(1),
            Failure::Usage(_) => ExitCode::from(2),
            Failure::BrokenPipe => ExitCode::SUCCESS,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Wrong(format!("cannot write the output: {error}")),
        }
    }
}
