//! KS-Lisp: terms printed so that the text reads back as the same term.
//!
//! A primitive prints under the name that means
//! it for arguments of these types: `add` of tuples is `ts_add`; where that name means something
//! else, since the program defines it or the language gives it other types, `$prim$add` is written.
//! Float literals read back bit by bit; infinities and nan, which have no literal, print as divisions.

use crate::notation::names::Names;
use crate::notation::operators;
use crate::prim::Prim;
use crate::term::{Binding, Constant, Def, Derivative, Expr, Fun, Kind, Op, Pattern, Program, Rule, Var};
use crate::types::Type;
use pretty::{Arena, DocAllocator, DocBuilder};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Returns a program: its external functions, definitions and rules, with empty lines between them.
pub fn program(program: &Program, width: usize) -> String {
    let funs = program.externals.values().chain(program.defs.values().map(|def| &def.fun));
    let overriding = funs.filter(|fun| fun.name.derivations.is_empty());
    let overridden = overriding.map(|fun| (fun.name.base.clone(), fun.argument())).collect();
    let externals = program.externals.values().map(|fun| external(fun));
    let defs = program.defs.values().map(|d| print_def(d, width, &overridden));
    let rules = program.rules.iter().map(|rule| print_rule(rule, width, &overridden));
    externals.chain(defs).chain(rules).collect::<Vec<String>>().join("\n")
}

/// Returns `(edef f T (S1 .. Sn))`, with a line feed at its end.
fn external(fun: &Fun) -> String {
    let params: Vec<String> = fun.params.iter().map(Type::to_string).collect();
    format!("(edef {} {} ({}))\n", fun.name, fun.result, params.join(" "))
}

/// Returns one definition, with a line feed at its end. It is taken to redefine no built-in.
pub fn def(def: &Def, width: usize) -> String {
    print_def(def, width, &FxHashSet::default())
}

/// Returns a term, without a line feed at its end. It is taken from a program that redefines no built-in.
pub fn expr(e: &Expr, width: usize) -> String {
    expr_named(e, &Names::of_term(e), width)
}

/// Returns a definition whose variables have these names, as [`def`] does.
pub fn def_named(def: &Def, names: &Names, width: usize) -> String {
    named(names, |printer| printer.def(def), width)
}

/// Returns a term whose variables have these names, as [`expr`] does.
pub fn expr_named(e: &Expr, names: &Names, width: usize) -> String {
    named(names, |printer| printer.expr(e, 0), width)
}

/// Returns bindings, a line or more for each, whose variables have these names.
pub fn bindings_named(bindings: &[Binding], names: &Names, width: usize) -> String {
    let texts: Vec<String> = bindings.iter().map(|b| named(names, |printer| printer.binding(b, 0), width)).collect();
    texts.join("\n")
}

fn named(names: &Names, print: impl for<'a> FnOnce(&Printer<'a>) -> Doc<'a>, width: usize) -> String {
    let (arena, overridden) = (Arena::new(), FxHashSet::default());
    let printer = Printer { arena: &arena, names: names.clone(), overridden: &overridden };
    render(print(&printer), width)
}

fn print_def(def: &Def, width: usize, overridden: &Overridden) -> String {
    let arena = Arena::new();
    let printer = Printer { arena: &arena, names: Names::of(def), overridden };
    let mut text = render(printer.def(def), width);
    text.push('\n');
    text
}

fn print_rule(rule: &Rule, width: usize, overridden: &Overridden) -> String {
    let arena = Arena::new();
    let printer = Printer { arena: &arena, names: Names::of(&rule.as_def()), overridden };
    let functions = rule.functions.iter().map(|f| {
        let ty = Type::Lam(Arc::new(f.params[0].clone()), Arc::new(f.result.clone()));
        arena.text(format!("({} : {ty})", f.name))
    });
    let params = printer.in_parentheses(rule.params.iter().map(|x| printer.param(x)).chain(functions).collect());
    let sides = [&rule.template, &rule.replacement].map(|e| arena.hardline().append(printer.expr(e, 1)));
    let head = arena.text(format!("(rule {} ", quoted(&rule.name))).append(params);
    let mut text = render(head.append(arena.concat(sides).nest(2)).append(")"), width);
    text.push('\n');
    text
}

