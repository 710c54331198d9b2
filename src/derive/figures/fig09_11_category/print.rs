//! Prints CL, for people; `write` writes the text that is read back.
//!
//! ```text
//! f2 : Float => Float
//!   = L(y, (I, I) ; F(mul),
//!     L(z, F(add),
//!     P[2,3/3] ; F(mul)))
//! ```
//!
//! `Format::Signs` uses the letters of the notes' Fig. 9, and the signs of operators: `𝓛(y, (𝓘, 𝓘) ; 𝓕(*), ..)`.

use super::{Argument, Def, Term};
use lm::notation::infix::{Format, constant};
use lm::notation::names::Names;
use lm::notation::operators;
use lm::prim::Prim;
use lm::term::{Op, Pattern, Var};
use lm::types::Type;
use pretty::RcDoc;

type Doc = RcDoc<'static>;

/// Returns a definition with its type, laid out for lines of `width` characters.
pub fn definition(def: &Def, format: Format, width: usize) -> String {
    let names = Names::of_variables(variables(def));
    let printer = Printer { format, names: &names };
    let body = RcDoc::hardline().append(text("= ")).append(printer.term(&def.body).nest(2)).nest(2);
    render(text(format!("{} : {}", def.fun.name, printer.ty(&def.fun.params, &def.fun.result))).append(body), width)
}

