//! Lists what has no bulk form.

use lm::term::Span;

/// Why a program has no bulk form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (in `{function}`)")]
pub struct Refusal {
    /// The kind.
    pub reason: Reason,
    /// The function whose body has it.
    pub function: String,
    /// What was met, as a sentence.
    pub what: String,
    /// The place in the source, if there is one.
    pub span: Span,
}

/// The kinds of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The rows of an array would differ in size.
    Jagged,
    /// A function that calls itself.
    Recursion,
    /// A function that is implemented elsewhere.
    External,
    /// Printing, or measuring time.
    Effect,
    /// A linear map as a value.
    LinearMap,
    /// Text.
    Text,
    /// A size that is not known before the data are.
    UnknownSize,
    /// Sizes that do not fit each other.
    Size,
    /// An operation that the output has no form of.
    Operation,
    /// A derivative by hand, of a function whose body would be differentiated.
    ByHand,
}

impl Reason {
    /// Every reason.
    pub const ALL: &[Reason] = &[
        Reason::Jagged,
        Reason::Recursion,
        Reason::External,
        Reason::Effect,
        Reason::LinearMap,
        Reason::Text,
        Reason::UnknownSize,
        Reason::Size,
        Reason::Operation,
        Reason::ByHand,
    ];

    /// Returns the code of the error.
    pub fn code(self) -> &'static str {
        match self {
            Reason::Jagged => "E310",
            Reason::Recursion => "E311",
            Reason::External => "E312",
            Reason::Effect => "E313",
            Reason::LinearMap => "E314",
            Reason::Text => "E315",
            Reason::UnknownSize => "E316",
            Reason::Operation => "E317",
            Reason::Size => "E318",
            Reason::ByHand => "E319",
        }
    }

    /// Returns what to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Reason::Jagged => "make all rows one size, and fill them up with zeros",
            Reason::Recursion => "write the recursion as a fold or a build",
            Reason::External => "write the function in the program, or call the output from a program that has it",
            Reason::Effect => "leave the call out; `lmc run` prints",
            Reason::LinearMap => "apply the linear map in a function of values",
            Reason::Text => "leave the text out; arrays hold numbers",
            Reason::UnknownSize => {
                "take the size from an argument: the size of an array, or an Integer parameter; StableHLO needs it as a number, by `--specialise`"
            }
            Reason::Size => "give sizes that fit each other by `--specialise`",
            Reason::ByHand => "call the function outside of what is differentiated",
            Reason::Operation => "`lmc compile --emit numpy` has all operations",
        }
    }
}
