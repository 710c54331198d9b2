//! The infix form, for people.
//!
//! ```text
//! fun f2(x)
//!   = let { y = x * x }
//!     let { z = x + y }
//!     y * z
//! ```
//!
//! `Format::Plain` writes linear maps as the notes' demo does, `lmCompose(m, n)`; `Format::Signs`
//! uses the signs of their Fig. 3, `m ∘ n`. Witnesses of shapes are left out.

use super::names::Names;
use super::operators::{self, FUNCTION_SIGNS, Grouping, PREFIX_LEVEL};
use crate::prim::Prim;
use crate::term::{Binding, Constant, Def, Derivative, Expr, Kind, Op, Pattern};
use crate::types::Type;
use pretty::RcDoc;

/// The notation of linear maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `lmCompose(m, n)`.
    Plain,
    /// `m ∘ n`.
    Signs,
}

type Doc = RcDoc<'static>;

/// How much further to the right the lines of a term stand than the line on which it starts.
const INDENT: isize = 2;

/// The largest term, in nodes, that stays on the line of a call before a function over several lines.
const SHORT: usize = 8;

/// Returns a definition, laid out for lines of `width` characters.
pub fn definition(def: &Def, format: Format, width: usize) -> String {
    let names = Names::of(def);
    let printer = Printer { format, names: &names };
    let params: Vec<String> = def.params.iter().map(|p| names.of_var(p)).collect();
    let body = printer.print_block(&def.body);
    let doc = RcDoc::text(format!("fun {}({})", function_name(&def.fun.name), params.join(", ")))
        .append(RcDoc::hardline().append(RcDoc::text("= ")).append(body.nest(2)).nest(2));
    render(doc, width)
}

/// Returns a term, on lines of `width` characters; `names` says how its variables are called.
pub fn term(e: &Expr, names: &Names, format: Format, width: usize) -> String {
    render(Printer { format, names }.print_block(e), width)
}

/// Returns bindings as the lines of a block, without a result.
pub fn bindings(bindings: &[Binding], names: &Names, format: Format, width: usize) -> String {
    let printer = Printer { format, names };
    render(RcDoc::intersperse(bindings.iter().map(|b| printer.binding(b)), RcDoc::hardline()), width)
}

fn render(doc: Doc, width: usize) -> String {
    let mut out = String::new();
    doc.render_fmt(width, &mut out).expect("a String takes all that is written");
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Returns `f2`, `Df2`, `Rf2`, `f2'`, and f2 with a backquote for the derivations of the notes; `[fwd [rev f]]` for what
/// they do not name.
fn function_name(name: &crate::term::FunName) -> String {
    let base = |name: &crate::term::FunName| name.as_written().to_string();
    match name.derivations.as_slice() {
        [Derivative::D] => format!("D{}", base(name)),
        [Derivative::Dt] => format!("R{}", base(name)),
        [Derivative::Fwd] => format!("{}'", base(name)),
        [Derivative::Rev] => format!("{}`", base(name)),
        _ => name.to_string(),
    }
}

struct Printer<'a> {
    format: Format,
    names: &'a Names,
}

fn text(s: impl Into<String>) -> Doc {
    RcDoc::text(s.into())
}