fn render<'a>(doc: Doc<'a>, width: usize) -> String {
    let mut text = String::new();
    doc.render_fmt(width, &mut text).expect("writing to a string does not fail");
    text
}

type Doc<'a> = DocBuilder<'a, Arena<'a>>;

/// The functions, by base name and argument type, that the program defines.
type Overridden = FxHashSet<(Arc<str>, Type)>;

/// Terms nested deeper than this are indented no further.
const MAX_INDENTED: usize = 40;

struct Printer<'a> {
    arena: &'a Arena<'a>,
    names: Names,
    overridden: &'a Overridden,
}

impl<'a> Printer<'a> {
    fn def(&self, def: &Def) -> Doc<'a> {
        let params = self.params(&def.params);
        let head = self.arena.text(format!("(def {} {} ", def.fun.name, def.fun.result));
        let body = self.arena.hardline().append(self.expr(&def.body, 1)).nest(2);
        head.append(params).append(body).append(")")
    }

    fn params(&self, params: &[Var]) -> Doc<'a> {
        self.in_parentheses(params.iter().map(|x| self.param(x)).collect())
    }

    fn in_parentheses(&self, params: Vec<Doc<'a>>) -> Doc<'a> {
        match params.len() {
            1 => self.arena.concat(params),
            _ => self.arena.intersperse(params, self.arena.line()).align().group().parens(),
        }
    }

    fn param(&self, x: &Var) -> Doc<'a> {
        self.arena.text(format!("({} : {})", self.names.of_var(x), x.ty()))
    }

    fn expr(&self, e: &Expr, depth: usize) -> Doc<'a> {
        match e.kind() {
            Kind::Const(c) => self.arena.text(constant(c)),
            Kind::Var(x) => self.arena.text(self.names.of_var(x)),
            Kind::App(Op::Dummy, _) => self.arena.text(format!("($dummy {})", e.ty())),
            Kind::App(Op::If, args) => self.conditional(args, depth),
            Kind::App(op, args) => {
                let types: Vec<Type> = args.iter().map(|arg| arg.ty().clone()).collect();
                let head = self.operator(op, &types);
                self.form(head, args.iter(), depth)
            }
            Kind::Let(bindings, body) => self.print_block(bindings, body, depth),
            Kind::Lam(x, body) => {
                let head = format!("lam ({} : {})", self.names.of_var(x), x.ty());
                self.form(head, [body], depth)
            }
        }
    }

    /// Returns `(head e1 ... en)` on one line, or each of the terms on a line of its own.
    fn form<'e>(&self, head: String, parts: impl IntoIterator<Item = &'e Expr>, depth: usize) -> Doc<'a> {
        let mut inner = self.arena.text(format!("({head}"));
        for part in parts {
            inner = inner.append(self.arena.line()).append(self.expr(part, depth + 1));
        }
        inner.append(")").nest(indent(depth)).group()
    }

    /// Lays out a conditional: the condition stays beside `if`, indented further than the branches.
    fn conditional(&self, args: &[Expr], depth: usize) -> Doc<'a> {
        let indent = 2 * indent(depth);
        let mut inner = self.arena.text("(if ");
        for (i, arg) in args.iter().enumerate() {
            inner = if i == 0 { inner } else { inner.append(self.arena.line()) };
            inner = inner.append(self.expr(arg, depth + 1));
        }
        inner.append(")").nest(indent).group()
    }

    fn print_block(&self, bindings: &[Binding], body: &Expr, depth: usize) -> Doc<'a> {
        // `((a b) (c d))` could be read as a tuple pattern and a call; see the reader's checker.
        if let [first @ Binding { pattern: Pattern::Var(_), rhs }, second] = bindings
            && rhs.as_var().is_some()
        {
            let first = self.binding(first, depth);
            let rest = self.print_block(std::slice::from_ref(second), body, depth);
            return self.lets(first, rest, depth);
        }
        let docs: Vec<Doc<'a>> = bindings.iter().map(|b| self.binding(b, depth)).collect();
        let pairs = match docs.len() {
            1 => self.arena.concat(docs),
            _ => self.arena.intersperse(docs, self.arena.hardline()).nest(6.min(3 * indent(depth))).parens(),
        };
        let body = self.expr(body, depth + 1);
        self.lets(pairs, body, depth)
    }

    fn lets(&self, pairs: Doc<'a>, body: Doc<'a>, depth: usize) -> Doc<'a> {
        let body = self.arena.hardline().append(body).append(")").nest(indent(depth));
        self.arena.text("(let ").append(pairs).append(body)
    }

    fn binding(&self, binding: &Binding, depth: usize) -> Doc<'a> {
        let rhs = self.expr(&binding.rhs, depth + 1);
        let pattern = match &binding.pattern {
            Pattern::Var(x) => self.names.of_var(x),
            Pattern::Tuple(xs) => {
                let names: Vec<String> = xs.iter().map(|x| self.names.of_var(x)).collect();
                format!("({})", names.join(" "))
            }
        };
        let rhs = self.arena.line().append(rhs).nest(indent(depth)).group();
        self.arena.text(format!("({pattern}")).append(rhs).append(")")
    }

    fn operator(&self, op: &Op, args: &[Type]) -> String {
        match op {
            Op::Prim(p) => self.primitive(*p, args),
            Op::JacobianOf(p) => format!("[D {}]", self.primitive(*p, args)),
            Op::JacobianOfFun(f) => jacobian(f),
            op => operators::word(op).expect("other operators have one name"),
        }
    }

    /// Returns the name that means the primitive for these arguments.
    fn primitive(&self, p: Prim, args: &[Type]) -> String {
        let argument = match args {
            [one] => one.clone(),
            many => Type::tuple(many.iter().cloned()),
        };
        let free = |name: &&str| !self.overridden.contains(&(Arc::from(*name), argument.clone()));
        surface(p, args).filter(free).map_or_else(|| format!("$prim${}", p.name()), String::from)
    }
}

