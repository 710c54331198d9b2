//! The parts shared by commands: reading a program, finding a function in it, showing errors.

use super::error_format::ErrorFormat;
use super::failure::Failure;
use super::watch::Watch;
use crate::derive::pipeline::{self, Pipeline};
use crate::ks::check::{Checked, SizeCheck};
use crate::ks::diagnostic::Diagnostic;
use crate::ks::front::{self, Choices};
use crate::ks::render;
use crate::ks::source::{Position, Source};
use indexmap::IndexMap;
use lm::interp::{ErrorKind, RuntimeError};
use lm::term::{Fun, FunName, Path, Span};
use native::SourceInfo;
use std::io::IsTerminal;
use std::mem::take;
use std::sync::Arc;

/// A program that was read, and its source.
pub struct Input {
    /// The text of the program.
    pub source: Source,
    /// The functions as written, in order, each with the place of its name.
    pub places: IndexMap<FunName, Span>,
    /// The functions that take functions, each with the place of its name. The program has copies of them only.
    pub templates: IndexMap<FunName, Span>,
    /// The derivatives that the text requests by `gdef`.
    pub requested: Vec<FunName>,
    /// What types with sizes ask for.
    pub size_checks: Vec<SizeCheck>,
    /// The pipeline that the program goes through.
    pub pipeline: Pipeline,
    format: ErrorFormat,
}

impl Input {
    /// Reads and checks the files of a program, for derivatives that are made in some way; `-` is standard input.
    pub fn read_for(paths: &[String], choices: Choices, format: ErrorFormat, watch: &Watch) -> Result<Input, Failure> {
        let source = watch
            .timings
            .time("reading", || Source::read_all(paths))
            .map_err(|bad| shown(&bad.source, &[bad.diagnostic], format))?;
        Input::check(source, choices, format, watch)
    }

    /// Checks a text that was read.
    pub fn check(source: Source, choices: Choices, format: ErrorFormat, watch: &Watch) -> Result<Input, Failure> {
        let checked = front::load_for(&source, choices, &watch.timings);
        let checked = checked.map_err(|errors| shown(&source, &errors, format))?;
        let lines = source.text().lines().count();
        watch.say(|| format!("read {}: {lines} lines, {} definitions", source.name(), checked.places.len()));
        if !checked.warnings.is_empty() {
            shown(&source, &checked.warnings, format);
        }
        let mut input = Input::new(source, checked, format, watch);
        input.warn();
        Ok(input)
    }

    fn new(source: Source, mut checked: Checked, format: ErrorFormat, watch: &Watch) -> Input {
        let (places, requested) = (take(&mut checked.places), take(&mut checked.requested));
        let templates = take(&mut checked.templates);
        let size_checks = take(&mut checked.size_checks);
        Input { source, places, templates, requested, size_checks, pipeline: watch.pipeline(checked), format }
    }

    /// Returns the program again, with more definitions or for other choices. Shows no warnings again.
    pub fn extended(&self, source: Source, checked: Checked, watch: &Watch) -> Input {
        let mut input = Input::new(source, checked, self.format, watch);
        input.pipeline.take_endless_rules();
        input
    }

    /// Reads and checks a printed stage of a derivation.
    pub fn check_stage(path: &str, format: ErrorFormat) -> Result<(), Failure> {
        let source = Source::read(path).map_err(|bad| shown(&bad.source, &[bad.diagnostic], format))?;
        front::load_stage(&source).map(|_| ()).map_err(|errors| shown(&source, &errors, format))
    }

    /// Makes a function and its callees; shows warnings.
    pub fn require(&mut self, name: &FunName) -> Result<(), Failure> {
        let made = self.pipeline.require(name);
        self.warn();
        made.map_err(|error| self.underivable(error))
    }

    /// Shows warnings about what was made since the last time.
    pub fn warn(&mut self) {
        let warnings: Vec<Diagnostic> = self.pipeline.take_endless_rules().into_iter().map(Diagnostic::from).collect();
        self.warn_at(warnings.into_iter());
    }

    /// Returns the functions as written, without derivatives and `main`.
    pub fn functions(&self) -> Vec<FunName> {
        let defined = &self.pipeline.program().defs;
        let written =
            |name: &&FunName| name.derivations.is_empty() && *name.base != *"main" && defined.contains_key(*name);
        self.places.keys().filter(written).cloned().collect()
    }

