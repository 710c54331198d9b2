//! Reads a file of strategies, by the grammar of [`super::syntax`].
//!
//! After a mistake it goes on at the next definition, so each definition may have one.

use super::combinator::Combinator;
use super::lexer::{Token, words};
use super::mistake::{Cause, Mistake};
use super::syntax::{Body, Definition, Name, Shape, Term, is_reserved};
use crate::term::Span;
use std::sync::Arc;

/// The most levels of a strategy.
const MOST_LEVELS: usize = 1_000;

/// Reads the definitions of a text that starts at an offset of the library's texts. Returns those without mistakes, in
/// order, and all mistakes.
pub fn file(text: &str, start: u32) -> (Vec<Definition>, Vec<Mistake>) {
    let (words, no_words) = words(text, start);
    let mut parser = Parser { words, at: 0, level: 0 };
    let (mut definitions, mut mistakes) = (Vec::new(), Vec::new());
    while *parser.peek() != Token::End {
        match parser.definition() {
            Ok(definition) => definitions.push(definition),
            Err(mistake) => {
                mistakes.push(mistake);
                parser.skip();
            }
        }
    }
    // What is no word is missing where the grammar wants one.
    (definitions, if no_words.is_empty() { mistakes } else { no_words })
}

type Read<T> = Result<T, Mistake>;

