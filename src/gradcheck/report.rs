//! What the check of one function found.

use super::{DIFFERENCES, FORWARD_REVERSE};
use lm::interp::{Regrouped, RuntimeError};
use lm::term::Path;
use lm::value::Value;

/// The largest error of one kind, and where.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    /// The relative error.
    pub error: f64,
    /// The point.
    pub point: Option<Value>,
}

impl Worst {
    pub(super) fn keep_worse(&mut self, error: f64, point: &Value) {
        // Not `error > self.error`: a NaN is worse than anything.
        let no_worse = error <= self.error;
        if self.point.is_none() || !no_worse {
            *self = Worst { error, point: Some(point.clone()) };
        }
    }

    /// Returns whether the error is at most the limit. A NaN is not.
    fn is_within(&self, limit: f64) -> bool {
        self.error <= limit
    }
}

/// The errors at one point; none for what was not compared.
pub(super) struct Errors {
    pub(super) forward_reverse: Option<f64>,
    pub(super) differences: Option<f64>,
    pub(super) reverse_differences: Option<f64>,
}

impl Errors {
    /// Returns whether each is within its limit. A NaN is not.
    pub(super) fn agree(&self) -> bool {
        let within = |error: Option<f64>, limit| error.is_none_or(|error| error <= limit);
        within(self.forward_reverse, FORWARD_REVERSE)
            && [self.differences, self.reverse_differences].into_iter().all(|error| within(error, DIFFERENCES))
    }
}

/// The largest errors of the derivatives. What was never compared has no point.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Forward against reverse mode.
    pub forward_reverse: Worst,
    /// Forward mode against central differences. It has no point where the function uses `stop_gradient`.
    pub differences: Worst,
    /// Reverse mode against central differences. It has no point where the function uses `stop_gradient`.
    pub reverse_differences: Worst,
}

impl Comparison {
    pub(super) fn keep_worse(&mut self, errors: Errors, point: &Value) {
        let rows = [
            (&mut self.forward_reverse, errors.forward_reverse),
            (&mut self.differences, errors.differences),
            (&mut self.reverse_differences, errors.reverse_differences),
        ];
        for (worst, error) in rows {
            error.into_iter().for_each(|error| worst.keep_worse(error, point));
        }
    }

    /// Returns the comparisons that fail.
    pub fn faults(&self) -> Vec<Fault> {
        let found = [
            (Fault::ForwardReverse, !self.forward_reverse.is_within(FORWARD_REVERSE)),
            (Fault::Forward, !self.differences.is_within(DIFFERENCES)),
            (Fault::Reverse, !self.reverse_differences.is_within(DIFFERENCES)),
        ];
        found.into_iter().filter(|(_, is_found)| *is_found).map(|(fault, _)| fault).collect()
    }
}

/// A parameter that varies, or a component of one, and the derivatives with respect to it alone.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name: `x`, or `t.1` for a component.
    pub name: String,
    /// The way to it.
    pub way: Path,
    /// The points at which it had Floats and was compared.
    pub points: usize,
    /// The errors.
    pub comparison: Comparison,
}

/// The first point of each kind at which nothing can be compared.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// A point at which the function stops with an error.
    pub stopped: Option<(Value, RuntimeError)>,
    /// A point at which the value is not finite.
    pub infinite: Option<Value>,
    /// A point at which the value is finite, and a derivative is not.
    pub without_derivative: Option<Value>,
}

/// A way in which a function fails its check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The forward and the reverse derivative disagree.
    ForwardReverse,
    /// The forward derivative disagrees with differences.
    Forward,
    /// The reverse derivative disagrees with differences.
    Reverse,
    /// Native code disagrees with the interpreter.
    Native,
    /// An operation has a result that is not finite, and the check looked for that.
    NotFinite,
    /// A derivative stops with an error where the function has a value.
    Stopped,
}

/// The result of checking one function.
#[derive(Clone, Debug)]
pub struct Report {
    /// Points at which the function and its derivatives are finite.
    pub points: usize,
    /// Those of them at which native code was compared with the interpreter, or the interpreter ran alone. At the others
    /// native code ran alone: only it can call external functions, or the interpreter takes long.
    pub interpreted: usize,
    /// All parameters at once.
    pub whole: Comparison,
    /// Each parameter by itself, at the first points where it has Floats; empty where only one can vary.
    pub parameters: Vec<Parameter>,
    /// The parts of the argument that vary, and had no Floats at any point. Nothing was compared for them.
    pub empty: Vec<(String, Path)>,
    /// Native code against the interpreter; infinite where one stops or gives another form, and the other
    /// does not.
    pub native: Worst,
    /// Largest error of native code that agrees.
    pub native_limit: f64,
    /// An error of a derivative where the function has a value, or of the function `example`.
    pub stopped: Option<RuntimeError>,
    /// The first operation whose result is not finite, and the point: at any point where the check looks for that, else
    /// at points where the value is finite and a derivative is not.
    pub not_finite: Option<(Value, RuntimeError)>,
    /// The first point at which the value of a `reduce` depended on the grouping, and that `reduce`.
    pub regrouped: Option<(Value, Regrouped)>,
    /// Whether the check fails at operations whose result is not finite.
    pub checks_finite: bool,
    /// Whether the function uses `stop_gradient`.
    pub stops_gradients: bool,
    /// Points at which nothing was compared.
    pub outside: Outside,
}

impl Report {
    pub(super) fn new(native_limit: f64, stops_gradients: bool, varying: Vec<(String, Path)>) -> Report {
        let parameter = |(name, way)| Parameter { name, way, points: 0, comparison: Comparison::default() };
        let parameters = if varying.len() > 1 { varying.iter().cloned().map(parameter).collect() } else { Vec::new() };
        Report {
            points: 0,
            interpreted: 0,
            whole: Comparison::default(),
            parameters,
            empty: varying,
            native: Worst::default(),
            native_limit,
            stopped: None,
            not_finite: None,
            regrouped: None,
            checks_finite: false,
            stops_gradients,
            outside: Outside::default(),
        }
    }

    /// Returns whether native code has agreed with the interpreter so far.
    pub(super) fn native_agrees(&self) -> bool {
        self.native.is_within(self.native_limit)
    }

    /// Returns whether no point had a number to differentiate by: what varies was empty at all of them.
    pub fn had_no_numbers(&self) -> bool {
        self.points > 0 && !self.empty.is_empty() && self.parameters.iter().all(|parameter| parameter.points == 0)
    }

    /// Returns whether all values agree, at one point at least.
    pub fn agrees(&self) -> bool {
        self.points > 0 && self.faults().is_empty()
    }

    /// Returns the ways in which the function fails. A function that was compared at no point may have none.
    pub fn faults(&self) -> Vec<Fault> {
        let parts = self.parameters.iter().map(|parameter| &parameter.comparison);
        let mut found: Vec<Fault> = parts.chain([&self.whole]).flat_map(Comparison::faults).collect();
        let others = [
            (Fault::Native, !self.native_agrees()),
            (Fault::NotFinite, self.checks_finite && self.not_finite.is_some()),
            (Fault::Stopped, self.stopped.is_some()),
        ];
        found.extend(others.into_iter().filter(|(_, is_found)| *is_found).map(|(fault, _)| fault));
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the names of the parameters by which a comparison fails.
    pub fn parameters_with(&self, fault: Fault) -> Vec<&str> {
        let failing = self.parameters.iter().filter(|parameter| parameter.comparison.faults().contains(&fault));
        failing.map(|parameter| &*parameter.name).collect()
    }
}
