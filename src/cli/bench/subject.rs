//! The subject of a measurement: a function, its derivatives, and the source of its arguments.

use super::options::BenchOptions;
use crate::benchmark::argument::{self, SIZE, Written};
use crate::benchmark::report::Row;
use crate::benchmark::samples::{Effort, in_turns};
use crate::benchmark::{Entry, Point, parts};
use crate::cli::error_format::ErrorFormat;
use crate::cli::failure::Failure;
use crate::cli::input::{Input, shown};
use crate::cli::watch::Watch;
use crate::gradcheck::{Random, example};
use crate::ks::check::Checked;
use crate::ks::diagnostic::Diagnostic;
use crate::ks::front;
use crate::ks::source::Source;
use lm::interp::RuntimeError;
use lm::random::SplitMix;
use lm::scope::free_variables;
use lm::term::{Fun, FunName, Program};
use lm::value::Value;
use native::{Jit, Prepared, SourceInfo};
use std::sync::Arc;

/// The function to measure, with its derivatives.
pub(super) struct Subject {
    pub(super) input: Input,
    fun: Arc<Fun>,
    /// The function with respect to the chosen parameters.
    varying: FunName,
    argument: Argument,
    /// The entries to measure, in order; the function first.
    entries: Vec<Entry>,
    seed: u64,
}

/// The source of arguments.
enum Argument {
    Written(Box<Written>),
    Generated,
}

type Compile = fn(&Program, &[FunName], &SourceInfo, &native::Options) -> Result<Jit, native::Error>;

impl Subject {
    /// Reads the program, and makes the derivatives.
    pub(super) fn new(options: &BenchOptions, format: ErrorFormat, watch: &Watch) -> Result<Subject, Failure> {
        let mut input = Input::read_for(&options.files, options.choices.choices(format)?, format, watch)?;
        let name = input.function(&options.fun)?;
        let Some(def) = input.pipeline.program().defs.get(&name) else {
            return Err(Failure::Wrong(format!(
                "`{name}` is external: measure a function of the program that calls it"
            )));
        };
        let fun = def.fun.clone();
        let mut entries = options.entries.clone();
        entries.push(Entry::Primal);
        entries.sort();
        entries.dedup();
        if entries.len() > 1 {
            has_derivatives(&input, &fun)?;
        }
        let varying = input.with_respect_to(name, &options.wrt)?;
        let argument = match given_argument(options, &input, &fun) {
            None => {
                can_be_generated(options, &fun)?;
                Argument::Generated
            }
            Some(text) => {
                let (written, checked) = check_written(&input, &fun, &text, options, format, watch)?;
                input = input.extended(written.program.clone(), checked, watch);
                Argument::Written(Box::new(written))
            }
        };
        let mut subject = Subject { input, fun, varying, argument, entries, seed: options.seed };
        for name in subject.functions() {
            subject.input.require(&name)?;
        }
        Ok(subject)
    }

    /// Returns the function's name.
    pub(super) fn name(&self) -> &FunName {
        &self.fun.name
    }

    /// Describes the arguments in a few words.
    pub(super) fn description(&self) -> String {
        match &self.argument {
            Argument::Written(written) => written.text.text().to_string(),
            Argument::Generated => "random values".to_string(),
        }
    }

    /// Returns the functions that get native code.
    fn functions(&self) -> Vec<FunName> {
        let measured = self.entries.iter().map(|entry| entry.function(&self.varying));
        let written = match &self.argument {
            Argument::Written(written) => Some(written.name.clone()),
            Argument::Generated => None,
        };
        measured.chain(written).collect()
    }

    /// Compiles native code by one of the JIT's methods.
    pub(super) fn compiled(&self, compile: Compile, native: &native::Options) -> Result<Jit, Failure> {
        let jit = compile(self.input.pipeline.program(), &self.functions(), &self.input.info(), native);
        let mut jit = jit.map_err(|error| self.input.not_compiled(error))?;
        jit.set_stack(crate::native_stack_size());
        Ok(jit)
    }

    /// Measures all entries at one size: times by `jit`, counts by `counting`.
    pub(super) fn measure(
        &self,
        size: Option<u32>,
        jit: &Jit,
        counting: &Jit,
        effort: Effort,
    ) -> Result<Vec<Row>, Failure> {
        self.try_measure(size, jit, counting, effort).map_err(|error| self.stopped(&error))
    }

    fn try_measure(
        &self,
        size: Option<u32>,
        jit: &Jit,
        counting: &Jit,
        effort: Effort,
    ) -> Result<Vec<Row>, RuntimeError> {
        let point = self.point(size, jit)?;
        let prepared = |jit| -> Vec<Prepared> {
            let one = |entry: &Entry| Jit::prepare(jit, &entry.function(&self.varying), &point.arguments(*entry));
            self.entries.iter().map(one).collect()
        };
        let counts = prepared(counting).iter_mut().map(Prepared::counts).collect::<Result<Vec<_>, _>>()?;
        let mut prepared = prepared(jit);
        let mut calls: Vec<_> = prepared.iter_mut().map(|prepared| || prepared.call()).collect();
        let samples = in_turns(&mut calls, effort)?;
        let ratios: Vec<f64> = samples.iter().map(|times| times.ratio(&samples[0])).collect();
        let rows = self.entries.iter().zip(samples).zip(ratios).zip(counts);
        Ok(rows
            .map(|(((entry, samples), ratio), counts)| Row { size, entry: *entry, samples, ratio, counts })
            .collect())
    }

