//! Checks the properties of definitions in CL: a definition comes back unchanged, pruned or not; pruned terms use all
//! their environments; and neither is longer than the definition allows.

use lm::notation::infix::Format;
use lm::rewrites::Rewrites;
use lm::term::{self, Expr, Fun, FunName, Kind, Op, Pattern, Program, Span, Supply, Var};
use lmc::derive::figures::fig09_11_category::{self as cl, Argument, Def, Term, print, read, write};
use lmc::derive::forms;
use lmc::derive::passes::anf;
use lmc::ks::reader;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The values of the environment that a term uses, by the rules of Fig. 11 alone.
fn uses(c: &Term, size: usize) -> BTreeSet<usize> {
    let below = |c: &Term, size: usize, bound: usize| -> BTreeSet<usize> {
        uses(c, size + bound).into_iter().filter(|i| *i <= size).collect()
    };
    match c {
        Term::Identity | Term::Function { .. } => (1..=size).collect(),
        Term::Constant(_) | Term::Dummy(_) => BTreeSet::new(),
        Term::Pruning { chosen, .. } => chosen.iter().copied().collect(),
        Term::Compose(first, after) => match &**first {
            Term::Pruning { chosen, .. } => uses(after, chosen.len()).into_iter().map(|i| chosen[i - 1]).collect(),
            first => uses(first, size),
        },
        Term::Tuple(parts) => parts.iter().flat_map(|c| uses(c, size)).collect(),
        Term::If(c, a, b) => [c, a, b].into_iter().flat_map(|c| uses(c, size)).collect(),
        Term::Let(pattern, rhs, body) => {
            let mut all = uses(rhs, size);
            all.extend(below(body, size, pattern.vars().len()));
            all
        }
        Term::Binder { args, .. } => {
            let of = |arg: &Argument| match arg {
                Argument::Value(c) => uses(c, size),
                Argument::Function(_, c) => below(c, size, 1),
            };
            args.iter().flat_map(of).collect()
        }
    }
}

/// The part of a pruned term whose environment has more than it uses, if there is one.
fn unpruned(c: &Term, size: usize) -> Option<String> {
    match c {
        Term::Pruning { .. } => None,
        Term::Compose(first, after) => match &**first {
            Term::Pruning { chosen, .. } => too_wide(after, chosen.len()),
            _ => too_wide(c, size),
        },
        c => too_wide(c, size),
    }
}

/// Does the same as `unpruned` for a term without a pruning before it.
fn too_wide(c: &Term, size: usize) -> Option<String> {
    if uses(c, size) != (1..=size).collect() {
        return Some(format!("{c:?} uses {:?} of {size}", uses(c, size)));
    }
    match c {
        Term::Compose(first, after) => unpruned(first, size).or_else(|| unpruned(after, first.width(size))),
        Term::Tuple(parts) => parts.iter().find_map(|c| unpruned(c, size)),
        Term::If(c, a, b) => [c, a, b].into_iter().find_map(|c| unpruned(c, size)),
        Term::Let(pattern, rhs, body) => unpruned(rhs, size).or_else(|| unpruned(body, size + pattern.vars().len())),
        Term::Binder { args, .. } => args.iter().find_map(|arg| match arg {
            Argument::Value(c) => unpruned(c, size),
            Argument::Function(_, c) => unpruned(c, size + 1),
        }),
        Term::Identity | Term::Constant(_) | Term::Dummy(_) | Term::Pruning { .. } | Term::Function { .. } => None,
    }
}

/// The most values that a part of the term has in its environment.
fn widest(c: &Term, size: usize) -> usize {
    let inner = match c {
        Term::Compose(a, b) => widest(a, size).max(widest(b, a.width(size))),
        Term::Tuple(parts) => parts.iter().map(|c| widest(c, size)).max().unwrap_or(0),
        Term::If(c, a, b) => [c, a, b].into_iter().map(|c| widest(c, size)).max().unwrap_or(0),
        Term::Let(pattern, rhs, body) => widest(rhs, size).max(widest(body, size + pattern.vars().len())),
        Term::Binder { args, .. } => args.iter().map(|arg| widest(arg.term(), size + 1)).max().unwrap_or(0),
        Term::Identity | Term::Constant(_) | Term::Dummy(_) | Term::Pruning { .. } | Term::Function { .. } => 0,
    };
    inner.max(size)
}

/// Reads what is written of a definition in CL. It is the same, but for places and the names of variables.
pub fn reads_back(def: &Def, functions: &HashMap<FunName, Arc<Fun>>) -> Result<(), String> {
    let text = write::definition(def, 100);
    let reading = reader::read(&text);
    let [form] = reading.forms.as_slice() else { return Err(format!("{:?} in\n{text}", reading.errors)) };
    let read = read::definition(form, &|name| functions.get(name).cloned(), &mut Supply::default());
    let read = read.map_err(|mistake| format!("{mistake:?} in\n{text}"))?;
    if same(&read, def) { Ok(()) } else { Err(format!("{read:?}\nis not\n{def:?}\nin\n{text}")) }
}

