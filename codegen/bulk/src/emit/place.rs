//! Places in the source, as texts say them.

use lm::term::Span;

/// Returns `file:line:column` of a place in the source.
pub type Places<'a> = &'a dyn Fn(Span) -> Option<String>;