fn jacobian(f: &Fun) -> String {
    f.name.derived(Derivative::D).to_string()
}

fn indent(depth: usize) -> isize {
    if depth < MAX_INDENTED { 2 } else { 0 }
}

/// Returns the name of the language for the primitive on arguments of these types, when it has one.
fn surface(p: Prim, args: &[Type]) -> Option<&'static str> {
    let is_number = |ty: &Type| matches!(ty, Type::Float | Type::Integer);
    let is_vector = |ty: &Type| ty.tangent() == *ty;
    let on = |numbers: &'static str, vectors: &'static str, arg: &Type| match arg {
        ty if is_number(ty) => Some(numbers),
        ty if is_vector(ty) => Some(vectors),
        _ => None,
    };
    match (p, args) {
        (Prim::Add, [t, _]) => on("add", "ts_add", t),
        (Prim::Sub, [t, _]) => on("sub", "ts_sub", t),
        (Prim::Neg, [t]) => on("neg", "ts_neg", t),
        (Prim::Mul, [Type::Float, Type::Float] | [Type::Integer, Type::Integer]) => Some("mul"),
        (Prim::Mul, [_, t]) => is_vector(t).then_some("ts_scale"),
        (Prim::Powi, _) => Some("pow"),
        (Prim::Eq | Prim::Ne | Prim::Print, _) if args.iter().any(Type::mentions_lm) => None,
        _ => Some(p.name()),
    }
}

/// Returns a literal; infinities and nan, which have none, as divisions.
pub fn constant(c: &Constant) -> String {
    match c {
        Constant::Float(x) if x.is_nan() => "(div 0.0 0.0)".into(),
        Constant::Float(x) if x.is_infinite() => format!("(div {:?} 0.0)", x.signum()),
        Constant::Float(x) => format!("{x:?}"),
        Constant::Integer(i) => i.to_string(),
        Constant::Bool(b) => b.to_string(),
        Constant::String(text) => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