    /// Returns the arguments at a size.
    fn point(&self, size: Option<u32>, jit: &Jit) -> Result<Point, RuntimeError> {
        let size = size.unwrap_or(0);
        let whole = match &self.argument {
            Argument::Written(written) => jit.call(&written.name, &[Value::Integer(size.into())])?,
            Argument::Generated => {
                argument::generated(&self.fun.argument(), size as usize, &mut SplitMix::new(self.seed))
            }
        };
        let result = jit.call(&self.fun.name, &parts(&self.fun, &whole))?;
        Ok(Point::new(&self.fun, &self.varying, whole, &result, &mut Random::new(self.seed)))
    }

    /// Returns an error of the running program, or of the argument's text.
    fn stopped(&self, error: &RuntimeError) -> Failure {
        if let Argument::Written(written) = &self.argument
            && let Some(place) = written.place(error.span)
        {
            let position = written.text.position(place.start);
            return Failure::WrongAt(written.text.name().into(), position, error.to_string());
        }
        self.input.run_time_error(error)
    }
}

/// Checks that the function has derivatives.
fn has_derivatives(input: &Input, fun: &Fun) -> Result<(), Failure> {
    let lack = match (fun.argument().is_differentiable(), fun.result.is_differentiable()) {
        (true, true) => return Ok(()),
        (false, _) => "takes",
        (true, false) => "gives",
    };
    let name = &fun.name;
    let message = format!("`{name}` {lack} no Float: it has no derivative; `--entries primal` measures it alone");
    Err(input.wrong_at(input.place(name).unwrap_or_default(), message))
}

/// Returns the argument that an option or the program gives.
fn given_argument(options: &BenchOptions, input: &Input, fun: &Fun) -> Option<Source> {
    let example = || example(input.pipeline.program(), &fun.name).filter(|_| options.sizes.is_empty());
    match &options.input {
        Some(text) => Some(Source::new("--input", text)),
        None => example().map(|name| Source::new("example", &name.base)),
    }
}

/// Checks an argument given as text.
///
/// Errors: the text is no expression of the argument's type, or the sizes do not fit it.
fn check_written(
    input: &Input,
    fun: &Fun,
    text: &Source,
    options: &BenchOptions,
    format: ErrorFormat,
    watch: &Watch,
) -> Result<(Written, Checked), Failure> {
    if text.text().trim().is_empty() {
        return Err(Failure::Usage(format!(
            "`--input` is empty: say an expression, such as `example` or `model {SIZE}`"
        )));
    }
    let program = input.pipeline.program();
    let is_taken = |name: &FunName| input.places.keys().any(|known| known.base == name.base);
    let is_constant = |name: &FunName| program.defs.get(name).is_some_and(|def| def.params.is_empty());
    let written = Written::new(&input.source, text, &fun.argument(), is_taken, is_constant);
    let written = written.map_err(|errors| shown(text, &errors, format))?;
    let checked = front::load_for(&written.program, options.choices.choices(format)?, &watch.timings);
    let checked = checked.map_err(|errors| match wrong_type(&errors, &written.name) {
        Some(has_type) => {
            let message = format!("the argument {has_type}, but `{}` takes `{}`", fun.name, fun.argument());
            Failure::WrongAt(text.name().into(), text.position(0), message)
        }
        None => shown(text, &written.placed(errors), format),
    })?;
    let def = &checked.program.defs[&written.name];
    let uses_size = free_variables(&def.body).contains(&def.params[0]);
    match (uses_size, options.sizes.is_empty()) {
        (true, true) => Err(Failure::Usage(format!("`--input` uses {SIZE}: say which, `--sizes 100,1000`"))),
        (false, false) => Err(Failure::Usage(format!("`--input` does not use {SIZE}, so `--sizes` means nothing"))),
        _ => Ok((written, checked)),
    }
}

/// Returns the words `has type T` if the argument's text has a wrong type.
fn wrong_type<'e>(errors: &'e [Diagnostic], argument: &FunName) -> Option<&'e str> {
    let of_body = format!("the body of `{argument}` ");
    let wrong = errors.iter().find(|error| error.code == "E216" && error.message.starts_with(&of_body))?;
    wrong.label.as_ref()?.strip_prefix("this ")
}

/// Checks that random arguments can be generated.
///
/// Errors: needed sizes are missing, or a type has no random values.
fn can_be_generated(options: &BenchOptions, fun: &Fun) -> Result<(), Failure> {
    const MOST: u64 = 1 << 26;
    let (name, ty) = (&fun.name, fun.argument());
    if argument::elements(&ty, 0).is_none() {
        return Err(Failure::Wrong(format!("`{name}` takes functions: measure a function that calls it")));
    }
    if options.sizes.is_empty() && argument::needs_size(&ty) {
        let remedy = "`--sizes 100,1000` for random ones, or `--input EXPRESSION`";
        return Err(Failure::Usage(format!("`{name}` takes {ty}: say how large, {remedy}")));
    }
    let too_large = |size: &&u32| argument::elements(&ty, u64::from(**size)).is_none_or(|count| count > MOST);
    match options.sizes.iter().find(too_large) {
        Some(size) => Err(Failure::Wrong(format!("random arguments of size {size} have more than {MOST} elements"))),
        None => Ok(()),
    }
}