struct Parser {
    words: Vec<(Token, Span)>,
    at: usize,
    level: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.words[self.at].0
    }

    fn here(&self) -> Span {
        self.words[self.at].1
    }

    /// Returns the next word, and moves on. The last one stays.
    fn next(&mut self) -> (Token, Span) {
        let word = self.words[self.at].clone();
        self.at = (self.at + 1).min(self.words.len() - 1);
        word
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(s) if *s == sign);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, sign: &'static str, wanted: &'static str) -> Read<()> {
        if self.eat(sign) { Ok(()) } else { self.unexpected(wanted) }
    }

    fn unexpected<T>(&self, wanted: &'static str) -> Read<T> {
        Err(Mistake { span: self.here(), cause: Cause::Unexpected { found: self.peek().shown(), wanted } })
    }

    fn at_definition(&self) -> bool {
        matches!(self.peek(), Token::Name(name) if matches!(&**name, "strategy" | "group"))
    }

    /// Skips to the next definition.
    fn skip(&mut self) {
        while *self.peek() != Token::End && !self.at_definition() {
            self.next();
        }
    }

    fn definition(&mut self) -> Read<Definition> {
        if !self.at_definition() {
            return self.unexpected("`strategy` or `group`");
        }
        let (keyword, _) = self.next();
        let is_group = keyword == Token::Name("group".into());
        let name = self.name("a name")?;
        let parameters = match !is_group && self.eat("(") {
            true => self.list(|parser| parser.name("the name of a parameter"))?,
            false => Vec::new(),
        };
        let purpose = match self.peek().clone() {
            Token::String(purpose) => {
                self.next();
                Some(purpose)
            }
            _ => None,
        };
        self.expect("=", "`=`")?;
        let body = match is_group {
            true => Body::Group(self.items()?),
            false => Body::Strategy(parameters, self.sequence()?),
        };
        match *self.peek() == Token::End || self.at_definition() {
            true => Ok(Definition { name, purpose, body }),
            false if is_group => self.unexpected("`,` or the next definition"),
            false => self.unexpected("`;`, `<+` or the next definition"),
        }
    }

    fn name(&mut self, wanted: &'static str) -> Read<Name> {
        match self.peek() {
            Token::Name(text) if !is_reserved(text) => {
                let text = text.clone();
                let (_, span) = self.next();
                Ok(Name { text, span })
            }
            _ => self.unexpected(wanted),
        }
    }

    /// Reads items up to `)`.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Parser) -> Read<T>) -> Read<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(",") {
            items.push(item(self)?);
        }
        self.expect(")", "`,` or `)`")?;
        Ok(items)
    }

    /// Reads the laws of a group.
    fn items(&mut self) -> Read<Vec<Name>> {
        let mut items = vec![self.name("a law or a group")?];
        while self.eat(",") {
            items.push(self.name("a law or a group")?);
        }
        Ok(items)
    }

    fn binary(
        &mut self,
        sign: &str,
        make: fn(Box<Term>, Box<Term>) -> Shape,
        operand: fn(&mut Parser) -> Read<Term>,
    ) -> Read<Term> {
        let mut left = operand(self)?;
        while self.eat(sign) {
            let right = operand(self)?;
            let span = Span { start: left.span.start, end: right.span.end };
            left = Term { shape: make(Box::new(left), Box::new(right)), span };
        }
        Ok(left)
    }

    fn sequence(&mut self) -> Read<Term> {
        self.binary(";", Shape::Seq, |parser| parser.binary("<+", Shape::Choice, Parser::atom))
    }

    fn atom(&mut self) -> Read<Term> {
        if self.level == MOST_LEVELS {
            return Err(Mistake { span: self.here(), cause: Cause::TooDeep(MOST_LEVELS) });
        }
        self.level += 1;
        let start = self.here().start;
        let shape = self.shape();
        self.level -= 1;
        let end = self.words[self.at.saturating_sub(1)].1.end;
        Ok(Term { shape: shape?, span: Span { start, end } })
    }

    fn shape(&mut self) -> Read<Shape> {
        if self.eat("(") {
            let inner = self.sequence()?;
            self.expect(")", "`)`")?;
            return Ok(inner.shape);
        }
        let Token::Name(word) = self.peek().clone() else { return self.unexpected("a strategy") };
        if let Some(combinator) = Combinator::named(&word) {
            self.next();
            return self.combinator(combinator);
        }
        match &*word {
            "strategy" | "group" => self.unexpected("a strategy"),
            "id" | "fail" => {
                self.next();
                Ok(if *word == *"id" { Shape::Id } else { Shape::Fail })
            }
            "laws" | "fuel" | "pass" | "stage" => {
                self.next();
                self.expect("(", "`(`")?;
                self.form(&word)
            }
            "mu" => {
                self.next();
                let x = self.name("the name of a variable")?;
                self.expect(".", "`.`")?;
                Ok(Shape::Mu(x, Box::new(self.sequence()?)))
            }
            _ => {
                self.next();
                let arguments = if self.eat("(") { self.list(Parser::sequence)? } else { Vec::new() };
                Ok(Shape::Name(word, arguments))
            }
        }
    }

    /// Reads the rest of a form after `(`.
    fn form(&mut self, word: &str) -> Read<Shape> {
        match word {
            "laws" => Ok(Shape::Laws(self.list(|parser| parser.name("a law or a group"))?)),
            "pass" => {
                let name = self.name("the name of a pass")?;
                self.expect(")", "`)`")?;
                Ok(Shape::Pass(name))
            }
            "fuel" => {
                let n = self.number("a number of steps")?;
                Ok(Shape::Fuel(n, self.second()?))
            }
            _ => {
                let heading = self.string("a heading, in quotes")?;
                Ok(Shape::Stage(heading, self.second()?))
            }
        }
    }

    /// Reads `, s)`.
    fn second(&mut self) -> Read<Box<Term>> {
        self.expect(",", "`,`")?;
        let s = self.sequence()?;
        self.expect(")", "`)`")?;
        Ok(Box::new(s))
    }

    fn combinator(&mut self, combinator: Combinator) -> Read<Shape> {
        let mut combinator = combinator;
        self.expect("(", "`(`")?;
        if combinator.number().is_some() {
            let k = self.number("the number of a child")?;
            self.expect(")", "`)`")?;
            self.expect("(", "`(`")?;
            combinator = combinator.with_number(k);
        }
        let s = self.sequence()?;
        self.expect(")", "`)`")?;
        Ok(Shape::With(combinator, Box::new(s)))
    }

    fn number(&mut self, wanted: &'static str) -> Read<usize> {
        match *self.peek() {
            Token::Number(n) => {
                self.next();
                Ok(n)
            }
            _ => self.unexpected(wanted),
        }
    }

    fn string(&mut self, wanted: &'static str) -> Read<Arc<str>> {
        match self.peek().clone() {
            Token::String(text) => {
                self.next();
                Ok(text)
            }
            _ => self.unexpected(wanted),
        }
    }
}
