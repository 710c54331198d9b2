//! The errors of the reader.

/// What is wrong with a text as a sequence of s-expressions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// A character no token starts with.
    #[error("unexpected character {0}")]
    Character(String),
    /// Digits followed by something else.
    #[error("`{0}` is neither a number nor a name")]
    Number(String),
    /// An Integer beyond 64 bits.
    #[error("the literal `{0}` does not fit a 64-bit Integer")]
    IntegerRange(String),
    /// A Float beyond binary64.
    #[error("the literal `{0}` is out of range for a Float")]
    FloatRange(String),
    /// A backslash followed by something unknown.
    #[error("unknown escape `{0}` in a string")]
    Escape(String),
    /// A string without end.
    #[error("this string is never closed")]
    UnclosedString,
    /// A block comment without end.
    #[error("this comment is never closed")]
    UnclosedComment,
    /// A parenthesis without partner.
    #[error("this `{0}` is never closed")]
    Unclosed(char),
    /// A closing parenthesis without partner.
    #[error("this `{0}` closes nothing")]
    Stray(char),
    /// `(` closed by `]`, or `[` by `)`.
    #[error("`{0}` is closed by `{1}`")]
    Mismatched(char, char),
    /// Too deep.
    #[error("parentheses are nested deeper than {0}")]
    TooDeep(usize),
    /// Too many errors to go on.
    #[error("too many errors; the rest of the file is not read")]
    TooMany,
}

impl SyntaxError {
    /// A stable code, for `lmc explain`.
    pub fn code(&self) -> &'static str {
        match self {
            SyntaxError::Character(_) => "E101",
            SyntaxError::Number(_) => "E102",
            SyntaxError::IntegerRange(_) => "E103",
            SyntaxError::FloatRange(_) => "E104",
            SyntaxError::Escape(_) => "E105",
            SyntaxError::UnclosedString => "E106",
            SyntaxError::UnclosedComment => "E107",
            SyntaxError::Unclosed(_) => "E108",
            SyntaxError::Stray(_) => "E109",
            SyntaxError::Mismatched(..) => "E110",
            SyntaxError::TooDeep(_) => "E111",
            SyntaxError::TooMany => "E112",
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> Option<String> {
        let text = match self {
            SyntaxError::Number(text) => return Some(number_remedy(text)),
            SyntaxError::Escape(_) => "the escapes are \\n \\t \\\\ \\\"",
            SyntaxError::UnclosedString => "add a closing `\"`",
            SyntaxError::UnclosedComment => "add `|#`; comments nest, each `#|` needs its own",
            SyntaxError::IntegerRange(_) => "write a Float literal, with a point: `1.0`",
            SyntaxError::TooDeep(_) => "name inner terms in one `(let ((x1 e1) ... (xn en)) e)`",
            SyntaxError::Character(_)
            | SyntaxError::FloatRange(_)
            | SyntaxError::Unclosed(_)
            | SyntaxError::Stray(_)
            | SyntaxError::Mismatched(..)
            | SyntaxError::TooMany => return None,
        };
        Some(text.into())
    }

    /// Whether the shape of the whole text is in doubt, so that no meaning should be sought in it.
    pub(crate) fn spoils_structure(&self) -> bool {
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
}

fn number_remedy(text: &str) -> String {
    let digits = text.trim_end_matches('.');
    match digits.len() + 1 == text.len() && digits.chars().all(|c| c.is_ascii_digit() || "+-".contains(c)) {
        true => format!("a Float has digits on both sides of the point: `{digits}.0`"),
        false => "a name does not start with a digit".into(),
    }
}
