//! The lexer: from text to tokens. Reference: the lexical section of the language.
//!
//! White space and comments separate tokens and are skipped. A run of name characters that reads
//! as a number is a number.

use crate::ks::reader::Shape;
use crate::ks::syntax_error::SyntaxError;
use lm::term::Span;

/// A token.
#[derive(Clone, Debug)]
pub enum Token {
    /// `(` or `[`.
    Open(char),
    /// `)` or `]`.
    Close(char),
    /// A number, string or symbol.
    Atom(Shape),
    /// An error, and the shape to read instead.
    Wrong(SyntaxError, Option<Shape>),
    /// The end of the text.
    End,
}

/// A position in a text.
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// The characters besides letters that start a name.
const NAME_START: &str = "_':!$%&*+.,/<=>?@\\^|-~";

/// Returns whether names may start with `c`.
pub fn starts_name(c: char) -> bool {
    c.is_alphabetic() || NAME_START.contains(c)
}

/// Returns whether names may hold `c`.
pub fn continues_name(c: char) -> bool {
    starts_name(c) || c.is_ascii_digit()
}

impl<'a> Lexer<'a> {
    /// Returns the start of a text; a byte order mark is skipped.
    pub fn new(text: &'a str) -> Lexer<'a> {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Lexer { text, at }
    }

    /// Returns the next token and its place.
    pub fn next_token(&mut self) -> (Token, Span) {
        if let Some(opening) = self.skip_blanks() {
            return (Token::Wrong(SyntaxError::UnclosedComment, None), opening);
        }
        let start = self.at;
        let token = match self.peek() {
            None => Token::End,
            Some(c @ ('(' | '[')) => self.single(Token::Open(c)),
            Some(c @ (')' | ']')) => self.single(Token::Close(c)),
            Some('"') => return self.string(),
            Some(c) if continues_name(c) => self.word(),
            Some(_) => self.junk(),
        };
        (token, self.span_from(start))
    }

    /// Returns the current position as an empty place.
    pub fn here(&self) -> Span {
        self.span_from(self.at)
    }

    /// Returns whether the parenthesis at `at` starts a line and opens a declaration. If so, whatever is
    /// still open above it was forgotten.
    pub fn starts_definition(&self, at: Span) -> bool {
        let start = at.start as usize;
        if start > 0 && !matches!(self.text.as_bytes()[start - 1], b'\n' | b'\r') {
            return false;
        }
        let after = &self.text[at.end as usize..];
        let word = after.split(|c: char| !continues_name(c)).next().unwrap_or("");
        ["def", "edef", "gdef", "rule"].contains(&word)
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn span_from(&self, start: usize) -> Span {
        Span { start: start as u32, end: self.at as u32 }
    }

    fn single(&mut self, token: Token) -> Token {
        self.at += 1;
        token
    }

    fn skip_while(&mut self, keep: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !keep(c)).unwrap_or(rest.len());
    }

    /// Skips white space and a comment after it. Returns the comment's place, or the place of its opening if it has no
    /// end.
    pub fn next_comment(&mut self) -> Option<Result<Span, Span>> {
        self.skip_while(char::is_whitespace);
        let start = self.at;
        if self.rest().starts_with(';') {
            self.skip_while(|c| c != '\n' && c != '\r');
        } else if self.rest().starts_with("#|") {
            if !self.skip_block_comment() {
                self.at = self.text.len();
                return Some(Err(Span { start: start as u32, end: start as u32 + 2 }));
            }
        } else {
            return None;
        }
        Some(Ok(self.span_from(start)))
    }

    /// Skips white space and comments. Returns the place of the opening of a comment without end.
    fn skip_blanks(&mut self) -> Option<Span> {
        std::iter::from_fn(|| self.next_comment()).find_map(Result::err)
    }

    /// Skips a block comment and the comments inside it. Returns false if it has no end.
    fn skip_block_comment(&mut self) -> bool {
        let mut depth = 0usize;
        while self.at < self.text.len() {
            match &self.text.as_bytes()[self.at..] {
                [b'#', b'|', ..] => (depth, self.at) = (depth + 1, self.at + 2),
                [b'|', b'#', ..] => (depth, self.at) = (depth - 1, self.at + 2),
                _ => self.at += 1,
            }
            if depth == 0 {
                return true;
            }
        }
        false
    }

    fn junk(&mut self) -> Token {
        let first = self.peek().expect("the caller has seen a character");
        self.skip_while(|c| !continues_name(c) && !c.is_whitespace() && !"()[]\";#".contains(c));
        // A lone `#` opens no comment, and stops the loop above before it moves.
        if self.peek() == Some('#') && first == '#' {
            self.at += 1;
        }
        let shown = if first.is_control() { format!("U+{:04X}", first as u32) } else { format!("`{first}`") };
        Token::Wrong(SyntaxError::Character(shown), None)
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        self.skip_while(continues_name);
        classify(&self.text[start..self.at])
    }

    fn string(&mut self) -> (Token, Span) {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        let mut wrong = None;
        loop {
            let run = self.at;
            self.skip_while(|c| c != '"' && c != '\\');
            value.push_str(&self.text[run..self.at]);
            let mut ahead = self.rest().chars();
            match (ahead.next(), ahead.next()) {
                (Some('"'), _) => break,
                (Some('\\'), Some(c)) => {
                    self.at += 1 + c.len_utf8();
                    match escape(c) {
                        Some(c) => value.push(c),
                        None => wrong = wrong.or(Some((format!("\\{c}"), self.span_from(self.at - 1 - c.len_utf8())))),
                    }
                }
                (Some(_), _) | (None, _) => {
                    self.at = self.text.len();
                    let opening = Span { start: start as u32, end: start as u32 + 1 };
                    return (Token::Wrong(SyntaxError::UnclosedString, Some(Shape::Bad)), opening);
                }
            }
        }
        self.at += 1;
        match wrong {
            Some((text, place)) => (Token::Wrong(SyntaxError::Escape(text), Some(Shape::Bad)), place),
            None => (Token::Atom(Shape::String(value.into())), self.span_from(start)),
        }
    }
}

fn escape(c: char) -> Option<char> {
    match c {
        'n' => Some('\n'),
        't' => Some('\t'),
        '\\' | '"' => Some(c),
        _ => None,
    }
}

/// Returns a number, or a name, or neither.
fn classify(word: &str) -> Token {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return Token::Atom(Shape::Symbol(word.into()));
    }
    let wrong = |error: fn(String) -> SyntaxError| Token::Wrong(error(word.into()), Some(Shape::Bad));
    if unsigned.chars().all(|c| c.is_ascii_digit()) {
        return word.parse().map_or_else(|_| wrong(SyntaxError::IntegerRange), |i| Token::Atom(Shape::Integer(i)));
    }
    match word.parse::<f64>() {
        Ok(x) if is_float(unsigned) && x.is_finite() => Token::Atom(Shape::Float(x)),
        Ok(_) if is_float(unsigned) => wrong(SyntaxError::FloatRange),
        Ok(_) | Err(_) => wrong(SyntaxError::Number),
    }
}

/// Returns `digits.digits`, `digits e exponent` or both.
fn is_float(unsigned: &str) -> bool {
    let digits = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits = exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => exponent.is_some() && digits(mantissa),
    };
    exponent_fits && mantissa_fits
}
