//! The entries of a measurement: a function and its derivatives.

use crate::gradcheck::{Random, part_that_varies};
use lm::term::{Derivative, Fun, FunName};
use lm::value::Value;

/// A function to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Entry {
    /// The function itself, which is always measured as the base of ratios.
    Primal,
    /// The forward derivative.
    Fwd,
    /// The reverse derivative.
    Rev,
    /// The value with the forward derivative.
    Jvp,
    /// The value with the reverse derivative.
    Vjp,
}

impl Entry {
    /// Returns the name in options and tables.
    pub fn name(self) -> &'static str {
        match self {
            Entry::Primal => "primal",
            Entry::Fwd => "fwd",
            Entry::Rev => "rev",
            Entry::Jvp => "jvp",
            Entry::Vjp => "vjp",
        }
    }

    /// Returns the name in legends.
    pub fn title(self) -> &'static str {
        match self {
            Entry::Primal => "function",
            Entry::Fwd => "forward derivative",
            Entry::Rev => "reverse derivative",
            Entry::Jvp => "value and forward derivative",
            Entry::Vjp => "value and reverse derivative",
        }
    }

    /// Returns the function to measure. `varying` is the function with respect to the chosen parameters.
    pub fn function(self, varying: &FunName) -> FunName {
        match self {
            Entry::Primal => varying.as_written(),
            Entry::Fwd => varying.derived(Derivative::Fwd),
            Entry::Rev => varying.derived(Derivative::Rev),
            Entry::Jvp => varying.derived(Derivative::Jvp),
            Entry::Vjp => varying.derived(Derivative::Vjp),
        }
    }
}

/// The arguments of all entries at one point.
pub struct Point {
    parts: Vec<Value>,
    whole: Value,
    tangent: Value,
    cotangent: Value,
}

impl Point {
    /// Returns the point `whole`, where the function is `result`: with a random tangent, and a random cotangent unless
    /// the result is a number; then it is 1, which gives the gradient.
    pub fn new(fun: &Fun, varying: &FunName, whole: Value, result: &Value, random: &mut Random) -> Point {
        let one = fun.params.len() == 1;
        let direction = random.direction(&whole);
        let tangent = match varying.varying() {
            None => direction,
            Some(paths) => part_that_varies(&direction, one, paths),
        };
        let cotangent = match result {
            Value::Float(_) => Value::Float(1.0),
            result => random.direction(result),
        };
        Point { parts: parts(fun, &whole), whole, tangent, cotangent }
    }

    /// Returns the arguments of an entry.
    pub fn arguments(&self, entry: Entry) -> Vec<Value> {
        match entry {
            Entry::Primal => self.parts.clone(),
            Entry::Fwd | Entry::Jvp => vec![self.whole.clone(), self.tangent.clone()],
            Entry::Rev | Entry::Vjp => vec![self.whole.clone(), self.cotangent.clone()],
        }
    }
}

/// Returns an argument of a function as one value for each parameter.
pub fn parts(fun: &Fun, whole: &Value) -> Vec<Value> {
    match whole {
        Value::Tuple(parts) if fun.params.len() != 1 => parts.clone(),
        one => vec![one.clone()],
    }
}