    /// Returns the function that the user names: `f`, or `[f ArgType]` for one of several overloads. Functions that the
    /// checker makes of a program, such as `deriv$1`, have names, too.
    pub fn function(&self, given: &str) -> Result<FunName, Failure> {
        let all: Vec<&FunName> = self.places.keys().filter(|name| name.derivations.is_empty()).collect();
        let fitting: Vec<&&FunName> =
            all.iter().filter(|name| name.to_string() == given || (&*name.base == given)).collect();
        match fitting.as_slice() {
            [one] => Ok((**one).clone()),
            [] if self.pipeline.program().defs.contains_key(&FunName::base(given)) => Ok(FunName::base(given)),
            [] if self.templates.keys().any(|name| *name.base == *given || name.to_string() == given) => {
                let message = "takes functions: name a function of the program that calls it";
                Err(Failure::Wrong(format!("`{given}` {message}")))
            }
            [] => {
                let known: Vec<String> = all.iter().map(|name| name.to_string()).collect();
                let known = if known.is_empty() { "no functions".into() } else { known.join(", ") };
                Err(Failure::Wrong(format!("`{}` has no function `{given}`; it has {known}", self.source.name())))
            }
            several => {
                let several: Vec<String> = several.iter().map(|name| format!("'{name}'")).collect();
                Err(Failure::Wrong(format!("`{given}` is overloaded; say which: {}", several.join(", "))))
            }
        }
    }

    /// Returns a function that a command is to measure.
    ///
    /// Errors: it is external.
    pub fn measurable(&self, name: &FunName) -> Result<Arc<Fun>, Failure> {
        match self.pipeline.program().defs.get(name) {
            Some(def) => Ok(def.fun.clone()),
            None => {
                Err(Failure::Wrong(format!("`{name}` is external: measure a function of the program that calls it")))
            }
        }
    }

    /// Returns the given functions, or all functions of the file.
    pub fn chosen(&self, given: &[String]) -> Result<Vec<FunName>, Failure> {
        if !given.is_empty() {
            return given.iter().map(|name| self.function(name)).collect();
        }
        match self.functions() {
            none if none.is_empty() => Err(self.nothing_chosen()),
            all => Ok(all),
        }
    }

    fn nothing_chosen(&self) -> Failure {
        let name = self.source.name();
        Failure::Wrong(match self.pipeline.program().defs.contains_key(&FunName::base("main")) {
            true => format!(
                "`{name}` defines no function but `main`, which has no parameters, so no derivatives, and is \
                 taken only where `--fun main` names it"
            ),
            false => format!("`{name}` defines no function"),
        })
    }

    /// Returns the function with respect to some of its parameters, or of their components (`t.1`). Takes all of them
    /// when none is given.
    pub fn with_respect_to(&self, function: FunName, given: &[String]) -> Result<FunName, Failure> {
        if given.is_empty() {
            return Ok(function);
        }
        let def = &self.pipeline.program().defs[&function];
        let names: Vec<&str> = def.params.iter().map(|x| &**x.name()).collect();
        let path = |given: &String| {
            let (name, components) = given.split_once('.').map_or((&**given, None), |(n, c)| (n, Some(c)));
            let parameter = names.iter().position(|known| *known == name);
            let components: Option<Vec<usize>> = components
                .map_or(Some(Vec::new()), |c| c.split('.').map(|i| i.parse().ok().filter(|i| *i > 0)).collect());
            let path: Option<Path> = parameter.zip(components).map(|(i, rest)| [vec![i + 1], rest].concat());
            path.filter(|path| def.fun.can_vary(path)).ok_or_else(|| {
                let what = if parameter.is_some() { "nothing that can vary" } else { "no parameter" };
                let known = if names.is_empty() { "none".into() } else { names.join(", ") };
                Failure::Wrong(format!("`{function}` has {what} called `{given}`; its parameters are {known}"))
            })
        };
        let mut paths = given.iter().map(path).collect::<Result<Vec<_>, _>>()?;
        paths.sort();
        paths.dedup();
        if let Some(i) = (1..paths.len()).find(|&i| paths[i].starts_with(&paths[i - 1])) {
            let name = names[paths[i][0] - 1];
            return Err(Failure::Wrong(format!("a part of `{name}` and the whole of it are given: one is enough")));
        }
        Ok(function.restricted(&paths))
    }

    /// Returns an error of a derivation, at the place of its function.
    pub fn underivable(&self, error: pipeline::Error) -> Failure {
        let place = error.function().and_then(|name| self.place(name));
        let span = error.span().or(place);
        let Some(strategy) = error.strategy_place() else {
            return shown(&self.source, &[Diagnostic { span, ..error.into() }], self.format);
        };
        // The place of the strategy is one of its file, and the other one of the program.
        let start = self.source.text().len() as u32;
        let strategy = Span { start: start + strategy.start, end: start + strategy.end };
        let diagnostic = Diagnostic::from(error).at(strategy).related(span.unwrap_or_default(), "in this term");
        shown(&self.pipeline.strategies().behind(&self.source), &[diagnostic], self.format)
    }

