//! Reads the text of a law.
//!
//! ```text
//! side ::= side operator side | -side | side ᵀ | side .i | side .1 | side .2 | atom
//! atom ::= name | number | name(side, ...) | sign(side, ...) | (side, ...) | λi. side | λ(i, ...). side
//!        | name{side, ...} | λ(i, (x, y)). side | if side then side else side | let name = side in side | 0 | 1
//! ```
//!
//! where an element of a list may be `side ..`. Operators and signs: `notation::operators`. `.1` and `.2` are the
//! components of a pair.

use super::pattern::{Binder, Pat};
use crate::notation::operators::{self, FUNCTION_SIGNS, Grouping, PREFIX_LEVEL};
use crate::prim::Prim;
use crate::term::{Constant, Op};
use std::sync::Arc;

/// Reads one side of a law. Panics when it is malformed: laws are part of the program, not input.
pub fn side(text: &str) -> Pat {
    let mut parser = Parser { text, rest: text, binders: Vec::new() };
    let pattern = parser.infix(0);
    parser.blank();
    assert!(parser.rest.is_empty(), "law `{text}`: `{}` is left over", parser.rest);
    settle_witnesses(pattern, true)
}

/// Fills in the witnesses below the root. A scale without a witness is one of Floats: `S(y) ⋈ S(x)`. A sum and a
/// conditional have the spaces of their parts, so there the root's witnesses still serve.
fn settle_witnesses(p: Pat, at_root: bool) -> Pat {
    let below = |p| settle_witnesses(p, false);
    match p {
        Pat::App(op @ (Op::If | Op::Prim(Prim::LmAdd)), args) => {
            Pat::App(op, args.into_iter().map(|a| settle_witnesses(a, at_root)).collect())
        }
        Pat::App(Op::Prim(Prim::LmScale), mut args) if !at_root && args[0] == Pat::Domain => {
            args[0] = Pat::FloatWitness;
            Pat::App(Op::Prim(Prim::LmScale), args)
        }
        Pat::App(op, args) => {
            Pat::App(op, args.into_iter().map(|a| if is_witness(&a) { a } else { below(a) }).collect())
        }
        Pat::Prelude(name, args) => Pat::Prelude(name, args.into_iter().map(below).collect()),
        Pat::Applied(name, args) => Pat::Applied(name, args.into_iter().map(below).collect()),
        Pat::Repeat(p) => Pat::Repeat(Box::new(below(*p))),
        Pat::Lam(x, p) => Pat::Lam(x, Box::new(below(*p))),
        Pat::Step(xs, p) => Pat::Step(xs, Box::new(below(*p))),
        Pat::Let(x, p, q) => Pat::Let(x, Box::new(below(*p)), Box::new(below(*q))),
        Pat::Component(p) => Pat::Component(Box::new(below(*p))),
        Pat::Total(p) => Pat::Total(Box::new(below(*p))),
        leaf @ (Pat::DomainOf(_)
        | Pat::CodomainOf(_)
        | Pat::Meta(_)
        | Pat::Const(_)
        | Pat::Bound(_)
        | Pat::Domain
        | Pat::Codomain
        | Pat::FloatWitness) => leaf,
    }
}

fn is_witness(p: &Pat) -> bool {
    matches!(p, Pat::Domain | Pat::Codomain)
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    binders: Vec<Arc<str>>,
}

