//! The mistakes in a file of strategies.

use crate::term::Span;
use std::fmt;
use std::sync::Arc;

/// A mistake, with its place in the texts of the library.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    /// The place.
    pub span: Span,
    /// The mistake.
    pub cause: Cause,
}

/// What a name should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    /// A law or a strategy.
    Strategy,
    /// A law or a group of laws.
    Law,
    /// A pass.
    Pass,
}

impl fmt::Display for Noun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Noun::Strategy => "law or strategy",
            Noun::Law => "law or group of laws",
            Noun::Pass => "pass",
        })
    }
}

/// A mistake.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Cause {
    /// A character that starts no word.
    #[error("unexpected character `{0}`")]
    Character(char),
    /// A string without end.
    #[error("this string is never closed")]
    UnclosedString,
    /// Another word than the grammar wants.
    #[error("{found} stands where {wanted} is expected")]
    Unexpected {
        /// The word.
        found: String,
        /// What the grammar wants.
        wanted: &'static str,
    },
    /// A number that is too large.
    #[error("the number `{0}` is too large")]
    Number(String),
    /// Parentheses nested beyond a limit.
    #[error("the strategy is nested deeper than {0}")]
    TooDeep(usize),
    /// A strategy that grows beyond a limit when names are replaced by what they mean.
    #[error("the strategy `{0}` has more than {1} parts, when names are replaced by what they stand for")]
    TooLarge(Arc<str>, usize),
    /// A wrong number of arguments.
    #[error("the number of arguments of `{name}` is {given}, and that of its parameters {wanted}")]
    Arguments {
        /// The strategy.
        name: Arc<str>,
        /// The number of its parameters.
        wanted: usize,
        /// The number of arguments.
        given: usize,
    },
    /// A definition of another kind than the one of lmc of that name.
    #[error("lmc itself applies `{0}` as a strategy without parameters, so it has to be one")]
    OtherKind(Arc<str>),
    /// A name that means nothing.
    #[error("there is no {noun} `{name}`")]
    Unknown {
        /// What it should be.
        noun: Noun,
        /// The name.
        name: Arc<str>,
    },
    /// A group where a strategy is needed.
    #[error("`{0}` is a group of laws, not a strategy")]
    Group(Arc<str>),
    /// A loop over what may succeed without a step.
    #[error("`{0}` may succeed without a step, so it never ends")]
    Endless(String),
    /// A recursion that comes to itself first.
    #[error("`{0}` comes to itself again without a step and at the same term, so it never ends")]
    Unguarded(String),
    /// A pass where there is no whole definition.
    #[error("`{0}` is of a whole definition, but here is only a part of one, or a loop")]
    PassInside(String),
    /// Two definitions of a name.
    #[error("`{0}` is defined twice")]
    Twice(Arc<str>, Span),
    /// A definition with the name of a law.
    #[error("`{0}` is a law, so no strategy and no group can have this name")]
    IsLaw(Arc<str>),
    /// A definition that mentions itself.
    #[error("`{0}` is defined by itself")]
    Itself(Arc<str>),
}
