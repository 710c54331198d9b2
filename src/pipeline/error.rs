//! Why a derivative was not made.

use crate::call_order;
use crate::derivation::jacobian::NotDifferentiable;
use lm::rewriter::OutOfFuel;
use lm::term::FunName;

/// Why a derivative was not made.
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
    /// A function that calls itself, directly or not.
    #[error("`{0}` is recursive; derivatives of recursive functions are not supported yet: write {1} by hand")]
    Recursive(FunName, String),
    /// A derivative of a function that is implemented elsewhere.
    #[error("`{0}` is external, so nobody knows its derivatives: write {1} by `def` or `edef`")]
    External(FunName, String),
    /// A function that is not there.
    #[error("there is no function `{0}`")]
    Undefined(FunName),
    /// A derivation of another name.
    #[error(
        "there is no derivation `{0}` (there are D, Dt, fwd, rev, jvp, vjp, suffwdpass, sufrevpass, sufrev, shape)"
    )]
    NoDerivation(String),
}

impl Error {
    /// The error for a recursive function: what its user can write instead.
    pub(super) fn recursive(f: FunName, derivation: &str) -> Error {
        let written = listed(&f, call_order::written_for(derivation));
        Error::Recursive(f, written)
    }

    /// The error for an external function: what its user can write.
    pub(super) fn external(f: &FunName, derivation: &str) -> Error {
        let written = match derivation {
            "D" | "Dt" => listed(f, [derivation].into_iter()),
            _ => listed(f, call_order::written_for(derivation)),
        };
        Error::External(f.clone(), written)
    }

    /// The function that the error is about.
    pub fn function(&self) -> Option<&FunName> {
        match self {
            Error::NotDifferentiable(error) => Some(&error.function),
            Error::OutOfFuel { function, .. }
            | Error::Recursive(function, _)
            | Error::External(function, _)
            | Error::Undefined(function) => Some(function),
            Error::NoDerivation(_) => None,
        }
    }

    /// A stable code, such as `E301`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::NotDifferentiable(_) => "E301",
            Error::Recursive(..) => "E302",
            Error::OutOfFuel { .. } => "E303",
            Error::Undefined(_) => "E304",
            Error::NoDerivation(_) => "E305",
            Error::External(..) => "E306",
        }
    }
}

/// `[fwd f]` and `[rev f]`.
fn listed<'a>(f: &FunName, derivations: impl Iterator<Item = &'a str>) -> String {
    derivations.map(|d| format!("`[{d} {f}]`")).collect::<Vec<_>>().join(" and ")
}