/// Whether definitions are the same, but for places and the names of variables.
pub fn same(a: &Def, b: &Def) -> bool {
    canonical(a) == canonical(b)
}

/// The functions that a term names.
pub fn functions(e: &Expr, found: &mut HashMap<FunName, Arc<Fun>>) {
    if let Kind::App(Op::Call(f) | Op::JacobianOfFun(f) | Op::JacobianAt(f), _) = e.kind() {
        found.insert(f.name.clone(), f.clone());
    }
    e.children().for_each(|part| functions(part, found));
}

/// The definition without places, its variables numbered in order.
fn canonical(def: &Def) -> Def {
    let mut supply = Supply::default();
    let params = def.params.iter().map(|x| renamed(x, &mut supply)).collect();
    Def { fun: def.fun.clone(), params, body: numbered(&def.body, &mut supply) }
}

fn renamed(x: &Var, supply: &mut Supply) -> Var {
    supply.fresh("x", x.ty().clone())
}

fn numbered(c: &Term, supply: &mut Supply) -> Term {
    let mut next = |c: &Term| Box::new(numbered(c, supply));
    match c {
        Term::Identity | Term::Constant(_) | Term::Dummy(_) | Term::Pruning { .. } => c.clone(),
        Term::Function { op, arity, .. } => Term::Function { op: op.clone(), arity: *arity, span: Span::default() },
        Term::Compose(first, after) => Term::Compose(next(first), next(after)),
        Term::Tuple(parts) => Term::Tuple(parts.iter().map(|part| *next(part)).collect()),
        Term::If(c, yes, no) => Term::If(next(c), next(yes), next(no)),
        Term::Let(pattern, rhs, body) => {
            let rhs = next(rhs);
            let pattern = match pattern {
                Pattern::Var(x) => Pattern::Var(renamed(x, supply)),
                Pattern::Tuple(xs) => Pattern::Tuple(xs.iter().map(|x| renamed(x, supply)).collect()),
            };
            Term::Let(pattern, rhs, Box::new(numbered(body, supply)))
        }
        Term::Binder { op, args, .. } => {
            let arg = |arg: &Argument| match arg {
                Argument::Value(c) => Argument::Value(numbered(c, supply)),
                Argument::Function(x, c) => Argument::Function(renamed(x, supply), numbered(c, supply)),
            };
            Term::Binder { op: op.clone(), args: args.iter().map(arg).collect(), span: Span::default() }
        }
    }
}

/// A definition through CL, unpruned and pruned, is the definition.
pub fn comes_back(def: &term::Def, supply: &mut Supply) -> Result<term::Def, String> {
    let converted = cl::convert(def);
    let pruned = cl::prune(&converted);
    let name = &def.fun.name;
    let mut known = HashMap::new();
    functions(&def.body, &mut known);
    for (c, what) in [(&converted, "converted"), (&pruned, "pruned")] {
        c.check().map_err(|error| format!("{name}, {what}: {error}"))?;
        let back = cl::back(c, supply);
        if back != *def {
            return Err(format!("{name}, {what}, comes back as {back:?}\ninstead of {def:?}"));
        }
        reads_back(c, &known).map_err(|why| format!("{name}, {what}, reads back as something else: {why}"))?;
        let width = widest(&c.body, def.params.len());
        // An operator of n arguments is at most n prunings, a tuple, a composition and itself.
        let most = (4 + if what == "pruned" { width } else { 0 }) * (def.body.size() + 1);
        if c.body.size() > most {
            return Err(format!("{name}, {what}, has size {} for {most}", c.body.size()));
        }
        for format in [Format::Plain, Format::Signs] {
            let text = print::definition(c, format, 100);
            if text.len() > 200 * (c.body.size() + 10) {
                return Err(format!("{name}, {what}, has {} characters", text.len()));
            }
        }
    }
    if cl::prune(&pruned) != pruned {
        return Err(format!("{name}: pruning goes on"));
    }
    let wide = unpruned(&pruned.body, def.params.len());
    wide.map_or(Ok(()), |why| Err(format!("{name}: {why}")))?;
    Ok(cl::back(&pruned, supply))
}

/// Each definition of a program through CL, as it is and in normal form; the former make the program that is
/// given back.
pub fn all_come_back(program: &Program) -> Result<Program, String> {
    let mut through = program.clone();
    let mut supply = program.supply.clone();
    for def in program.defs.values() {
        let normal = anf::anf(def, &mut supply, &mut Rewrites::all());
        let normal = comes_back(&normal, &mut supply)?;
        if forms::not_normal(&normal.body).is_some() {
            return Err(format!("{} loses its normal form", def.fun.name));
        }
        through.defs.insert(def.fun.name.clone(), comes_back(def, &mut supply)?);
    }
    through.supply = supply;
    Ok(through)
}