/// Returns a term on one line, cut where it is long: for messages.
pub(super) fn summary(c: &Term) -> String {
    const LONGEST: usize = 200;
    let names = Names::default();
    let line = render(Printer { format: Format::Plain, names: &names }.term(c), usize::MAX / 4).replace('\n', " ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST).chain("..".chars()).collect()
}

fn render(doc: Doc, width: usize) -> String {
    let mut out = String::new();
    doc.render_fmt(width, &mut out).expect("a String takes all that is written");
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Returns the parameters, and the variables that the combinators name, in order.
pub(super) fn variables(def: &Def) -> Vec<&Var> {
    let mut found: Vec<&Var> = def.params.iter().collect();
    let mut rest = vec![&def.body];
    while let Some(c) = rest.pop() {
        match c {
            Term::Identity | Term::Constant(_) | Term::Dummy(_) | Term::Pruning { .. } | Term::Function { .. } => {}
            Term::Compose(first, after) => rest.extend([&**after, first]),
            Term::Tuple(parts) => rest.extend(parts.iter().rev()),
            Term::If(c, yes, no) => rest.extend([&**no, yes, c]),
            Term::Let(pattern, rhs, body) => {
                found.extend(pattern.vars());
                rest.extend([&**body, rhs]);
            }
            Term::Binder { args, .. } => {
                found.extend(args.iter().filter_map(Argument::variable));
                rest.extend(args.iter().rev().map(Argument::term));
            }
        }
    }
    found
}

fn text(s: impl Into<String>) -> Doc {
    RcDoc::text(s.into())
}

/// Returns `c1 ; c2 ; ..`, on one line or each on its own.
fn sequence(steps: Vec<Doc>) -> Doc {
    RcDoc::intersperse(steps, text(" ;").append(RcDoc::line())).group()
}

struct Printer<'a> {
    format: Format,
    names: &'a Names,
}

impl Printer<'_> {
    /// Returns `S => T`.
    fn ty(&self, source: &[Type], target: &Type) -> String {
        let source = match source {
            [one] => one.to_string(),
            many => format!("({})", many.iter().map(Type::to_string).collect::<Vec<_>>().join(", ")),
        };
        format!("{source} {} {target}", self.choose("=>", "⇒"))
    }

    fn choose<T>(&self, plain: T, signs: T) -> T {
        if self.format == Format::Signs { signs } else { plain }
    }

    /// Returns a term. A chain of lets has one on a line, and is not walked by recursion.
    fn term(&self, c: &Term) -> Doc {
        let (mut c, mut parts, mut open) = (c, Vec::new(), 0);
        loop {
            let mut steps = Vec::new();
            while let Term::Compose(first, after) = c {
                steps.push(self.term(first));
                c = after;
            }
            let Term::Let(pattern, rhs, body) = c else {
                steps.push(self.simple(c));
                parts.push(sequence(steps));
                break;
            };
            if !steps.is_empty() {
                parts.extend([sequence(steps), text(" ;"), RcDoc::hardline()]);
            }
            parts.extend([self.binding(pattern, rhs), RcDoc::hardline()]);
            open += 1;
            c = body;
        }
        // So many that they may take lines of their own.
        parts.extend((0..open).map(|_| RcDoc::softline_().append(text(")"))));
        RcDoc::concat(parts)
    }

    /// Returns `L(x, cr,`.
    fn binding(&self, pattern: &Pattern, rhs: &Term) -> Doc {
        let head = text(format!("{}({},", self.choose("L", "𝓛"), self.pattern(pattern)));
        head.append(RcDoc::line().append(self.term(rhs)).nest(2).group()).append(text(","))
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Var(x) => self.names.of_var(x),
            Pattern::Tuple(xs) => {
                let xs: Vec<String> = xs.iter().map(|x| self.names.of_var(x)).collect();
                format!("({})", xs.join(", "))
            }
        }
    }

    fn simple(&self, c: &Term) -> Doc {
        match c {
            Term::Identity => text(self.choose("I", "𝓘")),
            Term::Constant(k) => text(format!("{}({})", self.choose("K", "𝓚"), constant(k))),
            Term::Dummy(_) => text(self.choose("K(_)", "𝓚(_)")),
            Term::Pruning { chosen, of } => self.pruning(chosen, *of),
            Term::Function { op, .. } => text(format!("{}({})", self.choose("F", "𝓕"), self.op(op))),
            Term::Tuple(parts) => self.call(String::new(), parts.iter().map(|part| self.term(part)).collect()),
            Term::If(c, yes, no) => {
                let parts = [c, yes, no].map(|part| self.term(part));
                self.call(self.choose("IF", "𝓘𝓕").into(), parts.into())
            }
            Term::Binder { op, args, .. } => {
                let name = match op {
                    Op::Prim(Prim::Build) => self.choose("B", "𝓑").into(),
                    _ => format!("{}[{}]", self.choose("B", "𝓑"), self.op(op)),
                };
                self.call(name, args.iter().map(|arg| self.argument(arg)).collect())
            }
            Term::Compose(..) | Term::Let(..) => self.term(c),
        }
    }

    fn pruning(&self, chosen: &[usize], of: usize) -> Doc {
        const ON_ONE_LINE: usize = 20;
        let numbers = chosen.iter().map(|i| text(i.to_string()));
        let may_break = if chosen.len() > ON_ONE_LINE { RcDoc::softline_() } else { RcDoc::nil() };
        let numbers = RcDoc::intersperse(numbers, text(",").append(may_break));
        let head = text(format!("{}[", self.choose("P", "𝓟")));
        head.append(numbers.nest(2)).append(text(format!("/{of}]")))
    }

    fn argument(&self, arg: &Argument) -> Doc {
        match arg {
            Argument::Value(c) => self.term(c),
            Argument::Function(x, body) => {
                text(format!("{},", self.names.of_var(x))).append(RcDoc::line()).append(self.term(body)).group()
            }
        }
    }

    fn call(&self, name: String, args: Vec<Doc>) -> Doc {
        let indent = name.chars().count().min(12) as isize + 1;
        let list = RcDoc::intersperse(args, text(",").append(RcDoc::line())).nest(indent).group();
        text(format!("{name}(")).append(list).append(text(")"))
    }

    fn op(&self, op: &Op) -> String {
        name(op, self.format)
    }
}

/// Returns the name of an operator where it stands alone, or its sign, in the notation with signs.
pub(in crate::derive::figures) fn name(op: &Op, format: Format) -> String {
    let has_signs = format == Format::Signs;
    let jacobian = if has_signs { "∂" } else { "D " };
    let prim = |p: Prim| operators::of(p).filter(|_| has_signs).map_or(p.name(), |o| o.sign);
    match op {
        Op::Get(i, n) if has_signs => format!("π({i},{n})"),
        Op::Prim(p) => prim(*p).into(),
        Op::JacobianOf(p) => format!("{jacobian}{}", prim(*p)),
        Op::JacobianOfFun(f) => format!("{jacobian}{}", f.name),
        op => operators::word(op).expect("other operators have one name"),
    }
}
