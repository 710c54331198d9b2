//! Variables of a term: occurrences, substitution, renaming.
//!
//! Every binder of a definition is a different variable, so substitution is replacement.

use crate::term::{Binding, Expr, Kind, Pattern, Supply, Var};
use std::collections::{HashMap, HashSet};

/// How often each variable occurs in the term, by number. An occurrence in a function counts twice,
/// since the function may be called more than once.
pub fn occurrences(e: &Expr) -> HashMap<u32, usize> {
    let mut counts = HashMap::new();
    count(e, 1, &mut counts);
    counts
}

fn count(e: &Expr, weight: usize, counts: &mut HashMap<u32, usize>) {
    match e.kind() {
        Kind::Const(_) => {}
        Kind::Var(x) => *counts.entry(x.id()).or_default() += weight,
        Kind::App(_, args) => args.iter().for_each(|a| count(a, weight, counts)),
        Kind::Let(bindings, body) => {
            bindings.iter().for_each(|b| count(&b.rhs, weight, counts));
            count(body, weight, counts);
        }
        Kind::Lam(_, body) => count(body, 2, counts),
    }
}

/// The variables that the term uses and does not bind, in order of first use.
pub fn free_variables(e: &Expr) -> Vec<Var> {
    let (mut bound, mut free) = (HashSet::new(), Vec::new());
    collect_free(e, &mut bound, &mut free);
    free
}

fn collect_free(e: &Expr, bound: &mut HashSet<u32>, free: &mut Vec<Var>) {
    match e.kind() {
        Kind::Const(_) => {}
        Kind::Var(x) => {
            if !bound.contains(&x.id()) && !free.contains(x) {
                free.push(x.clone());
            }
        }
        Kind::App(_, args) => args.iter().for_each(|a| collect_free(a, bound, free)),
        Kind::Let(bindings, body) => {
            for b in bindings {
                collect_free(&b.rhs, bound, free);
                bound.extend(b.pattern.vars().iter().map(Var::id));
            }
            collect_free(body, bound, free);
        }
        Kind::Lam(x, body) => {
            bound.insert(x.id());
            collect_free(body, bound, free);
        }
    }
}

/// The term with variables replaced.
pub fn substitute(e: &Expr, by: &HashMap<u32, Expr>) -> Expr {
    match e.kind() {
        _ if by.is_empty() => e.clone(),
        Kind::Var(x) => by.get(&x.id()).unwrap_or(e).clone(),
        Kind::Const(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => e.map_children(|c| substitute(c, by)),
    }
}

/// A copy with fresh binders.
pub fn renamed(e: &Expr, supply: &mut Supply) -> Expr {
    rename(e, supply, &mut HashMap::new())
}

fn rename(e: &Expr, supply: &mut Supply, names: &mut HashMap<u32, Expr>) -> Expr {
    match e.kind() {
        Kind::Var(x) => names.get(&x.id()).unwrap_or(e).clone(),
        Kind::Const(_) | Kind::App(..) => e.map_children(|c| rename(c, supply, names)),
        Kind::Let(bindings, body) => {
            let mut new = Vec::with_capacity(bindings.len());
            for b in bindings {
                let rhs = rename(&b.rhs, supply, names);
                new.push(Binding { pattern: rename_pattern(&b.pattern, supply, names), rhs });
            }
            Expr::block(new, rename(body, supply, names))
        }
        Kind::Lam(x, body) => {
            let y = rename_var(x, supply, names);
            Expr::lam(y, rename(body, supply, names)).at(e.span())
        }
    }
}

fn rename_pattern(p: &Pattern, supply: &mut Supply, names: &mut HashMap<u32, Expr>) -> Pattern {
    match p {
        Pattern::Var(x) => Pattern::Var(rename_var(x, supply, names)),
        Pattern::Tuple(xs) => Pattern::Tuple(xs.iter().map(|x| rename_var(x, supply, names)).collect()),
    }
}

fn rename_var(x: &Var, supply: &mut Supply, names: &mut HashMap<u32, Expr>) -> Var {
    let y = supply.fresh(x.name(), x.ty().clone());
    names.insert(x.id(), Expr::var(&y));
    y
}
