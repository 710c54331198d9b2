//! The subjects of `lmc cost`: a program, once for each derivation, and its functions.

use super::options::CostOptions;
use crate::cli::argument::{Argument, lack_of_floats};
use crate::cli::error_format::ErrorFormat;
use crate::cli::failure::Failure;
use crate::cli::input::{Input, shown};
use crate::cli::watch::Watch;
use crate::cost::report::Row;
use crate::cost::{Error, Measured, call};
use crate::derive::passes::inline_maps::takes_or_gives_map;
use crate::derive::pipeline;
use crate::gradcheck::example;
use crate::ks::front::{self, Choices};
use lm::term::{Fun, FunName};
use lm::value::Value;

/// A function that was not measured, with the reason.
pub(super) struct Refusal {
    pub(super) failure: Failure,
    /// The derivation, if the reason is one of a derivation.
    pub(super) derivation: Option<&'static str>,
    /// Whether there is a gradient to measure, as far as is known.
    pub(super) is_open: bool,
}

/// What was found of a function.
#[derive(Default)]
pub(super) struct Found {
    pub(super) rows: Vec<Row>,
    pub(super) refusals: Vec<Refusal>,
}

/// The program, once for each derivation.
pub(super) struct Subject<'a> {
    options: &'a CostOptions,
    format: ErrorFormat,
    watch: &'a Watch,
    ways: Vec<(Choices, Input)>,
}

