//! Finds, replaces and renames the variables of a term.
//!
//! Every binder of a definition is a different variable, so substitution is replacement.

use crate::term::{Binding, Expr, Kind, Pattern, Supply, Var};
use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns how often each variable occurs in the term, by number. An occurrence in a function counts twice when the
/// variable is bound outside of the function, since the function may be called more than once.
pub fn occurrences(e: &Expr) -> FxHashMap<u32, usize> {
    let mut counter = Occurrences::default();
    counter.count(e, 0);
    counter.counts
}

#[derive(Default)]
struct Occurrences {
    counts: FxHashMap<u32, usize>,
    /// The number of functions around a variable's binder; none for a free variable.
    depths: FxHashMap<u32, usize>,
}

impl Occurrences {
    fn count(&mut self, e: &Expr, depth: usize) {
        match e.kind() {
            Kind::Const(_) => {}
            Kind::Var(x) => {
                let inside = self.depths.get(&x.id()).copied().unwrap_or_default() == depth;
                *self.counts.entry(x.id()).or_default() += if inside { 1 } else { 2 };
            }
            Kind::App(_, args) => args.iter().for_each(|a| self.count(a, depth)),
            Kind::Let(bindings, body) => {
                for b in bindings {
                    self.count(&b.rhs, depth);
                    self.depths.extend(b.pattern.vars().iter().map(|x| (x.id(), depth)));
                }
                self.count(body, depth);
            }
            Kind::Lam(x, body) => {
                self.depths.insert(x.id(), depth + 1);
                self.count(body, depth + 1);
            }
        }
    }
}

/// Returns the variables that occur in the term but are bound outside, in order of occurrence.
pub fn free_variables(e: &Expr) -> Vec<Var> {
    let mut free = IndexMap::new();
    e.visit(|e| {
        if let Kind::Var(x) = e.kind() {
            free.entry(x.id()).or_insert_with(|| x.clone());
        }
    });
    let bound = binders(e);
    free.into_values().filter(|x: &Var| !bound.contains(&x.id())).collect()
}

/// Returns the variables that are bound in the term, by number.
pub fn binders(e: &Expr) -> FxHashSet<u32> {
    let mut bound = FxHashSet::default();
    e.visit(|e| match e.kind() {
        Kind::Const(_) | Kind::App(..) | Kind::Var(_) => {}
        Kind::Let(bindings, _) => bound.extend(bindings.iter().flat_map(|b| b.pattern.vars()).map(Var::id)),
        Kind::Lam(x, _) => drop(bound.insert(x.id())),
    });
    bound
}

/// Returns the term with variables replaced.
pub fn substitute(e: &Expr, by: &FxHashMap<u32, Expr>) -> Expr {
    match e.kind() {
        _ if by.is_empty() => e.clone(),
        Kind::Var(x) => by.get(&x.id()).unwrap_or(e).clone(),
        Kind::Const(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => e.map_children(|c| substitute(c, by)),
    }
}

/// Returns a copy with fresh binders.
pub fn renamed(e: &Expr, supply: &mut Supply) -> Expr {
    rename(e, supply, &mut FxHashMap::default())
}

fn rename(e: &Expr, supply: &mut Supply, names: &mut FxHashMap<u32, Expr>) -> Expr {
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

fn rename_pattern(p: &Pattern, supply: &mut Supply, names: &mut FxHashMap<u32, Expr>) -> Pattern {
    match p {
        Pattern::Var(x) => Pattern::Var(rename_var(x, supply, names)),
        Pattern::Tuple(xs) => Pattern::Tuple(xs.iter().map(|x| rename_var(x, supply, names)).collect()),
    }
}

fn rename_var(x: &Var, supply: &mut Supply, names: &mut FxHashMap<u32, Expr>) -> Var {
    let y = supply.fresh(x.name(), x.ty().clone());
    names.insert(x.id(), Expr::var(&y));
    y
}
