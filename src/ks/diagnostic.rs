//! Diagnostics: what is wrong with a user's file, where, and what to do about it.

use crate::ks::check::CheckError;
use crate::ks::reader::SyntaxError;
use crate::ks::source::SourceError;
use crate::passes::rules::EndlessRule;
use lm::term::Span;
use std::fmt;

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(transparent)]
pub enum Cause {
    /// The file gives no text.
    Source(#[from] SourceError),
    /// The text gives no s-expressions.
    Syntax(#[from] SyntaxError),
    /// The s-expressions give no program.
    Check(#[from] CheckError),
    /// A function has no derivative.
    Derive(#[from] crate::pipeline::Error),
    /// A rule does not come to an end: a warning.
    Rule(#[from] EndlessRule),
}

impl Cause {
    /// A stable code, such as `E201`.
    pub fn code(&self) -> &'static str {
        match self {
            Cause::Source(error) => error.code(),
            Cause::Syntax(error) => error.code(),
            Cause::Check(error) => error.code(),
            Cause::Derive(error) => error.code(),
            Cause::Rule(_) => "W401",
        }
    }

    /// `error`, or `warning` for what the program can do without.
    pub fn severity(&self) -> &'static str {
        match self {
            Cause::Source(_) | Cause::Syntax(_) | Cause::Check(_) | Cause::Derive(_) => "error",
            Cause::Rule(_) => "warning",
        }
    }

    /// What to do about it, where there is something to say.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Cause::Source(error) => error.remedy(),
            Cause::Syntax(error) => error.remedy(),
            Cause::Check(error) => error.remedy(),
            Cause::Derive(_) => None,
            Cause::Rule(_) => Some("a rule should make a term simpler".into()),
        }
    }

    /// A few words for the marked text.
    pub fn label(&self) -> Option<String> {
        match self {
            Cause::Source(_) | Cause::Syntax(_) | Cause::Derive(_) | Cause::Rule(_) => None,
            Cause::Check(error) => error.label(),
        }
    }
}

/// One error of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// What is wrong.
    pub cause: Cause,
    /// Where; none when the whole file is meant.
    pub span: Option<Span>,
    /// Other places that matter, each with a few words.
    pub related: Vec<(Span, String)>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn new(cause: impl Into<Cause>, span: Span) -> Diagnostic {
        Diagnostic { cause: cause.into(), span: Some(span), related: Vec::new() }
    }

    /// An error of the whole file.
    pub fn nowhere(cause: impl Into<Cause>) -> Diagnostic {
        Diagnostic { cause: cause.into(), span: None, related: Vec::new() }
    }

    /// The same with one more place; nowhere (the prelude) adds nothing.
    pub fn related(mut self, span: Span, words: &str) -> Diagnostic {
        if span != Span::default() {
            self.related.push((span, words.into()));
        }
        self
    }
}

/// The message alone, without the place.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}
