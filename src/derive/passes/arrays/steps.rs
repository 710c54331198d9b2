//! Gives the steps of loops the form that laws match: names for the components of their argument.
//!
//! ```text
//! λp. e[p.1, p.2]   =   λp. let (i, s) = p in e[i, s]
//! ```

use lm::rewrites::Rewrites;
use lm::scope::occurrences;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Supply, Var};

/// Returns the step of a loop with names for the components that it projects out of its argument.
pub(super) fn with_named_components(step: &Expr, supply: &mut Supply, rewrites: &mut Rewrites) -> Expr {
    let Kind::Lam(p, body) = step.kind() else { return step.clone() };
    let Some(parts) = p.ty().as_tuple() else { return step.clone() };
    let mut projections = 0;
    body.visit(|e| projections += usize::from(component_of(p, e).is_some()));
    if projections == 0 || occurrences(body).get(&p.id()) != Some(&projections) || !rewrites.may("step-components") {
        return step.clone();
    }
    let xs: Vec<Var> = parts.iter().map(|ty| supply.fresh(p.name(), ty.clone())).collect();
    let apart = Binding { pattern: Pattern::Tuple(xs.clone()), rhs: Expr::var(p) };
    Expr::lam(p.clone(), Expr::block(vec![apart], named(body, p, &xs))).at(step.span())
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