impl<'a> Subject<'a> {
    /// Reads the program.
    ///
    /// Errors: those of the program, and of the file of strategies.
    pub(super) fn new(options: &'a CostOptions, format: ErrorFormat, watch: &'a Watch) -> Result<Subject<'a>, Failure> {
        let mut ways: Vec<(Choices, Input)> = Vec::new();
        for choices in options.choices.choices(format)? {
            let input = match ways.first() {
                None => Input::read_for(&options.files, choices.clone(), format, watch)?,
                // Standard input can be read once, and warnings are shown once.
                Some((_, first)) => {
                    let checked = front::load_for(&first.source, choices.clone(), &watch.timings);
                    let checked = checked.map_err(|errors| shown(&first.source, &errors, format))?;
                    first.extended(first.source.clone(), checked, watch)
                }
            };
            ways.push((choices, input));
        }
        Ok(Subject { options, format, watch, ways })
    }

    fn input(&self) -> &Input {
        &self.ways[0].1
    }

    /// Returns the functions to measure: those that the user names, or all that are written, also those that cannot be
    /// measured.
    ///
    /// Errors: there is no function of a name, or none at all.
    pub(super) fn functions(&self) -> Result<Vec<FunName>, Failure> {
        if !self.options.fun.is_empty() {
            return self.input().chosen(&self.options.fun);
        }
        let Input { places, templates, .. } = self.input();
        let mut written: Vec<_> = places.iter().chain(templates).filter(|(f, _)| f.derivations.is_empty()).collect();
        written.sort_by_key(|(_, place)| place.start);
        match written.as_slice() {
            [] => self.input().chosen(&[]),
            written => Ok(written.iter().map(|(name, _)| (*name).clone()).collect()),
        }
    }

    /// Returns the name of a function in the table.
    pub(super) fn title(&self, name: &FunName) -> String {
        let chosen = self.input().pipeline.program().defs.contains_key(name);
        let varying = if chosen { self.input().with_respect_to(name.clone(), &self.options.wrt).ok() } else { None };
        varying.unwrap_or_else(|| name.clone()).to_string()
    }

    /// Measures a function by all derivations, at all sizes.
    pub(super) fn measured(&mut self, name: &FunName) -> Found {
        let mut found = Found::default();
        match self.refused(name) {
            Some(refusal) => found.refusals.push(refusal),
            None => {
                for way in 0..self.ways.len() {
                    if let Err(failure) = self.measured_by(way, name, &mut found.rows) {
                        let derivation = Some(self.ways[way].0.derivation.name());
                        found.refusals.push(Refusal { failure, derivation, is_open: true });
                    }
                }
            }
        }
        found.rows.sort_by_key(|row| row.size);
        found
    }

    /// Returns why a function has no gradient to measure, if there is a reason that does not depend on derivations.
    fn refused(&self, name: &FunName) -> Option<Refusal> {
        let input = self.input();
        let closed = |failure| Some(Refusal { failure, derivation: None, is_open: false });
        let place = input.place(name).or(input.templates.get(name).copied()).unwrap_or_default();
        let at = |message| closed(input.wrong_at(place, message));
        if input.pipeline.program().externals.contains_key(name) {
            return at(format!("`{name}` is external: only operations of the program are counted"));
        }
        if input.templates.contains_key(name) {
            return at(format!("`{name}` takes functions: measure a function of the program that calls it"));
        }
        let fun = match input.measurable(name) {
            Ok(fun) => fun,
            Err(failure) => return closed(failure),
        };
        if takes_or_gives_map(&fun) {
            return at(format!("`{name}` takes or gives a linear map: measure a function that calls it"));
        }
        if let Some(lack) = lack_of_floats(&fun) {
            return at(format!("`{name}` {lack} no Float: it has no derivative"));
        }
        if self.is_beside_example(name) {
            let remedy = format!("say `--fun '{name}'` or `--sizes 100,1000`");
            return at(format!("`{name}` does not take the value of `example`: {remedy}"));
        }
        None
    }

    /// Returns whether the program has an `example`, which is for other functions, and the user says nothing.
    fn is_beside_example(&self, name: &FunName) -> bool {
        let program = self.input().pipeline.program();
        let says_nothing = self.options.fun.is_empty() && self.options.point.sizes.is_empty();
        says_nothing && program.defs.contains_key(&FunName::base("example")) && example(program, name).is_none()
    }

    /// Measures a function by a derivation.
    fn measured_by(&mut self, way: usize, name: &FunName, rows: &mut Vec<Row>) -> Result<(), Failure> {
        let is_named = !self.options.fun.is_empty();
        let (options, format, watch) = (self.options, self.format, self.watch);
        let (choices, input) = &mut self.ways[way];
        let fun = input.measurable(name)?;
        let varying = input.with_respect_to(name.clone(), &options.wrt)?;
        let (argument, mut extended) = Argument::new(input, &fun, &options.point, choices.clone(), format, watch)?;
        let input = extended.as_mut().unwrap_or(input);
        for size in options.point.in_order() {
            let measured = watch.timings.time("counting", || {
                let point = point(input, &fun, &argument, size, options.seed)?;
                Measured::new(&mut input.pipeline, &varying, &point)
            });
            input.warn();
            let measured = measured.map_err(|error| match error {
                Error::Stopped(_, error) => argument.stopped(input, &error),
                Error::NotMade(_, error) if is_named => input.underivable(*error),
                Error::NotMade(name, error) => not_made(input, &name, &error),
            })?;
            let (function, input) = (varying.to_string(), argument.description());
            rows.push(Row { function, input, size, derivation: choices.derivation, measured });
        }
        Ok(())
    }
}

/// Returns the whole argument of a size.
fn point(input: &mut Input, fun: &Fun, argument: &Argument, size: Option<u32>, seed: u64) -> Result<Value, Error> {
    if let Some(name) = argument.function() {
        input.pipeline.require(name).map_err(|error| Error::NotMade(name.clone(), Box::new(error)))?;
    }
    let program = input.pipeline.program();
    argument.at(fun, size, seed, |name, args| Ok(call(program, name, args)?.0))
}

/// Returns an error of a derivation on one line, at the place of its function.
fn not_made(input: &Input, name: &FunName, error: &pipeline::Error) -> Failure {
    let place = error.span().or_else(|| input.place(error.function().unwrap_or(name)));
    input.wrong_at(place.unwrap_or_default(), format!("`{name}` cannot be made: {error} ({})", error.code()))
}
