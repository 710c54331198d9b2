//! Why a command did not succeed, and what it exits with.

use std::process::ExitCode;

/// A command that did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The program or its data is wrong; the text says how. Status 1.
    Wrong(String),
    /// The same, already shown.
    Shown,
    /// The command line is wrong. Status 2.
    Usage(String),
    /// Nobody reads our output any more: no error.
    BrokenPipe,
}

impl Failure {
    /// Shows the failure on stderr, and gives the exit status.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Wrong(text) => {
                eprintln!("{}", text.trim_end());
                ExitCode::from(1)
            }
            Failure::Shown => ExitCode::from(1),
            Failure::Usage(text) => {
                eprintln!("error: {text}");
                ExitCode::from(2)
            }
            Failure::BrokenPipe => ExitCode::SUCCESS,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
            _ => Failure::Wrong(format!("error: cannot write the output: {error}")),
        }
    }
}
