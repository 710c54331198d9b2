//! The failures of commands: their causes, messages and exit statuses.

use super::error_format::ErrorFormat;
use crate::ks::diagnostic::clipped;
use crate::ks::render::json_without_code;
use crate::ks::source::Position;
use std::process::ExitCode;

/// The failure of a command.
#[derive(Debug)]
pub enum Failure {
    /// An error in the program or its data, with its message. Status 1.
    Wrong(String),
    /// An error at a place of a file. Status 1.
    WrongAt(String, Position, String),
    /// An error whose message was printed already. Status 1.
    Shown,
    /// A check that found no fault, and could not look everywhere. Status 3.
    Undecided(String),
    /// An error in the command line. Status 2.
    Usage(String),
    /// The reader of standard output has closed it. This is no error.
    BrokenPipe,
}

impl Failure {
    /// Prints the failure on stderr, and returns the exit status.
    pub fn report(self, format: ErrorFormat) -> ExitCode {
        let (json, status) = (format == ErrorFormat::Json, self.status());
        match self.clipped() {
            Failure::Wrong(text) | Failure::Undecided(text) | Failure::Usage(text) if json => {
                eprint!("{}", json_without_code("error", text.trim_end(), None));
            }
            Failure::WrongAt(file, position, text) if json => {
                eprint!("{}", json_without_code("error", text.trim_end(), Some((&file, position))));
            }
            Failure::Wrong(text) | Failure::Undecided(text) | Failure::Usage(text) => {
                eprintln!("error: {}", text.trim_end())
            }
            Failure::WrongAt(file, Position { line, column }, text) => {
                eprintln!("{file}:{line}:{column}: {}", text.trim_end());
            }
            Failure::Shown | Failure::BrokenPipe => {}
        }
        status
    }

    /// Returns the message with its place; nothing if it was printed already.
    pub fn message(self) -> Option<String> {
        match self.clipped() {
            Failure::Wrong(text) | Failure::Undecided(text) | Failure::Usage(text) => Some(text),
            Failure::WrongAt(file, Position { line, column }, text) => Some(format!("{file}:{line}:{column}: {text}")),
            Failure::Shown | Failure::BrokenPipe => None,
        }
    }

    /// Returns the same without what is too long to read.
    fn clipped(self) -> Failure {
        match self {
            Failure::Wrong(text) => Failure::Wrong(clipped(&text)),
            Failure::Undecided(text) => Failure::Undecided(clipped(&text)),
            Failure::Usage(text) => Failure::Usage(clipped(&text)),
            Failure::WrongAt(file, position, text) => Failure::WrongAt(file, position, clipped(&text)),
            other @ (Failure::Shown | Failure::BrokenPipe) => other,
        }
    }

    fn status(&self) -> ExitCode {
        match self {
            Failure::Wrong(_) | Failure::WrongAt(..) | Failure::Shown => ExitCode::from(1),
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Undecided(_) => ExitCode::from(3),
            Failure::BrokenPipe => ExitCode::SUCCESS,
        }
    }
}

/// Prints a warning that has no code on stderr.
pub fn warn(text: &str, format: ErrorFormat) {
    match format {
        ErrorFormat::Json => eprint!("{}", json_without_code("warning", text, None)),
        ErrorFormat::Human | ErrorFormat::Short => eprintln!("warning: {text}"),
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
