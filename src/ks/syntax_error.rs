//! The errors of the reader, a row each.

use crate::ks::diagnostic::Diagnostic;

/// The syntax errors of a text as a sequence of s-expressions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyntaxError {
    /// A character that starts no token.
    Character(String),
    /// Digits followed by something else.
    Number(String),
    /// An Integer beyond 64 bits.
    IntegerRange(String),
    /// A Float beyond binary64.
    FloatRange(String),
    /// A backslash followed by an unknown character.
    Escape(String),
    /// A string without end.
    UnclosedString,
    /// A block comment without end.
    UnclosedComment,
    /// An opening parenthesis without partner.
    Unclosed(char),
    /// A closing parenthesis without partner.
    Stray(char),
    /// `(` closed by `]`, or `[` by `)`.
    Mismatched(char, char),
    /// Parentheses nested beyond this limit.
    TooDeep(usize),
    /// Too many errors to go on.
    TooMany,
}

impl From<SyntaxError> for Diagnostic {
    fn from(error: SyntaxError) -> Diagnostic {
        use SyntaxError as E;
        match error {
            E::Character(c) => Diagnostic::error("E101", format!("unexpected character {c}")),
            E::Number(word) => Diagnostic::error("E102", format!("`{word}` is neither a number nor a name"))
                .remedy(number_remedy(&word)),
            E::IntegerRange(word) => {
                Diagnostic::error("E103", format!("the literal `{word}` does not fit a 64-bit Integer"))
                    .remedy("write a Float literal, with a point: `1.0`")
            }
            E::FloatRange(word) => {
                Diagnostic::error("E104", format!("the literal `{word}` is out of range for a Float"))
            }
            E::Escape(escape) => Diagnostic::error("E105", format!("unknown escape `{escape}` in a string"))
                .remedy("write one of the escapes \\n \\t \\\\ \\\""),
            E::UnclosedString => Diagnostic::error("E106", "this string is never closed").remedy("add a closing `\"`"),
            E::UnclosedComment => Diagnostic::error("E107", "this comment is never closed")
                .remedy("add `|#`: comments nest, and each `#|` needs its own"),
            E::Unclosed(bracket) => Diagnostic::error("E108", format!("this `{bracket}` is never closed")),
            E::Stray(bracket) => Diagnostic::error("E109", format!("this `{bracket}` closes nothing")),
            E::Mismatched(open, close) => Diagnostic::error("E110", format!("`{open}` is closed by `{close}`")),
            E::TooDeep(limit) => Diagnostic::error("E111", format!("parentheses are nested deeper than {limit}"))
                .remedy("name inner terms in one `(let ((x1 e1) ... (xn en)) e)`"),
            E::TooMany => Diagnostic::error("E112", "too many errors; the rest of the file is not read"),
        }
    }
}

impl SyntaxError {
    /// Returns whether the error leaves the shape of the whole text in doubt, so that checking it makes no sense.
    pub(super) fn spoils_structure(&self) -> bool {
        match self {
            SyntaxError::Character(_)
            | SyntaxError::Number(_)
            | SyntaxError::IntegerRange(_)
            | SyntaxError::FloatRange(_)
            | SyntaxError::Escape(_) => false,
            SyntaxError::UnclosedString
            | SyntaxError::UnclosedComment
            | SyntaxError::Unclosed(_)
            | SyntaxError::Stray(_)
            | SyntaxError::Mismatched(..)
            | SyntaxError::TooDeep(_)
            | SyntaxError::TooMany => true,
        }
    }

    /// Returns whether the error hides the closing parentheses up to the end of the text.
    pub(super) fn swallows_the_rest(&self) -> bool {
        matches!(self, SyntaxError::UnclosedString | SyntaxError::UnclosedComment)
    }
}

fn number_remedy(text: &str) -> String {
    let digits = text.trim_end_matches('.');
    match digits.len() + 1 == text.len() && digits.chars().all(|c| c.is_ascii_digit() || "+-".contains(c)) {
        true => format!("write digits on both sides of the point: `{digits}.0`"),
        false => "start a name with a letter".into(),
    }
}
