//! The reasons why a derivative cannot be made.

use crate::derive::figures::fig06_jacobian::NotDifferentiable;
use crate::ks::diagnostic::Diagnostic;
use lm::rewriter::OutOfFuel;
use lm::term::{Derivative, FunName, Span};
use lm::types::Type;

/// A function that computes with a linear map which no law applies.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{function}` computes with a linear map that the laws do not remove: `{term}`")]
pub struct MapLeft {
    /// The function.
    pub function: FunName,
    /// The value that is computed from it.
    pub term: String,
    /// Its place in the source.
    pub span: Span,
}

/// The reason why a derivative cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A construct without a derivative.
    #[error(transparent)]
    NotDifferentiable(#[from] NotDifferentiable),
    /// The laws did not come to an end.
    #[error("deriving `{function}`: {source}")]
    OutOfFuel {
        /// The function.
        function: FunName,
        /// The laws involved.
        source: OutOfFuel,
    },
    /// A function whose linear maps no law applies.
    #[error(transparent)]
    MapLeft(#[from] Box<MapLeft>),
    /// A derivative of an external function.
    #[error("`{0}` is external, so its derivatives are unknown: write {1} by `def` or `edef`")]
    External(FunName, String),
    /// A derivative of a function that calls a derivative of itself.
    #[error(
        "`{0}` calls a derivative of itself, which would need derivatives of ever higher order; write that derivative \
         by `def`"
    )]
    OfItself(FunName),
    /// A function that does not exist.
    #[error("there is no function `{0}`")]
    Undefined(FunName),
    /// A gradient of a function that gives no Float.
    #[error("`{0}` gives `{1}`, not Float, so it has no gradient; `[jac {0}]` has all its derivatives")]
    NoGradient(FunName, Type),
}

impl Error {
    /// Returns the error for an external function; it names the derivatives that the user can write.
    pub(in crate::derive) fn external(f: &FunName, derivative: &Derivative) -> Error {
        let listed = needed_for(derivative).iter().map(|d| format!("`[{d} {f}]`")).collect::<Vec<_>>().join(" and ");
        Error::External(f.clone(), listed)
    }

    /// Returns the function that the error is about.
    pub fn function(&self) -> Option<&FunName> {
        match self {
            Error::NotDifferentiable(error) => Some(&error.function),
            Error::MapLeft(left) => Some(&left.function),
            Error::OutOfFuel { function, .. }
            | Error::External(function, _)
            | Error::NoGradient(function, _)
            | Error::Undefined(function)
            | Error::OfItself(function) => Some(function),
        }
    }

    /// Returns the place in the source, where the error is about a part of a function.
    pub fn span(&self) -> Option<Span> {
        match self {
            Error::MapLeft(left) => Some(left.span).filter(|span| *span != Span::default()),
            Error::NotDifferentiable(_) | Error::OutOfFuel { .. } | Error::External(..) | Error::NoGradient(..) => None,
            Error::Undefined(_) | Error::OfItself(_) => None,
        }
    }

    /// Returns a stable code, such as `E301`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::NotDifferentiable(_) => "E301",
            Error::OutOfFuel { .. } => "E303",
            Error::Undefined(_) => "E304",
            Error::MapLeft(_) => "E308",
            Error::External(..) => "E306",
            Error::OfItself(_) => "E307",
            Error::NoGradient(..) => "E232",
        }
    }
}

impl From<Error> for Diagnostic {
    fn from(error: Error) -> Diagnostic {
        Diagnostic::error(error.code(), error.to_string())
    }
}

/// Returns the derivatives of callees that a derivative calls.
fn needed_for(derivative: &Derivative) -> Vec<Derivative> {
    match (derivative, derivative.mode()) {
        (Derivative::D | Derivative::Dt, _) => vec![derivative.clone()],
        (_, Some(mode)) => vec![mode.derivative()],
        (_, None) => vec![Derivative::Fwd, Derivative::Rev],
    }
}
