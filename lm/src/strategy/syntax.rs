//! The text of strategies as trees, in which names are names.
//!
//! ```text
//! file ::= { "group" name [ string ] "=" name { "," name } }
//!        | { "strategy" name [ "(" name { "," name } ")" ] [ string ] "=" s }              # comment
//! s    ::= s ";" s | s "<+" s | "mu" name "." s | atom           ; binds weaker than <+, mu furthest
//! atom ::= "id" | "fail" | name [ "(" s { "," s } ")" ] | "(" s ")" | "laws" "(" name { "," name } ")"
//!        | combinator "(" s ")" | combinator "(" number ")" "(" s ")" | "fuel" "(" number "," s ")"
//!        | "pass" "(" name ")" | "stage" "(" string "," s ")"
//! ```
//!
//! A name of a group may end with `*`: all laws whose names start so. Two trees are equal if they differ in places only.

use super::combinator::Combinator;
use crate::term::Span;
use std::sync::Arc;

/// A name at a place.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: Arc<str>,
    /// The place.
    pub span: Span,
}

/// A strategy at a place.
#[derive(Clone, Debug)]
pub struct Term {
    /// The strategy.
    pub shape: Shape,
    /// The place.
    pub span: Span,
}

/// A strategy.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// `id`.
    Id,
    /// `fail`.
    Fail,
    /// A law, a variable, a parameter, or a strategy with its arguments.
    Name(Arc<str>, Vec<Term>),
    /// `laws(a, b)`: laws and groups.
    Laws(Vec<Name>),
    /// `a ; b`.
    Seq(Box<Term>, Box<Term>),
    /// `a <+ b`.
    Choice(Box<Term>, Box<Term>),
    /// `try(s)`.
    With(Combinator, Box<Term>),
    /// `mu x. s`.
    Mu(Name, Box<Term>),
    /// `fuel(n, s)`.
    Fuel(usize, Box<Term>),
    /// `pass(p)`.
    Pass(Name),
    /// `stage("Heading", s)`.
    Stage(Arc<str>, Box<Term>),
}

/// A definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name.
    pub name: Name,
    /// The purpose, in a few words.
    pub purpose: Option<Arc<str>>,
    /// The meaning of the name.
    pub body: Body,
}

/// The meaning of a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A group: its laws and the groups in it.
    Group(Vec<Name>),
    /// A strategy, and its parameters.
    Strategy(Vec<Name>, Term),
}

/// The words that are no names.
pub const KEYWORDS: [&str; 9] = ["group", "strategy", "id", "fail", "laws", "mu", "fuel", "pass", "stage"];

/// Returns whether a word has a meaning in the grammar, so that it is no name.
pub fn is_reserved(word: &str) -> bool {
    KEYWORDS.contains(&word) || Combinator::named(word).is_some()
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.text == other.text
    }
}

impl PartialEq for Term {
    fn eq(&self, other: &Term) -> bool {
        self.shape == other.shape
    }
}

impl Definition {
    /// Returns the names that it mentions.
    pub(super) fn mentioned(&self) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        match &self.body {
            Body::Group(items) => names.extend(items.iter().map(|item| item.text.clone())),
            Body::Strategy(_, term) => term.mention(&mut names),
        }
        names
    }
}

impl Term {
    fn mention(&self, names: &mut Vec<Arc<str>>) {
        match &self.shape {
            Shape::Id | Shape::Fail | Shape::Pass(_) => {}
            Shape::Laws(items) => names.extend(items.iter().map(|item| item.text.clone())),
            Shape::Name(name, arguments) => {
                names.push(name.clone());
                arguments.iter().for_each(|s| s.mention(names));
            }
            Shape::Seq(a, b) | Shape::Choice(a, b) => [a, b].into_iter().for_each(|s| s.mention(names)),
            Shape::With(_, s) | Shape::Mu(_, s) | Shape::Fuel(_, s) | Shape::Stage(_, s) => s.mention(names),
        }
    }
}
