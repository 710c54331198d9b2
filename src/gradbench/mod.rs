//! Serves the protocol of GradBench, the benchmark of tools for derivatives. Each message of an eval is a line of
//! JSON, and gets one line of JSON as answer.
//!
//! ```text
//! define    a module is an eval; its model, a program of `demos/gradbench/`, is compiled to native code, once
//! evaluate  the input becomes arguments, a function of the model is called again and again, and timed
//! ```
//!
//! An error in a message or in a program is answered, too: `success` is false, and `error` gives the reason.

mod error;
mod evals;
pub mod json;
mod model;
mod protocol;

pub use error::Error;
pub use evals::{EVALS, Eval, Form, Function};

use indexmap::IndexMap;
use model::Model;
use protocol::{Answer, Message, Request, Timing};
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// The options of the command line.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether loops may run on all processors; otherwise they run on one.
    pub multithreaded: bool,
}

impl Settings {
    /// Returns the options for compiling models.
    fn native(&self) -> native::Options {
        native::Options { opt_level: 3, ..native::Options::default() }
    }

    /// Returns the number of threads that calls may use; `None` for the caller's thread only.
    fn threads(&self) -> Option<usize> {
        const ALL: usize = 0;
        self.multithreaded.then_some(ALL)
    }
}

/// Answers all messages of the input.
///
/// Errors: reading or writing fails. Errors in a message are answered instead.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write, settings: &Settings) -> io::Result<()> {
    let mut tool = Tool { settings, models: IndexMap::new() };
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if !line.trim_ascii().is_empty() {
            serde_json::to_writer(&mut *output, &tool.answer(&line))?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
        line.clear();
    }
    Ok(())
}

struct Tool<'a> {
    settings: &'a Settings,
    /// The models that were defined, by the names of their modules.
    models: IndexMap<String, Model>,
}

impl Tool<'_> {
    fn answer(&mut self, line: &[u8]) -> Answer {
        let (id, request) = match Message::read(line) {
            Ok(Message { id, request }) => (id, Ok(request)),
            Err((id, error)) => (id, Err(error)),
        };
        // A bug shows itself on stderr, and is an answer like other failures.
        let responded = catch_unwind(AssertUnwindSafe(|| self.respond(request?)));
        let answer = responded.unwrap_or(Err(Error::Bug)).unwrap_or_else(|error| Answer::failed(&error));
        Answer { id, ..answer }
    }

    fn respond(&mut self, request: Request) -> Result<Answer, Error> {
        match request {
            Request::Start { config } => Ok(Answer::started(config)),
            Request::Define { module } => {
                let start = Instant::now();
                let model = Model::compile(evals::find(&module)?, self.settings)?;
                self.models.insert(module, model);
                Ok(Answer::done(None, vec![Timing::since("compile", start)]))
            }
            Request::Evaluate { module, function, input } => {
                let model = self.models.get(&module).ok_or(Error::NotDefined(module))?;
                let (output, timings) = model.evaluate(&function, &input)?;
                Ok(Answer::done(Some(output), timings))
            }
            Request::Other => Ok(Answer::default()),
        }
    }
}
