//! Numbers the intermediate values of a definition: t1, t2, .. in order of appearance.
//!
//! The components of a parameter keep the names that they had as parameters. Takes and gives: any term.

use crate::derive::forms::shown;
use crate::derive::postcondition::Facts;
use lm::scope::substitute;
use lm::term::{Binding, Def, Expr, Kind, Pattern, Supply, Var};
use rustc_hash::FxHashMap;

/// Numbers the intermediate values in order of appearance. A derivative takes its parameters as one tuple: the
/// components keep the names of the parameters.
pub fn number_temporaries(def: &Def, supply: &mut Supply) -> Def {
    let mut names = components_of_parameters(def);
    rename(&def.body, supply, &mut names, &mut 0);
    Def { body: with_names(&def.body, &names), ..def.clone() }
}

/// Returns the variables that keep their names.
fn components_of_parameters(def: &Def) -> Names {
    let of_parameters = |b: &&Binding| b.rhs.as_var().is_some_and(|x| def.params.contains(x));
    let bindings = def.body.as_block().0.iter().filter(of_parameters);
    bindings.flat_map(|b| b.pattern.vars()).map(|x| (x.id(), x.clone())).collect()
}

type Names = FxHashMap<u32, Var>;

fn rename(e: &Expr, supply: &mut Supply, names: &mut Names, count: &mut usize) {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Lam(..) => {
            e.children().for_each(|c| rename(c, supply, names, count));
        }
        Kind::Let(bindings, body) => {
            for b in bindings {
                rename(&b.rhs, supply, names, count);
                for x in b.pattern.vars() {
                    if names.contains_key(&x.id()) {
                        continue;
                    }
                    *count += 1;
                    names.insert(x.id(), supply.fresh(&format!("t{count}"), x.ty().clone()));
                }
            }
            rename(body, supply, names, count);
        }
    }
}

fn with_names(e: &Expr, names: &Names) -> Expr {
    let by: FxHashMap<u32, Expr> = names.iter().map(|(id, x)| (*id, Expr::var(x))).collect();
    binders(&substitute(e, &by), names)
}

fn binders(e: &Expr, names: &Names) -> Expr {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => e.clone(),
        Kind::App(..) | Kind::Lam(..) => e.map_children(|c| binders(c, names)),
        Kind::Let(bindings, body) => {
            let rename = |p: &Pattern| match p {
                Pattern::Var(x) => Pattern::Var(names[&x.id()].clone()),
                Pattern::Tuple(xs) => Pattern::Tuple(xs.iter().map(|x| names[&x.id()].clone()).collect()),
            };
            let bindings =
                bindings.iter().map(|b| Binding { pattern: rename(&b.pattern), rhs: binders(&b.rhs, names) });
            Expr::block(bindings.collect(), binders(body, names))
        }
    }
}

/// Returns what breaks the postcondition: a binding whose temporaries do not have the next numbers.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    misnumbered(&def.body, &components_of_parameters(def), &mut 0).map(shown)
}

/// Returns the first binding whose variables do not have the next numbers.
fn misnumbered<'a>(e: &'a Expr, kept: &Names, count: &mut usize) -> Option<&'a Binding> {
    let Kind::Let(bindings, body) = e.kind() else { return e.children().find_map(|c| misnumbered(c, kept, count)) };
    for b in bindings {
        let inside = misnumbered(&b.rhs, kept, count);
        let mut is_next = |x: &Var| {
            *count += 1;
            **x.name() == *format!("t{count}")
        };
        let are_next = b.pattern.vars().iter().filter(|x| !kept.contains_key(&x.id())).all(&mut is_next);
        if inside.is_some() || !are_next {
            return inside.or(Some(b));
        }
    }
    misnumbered(body, kept, count)
}