impl<'a> Parser<'a> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.blank();
        let found = self.rest.strip_prefix(token);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn expect(&mut self, token: &str) {
        assert!(self.eat(token), "law `{}`: expected `{token}` before `{}`", self.text, self.rest);
    }

    fn word(&mut self) -> Option<&'a str> {
        self.blank();
        let starts = self.rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '$');
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '\''))
            .unwrap_or(self.rest.len());
        if !starts {
            return None;
        }
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(word)
    }

    /// Operators of at least the given level.
    fn infix(&mut self, level: u8) -> Pat {
        let mut left = self.prefix();
        loop {
            self.blank();
            if self.rest.starts_with("..") {
                return left;
            }
            let Some(op) = operators::at_start_of(self.rest).filter(|op| op.level >= level) else {
                return left;
            };
            self.rest = &self.rest[op.sign.len()..];
            let right = self.infix(if op.grouping == Grouping::Right { op.level } else { op.level + 1 });
            left = match left {
                Pat::App(Op::Prim(p), mut args) if p == op.prim && op.grouping == Grouping::Chain => {
                    args.push(right);
                    Pat::App(Op::Prim(p), args)
                }
                left => Pat::App(Op::Prim(op.prim), vec![left, right]),
            };
        }
    }

    fn prefix(&mut self) -> Pat {
        self.blank();
        let negative_number = self.rest.strip_prefix('-').is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()));
        if !negative_number && self.eat("-") {
            return Pat::App(Op::Prim(Prim::Neg), vec![self.infix(PREFIX_LEVEL)]);
        }
        let mut p = self.atom();
        loop {
            if self.eat("ᵀ") {
                p = Pat::App(Op::Prim(Prim::LmTranspose), vec![p]);
            } else if !self.rest.trim_start().starts_with("..") && self.eat(".i") {
                p = Pat::Component(Box::new(p));
            } else if let Some((k, n)) = self.component() {
                p = Pat::App(Op::Get(k, n), vec![p]);
            } else {
                return p;
            }
        }
    }

    /// `.k` of a pair, `.k/n` of n components.
    fn component(&mut self) -> Option<(usize, usize)> {
        let of_three = (1..=3).find(|k| self.eat(&format!(".{k}/3"))).map(|k| (k, 3));
        of_three.or_else(|| [1, 2].into_iter().find(|k| self.eat(&format!(".{k}"))).map(|k| (k, 2)))
    }

    fn atom(&mut self) -> Pat {
        self.blank();
        if let Some(number) = self.number() {
            return number;
        }
        if self.eat("λ") {
            return self.lambda();
        }
        if self.rest.starts_with('(') {
            let mut parts = self.list();
            let single = parts.len() == 1 && !matches!(parts[0], Pat::Repeat(_));
            return if single { parts.remove(0) } else { Pat::App(Op::Tuple, parts) };
        }
        if self.eat("Σ") {
            return Pat::Total(Box::new(self.single_list()));
        }
        if let Some(op) = operators::at_start_of(self.rest) {
            self.rest = &self.rest[op.sign.len()..];
            return self.sign(op.prim);
        }
        let word = self.word().unwrap_or_else(|| panic!("law `{}`: what is `{}`?", self.text, self.rest));
        self.named(word)
    }

    /// Parses `×(m ..)`; and `⊕(m ..)`, a sum over a sequence.
    fn sign(&mut self, prim: Prim) -> Pat {
        match prim {
            Prim::LmAdd => Pat::Total(Box::new(self.single_list())),
            _ => Pat::App(Op::Prim(prim), self.list()),
        }
    }

    fn single_list(&mut self) -> Pat {
        let mut parts = self.list();
        assert_eq!(parts.len(), 1, "law `{}`: a sum is over one sequence", self.text);
        parts.remove(0)
    }

    /// Parses a number: `0` and `1` are the maps; a Float has a point; an Integer is written `int(2)`.
    fn number(&mut self) -> Option<Pat> {
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || "-.".contains(c))).unwrap_or(self.rest.len());
        let literal = self.rest[..end].trim_end_matches("..");
        if !literal.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        self.rest = &self.rest[literal.len()..];
        Some(match literal {
            "0" if self.rest.starts_with('(') => Pat::App(Op::Prim(Prim::LmZero), self.list()),
            "1" if self.rest.starts_with('(') => Pat::App(Op::Prim(Prim::LmOne), self.list()),
            "0" => Pat::App(Op::Prim(Prim::LmZero), vec![Pat::Domain, Pat::Codomain]),
            "1" => Pat::App(Op::Prim(Prim::LmOne), vec![Pat::Domain]),
            _ if literal.contains('.') => Pat::Const(Constant::Float(literal.parse().expect("a Float in a law"))),
            _ => panic!("law `{}`: the Integer {literal} is written int({literal})", self.text),
        })
    }

    fn lambda(&mut self) -> Pat {
        if !self.eat("(") {
            let binder = self.binder();
            self.expect(".");
            let body = self.under(std::slice::from_ref(&binder));
            return Pat::Lam(binder, Box::new(body));
        }
        let mut binders = vec![self.binder_of_step()];
        while !self.eat(")") {
            self.expect(",");
            binders.push(self.binder_of_step());
        }
        self.expect(".");
        let names: Vec<Arc<str>> = binders.iter().flat_map(Binder::names).cloned().collect();
        let body = self.under(&names);
        Pat::Step(binders, Box::new(body))
    }

    fn binder_of_step(&mut self) -> Binder {
        if !self.eat("(") {
            return Binder::Name(self.binder());
        }
        let first = self.binder();
        self.expect(",");
        let second = self.binder();
        self.expect(")");
        Binder::Pair([first, second])
    }

    fn binder(&mut self) -> Arc<str> {
        self.word().unwrap_or_else(|| panic!("law `{}`: no binder before `{}`", self.text, self.rest)).into()
    }

    /// Parses a side in which these names are binders.
    fn under(&mut self, binders: &[Arc<str>]) -> Pat {
        let around = self.binders.len();
        self.binders.extend_from_slice(binders);
        let body = self.infix(0);
        self.binders.truncate(around);
        body
    }

    fn let_in(&mut self) -> Pat {
        let name = self.binder();
        self.expect("=");
        let value = self.infix(0);
        self.expect("in");
        let body = self.under(std::slice::from_ref(&name));
        Pat::Let(name, Box::new(value), Box::new(body))
    }

    fn named(&mut self, word: &str) -> Pat {
        match word {
            "if" => return self.conditional(),
            "let" => return self.let_in(),
            "true" | "false" => return Pat::Const(Constant::Bool(word == "true")),
            "int" => return self.integer(),
            _ => {}
        }
        if self.eat("{") {
            let args = self.list_until("}");
            return Pat::Applied(word.into(), args);
        }
        if !self.rest.starts_with('(') {
            let bound = self.binders.iter().any(|b| &**b == word);
            return if bound { Pat::Bound(word.into()) } else { Pat::Meta(word.into()) };
        }
        let mut args = self.list();
        match (word, args.as_slice()) {
            ("dom", [m]) => return Pat::DomainOf(Box::new(m.clone())),
            ("cod", [m]) => return Pat::CodomainOf(Box::new(m.clone())),
            _ => {}
        }
        let sign = FUNCTION_SIGNS.iter().find(|(sign, _)| *sign == word).map(|(_, p)| *p);
        match sign.or_else(|| Prim::named(word)) {
            Some(Prim::LmScale) if args.len() == 1 => {
                args.insert(0, Pat::Domain);
                Pat::App(Op::Prim(Prim::LmScale), args)
            }
            Some(p) => Pat::App(Op::Prim(p), args),
            None => Pat::Prelude(word.into(), args),
        }
    }

    fn conditional(&mut self) -> Pat {
        let c = self.infix(0);
        self.expect("then");
        let a = self.infix(0);
        self.expect("else");
        let b = self.infix(0);
        Pat::App(Op::If, vec![c, a, b])
    }

    fn integer(&mut self) -> Pat {
        self.expect("(");
        let end = self.rest.find(')').expect("int(...) is closed");
        let value = self.rest[..end].trim().parse().expect("an Integer in a law");
        self.rest = &self.rest[end + 1..];
        Pat::Const(Constant::Integer(value))
    }

    fn list(&mut self) -> Vec<Pat> {
        self.expect("(");
        self.list_until(")")
    }

    fn list_until(&mut self, end: &str) -> Vec<Pat> {
        let mut parts = Vec::new();
        if self.eat(end) {
            return parts;
        }
        loop {
            let part = self.infix(0);
            parts.push(if self.eat("..") { Pat::Repeat(Box::new(part)) } else { part });
            if self.eat(end) {
                return parts;
            }
            self.expect(",");
        }
    }
}
