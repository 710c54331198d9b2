//! Writes CL as s-expressions, which `read` reads back.
//!
//! ```text
//! def ::= (cl f T (x : S) c) | (cl f T ((x : S) ..) c)
//! c   ::= I | (K k) | (K _ T) | (P (i1 .. im) n) | (F f) | (F f n) | (seq c1 .. cn) | (tuple c1 .. cn)
//!       | (if c1 c2 c3) | (L x cr cb) | (L (x1 .. xn) cr cb) | (B p arg ..)      arg ::= c | (lam (i : T) c)
//! f   ::= a primitive | g | (call g) | get$i$n | lmGet$i$n | tuple | assert | (D f) | ($pack g) | ($unpack T)
//!       | ($jacobian_at g)
//! ```
//!
//! `(seq c1 c2 c3)` is `c1 ; (c2 ; c3)`. The types of variables that L binds follow from `cr`. An operator that takes
//! any number of arguments says how many. A function g is written `(call g)` where its name is a word of this syntax or
//! a primitive's. Takes: CL. Gives: text.

use super::print::variables;
use super::{Argument, Def, Term};
use lm::notation::ks;
use lm::notation::names::Names;
use lm::prim::Prim;
use lm::term::{Constant, FunName, Op, Pattern, Var};
use pretty::RcDoc;

type Doc = RcDoc<'static>;

/// Returns a definition, laid out for lines of `width` characters, with a line feed at its end.
pub fn definition(def: &Def, width: usize) -> String {
    let writer = Writer { names: &Names::of_variables(variables(def)) };
    let params: Vec<Doc> = def.params.iter().map(|x| text(writer.declared(x))).collect();
    let params = match params.len() {
        1 => RcDoc::concat(params),
        _ => text("(").append(lines(params).nest(1).group()).append(text(")")),
    };
    let head = text(format!("(cl {} {} ", def.fun.name, def.fun.result)).append(params);
    let body = RcDoc::hardline().append(writer.term(&def.body)).nest(2);
    let mut out = String::new();
    head.append(body).append(text(")")).render_fmt(width, &mut out).expect("a String takes all that is written");
    out.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}

/// Returns whether a name is a word of the syntax, or a primitive's, so that a function of that name is `(call name)`.
pub(super) fn is_taken(name: &str) -> bool {
    let is_word = matches!(name, "tuple" | "assert" | "call" | "D") || name.starts_with("get$");
    is_word || name.starts_with("lmGet$") || Prim::named(name).is_some()
}

/// Returns whether the types of values do not tell how many arguments they are.
fn takes_any_number(op: &Op) -> bool {
    matches!(op, Op::Tuple | Op::Prim(Prim::VecInit | Prim::Print | Prim::LmVCat | Prim::LmHCat))
}

fn text(s: impl Into<String>) -> Doc {
    RcDoc::text(s.into())
}

struct Writer<'a> {
    names: &'a Names,
}