impl Printer<'_> {
    /// Returns a term over as many lines as it wants: one per binding.
    fn print_block(&self, e: &Expr) -> Doc {
        match e.kind() {
            Kind::Let(bindings, body) => {
                let lines = bindings.iter().map(|b| self.binding(b).append(RcDoc::hardline()));
                RcDoc::concat(lines).append(self.print_block(body))
            }
            Kind::App(Op::If, args) => self.conditional(args),
            Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Lam(..) => self.at(e, 0),
        }
    }

    fn binding(&self, b: &Binding) -> Doc {
        let pattern = match &b.pattern {
            Pattern::Var(x) => self.names.of_var(x),
            Pattern::Tuple(xs) => {
                let xs: Vec<String> = xs.iter().map(|x| self.names.of_var(x)).collect();
                format!("({})", xs.join(", "))
            }
        };
        let head = text(format!("let {{ {pattern} ="));
        let rhs = match is_block(&b.rhs) {
            true => self.indented(&b.rhs),
            false => text(" ").append(self.at(&b.rhs, 0).nest(INDENT)),
        };
        head.append(rhs).append(text(" }"))
    }

    /// Returns a term on lines of its own.
    fn indented(&self, e: &Expr) -> Doc {
        RcDoc::hardline().append(self.print_block(e)).nest(INDENT)
    }

    fn conditional(&self, args: &[Expr]) -> Doc {
        let branch = |word: &str, e: &Expr| match is_block(e) {
            true => text(word.to_string()).append(self.indented(e)),
            false => text(format!("{word} ")).append(self.at(e, 0).nest(INDENT)),
        };
        let line = if args[1..].iter().any(is_block) { RcDoc::hardline() } else { RcDoc::line() };
        let condition = text("if ").append(self.at(&args[0], 0).nest(INDENT));
        let parts = [condition, branch("then", &args[1]), branch("else", &args[2])];
        RcDoc::intersperse(parts, line).group()
    }

    /// Returns a term for a place where an operator of at least `level` needs no parentheses.
    fn at(&self, e: &Expr, level: u8) -> Doc {
        match e.kind() {
            Kind::Const(c) => text(constant(c)),
            Kind::Var(x) => text(self.names.of_var(x)),
            Kind::Lam(x, body) => {
                let head = if self.format == Format::Signs { "λ" } else { "\\" };
                let head = text(format!("{head}{}.", self.names.of_var(x)));
                let body = match is_block(body) {
                    true => self.indented(body),
                    false => RcDoc::line().append(self.at(body, 0)).nest(INDENT).group(),
                };
                parenthesised(head.append(body), level > 0)
            }
            _ if is_block(e) && level > 0 => parenthesised(self.indented(e), true),
            Kind::Let(..) => self.indented(e),
            Kind::App(Op::If, args) => parenthesised(self.conditional(args), level > 0),
            Kind::App(op, args) => self.application(op, args, level),
        }
    }

    fn application(&self, op: &Op, args: &[Expr], level: u8) -> Doc {
        match op {
            Op::Tuple => self.call("", args),
            Op::Get(i, _) => self.at(&args[0], PREFIX_LEVEL).append(text(format!(".{i}"))),
            Op::Assert => self.call("assert", args),
            Op::Dummy => text("_"),
            Op::Pack(_) => self.call("pack", args),
            Op::Unpack(_) => self.call("unpack", args),
            Op::If => self.conditional(args),
            Op::Call(f) => self.call(&name_in_calls(&f.name), args),
            Op::JacobianOf(p) => self.call(&format!("{}{}", self.d(), sign_of(*p)), args),
            Op::JacobianOfFun(f) => self.call(&format!("{}{}", self.d(), f.name), args),
            Op::JacobianAt(f) => self.call(&format!("{}{}", self.d(), f.name), &args[..1]),
            Op::LmGet(i, n) => match self.format {
                Format::Signs => text(format!("π({i},{n})")),
                Format::Plain => text(format!("lmGet${i}${n}()")),
            },
            Op::Prim(p) => self.prim(*p, args, level),
        }
    }

    fn d(&self) -> &'static str {
        if self.format == Format::Signs { "∂" } else { "D" }
    }

    fn prim(&self, p: Prim, args: &[Expr], level: u8) -> Doc {
        let operator = operators::of(p).filter(|o| (o.ascii || self.format == Format::Signs) && args.len() > 1);
        if let Some(o) = operator {
            return self.infix(o, args, level);
        }
        match (p, args) {
            (Prim::Neg, [x]) => parenthesised(text("-").append(self.at(x, PREFIX_LEVEL)), level >= PREFIX_LEVEL),
            (Prim::ZeroOf, [w]) if matches!((w.kind(), w.ty()), (Kind::App(Op::Dummy, _), Type::Float)) => text("0.0"),
            (Prim::ZeroOf, _) => text("0"),
            (Prim::Index, [i, v]) => {
                let indices = i.args_of(&Op::Tuple).unwrap_or(std::slice::from_ref(i)).iter().map(|i| self.at(i, 0));
                let indices = RcDoc::intersperse(indices, text(", "));
                self.at(v, PREFIX_LEVEL).append(text("[")).append(indices).append(text("]"))
            }
            (Prim::LmTranspose, [m]) if self.format == Format::Signs => self.at(m, PREFIX_LEVEL).append(text("ᵀ")),
            (Prim::LmZero | Prim::LmOne, _) if self.format == Format::Signs => text(self.name(p)),
            (Prim::LmZero | Prim::LmOne, _) => self.call(p.name(), &[]),
            (Prim::LmScale, [_, k]) => self.call(self.name(p), std::slice::from_ref(k)),
            (p, args) => self.call(self.name(p), args),
        }
    }

    fn name(&self, p: Prim) -> &'static str {
        let sign = FUNCTION_SIGNS.iter().find(|(_, q)| *q == p).map(|(s, _)| *s);
        let sign = sign.or_else(|| operators::of(p).filter(|o| o.grouping == Grouping::Chain).map(|o| o.sign));
        if self.format == Format::Signs { sign.unwrap_or(p.name()) } else { p.name() }
    }

    fn infix(&self, o: &operators::Operator, args: &[Expr], level: u8) -> Doc {
        let last = args.len() - 1;
        let side = |(i, e): (usize, &Expr)| {
            let own = matches!((o.grouping, i), (Grouping::Left, 0)) || (o.grouping == Grouping::Right && i == last);
            self.at(e, if own { o.level } else { o.level + 1 })
        };
        let operands: Vec<Doc> = args.iter().enumerate().map(side).collect();
        let doc = RcDoc::intersperse(operands, text(format!(" {}", o.sign)).append(RcDoc::line())).group();
        parenthesised(doc, o.level < level)
    }

    fn call(&self, name: &str, args: &[Expr]) -> Doc {
        let arg = |e: &Expr| match is_block(e) {
            true => RcDoc::hardline().append(self.print_block(e)),
            false => self.at(e, 0),
        };
        let args = match args {
            [before @ .., last] if is_open(last) && before.iter().all(is_short) => {
                let before = before.iter().map(|a| self.at(a, 0).append(text(", ")));
                RcDoc::concat(before).append(self.at(last, 0))
            }
            _ => {
                let next = |(i, e): (usize, &Expr)| match i {
                    0 => arg(e),
                    // Short arguments share lines.
                    _ if is_short(e) && is_short(&args[i - 1]) => {
                        text(",").append(RcDoc::line().append(arg(e)).group())
                    }
                    _ => text(",").append(RcDoc::line()).append(arg(e)),
                };
                RcDoc::concat(args.iter().enumerate().map(next)).nest(INDENT).group()
            }
        };
        text(format!("{name}(")).append(args).append(text(")"))
    }
}

