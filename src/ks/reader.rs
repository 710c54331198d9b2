//! The reader: from text to s-expressions.
//!
//! ```text
//! s ::= number | string | symbol | (s ...) | [s ...]
//! ```
//!
//! It keeps its own stack and a limit on nesting, so that no text makes it overflow; an s-expression
//! is never nested deeper than [`NESTING_LIMIT`]. It reports every error of the text (up to a
//! number), not just the first.

use crate::ks::diagnostic::Diagnostic;
use crate::ks::lexer::{Lexer, Token};
use crate::ks::syntax_error::SyntaxError;
use crate::stack::{LARGE_STACK, stack_size};
use lm::term::Span;
use std::sync::Arc;

/// The deepest nesting of parentheses that is read, given a stack of [`LARGE_STACK`] bytes; as much less as there is
/// less.
pub const NESTING_LIMIT: usize = 20_000;

/// The reader gives up after so many errors: a file with more is no program.
const ERROR_LIMIT: usize = 100;

/// An s-expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Sexp {
    /// The shape.
    pub shape: Shape,
    /// The place.
    pub span: Span,
}

/// The shape of an s-expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// An identifier or reserved word.
    Symbol(Arc<str>),
    /// A Float literal.
    Float(f64),
    /// An Integer literal.
    Integer(i64),
    /// A String literal, escapes resolved.
    String(Arc<str>),
    /// `(s ...)`.
    List(Vec<Sexp>),
    /// `[s ...]`.
    Bracket(Vec<Sexp>),
    /// A part that could not be read. Its error is reported.
    Bad,
}

/// The result of reading a text.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The top-level s-expressions.
    pub forms: Vec<Sexp>,
    /// The errors, in order of place.
    pub errors: Vec<Diagnostic>,
    /// Whether the forms are worth checking in spite of the errors.
    pub structure_is_sound: bool,
}

/// Reads a text.
pub fn read(text: &str) -> Reading {
    let limit = (NESTING_LIMIT as u64 * stack_size() as u64 / LARGE_STACK as u64) as usize;
    let reading = Reading { structure_is_sound: true, ..Reading::default() };
    let lexer = Lexer::new(text);
    let mut reader =
        Reader { lexer, open: Vec::new(), depth: 0, limit, is_after_stray: false, is_swallowed: false, reading };
    while reader.step() {}
    reader.reading.errors.sort_by_key(|e| e.span.map(|s| s.start));
    reader.reading
}

/// A list whose end has not been seen.
struct Open {
    bracket: char,
    at: Span,
    items: Vec<Sexp>,
}

struct Reader<'a> {
    lexer: Lexer<'a>,
    open: Vec<Open>,
    /// The depth so far; more than `open.len()` beyond the limit.
    depth: usize,
    /// The greatest depth of a text.
    limit: usize,
    /// Whether the last token was a bracket that closes nothing.
    is_after_stray: bool,
    /// Whether a string or comment without end was read.
    is_swallowed: bool,
    reading: Reading,
}

impl Reader<'_> {
    /// Takes one token; returns whether there are more.
    fn step(&mut self) -> bool {
        if self.reading.errors.len() >= ERROR_LIMIT {
            let end = self.lexer.here();
            self.error(SyntaxError::TooMany, end);
            return false;
        }
        let (token, span) = self.lexer.next_token();
        let is_after_stray = std::mem::take(&mut self.is_after_stray);
        match token {
            Token::End => {
                // A string or comment without end has swallowed the closing parentheses.
                if !self.is_swallowed {
                    self.abandon(None);
                }
                return false;
            }
            Token::Open(bracket) => self.opens(bracket, span),
            // Of several brackets in a row that close nothing, the first is reported.
            Token::Close(_) if is_after_stray && self.open.is_empty() => self.is_after_stray = true,
            Token::Close(bracket) => self.closes(bracket, span),
            Token::Atom(shape) => self.push(Sexp { shape, span }),
            Token::Wrong(error, rest) => {
                self.error(error, span);
                if let Some(shape) = rest {
                    self.push(Sexp { shape, span });
                }
            }
        }
        true
    }

    fn opens(&mut self, bracket: char, at: Span) {
        if self.lexer.starts_definition(at) {
            self.abandon(Some(at));
        }
        self.depth += 1;
        if self.depth == self.limit + 1 {
            self.error(SyntaxError::TooDeep(self.limit), at);
        }
        if self.depth <= self.limit {
            self.open.push(Open { bracket, at, items: Vec::new() });
        }
    }

    fn closes(&mut self, bracket: char, at: Span) {
        if self.depth > self.limit {
            self.depth -= 1;
            return;
        }
        let Some(list) = self.open.pop() else {
            self.error(SyntaxError::Stray(bracket), at);
            self.is_after_stray = true;
            return;
        };
        self.depth -= 1;
        if partner(list.bracket) != bracket {
            let diagnostic = Diagnostic::from(SyntaxError::Mismatched(list.bracket, bracket)).at(at);
            self.report(diagnostic.related(list.at, "opened here"));
        }
        let shape = if list.bracket == '(' { Shape::List(list.items) } else { Shape::Bracket(list.items) };
        self.push(Sexp { shape, span: Span { start: list.at.start, end: at.end } });
    }

    fn push(&mut self, item: Sexp) {
        match self.open.last_mut() {
            Some(list) => list.items.push(item),
            None => self.reading.forms.push(item),
        }
    }

    /// Gives up the lists that are open, at the end of the text or where the next definition starts.
    fn abandon(&mut self, next: Option<Span>) {
        if let Some(list) = self.open.last() {
            let diagnostic = Diagnostic::from(SyntaxError::Unclosed(list.bracket)).at(list.at);
            self.report(match next {
                Some(at) => diagnostic.related(at, "the next definition starts here"),
                None => diagnostic,
            });
        }
        self.open.clear();
        self.depth = 0;
    }

    fn error(&mut self, error: SyntaxError, span: Span) {
        self.reading.structure_is_sound &= !error.spoils_structure();
        self.is_swallowed |= error.swallows_the_rest();
        self.reading.errors.push(Diagnostic::from(error).at(span));
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.reading.structure_is_sound = false;
        self.reading.errors.push(diagnostic);
    }
}

fn partner(open: char) -> char {
    if open == '(' { ')' } else { ']' }
}
