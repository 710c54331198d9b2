//! Models as native code, and calls of them.

use super::Settings;
use super::error::Error;
use super::evals::{Eval, Function};
use super::json;
use super::protocol::Timing;
use crate::derive::pipeline::Pipeline;
use crate::ks::front;
use crate::ks::render::{Format, render_all};
use crate::ks::source::Source;
use lm::interp::RuntimeError;
use lm::term::FunName;
use lm::types::Type;
use lm::value::Value;
use native::{Jit, Prepared, SourceInfo};
use serde_json::Value as Json;
use std::time::Instant;

/// The function of a model that turns the input into arguments.
const PROBLEM: &str = "problem";

/// A model that is ready to be called.
pub struct Model {
    eval: &'static Eval,
    source: Source,
    jit: Jit,
    has_problem: bool,
}

impl Model {
    /// Compiles the model of an eval. Errors: those of the program.
    pub fn compile(eval: &'static Eval, settings: &Settings) -> Result<Model, Error> {
        let source = Source::new(&format!("{}.ks", eval.module), eval.text);
        let checked = front::load(&source)
            .map_err(|errors| Error::NotCompiled(render_all(&source, &errors, Format::Short, false)))?;
        let has_problem = checked.places.contains_key(&FunName::base(PROBLEM));
        let called = eval.functions.iter().flat_map(|function| [Some(function.name), function.shown]);
        let entries: Vec<FunName> = called.flatten().chain(has_problem.then_some(PROBLEM)).map(FunName::base).collect();
        let mut pipeline = Pipeline::new(checked);
        for entry in &entries {
            pipeline.require(entry).map_err(|error| Error::NotCompiled(error.to_string()))?;
        }
        let info = SourceInfo::new(source.name(), source.text());
        let mut jit = Jit::new(pipeline.program(), &entries, &info, &settings.native())
            .map_err(|error| Error::NotCompiled(error.to_string()))?;
        jit.set_stack(crate::native_stack_size());
        if let Some(threads) = settings.threads() {
            jit.set_threads(threads).map_err(|error| Error::NoThreads(error.to_string()))?;
        }
        Ok(Model { eval, source, jit, has_problem })
    }

    /// Calls a function as often as the input asks for; gives the last output, and the time of each call.
    pub fn evaluate(&self, function: &str, input: &Json) -> Result<(Json, Vec<Timing>), Error> {
        let known = self.eval.functions;
        let found = known.iter().find(|known| known.name == function);
        let function = found.ok_or_else(|| self.unknown(function))?;
        let repetition = Repetition::of(input)?;
        let name = FunName::base(function.name);
        if !self.has_problem {
            let arguments = self.arguments(&name, input)?;
            return self.time_calls(function, self.jit.prepare(&name, &arguments), &repetition);
        }
        let start = Instant::now();
        let problem = FunName::base(PROBLEM);
        let mut given = self.jit.prepare(&problem, &self.arguments(&problem, input)?);
        given.call().map_err(|error| self.stopped(&error))?;
        let prepared = Timing::since("prepare", start);
        let (output, mut timings) = self.time_calls(function, self.jit.prepare_on(&name, &given), &repetition)?;
        timings.insert(0, prepared);
        Ok((output, timings))
    }

    fn time_calls(
        &self,
        function: &Function,
        mut call: Prepared,
        repetition: &Repetition,
    ) -> Result<(Json, Vec<Timing>), Error> {
        let mut timings: Vec<Timing> = Vec::new();
        let mut seconds = 0.0;
        while repetition.goes_on(timings.len(), seconds) {
            let start = Instant::now();
            let done = call.call();
            let timing = Timing::since("evaluate", start);
            done.map_err(|error| self.stopped(&error))?;
            seconds += timing.seconds();
            timings.push(timing);
        }
        let result = match function.shown {
            None => call.result(),
            Some(shown) => {
                let mut shown = self.jit.prepare_on(&FunName::base(shown), &call);
                shown.call().map_err(|error| self.stopped(&error))?;
                shown.result()
            }
        };
        Ok((json::output(&function.form, &result)?, timings))
    }

    /// Returns the arguments of a function: the input's fields of these names, or the input itself if it is no object.
    fn arguments(&self, name: &FunName, input: &Json) -> Result<Vec<Value>, Error> {
        let def = &self.jit.module().entry(name).expect("its functions are entries").def;
        let parameters = def.params.iter().map(|x| &**x.name()).zip(&def.fun.params);
        parameters.map(|(name, ty)| self.argument(name, ty, input)).collect()
    }

    fn argument(&self, name: &str, ty: &Type, input: &Json) -> Result<Value, Error> {
        if !input.is_object() {
            return json::value(ty, input, "input");
        }
        let sections = [""].iter().chain(self.eval.sections);
        let found = sections.filter_map(|path| Some((path, input.pointer(path)?.get(name)?))).next();
        let place = format!("input.{name}");
        let (path, json) = found.ok_or(Error::Input { place, expected: "there".into() })?;
        json::value(ty, json, &format!("input{}.{name}", path.replace('/', ".")))
    }

    fn unknown(&self, function: &str) -> Error {
        let known: Vec<&str> = self.eval.functions.iter().map(|function| function.name).collect();
        Error::UnknownFunction { module: self.eval.module.into(), function: function.into(), known: known.join(", ") }
    }

    fn stopped(&self, error: &RuntimeError) -> Error {
        let position = self.source.position(error.span.start);
        Error::Stopped(format!("{}:{}:{}: {error}", self.source.name(), position.line, position.column))
    }
}

/// The number of calls of a function.
struct Repetition {
    least_runs: usize,
    least_seconds: f64,
}

impl Repetition {
    /// Reads the number of calls from an input. The default is one call, also for an input that is no object.
    fn of(input: &Json) -> Result<Repetition, Error> {
        if !input.is_object() {
            return Ok(Repetition { least_runs: 1, least_seconds: 0.0 });
        }
        let wrong =
            |name: &str, expected: &str| Error::Input { place: format!("input.{name}"), expected: expected.into() };
        let least_runs = match input.get("min_runs") {
            None => 1,
            Some(n) => n.as_u64().ok_or_else(|| wrong("min_runs", "a number of runs"))?.max(1),
        };
        let least_seconds = match input.get("min_seconds") {
            None => 1.0,
            Some(s) => s.as_f64().ok_or_else(|| wrong("min_seconds", "a number of seconds"))?,
        };
        Ok(Repetition { least_runs: least_runs as usize, least_seconds })
    }

    fn goes_on(&self, runs: usize, seconds: f64) -> bool {
        runs < self.least_runs || seconds < self.least_seconds
    }
}
