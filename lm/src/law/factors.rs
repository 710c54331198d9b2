//! Takes factors out of sums that are the same for all terms.
//!
//! ```text
//! sumbuild(w, n, λi. a * (e[i] * b))   =   (a * b) * sumbuild(w, n, λi. e[i])
//! ```
//!
//! What depends on no direction comes first in each product, so that it is computed once for all directions. No pattern
//! finds factors at any depth.

use super::context::Context;
use super::native::{Head, Native};
use crate::prim::Prim;
use crate::scope::free_variables;
use crate::term::{Expr, Kind};
use crate::types::Type;

#[rustfmt::skip]
/// The rows of the table of laws.
pub(super) static FACTORS: &[Native] = &[
    Native { name: "factors-of-sum", source: "derived", text: "sumbuild(w, n, λi. a * .. * e{i} * ..) = a * .. * sumbuild(w, n, λi. e{i} * ..), numbers a without i", head: Some(Head::Prim(Prim::SumBuild)), rewrite: out_of_sum },
];

fn out_of_sum(e: &Expr, cx: &Context) -> Option<Expr> {
    let [w, n, f] = e.args_of_prim(Prim::SumBuild)? else { return None };
    let Kind::Lam(i, body) = f.kind() else { return None };
    let mut all = Vec::new();
    factors(body, &mut all);
    let facts = &cx.facts;
    let (inside, outside): (Vec<Expr>, Vec<Expr>) = all.into_iter().partition(|a| free_variables(a).contains(i));
    let pays = cx.at_any_cost || facts.is_late(body);
    if inside.is_empty() || outside.is_empty() || !pays {
        return None;
    }
    let is_total = outside.iter().all(|a| facts.is_total(a));
    let sum = Expr::lam(i.clone(), product(early_first(inside, cx)));
    let sum = Expr::prim(Prim::SumBuild, [w.clone(), n.clone(), sum]).at(e.span());
    let new = early_first(outside, cx).into_iter().rev().fold(sum, |all, a| Expr::prim(Prim::Mul, [a, all]));
    if is_total {
        return Some(new);
    }
    // Without a step, no factor is computed.
    let has_steps = Expr::prim(Prim::Lt, [Expr::integer(0), n.clone()]);
    Some(Expr::conditional(has_steps, new, Expr::prim(Prim::ZeroOf, [w.clone()])))
}

/// Collects the factors of a product of numbers, in order.
fn factors(e: &Expr, out: &mut Vec<Expr>) {
    match e.args_of_prim(Prim::Mul) {
        Some(args) if args.iter().all(|a| *a.ty() == Type::Float) => args.iter().for_each(|a| factors(a, out)),
        _ => out.push(e.clone()),
    }
}

/// Returns what depends on no direction, as one factor, and then the others.
fn early_first(factors: Vec<Expr>, cx: &Context) -> Vec<Expr> {
    let (late, early): (Vec<Expr>, Vec<Expr>) = factors.into_iter().partition(|a| cx.facts.is_late(a));
    let parts = [early, late].into_iter().filter(|part| !part.is_empty());
    parts.map(product).collect()
}

fn product(factors: Vec<Expr>) -> Expr {
    let all = factors.into_iter().reduce(|a, b| Expr::prim(Prim::Mul, [a, b]));
    all.expect("a product has a factor")
}
