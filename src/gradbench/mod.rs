//! A tool of GradBench, the benchmark of tools for derivatives: each message of an eval, a line of JSON, gets one
//! answer, a line of JSON.
//!
//! ```text
//! define    a module is an eval; its model, a program of `demos/gradbench/`, is compiled to native code, once
//! evaluate  the input becomes arguments, a function of the model is called again and again, and timed
//! ```
//!
//! What goes wrong, in a message or in a program, is an answer too: `success` is false, and `error` says why.

mod error;
mod evals;
mod json;
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

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether loops may run on all processors; else on one.
    pub multithreaded: bool,
}

impl Settings {
    /// How models are compiled.
    fn native(&self) -> native::Options {
        native::Options { opt_level: 3, ..native::Options::default() }
    }

    /// How many threads calls may use; none for the caller's alone.
    fn threads(&self) -> Option<usize> {
        const ALL: usize = 0;
        self.multithreaded.then_some(ALL)
    }
}

/// Answers all messages of the input.
///
/// Errors: those of reading and writing; what is wrong with a message is answered.
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
