//! The subject of a measurement: a function, its derivatives, and the source of its arguments.

use super::options::BenchOptions;
use crate::benchmark::explained::Plan;
use crate::benchmark::report::{Loops, Row};
use crate::benchmark::samples::{Effort, in_turns};
use crate::benchmark::{Entry, Point, parts};
use crate::cli::argument::{Argument, lack_of_floats};
use crate::cli::error_format::ErrorFormat;
use crate::cli::failure::Failure;
use crate::cli::input::Input;
use crate::cli::watch::Watch;
use crate::gradcheck::Random;
use lm::interp::RuntimeError;
use lm::term::{Fun, FunName, Program};
use native::{Jit, Peaks, Prepared, SourceInfo};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

impl Subject {
    /// Reads the program, and makes the derivatives.
    pub(super) fn new(options: &BenchOptions, format: ErrorFormat, watch: &Watch) -> Result<Subject, Failure> {
        let input = Input::read_for(&options.files, options.choices.choices(format)?, format, watch)?;
        let name = input.function(&options.fun)?;
        let fun = input.measurable(&name)?;
        let mut entries = options.entries.clone();
        entries.push(Entry::Primal);
        entries.sort();
        entries.dedup();
        if entries.len() > 1 {
            has_derivatives(&input, &fun)?;
        }
        let varying = input.with_respect_to(name, &options.wrt)?;
        let (argument, extended) =
            Argument::new(&input, &fun, &options.point, options.choices.choices(format)?, format, watch)?;
        let input = extended.unwrap_or(input);
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
        self.argument.description()
    }

    /// Returns the functions that get native code.
    fn functions(&self) -> Vec<FunName> {
        let measured = self.entries.iter().map(|entry| entry.function(&self.varying));
        measured.chain(self.argument.function().cloned()).collect()
    }

    /// Compiles native code by one of the JIT's methods.
    pub(super) fn compiled(
        &self,
        compile: impl FnOnce(&Program, &[FunName], &SourceInfo, &native::Options) -> Result<Jit, native::Error>,
        native: &native::Options,
    ) -> Result<Jit, Failure> {
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
        self.try_measure(size, jit, counting, effort).map_err(|error| self.argument.stopped(&self.input, &error))
    }

    fn try_measure(
        &self,
        size: Option<u32>,
        jit: &Jit,
        counting: &Jit,
        effort: Effort,
    ) -> Result<Vec<Row>, RuntimeError> {
        let point = self.point(size, jit)?;
        let prepared =
            |jit| -> Vec<Prepared> { self.entries.iter().map(|entry| self.prepared(jit, *entry, &point)).collect() };
        let counts = prepared(counting).iter_mut().map(Prepared::counts).collect::<Result<Vec<_>, _>>()?;
        let mut prepared = prepared(jit);
        let mut calls: Vec<_> = prepared.iter_mut().map(|prepared| || prepared.call()).collect();
        let samples = in_turns(&mut calls, effort)?;
        let ratios: Vec<f64> = samples.iter().map(|times| times.ratio(&samples[0])).collect();
        let rows = self.entries.iter().zip(samples).zip(ratios).zip(counts);
        Ok(rows
            .map(|(((entry, samples), ratio), counts)| Row { size, entry: *entry, samples, ratio, counts, loops: None })
            .collect())
    }

    /// Tells of the loops of all entries how long they took at one size, beside the rows of their times.
    pub(super) fn explain(
        &self,
        size: Option<u32>,
        jit: &Jit,
        iterating: &Jit,
        native: &native::Options,
        peaks: &Peaks,
        rows: &mut [Row],
    ) -> Result<(), Failure> {
        let stopped = |error: RuntimeError| self.argument.stopped(&self.input, &error);
        let point = self.point(size, jit).map_err(stopped)?;
        for row in rows {
            let runs = self.prepared(iterating, row.entry, &point).iterations().map_err(stopped)?;
            let plan = Plan::new(jit.module(), runs);
            let watched = plan.watched();
            let compile = |program: &_, entries: &_, source: &_, options: &_| {
                Jit::timing(program, entries, source, options, &watched)
            };
            let timing = self.compiled(compile, native)?;
            let mut call = self.prepared(&timing, row.entry, &point);
            let calls = repeated(|| call.seconds()).map_err(stopped)?;
            let (rows, others) = plan.rows(&plan.seconds(&watched, &calls), row.samples.median(), peaks);
            row.loops = Some(Loops { rows, others });
        }
        Ok(())
    }

    fn prepared<'a>(&self, jit: &'a Jit, entry: Entry, point: &Point) -> Prepared<'a> {
        jit.prepare(&entry.function(&self.varying), &point.arguments(entry))
    }

    /// Returns the arguments at a size.
    fn point(&self, size: Option<u32>, jit: &Jit) -> Result<Point, RuntimeError> {
        let whole = self.argument.at(&self.fun, size, self.seed, |name, args| jit.call(name, args))?;
        let result = jit.call(&self.fun.name, &parts(&self.fun, &whole))?;
        Ok(Point::new(&self.fun, &self.varying, whole, &result, &mut Random::new(self.seed)))
    }
}

/// Makes calls for a while, the first of which touches memory for the first time and does not count.
fn repeated<T, E>(mut call: impl FnMut() -> Result<T, E>) -> Result<Vec<T>, E> {
    const LONG_ENOUGH: Duration = Duration::from_millis(300);
    const MOST: usize = 1_000;
    call()?;
    let start = Instant::now();
    let mut told = vec![call()?];
    while start.elapsed() < LONG_ENOUGH && told.len() < MOST {
        told.push(call()?);
    }
    Ok(told)
}

/// Checks that the function has derivatives.
fn has_derivatives(input: &Input, fun: &Fun) -> Result<(), Failure> {
    let Some(lack) = lack_of_floats(fun) else { return Ok(()) };
    let name = &fun.name;
    let message = format!("`{name}` {lack} no Float: it has no derivative; `--entries primal` measures it alone");
    Err(input.wrong_at(input.place(name).unwrap_or_default(), message))
}