    /// Returns an error of the running program: `file:line:column: message`.
    pub fn run_time_error(&self, error: &RuntimeError) -> Failure {
        self.wrong_at(error.span, self.explained(error))
    }

    /// Returns the message of an error. Where a result is not finite, it says whether the value or a derivative is at
    /// fault.
    fn explained(&self, error: &RuntimeError) -> String {
        let ErrorKind::NotFinite(found) = &error.kind else { return error.to_string() };
        let origin = found.origin(self.pipeline.program());
        match origin.as_ref().map(|name| (name, name.underived())) {
            None => error.to_string(),
            Some((name, None)) => format!("{error}: the value of `{name}` is not finite"),
            Some((name, Some((_, of)))) => format!("{error}: `{name}` is not finite, where `{of}` is"),
        }
    }

    /// Returns an error of the running program as text with its place.
    pub fn placed(&self, error: &RuntimeError) -> String {
        let (file, Position { line, column }) = self.source.place(error.span.start);
        format!("{file}:{line}:{column}: {}", self.explained(error))
    }

    /// Returns the place of a function, or of the function that it is a derivative of: that of its name, or of the term
    /// that it was made of.
    pub fn place(&self, name: &FunName) -> Option<Span> {
        let written = name.as_written();
        let of_term = || self.pipeline.program().defs.get(&written).map(|def| def.body.span());
        self.places.get(&written).copied().or_else(of_term).filter(|span| *span != Span::default())
    }

    /// Returns a failure of the code generator, at its place if it has one.
    pub fn not_compiled(&self, error: native::Error) -> Failure {
        match &error {
            native::Error::Loops(loops::Error::Unsupported { span, .. }) => {
                let error = Diagnostic::error("E309", error.to_string())
                    .remedy("`lmc explain E309` says what native code takes; `lmc run --interpret` takes more");
                let span = Some(*span).filter(|span| *span != Span::default());
                shown(&self.source, &[Diagnostic { span, ..error }], self.format)
            }
            native::Error::NoInterface(name, _) => match self.place(name) {
                Some(place) => self.wrong_at(place, error.to_string()),
                None => Failure::Wrong(error.to_string()),
            },
            _ => Failure::Wrong(error.to_string()),
        }
    }

    /// Returns the refusal of a program without a form in whole arrays, at its place.
    pub fn no_bulk_form(&self, refusal: bulk::Refusal) -> Failure {
        let reason = refusal.reason;
        let of_function = || {
            let mut names = self.pipeline.program().defs.keys();
            names.find(|name| name.to_string() == refusal.function).and_then(|name| self.place(name))
        };
        let span = Some(refusal.span).filter(|span| *span != Span::default()).or_else(of_function);
        let error = Diagnostic::error(reason.code(), refusal.to_string()).remedy(reason.remedy());
        shown(&self.source, &[Diagnostic { span, ..error }], self.format)
    }

    /// Returns a place of the program as `file:line:column`.
    pub fn place_of(&self, span: Span) -> Option<String> {
        let is_known = span != Span::default();
        let (file, Position { line, column }) = self.source.place(span.start);
        is_known.then(|| format!("{file}:{line}:{column}"))
    }

    /// Shows warnings about functions, at the places of their names.
    pub fn warn_of(&self, warnings: impl IntoIterator<Item = (FunName, Diagnostic)>) {
        let placed = warnings.into_iter().map(|(name, warning)| Diagnostic { span: self.place(&name), ..warning });
        let placed: Vec<Diagnostic> = placed.collect();
        if !placed.is_empty() {
            shown(&self.source, &placed, self.format);
        }
    }

    /// Shows warnings that have their places.
    pub fn warn_at(&self, warnings: impl Iterator<Item = Diagnostic>) {
        let warnings: Vec<Diagnostic> = warnings.collect();
        if !warnings.is_empty() {
            shown(&self.source, &warnings, self.format);
        }
    }

    /// Returns a failure at a place of the program.
    pub fn wrong_at(&self, span: Span, message: String) -> Failure {
        let (file, position) = self.source.place(span.start);
        Failure::WrongAt(file.into(), position, message)
    }

    /// Returns the facts about the source that the code generator needs.
    pub fn info(&self) -> SourceInfo {
        let files = self.source.files().map(|(start, file)| (start, file.name(), file.text()));
        SourceInfo::of_files(self.source.name(), files)
    }
}

/// Shows errors of a text.
pub fn shown(source: &Source, diagnostics: &[Diagnostic], format: ErrorFormat) -> Failure {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    eprint!("{}", render::render_all(source, diagnostics, format.into(), colour));
    Failure::Shown
}
