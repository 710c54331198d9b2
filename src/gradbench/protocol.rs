//! The messages of GradBench, and the answers to them.
//!
//! ```text
//! {id, kind: "start", config?}                         {id, tool, config}
//! {id, kind: "define", module}                         {id, success, timings?, error?}
//! {id, kind: "evaluate", module, function, input}      {id, success, output?, timings?, error?}
//! {id, kind: any other}                                {id}
//! ```

use super::error::Error;
use serde::Serialize;
use serde_json::Value as Json;
use std::time::Instant;

/// A message.
pub struct Message {
    /// The number that the answer repeats.
    pub id: Json,
    /// The request.
    pub request: Request,
}

/// The request of a message.
pub enum Request {
    /// Begin the session.
    Start {
        /// The settings of the eval.
        config: Option<Json>,
    },
    /// Compile a module.
    Define {
        /// Its name.
        module: String,
    },
    /// Call a function.
    Evaluate {
        /// Its module.
        module: String,
        /// Its name.
        function: String,
        /// Its arguments.
        input: Json,
    },
    /// Answer, and do nothing else.
    Other,
}

impl Message {
    /// Reads a line. Errors: the mistake, with the id of the message if it has one.
    pub fn read(line: &[u8]) -> Result<Message, (Json, Error)> {
        let mut message: Json =
            serde_json::from_slice(line).map_err(|error| (Json::Null, Error::NoJson(error.to_string())))?;
        let id = message.get("id").cloned().unwrap_or(Json::Null);
        match request(&mut message) {
            Ok(request) => Ok(Message { id, request }),
            Err(error) => Err((id, error)),
        }
    }
}

fn request(message: &mut Json) -> Result<Request, Error> {
    let text = |message: &Json, field: &'static str| {
        let text = message.get(field).and_then(Json::as_str);
        text.map(str::to_string).ok_or(Error::Field { field, expected: "a string" })
    };
    Ok(match &*text(message, "kind")? {
        "start" => Request::Start { config: message.get("config").cloned() },
        "define" => Request::Define { module: text(message, "module")? },
        "evaluate" => {
            let (module, function) = (text(message, "module")?, text(message, "function")?);
            let input = message.get_mut("input").map(Json::take);
            let input = input.ok_or(Error::Field { field: "input", expected: "there" })?;
            Request::Evaluate { module, function, input }
        }
        _ => Request::Other,
    })
}

/// The duration of a step.
#[derive(Serialize)]
pub struct Timing {
    name: &'static str,
    nanoseconds: u64,
}

impl Timing {
    /// Returns the time from then to now.
    pub fn since(name: &'static str, start: Instant) -> Timing {
        Timing { name, nanoseconds: start.elapsed().as_nanos() as u64 }
    }

    /// In seconds.
    pub fn seconds(&self) -> f64 {
        self.nanoseconds as f64 * 1e-9
    }
}

/// An answer. Empty fields are left out of the JSON.
#[derive(Default, Serialize)]
pub struct Answer {
    /// The number of the message.
    pub id: Json,
    /// Our name, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'static str>,
    /// The settings of the eval, repeated from its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<Json>,
    /// Whether the request succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// The result of the function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// The times of calls; millions of them if a short function is called for a second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timings: Vec<Timing>,
    /// The reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Answer {
    /// Answers the first message.
    pub fn started(config: Option<Json>) -> Answer {
        Answer { tool: Some("lmc"), config, ..Answer::default() }
    }

    /// Answers that a request succeeded.
    pub fn done(output: Option<Json>, timings: Vec<Timing>) -> Answer {
        Answer { success: Some(true), output, timings, ..Answer::default() }
    }

    /// Answers that a request failed.
    pub fn failed(error: &Error) -> Answer {
        Answer { success: Some(false), error: Some(error.to_string()), ..Answer::default() }
    }
}
