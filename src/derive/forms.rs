//! Finds the terms that are not of a form, for the postconditions of passes.
//!
//! ```text
//! block    ::= let p1 = s1; ..; pn = sn in s          n may be 0
//! s        ::= atom | op(a1, .., an) | if atom then block else block | λx. block          normal form
//! a        ::= atom | λx. block
//! ```
//!
//! A flat term is less: its arguments may be operators on arguments, but a block occurs only as a definition, a branch
//! or the body of a function.

use lm::scope::occurrences;
use lm::term::{Binding, Expr, Kind, Op, Var};
use rustc_hash::FxHashSet;

/// Returns the smallest term inside `e`, or `e` itself, that has a property.
pub fn smallest(e: &Expr, mut has: impl FnMut(&Expr) -> bool) -> Option<Expr> {
    let mut found: Option<&Expr> = None;
    e.visit(|e| {
        if found.is_none_or(|smallest| e.size() < smallest.size()) && has(e) {
            found = Some(e);
        }
    });
    found.cloned()
}

/// Returns the smallest binding that has a property, as a block that gives its variables.
pub fn smallest_binding(e: &Expr, mut has: impl FnMut(&Binding) -> bool) -> Option<Expr> {
    let mut found: Option<&Binding> = None;
    e.visit_bindings(|b| {
        if found.is_none_or(|smallest| b.rhs.size() < smallest.rhs.size()) && has(b) {
            found = Some(b);
        }
    });
    found.map(shown)
}

/// Returns a binding as a block that gives its variables, to show it.
pub fn shown(b: &Binding) -> Expr {
    let result = match b.pattern.vars() {
        [one] => Expr::var(one),
        many => Expr::tuple(many.iter().map(Expr::var)),
    };
    Expr::block(vec![b.clone()], result)
}

/// Returns the term without those bindings of linear maps of another one that nothing uses any more. A law copies
/// functions under fresh variables, which keep their names: Jacobians `D` have others than cotangents `R`.
pub fn without_unused_maps(e: &Expr, of: &Expr) -> Expr {
    let (mut maps, mut names) = (FxHashSet::default(), FxHashSet::default());
    of.visit_bindings(|b| {
        if b.rhs.ty().as_lm().is_some() {
            maps.extend(b.pattern.vars().iter().map(Var::id));
            names.extend(b.pattern.vars().iter().map(Var::name).filter(|name| name.starts_with('D')).cloned());
        }
    });
    let mut e = e.clone();
    loop {
        let uses = occurrences(&e);
        let is_one = |x: &Var| maps.contains(&x.id()) || names.contains(x.name());
        let is_unused = |x: &Var| is_one(x) && x.ty().as_lm().is_some() && !uses.contains_key(&x.id());
        // `let () = s` binds no map.
        let mut is_kept = |b: &Binding| b.pattern.vars().is_empty() || !b.pattern.vars().iter().all(is_unused);
        let kept = with_bindings(&e, &mut is_kept);
        if kept.size() == e.size() {
            return kept;
        }
        e = kept;
    }
}

/// Returns the term with those of its bindings that are to be kept.
pub fn with_bindings(e: &Expr, is_kept: &mut dyn FnMut(&Binding) -> bool) -> Expr {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => e.clone(),
        Kind::App(..) | Kind::Lam(..) => e.map_children(|a| with_bindings(a, is_kept)),
        Kind::Let(bindings, body) => {
            let mut kept = Vec::with_capacity(bindings.len());
            for b in bindings {
                if is_kept(b) {
                    kept.push(Binding { pattern: b.pattern.clone(), rhs: with_bindings(&b.rhs, is_kept) });
                }
            }
            Expr::block(kept, with_bindings(body, is_kept))
        }
    }
}

/// Returns the smallest term that shows that a block is not in normal form.
pub fn not_normal(block: &Expr) -> Option<Expr> {
    let (bindings, result) = block.as_block();
    bindings.iter().map(|b| &b.rhs).chain([result]).find_map(not_simple)
}

fn not_simple(e: &Expr) -> Option<Expr> {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => None,
        Kind::Let(..) => Some(e.clone()),
        Kind::Lam(_, body) => not_normal(body),
        Kind::App(Op::If, args) => {
            let condition = (!args[0].is_atom()).then(|| e.clone());
            condition.or_else(|| args[1..].iter().find_map(not_normal))
        }
        Kind::App(_, args) => args.iter().find_map(|a| match a.kind() {
            Kind::Lam(_, body) => not_normal(body),
            _ => (!a.is_atom()).then(|| e.clone()),
        }),
    }
}

/// Returns a block that is an argument or the right-hand side of a binding, in a definition's body.
pub fn not_flat(block: &Expr) -> Option<Expr> {
    let (bindings, result) = block.as_block();
    bindings.iter().map(|b| &b.rhs).chain([result]).find_map(misplaced_block)
}

fn misplaced_block(e: &Expr) -> Option<Expr> {
    match e.kind() {
        Kind::Let(..) => Some(e.clone()),
        Kind::Lam(_, body) => not_flat(body),
        Kind::App(Op::If, args) => misplaced_block(&args[0]).or_else(|| args[1..].iter().find_map(not_flat)),
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) => e.children().find_map(misplaced_block),
    }
}

/// Returns the smallest term that is a linear map, or has one in its value.
pub fn with_map(e: &Expr) -> Option<Expr> {
    smallest(e, |e| e.ty().mentions_lm())
}
