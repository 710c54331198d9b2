//! Finds the first operation whose result is not finite.
//!
//! ```text
//! [rev sqrt] at 0:   let k = div 0.5 (sqrt 0) in k dr        div of 0.5 and 0.0 gives inf
//! ```
//!
//! Each operation on Floats reports its inputs and its result. The first result that is infinite or no number stops the
//! program, as errors do, with the place of its term. Whether the value or a derivative is at fault, the calls below
//! tell: of `[fwd [rev f]]`, the functions `[rev f]` and `f` are called at the same point.

use super::interpreter::Interpreter;
use super::rounding::rounded;
use crate::random::SplitMix;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::term::{Derivative, FunName, Program};
use crate::value::Value;
use std::fmt;

/// An operation whose result is not finite.
#[derive(Clone, Debug, PartialEq)]
pub struct NotFinite {
    /// The name of the operation.
    pub operation: &'static str,
    /// Its inputs.
    pub inputs: Vec<f64>,
    /// Its result.
    pub result: f64,
    /// The function that the operation is part of, and the arguments of that call.
    pub call: Option<(FunName, Vec<Value>)>,
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs: Vec<String> = self.inputs.iter().map(|x| format!("{x:?}")).collect();
        write!(f, "`{}` of {} gives {:?}", self.operation, inputs.join(" and "), self.result)?;
        match &self.call {
            Some((name, _)) => write!(f, ", in `{name}`"),
            None => Ok(()),
        }
    }
}

impl NotFinite {
    /// Returns the function of lowest order that meets such an operation at the same point: `f` itself where the value
    /// is not finite, `[rev f]` where the value is, and this derivative is not.
    ///
    /// Returns none where the point is unknown: a reverse half has only a record.
    pub fn origin(&self, program: &Program) -> Option<FunName> {
        let (mut name, mut args) = self.call.clone()?;
        while let Some((derivative, of)) = name.underived() {
            args = arguments(program, &derivative, &of, args)?;
            let outcome = Interpreter::new(program).checking_finite().call(&of, &args);
            if !outcome.is_err_and(|error| matches!(error.kind, ErrorKind::NotFinite(_))) {
                break;
            }
            name = of;
        }
        Some(name)
    }
}

/// Returns the arguments of a function, from those of one of its derivatives.
fn arguments(program: &Program, derivative: &Derivative, of: &FunName, mut args: Vec<Value>) -> Option<Vec<Value>> {
    let parameters = program.defs.get(of)?.params.len();
    match derivative {
        Derivative::SufRevPass => return None,
        // They take a tangent or a cotangent, too.
        Derivative::Fwd
        | Derivative::Rev
        | Derivative::Jvp
        | Derivative::Vjp
        | Derivative::SufRev
        | Derivative::Hvp => {
            args.truncate(1);
        }
        Derivative::D
        | Derivative::Dt
        | Derivative::Tupled
        | Derivative::SufFwdPass
        | Derivative::Shape
        | Derivative::Cl
        | Derivative::Grad
        | Derivative::Hess
        | Derivative::Jac
        | Derivative::JacFwd
        | Derivative::JacRev
        | Derivative::Wrt(_) => {}
        // It takes dual numbers.
        Derivative::Dual => return None,
        // It takes linear maps, which the interpreter keeps to itself.
        Derivative::Polymorphic | Derivative::PolymorphicR => return None,
    }
    match args.as_slice() {
        [Value::Tuple(parts)] if parameters != 1 => Some(parts.clone()),
        _ if args.len() == parameters => Some(args),
        _ => None,
    }
}

impl Interpreter<'_> {
    /// Returns the interpreter, set to stop at the first operation whose result is not finite.
    pub fn checking_finite(mut self) -> Self {
        self.checks_finite = true;
        self
    }

    /// Returns the interpreter, set to move the result of each operation on Floats by one unit in the last place, up or
    /// down, or not at all, as the seed says.
    pub fn rounding(mut self, seed: u64) -> Self {
        self.rounding = Some(SplitMix::new(seed));
        self
    }

    /// Returns the result of an operation, rounded as it is set. Keeps the operation if it is the first one whose result
    /// is not finite.
    pub(super) fn record(&mut self, operation: &'static str, inputs: &[f64], result: f64) -> f64 {
        if self.checks_finite && !result.is_finite() && self.not_finite.is_none() {
            self.not_finite = Some(NotFinite { operation, inputs: inputs.to_vec(), result, call: None });
        }
        self.rounding.as_mut().map_or(result, |draws| rounded(result, draws))
    }

    /// Returns the outcome; an error where an operation on the way had a result that is not finite.
    pub(super) fn checked<T>(&mut self, outcome: Result<T, RuntimeError>) -> Result<T, RuntimeError> {
        match self.not_finite.take() {
            Some(found) => Err(RuntimeError::new(ErrorKind::NotFinite(Box::new(found)))),
            None => outcome,
        }
    }
}

/// Returns the error, with the function that it happened in, unless it has one.
pub(super) fn within(mut error: RuntimeError, name: &FunName, args: &[Value]) -> RuntimeError {
    if let ErrorKind::NotFinite(found) = &mut error.kind {
        found.call.get_or_insert_with(|| (name.clone(), args.to_vec()));
    }
    error
}
