//! The reasons why a derivative cannot be made.

use crate::derive::figures::fig06_jacobian::NotDifferentiable;
use crate::derive::postcondition::TermPass;
use crate::ks::diagnostic::Diagnostic;
use lm::notation::infix::{self, Format};
use lm::notation::names::Names;
use lm::rewriter::OutOfFuel;
use lm::strategy::Named;
use lm::term::{Derivative, Expr, FunName, Span};
use lm::types::Type;
use std::sync::Arc;

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

/// A function that has no form in whole arrays.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{source}")]
pub struct NotInArrays {
    /// The function whose derivative is made.
    pub function: FunName,
    /// What was met.
    pub source: bulk::Refusal,
}

/// A strategy that does not come to an end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the strategy `{strategy}` does not come to an end in `{function}`: {}", source.why)]
pub struct Endless {
    /// The function.
    pub function: FunName,
    /// The name of the strategy.
    pub strategy: Arc<str>,
    /// The place of the loop in the texts of strategies; of the name, where the loop is one of the stage itself.
    pub place: Span,
    /// The laws involved.
    pub source: OutOfFuel,
}

/// A strategy that leaves what its stage promises to remove.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the strategy `{strategy}` stops before its stage is done in `{function}`: `{term}` is left")]
pub struct Unfinished {
    /// The function.
    pub function: FunName,
    /// The name of the strategy.
    pub strategy: Arc<str>,
    /// The place of its name in the texts of strategies.
    pub place: Span,
    /// The property of each result of the stage.
    pub postcondition: &'static str,
    /// The term that breaks it.
    pub term: String,
    /// The place of the term in the source.
    pub span: Span,
}

/// The reason why a derivative cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A construct without a derivative.
    #[error(transparent)]
    NotDifferentiable(#[from] NotDifferentiable),
    /// A strategy does not come to an end.
    #[error(transparent)]
    OutOfFuel(#[from] Box<Endless>),
    /// A strategy that leaves what its stage promises to remove.
    #[error(transparent)]
    Unfinished(#[from] Box<Unfinished>),
    /// A function whose linear maps no law applies.
    #[error(transparent)]
    MapLeft(#[from] Box<MapLeft>),
    /// A function without a form in whole arrays, of the derivation `dual-arrays`.
    #[error(transparent)]
    NotInArrays(#[from] Box<NotInArrays>),
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

    /// Returns the error of a strategy that does not come to an end.
    pub(super) fn out_of_fuel(function: &FunName, strategy: &Named, source: OutOfFuel) -> Error {
        let place = source.strategy.unwrap_or(strategy.span);
        Error::from(Box::new(Endless { function: function.clone(), strategy: strategy.name.clone(), place, source }))
    }

    /// Returns the error of a strategy that leaves a term.
    pub(super) fn unfinished(function: &FunName, strategy: &Named, pass: &TermPass, term: &Expr) -> Error {
        Error::from(Box::new(Unfinished {
            function: function.clone(),
            strategy: strategy.name.clone(),
            place: strategy.span,
            postcondition: pass.postcondition,
            term: shown(term),
            span: term.span(),
        }))
    }

    /// Returns the function that the error is about.
    pub fn function(&self) -> Option<&FunName> {
        match self {
            Error::NotDifferentiable(error) => Some(&error.function),
            Error::MapLeft(left) => Some(&left.function),
            Error::OutOfFuel(endless) => Some(&endless.function),
            Error::Unfinished(unfinished) => Some(&unfinished.function),
            Error::NotInArrays(refused) => Some(&refused.function),
            Error::External(function, _)
            | Error::NoGradient(function, _)
            | Error::Undefined(function)
            | Error::OfItself(function) => Some(function),
        }
    }

    /// Returns the place in the source, where the error is about a part of a function.
    pub fn span(&self) -> Option<Span> {
        let span = match self {
            Error::MapLeft(left) => left.span,
            Error::OutOfFuel(endless) => endless.source.term,
            Error::Unfinished(unfinished) => unfinished.span,
            Error::NotInArrays(refused) => refused.source.span,
            Error::NotDifferentiable(_) | Error::External(..) | Error::NoGradient(..) => return None,
            Error::Undefined(_) | Error::OfItself(_) => return None,
        };
        Some(span).filter(|span| *span != Span::default())
    }

    /// Returns the place in the texts of strategies, where the error is about a strategy.
    pub fn strategy_place(&self) -> Option<Span> {
        match self {
            Error::OutOfFuel(endless) => Some(endless.place),
            Error::Unfinished(unfinished) => Some(unfinished.place),
            Error::MapLeft(_) | Error::NotDifferentiable(_) | Error::External(..) | Error::NoGradient(..) => None,
            Error::NotInArrays(_) | Error::Undefined(_) | Error::OfItself(_) => None,
        }
    }

    /// Returns a stable code, such as `E301`.
    pub fn code(&self) -> &'static str {
        match self {
            Error::NotDifferentiable(_) => "E301",
            Error::OutOfFuel(_) => "E303",
            Error::Unfinished(_) => "E508",
            Error::NotInArrays(refused) => refused.source.reason.code(),
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
        let diagnostic = Diagnostic::error(error.code(), error.to_string());
        match &error {
            Error::OutOfFuel(_) => {
                diagnostic.label("this loop").remedy("leave out one of the laws, or bound the loop: `fuel(100, ..)`")
            }
            Error::Unfinished(unfinished) => {
                diagnostic.label("this strategy").remedy(format!("after this stage, {}", unfinished.postcondition))
            }
            Error::NotInArrays(refused) => diagnostic.remedy(format!(
                "{}; or take another derivation for `{}`, such as `jacobian`",
                refused.source.reason.remedy(),
                refused.function.as_written()
            )),
            _ => diagnostic,
        }
    }
}

/// The most characters of a term in a message.
const SHOWN: usize = 80;

/// Returns a term on one line, cut where it is long.
pub(super) fn shown(term: &Expr) -> String {
    let text = infix::term(term, &Names::of_term(term), Format::Plain, usize::MAX);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ..", &text[..end]),
        None => text,
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
