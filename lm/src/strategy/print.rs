//! Writes strategies as the text that reads back as the same.

use super::syntax::{Body, Definition, Name, Shape, Term};
use std::fmt;

/// The most characters of a line, where there is a place to break it.
const WIDTH: usize = 100;

/// A text in pieces. Lines break between pieces only.
#[derive(Default)]
struct Pieces(Vec<String>);

impl Pieces {
    fn piece(&mut self, text: impl Into<String>) {
        self.0.push(text.into());
    }

    fn glue(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(last) => last.push_str(text),
            None => self.piece(text),
        }
    }

    /// Adds a piece, after an opening parenthesis of the same line.
    fn opened(&mut self, add: impl FnOnce(&mut Pieces)) {
        let before = self.0.len();
        add(self);
        if before > 0 && before < self.0.len() {
            let first = self.0.remove(before);
            self.0[before - 1].push_str(&first);
        }
    }

    /// Returns indented lines.
    fn lines(&self, indent: &str) -> String {
        let mut lines: Vec<String> = Vec::new();
        for piece in &self.0 {
            match lines.last_mut() {
                Some(last) if last.chars().count() + 1 + piece.chars().count() <= WIDTH => {
                    last.push(' ');
                    last.push_str(piece);
                }
                _ => lines.push(format!("{indent}{piece}")),
            }
        }
        lines.join("\n")
    }
}

/// The operators from the weakest: an operand of a level needs no parentheses where that level or a weaker one may stand.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Sequence,
    Choice,
    Atom,
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn names(list: &[Name], out: &mut Pieces) {
    for (i, name) in list.iter().enumerate() {
        let comma = if i + 1 < list.len() { "," } else { "" };
        out.piece(format!("{}{comma}", name.text));
    }
}

/// Adds `before(s)after`.
fn enclosed(before: &str, s: &Term, out: &mut Pieces) {
    out.piece(before);
    out.opened(|out| term(s, Level::Sequence, out));
    out.glue(")");
}

/// Adds `before s)`.
fn second(before: &str, s: &Term, out: &mut Pieces) {
    out.piece(before);
    term(s, Level::Sequence, out);
    out.glue(")");
}

fn term(s: &Term, level: Level, out: &mut Pieces) {
    let own = match &s.shape {
        Shape::Seq(..) | Shape::Mu(..) => Level::Sequence,
        Shape::Choice(..) => Level::Choice,
        _ => Level::Atom,
    };
    // `mu` reaches as far to the right as it can.
    if own < level {
        return enclosed("(", s, out);
    }
    match &s.shape {
        Shape::Id => out.piece("id"),
        Shape::Fail => out.piece("fail"),
        Shape::Name(name, arguments) => call(name, arguments, out),
        Shape::Laws(items) => {
            out.piece("laws(");
            out.opened(|out| names(items, out));
            out.glue(")");
        }
        Shape::Seq(a, b) => binary(a, ";", b, Level::Sequence, Level::Choice, out),
        Shape::Choice(a, b) => binary(a, "<+", b, Level::Choice, Level::Atom, out),
        Shape::With(combinator, s) => match combinator.number() {
            Some(k) => enclosed(&format!("{}({k})(", combinator.name()), s, out),
            None => enclosed(&format!("{}(", combinator.name()), s, out),
        },
        Shape::Mu(x, s) => {
            out.piece(format!("mu {}.", x.text));
            term(s, Level::Sequence, out);
        }
        Shape::Fuel(n, s) => second(&format!("fuel({n},"), s, out),
        Shape::Pass(name) => out.piece(format!("pass({})", name.text)),
        Shape::Stage(heading, s) => second(&format!("stage({},", quoted(heading)), s, out),
    }
}

/// Adds `a ; b` or `a <+ b`. A `mu` on the left would take what follows.
fn binary(a: &Term, sign: &str, b: &Term, left: Level, right: Level, out: &mut Pieces) {
    term(a, if matches!(a.shape, Shape::Mu(..)) { Level::Atom } else { left }, out);
    out.piece(sign);
    out.opened(|out| {
        out.glue(" ");
        term(b, right, out);
    });
}

fn call(name: &str, arguments: &[Term], out: &mut Pieces) {
    let Some((last, first)) = arguments.split_last() else { return out.piece(name) };
    out.piece(format!("{name}("));
    out.opened(|out| {
        for argument in first {
            term(argument, Level::Sequence, out);
            out.glue(",");
        }
        term(last, Level::Sequence, out);
    });
    out.glue(")");
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Pieces::default();
        term(self, Level::Sequence, &mut out);
        f.write_str(&out.0.join(" "))
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Pieces::default();
        let keyword = match &self.body {
            Body::Group(items) => {
                names(items, &mut out);
                "group"
            }
            Body::Strategy(_, s) => {
                term(s, Level::Sequence, &mut out);
                "strategy"
            }
        };
        write!(f, "{keyword} {}", self.name.text)?;
        if let Body::Strategy(parameters, _) = &self.body
            && !parameters.is_empty()
        {
            let parameters: Vec<&str> = parameters.iter().map(|x| &*x.text).collect();
            write!(f, "({})", parameters.join(", "))?;
        }
        if let Some(purpose) = &self.purpose {
            write!(f, " {}", quoted(purpose))?;
        }
        writeln!(f, " =\n{}", out.lines("    "))
    }
}
