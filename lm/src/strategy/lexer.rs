//! The words of a file of strategies. White space and comments, from `#` to the end of the line, are skipped.

use super::mistake::{Cause, Mistake};
use crate::term::Span;
use std::sync::Arc;

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(Arc<str>),
    Number(usize),
    String(Arc<str>),
    /// One of [`SIGNS`].
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 7] = ["<+", ";", "(", ")", ",", ".", "="];

impl Token {
    /// Returns the word as a message shows it.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Name(name) => format!("`{name}`"),
            Token::Number(n) => format!("`{n}`"),
            Token::String(_) => "a string".into(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the file".into(),
        }
    }
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || "_$-'*".contains(c)
}

/// Returns the words, the last one `End`, with their places in a text that starts at an offset; and the mistakes.
pub(super) fn words(text: &str, start: u32) -> (Vec<(Token, Span)>, Vec<Mistake>) {
    let mut lexer = Lexer { text, at: 0, start, mistakes: Vec::new() };
    let mut words = Vec::new();
    loop {
        let word = lexer.next();
        let is_end = word.0 == Token::End;
        words.push(word);
        if is_end {
            return (words, lexer.mistakes);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    start: u32,
    mistakes: Vec<Mistake>,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> (Token, Span) {
        loop {
            self.skip_blanks();
            let from = self.at;
            if let Some(token) = self.token() {
                return (token, self.span(from));
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn span(&self, from: usize) -> Span {
        Span { start: self.start + from as u32, end: self.start + self.at as u32 }
    }

    /// Moves over the characters that are kept.
    fn take(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn skip_blanks(&mut self) {
        self.take(char::is_whitespace);
        while self.rest().starts_with('#') {
            self.take(|c| c != '\n' && c != '\r');
            self.take(char::is_whitespace);
        }
    }

    /// Returns the next word; none for a mistake.
    fn token(&mut self) -> Option<Token> {
        let from = self.at;
        let Some(first) = self.rest().chars().next() else { return Some(Token::End) };
        if let Some(sign) = SIGNS.into_iter().find(|sign| self.rest().starts_with(sign)) {
            self.at += sign.len();
            return Some(Token::Sign(sign));
        }
        if first == '"' {
            return self.string();
        }
        let word = self.take(continues_name);
        if word.is_empty() {
            self.at += first.len_utf8();
            return self.wrong(from, Cause::Character(first));
        }
        if !word.chars().all(|c| c.is_ascii_digit()) {
            return Some(Token::Name(word.into()));
        }
        match word.parse() {
            Ok(n) => Some(Token::Number(n)),
            Err(_) => self.wrong(from, Cause::Number(word.into())),
        }
    }

    fn wrong(&mut self, from: usize, cause: Cause) -> Option<Token> {
        let span = self.span(from);
        self.mistakes.push(Mistake { span, cause });
        None
    }

    /// Reads a string, in which a backslash stands before a quote and before itself.
    fn string(&mut self) -> Option<Token> {
        let from = self.at;
        self.at += 1;
        let mut value = String::new();
        loop {
            value.push_str(self.take(|c| !"\"\\\n\r".contains(c)));
            let mut ahead = self.rest().chars();
            match (ahead.next(), ahead.next()) {
                (Some('"'), _) => break,
                (Some('\\'), Some(c)) if "\"\\".contains(c) => {
                    self.at += 2;
                    value.push(c);
                }
                (Some('\\'), Some(_)) => {
                    self.at += 1;
                    value.push('\\');
                }
                _ => return self.wrong(from, Cause::UnclosedString),
            }
        }
        self.at += 1;
        Some(Token::String(value.into()))
    }
}
