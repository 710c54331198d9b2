//! Gives the steps of loops the form that laws match: names for the components of their argument.
//!
//! ```text
//! λp. e[p.1, p.2]                          =   λp. let (i, s) = p in e[i, s]
//! λp. let (i, s) = p in e[i, s.1, s.2]     =   λp. let (i, s) = p in let (x, y) = s in e[i, x, y]
//! ```

use lm::rewrites::Rewrites;
use lm::scope::occurrences;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Supply, Var};

/// Returns the step of a loop with names for the components that it projects out of its argument.
pub(super) fn with_named_components(step: &Expr, supply: &mut Supply, rewrites: &mut Rewrites) -> Expr {
    let Kind::Lam(p, body) = step.kind() else { return step.clone() };
    if let Some(body) = with_components_of(p, &[], body, supply, rewrites) {
        return Expr::lam(p.clone(), body).at(step.span());
    }
    let (bindings, result) = body.as_block();
    let Some((first, others)) = bindings.split_first().filter(|(first, _)| first.rhs.as_var() == Some(p)) else {
        return step.clone();
    };
    let rest = Expr::block(others.to_vec(), result.clone());
    let first = std::slice::from_ref(first);
    let pairs = first[0].pattern.vars().iter().filter(|x| x.ty().as_tuple().is_some_and(|parts| parts.len() == 2));
    let new = pairs.filter_map(|x| with_components_of(x, first, &rest, supply, rewrites)).next();
    new.map_or_else(|| step.clone(), |body| Expr::lam(p.clone(), body).at(step.span()))
}

/// Returns a block with names for the components of a variable, which is used by components only. `first` comes before.
fn with_components_of(
    x: &Var,
    first: &[Binding],
    body: &Expr,
    supply: &mut Supply,
    rewrites: &mut Rewrites,
) -> Option<Expr> {
    let parts = x.ty().as_tuple()?;
    let mut projections = 0;
    body.visit(|e| projections += usize::from(component_of(x, e).is_some()));
    if projections == 0 || occurrences(body).get(&x.id()) != Some(&projections) || !rewrites.may("step-components") {
        return None;
    }
    let xs: Vec<Var> = parts.iter().map(|ty| supply.fresh(x.name(), ty.clone())).collect();
    let apart = Binding { pattern: Pattern::Tuple(xs.clone()), rhs: Expr::var(x) };
    Some(Expr::block([first, &[apart]].concat(), named(body, x, &xs)))
}

fn named(e: &Expr, p: &Var, xs: &[Var]) -> Expr {
    match component_of(p, e) {
        Some(i) => Expr::var(&xs[i - 1]).at(e.span()),
        None => e.map_children(|child| named(child, p, xs)),
    }
}

/// Returns i for `p.i`.
fn component_of(p: &Var, e: &Expr) -> Option<usize> {
    match e.kind() {
        Kind::App(Op::Get(i, _), args) if args[0].as_var() == Some(p) => Some(*i),
        _ => None,
    }
}
