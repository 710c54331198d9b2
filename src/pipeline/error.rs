//! Why a derivative was not made.

use crate::derivation::jacobian::NotDifferentiable;
use crate::ks::check;
use crate::ks::diagnostic::Diagnostic;
use lm::rewriter::OutOfFuel;
use lm::term::FunName;
use lm::types::Type;

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
    /// A derivative of a function that is implemented elsewhere.
    #[error("`{0}` is external, so nobody knows its derivatives: write {1} by `def` or `edef`")]
    External(FunName, String),
    /// A derivative of a function that calls a derivative of itself.
    #[error(
        "`{0}` calls a derivative of itself, which would need derivatives of ever higher order; write that derivative by `def`"
    )]
    OfItself(FunName),
    /// A function that is not there.
    #[error("there is no function `{0}`")]
    Undefined(FunName),
    /// A gradient of a function that gives no Float.
    #[error("`{0}` gives `{1}`, not Float, so it has no gradient; `[jac {0}]` has all its derivatives")]
    NoGradient(FunName, Type),
    /// A derivation of another name.
    #[error("there is no derivation `{0}` (there are {known})", known = known())]
    NoDerivation(String),
}

fn known() -> String {
    check::derivations().collect::<Vec<_>>().join(", ")
}

impl Error {
    /// The error for an external function: what its user can write.
    pub(super) fn external(f: &FunName, derivation: &str) -> Error {
        let written = match derivation {
            "D" | "Dt" => listed(f, [derivation].into_iter()),
            _ => listed(f, needed_for(derivation)),
        };
        Error::External(f.clone(), written)
    }

    /// The function that the error is about.
    pub fn function(&self) -> Option<&FunName> {
        match self {
            Error::NotDifferentiable(error) => Some(&error.function),
            Error::OutOfFuel { function, .. }
            | Error::External(function, _)
            | Error::NoGradient(function, _)
            | Error::Undefined(function)
            | Error::OfItself(function) => Some(function),
            Error::NoDerivation(_) => None,
        }
    }

    /// A stable code, such as `E301`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::NotDifferentiable(_) => "E301",
            Error::OutOfFuel { .. } => "E303",
            Error::Undefined(_) => "E304",
            Error::NoDerivation(_) => "E305",
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

/// The derivatives of its callees that a derivation ends up calling.
fn needed_for(derivation: &str) -> impl Iterator<Item = &'static str> {
    let (fwd, rev) = match derivation {
        "fwd" | "jvp" => (true, false),
        "rev" | "vjp" | "suffwdpass" | "sufrevpass" | "sufrev" => (false, true),
        _ => (true, true),
    };
    fwd.then_some("fwd").into_iter().chain(rev.then_some("rev"))
}

/// `[fwd f]` and `[rev f]`.
fn listed<'a>(f: &FunName, derivations: impl Iterator<Item = &'a str>) -> String {
    derivations.map(|d| format!("`[{d} {f}]`")).collect::<Vec<_>>().join(" and ")
}