/// Returns whether a term has lines of its own.
fn is_block(e: &Expr) -> bool {
    match e.kind() {
        Kind::Let(..) => true,
        Kind::App(Op::If, args) => args[1..].iter().any(is_block),
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Lam(..) => false,
    }
}

/// Returns whether a term may go on below the line on which it starts: a function, or a call that ends with one.
fn is_open(e: &Expr) -> bool {
    match e.kind() {
        Kind::Lam(..) => true,
        Kind::App(Op::Tuple | Op::Get(..) | Op::If | Op::Prim(Prim::Index), _) => false,
        Kind::App(_, args) => args.last().is_some_and(|last| is_open(last) || is_block(last)),
        Kind::Let(..) => true,
        Kind::Const(_) | Kind::Var(_) => false,
    }
}

fn is_short(e: &Expr) -> bool {
    !matches!(e.kind(), Kind::Lam(..)) && shown(e) <= SHORT
}

/// Returns how many nodes of a term are printed: witnesses of shapes are not.
fn shown(e: &Expr) -> usize {
    match e.kind() {
        Kind::App(Op::LmGet(..) | Op::Prim(Prim::LmZero | Prim::LmOne | Prim::ZeroOf), _) => 1,
        Kind::App(Op::Prim(Prim::LmScale), args) => 1 + args.last().map_or(0, shown),
        _ if e.size() > 4 * SHORT => e.size(),
        _ => 1 + e.children().map(shown).sum::<usize>(),
    }
}

fn parenthesised(doc: Doc, yes: bool) -> Doc {
    if yes { text("(").append(doc).append(text(")")) } else { doc }
}

/// Returns `*` for mul, the name for what has no sign.
fn sign_of(p: Prim) -> &'static str {
    operators::of(p).filter(|o| o.ascii).map_or(p.name(), |o| o.sign)
}

/// A call of a derivative reads `fwd$f(x, dx)`, that of a Jacobian `Df(x)`.
fn name_in_calls(name: &crate::term::FunName) -> String {
    if let [Derivative::D | Derivative::Dt] = name.derivations.as_slice() {
        return function_name(name);
    }
    let base = name.as_written();
    name.derivations.iter().map(|d| format!("{d}$")).collect::<String>() + &base.to_string()
}

/// Returns a literal as people read it: a Float always shows that it is one only where a whole number could be meant,
/// so `2` is printed `2.0`.
pub fn constant(c: &Constant) -> String {
    match c {
        Constant::Float(x) => format!("{x:?}"),
        Constant::Integer(i) => i.to_string(),
        Constant::Bool(b) => b.to_string(),
        Constant::String(s) => format!("{s:?}"),
    }
}
