//! A diagnostic: a mistake in a user's file, with its place and its remedy, as data.
//!
//! ```text
//!     severity[code]: message          error[E216]: the body of `f` has type `Float`, but `Integer` is declared
//!      --> span label                   --> a.ks:2:3  this has type `Float`
//!      --> related                     other places that matter, each with a few words
//!     help: remedy
//! ```
//!
//! Each part of the compiler has an enum of its mistakes and turns each variant into one such row. This file knows
//! none of them.

use lm::term::Span;
use std::fmt;

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// An error: there is no program to run.
    Error,
    /// A warning: the program runs, but may surprise its author.
    Warning,
}

impl Severity {
    /// Returns the word for it: `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One mistake in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// A stable code, such as `E201`; `lmc explain` describes each at length.
    pub code: &'static str,
    /// The message: a sentence that names the mistake.
    pub message: String,
    /// The place; none for the whole file.
    pub span: Option<Span>,
    /// A few words beside the marked text.
    pub label: Option<String>,
    /// Other places that matter, each with a few words.
    pub related: Vec<(Span, String)>,
    /// The remedy.
    pub remedy: Option<String>,
}

impl Diagnostic {
    /// Makes an error of the whole file.
    pub fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        let (severity, message) = (Severity::Error, clipped(&message.into()));
        Diagnostic { severity, code, message, span: None, label: None, related: Vec::new(), remedy: None }
    }

    /// Makes a warning about the whole file.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, message) }
    }

    /// Sets the place.
    pub fn at(self, span: Span) -> Diagnostic {
        Diagnostic { span: Some(span), ..self }
    }

    /// Changes all places.
    pub fn placed(self, placed: impl Fn(Span) -> Span) -> Diagnostic {
        let related = self.related.into_iter().map(|(span, words)| (placed(span), words)).collect();
        Diagnostic { span: self.span.map(placed), related, ..self }
    }

    /// Adds words beside the marked text.
    pub fn label(self, words: impl Into<String>) -> Diagnostic {
        Diagnostic { label: Some(clipped(&words.into())), ..self }
    }

    /// Adds a remedy.
    pub fn remedy(self, words: impl Into<String>) -> Diagnostic {
        Diagnostic { remedy: Some(clipped(&words.into())), ..self }
    }

    /// Adds the name that may have been meant, where there is one.
    pub fn suggestion(self, name: Option<String>) -> Diagnostic {
        let remedy = name.map(|name| format!("did you mean `{name}`?"));
        Diagnostic { remedy, ..self }
    }

    /// Adds one more place. A place in the prelude, which is no place of the file, adds nothing.
    pub fn related(mut self, span: Span, words: &str) -> Diagnostic {
        if span != Span::default() {
            self.related.push((span, words.into()));
        }
        self
    }
}

/// The most characters of a word in a message, and of a message.
const LONGEST_WORD: usize = 200;
const LONGEST_TEXT: usize = 4_000;

/// Returns a message for people without what is too long to read: names, numbers and types of thousands of characters.
pub fn clipped(text: &str) -> String {
    let words = text.split_inclusive(char::is_whitespace).map(|word| cut(word, LONGEST_WORD));
    cut(&words.collect::<String>(), LONGEST_TEXT)
}

/// Returns a text that is too long as its beginning, ` ... ` and its last characters, which close quotes and end lines.
fn cut(text: &str, most: usize) -> String {
    const END: usize = 20;
    let count = text.chars().count();
    if count <= most {
        return text.into();
    }
    let start = text.chars().take(most - END);
    start.chain(" ... ".chars()).chain(text.chars().skip(count - END)).collect()
}

/// The message alone, without the place.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