impl Writer<'_> {
    /// Returns a term. A chain of lets has one on a line, and is not walked by recursion.
    fn term(&self, c: &Term) -> Doc {
        let (mut c, mut parts, mut open) = (c, Vec::new(), 0);
        loop {
            let mut steps = Vec::new();
            while let Term::Compose(first, after) = c {
                steps.push(self.term(first));
                c = after;
            }
            let is_step = !steps.is_empty();
            open += usize::from(is_step);
            let Term::Let(pattern, rhs, body) = c else {
                steps.push(self.simple(c));
                let indent = if is_step { 2 } else { 0 };
                parts.push(text(if is_step { "(seq " } else { "" }).append(lines(steps).nest(indent).group()));
                break;
            };
            if is_step {
                parts.extend([text("(seq ").append(lines(steps).nest(2).group()), RcDoc::hardline()]);
            }
            open += 1;
            let head = text(format!("(L {}", self.pattern(pattern)));
            parts.push(head.append(RcDoc::line().append(self.term(rhs)).nest(2).group()));
            parts.push(RcDoc::hardline());
            c = body;
        }
        RcDoc::concat(parts).append(text(")".repeat(open)))
    }

    fn simple(&self, c: &Term) -> Doc {
        match c {
            Term::Identity => text("I"),
            Term::Constant(k) => text(format!("(K {})", constant(k))),
            Term::Dummy(ty) => text(format!("(K _ {ty})")),
            Term::Pruning { chosen, of } => {
                let numbers: Vec<String> = chosen.iter().map(usize::to_string).collect();
                text(format!("(P ({}) {of})", numbers.join(" ")))
            }
            Term::Function { op, arity, .. } if takes_any_number(op) => text(format!("(F {} {arity})", operator(op))),
            Term::Function { op, .. } => text(format!("(F {})", operator(op))),
            Term::Tuple(parts) => form("tuple", parts.iter().map(|part| self.term(part))),
            Term::If(c, yes, no) => form("if", [c, yes, no].into_iter().map(|part| self.term(part))),
            Term::Binder { op, args, .. } => {
                form(&format!("B {}", operator(op)), args.iter().map(|arg| self.argument(arg)))
            }
            Term::Compose(..) | Term::Let(..) => self.term(c),
        }
    }

    fn argument(&self, arg: &Argument) -> Doc {
        match arg {
            Argument::Value(c) => self.term(c),
            Argument::Function(x, body) => form(&format!("lam {}", self.declared(x)), [self.term(body)]),
        }
    }

    /// Returns `(x : T)`.
    fn declared(&self, x: &Var) -> String {
        format!("({} : {})", self.names.of_var(x), x.ty())
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        let names: Vec<String> = pattern.vars().iter().map(|x| self.names.of_var(x)).collect();
        match pattern {
            Pattern::Var(_) => names.concat(),
            Pattern::Tuple(_) => format!("({})", names.join(" ")),
        }
    }
}

/// Returns the parts, on one line or each on its own.
fn lines(parts: Vec<Doc>) -> Doc {
    RcDoc::intersperse(parts, RcDoc::line())
}

/// Returns `(head c1 .. cn)`, on one line or each part on its own.
fn form(head: &str, parts: impl IntoIterator<Item = Doc>) -> Doc {
    let parts = parts.into_iter().map(|part| RcDoc::line().append(part));
    text(format!("({head}")).append(RcDoc::concat(parts)).append(text(")")).nest(2).group()
}

/// Returns a literal; those that KS-Lisp has none for are `inf`, `-inf` and `nan`.
fn constant(k: &Constant) -> String {
    match k {
        Constant::Float(x) if x.is_nan() => "nan".into(),
        Constant::Float(x) if x.is_infinite() => if *x > 0.0 { "inf" } else { "-inf" }.into(),
        Constant::Float(_) | Constant::Integer(_) | Constant::Bool(_) | Constant::String(_) => ks::constant(k),
    }
}

fn operator(op: &Op) -> String {
    match op {
        Op::Tuple => "tuple".into(),
        Op::Get(i, n) => format!("get${i}${n}"),
        Op::LmGet(i, n) => format!("lmGet${i}${n}"),
        Op::Assert => "assert".into(),
        Op::Prim(p) => p.name().into(),
        Op::Call(f) => function(&f.name),
        Op::JacobianOf(p) => format!("(D {})", p.name()),
        Op::JacobianOfFun(f) => format!("(D {})", function(&f.name)),
        Op::JacobianAt(f) => format!("($jacobian_at {})", f.name),
        Op::Pack(f) => format!("($pack {f})"),
        Op::Unpack(ty) => format!("($unpack {ty})"),
        Op::If | Op::Dummy => panic!("`{op:?}` is no function of CL"),
    }
}

fn function(name: &FunName) -> String {
    let shown = name.to_string();
    if is_taken(&shown) { format!("(call {shown})") } else { shown }
}
