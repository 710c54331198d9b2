//! Takes arrays of tuples apart, where they depend on a direction.
//!
//! ```text
//! index(k, unzip($delta_at(v, l, (x, y))).1)   =   index(k, $delta_at(v, l, (x, y))).1
//! unzip(build(n, λi. (e, f))).1                =   build(n, λi. e)
//! ```
//!
//! The components of `unzip` are as many as those of an element, of which no pattern can tell.

use super::context::Context;
use super::native::{Head, Native};
use crate::prim::Prim;
use crate::term::{Expr, Kind, Op};

#[rustfmt::skip]
/// The rows of the table of laws.
pub(super) static UNZIPS: &[Native] = &[
    Native { name: "index-of-unzip", source: "derived", text: "index(k, unzip(v).i) = index(k, v).i, v a name or $delta_at(w, l, x), which depends on a direction", head: Some(Head::Prim(Prim::Index)), rewrite: of_index },
    Native { name: "unzip-of-build", source: "derived", text: "unzip(build(n, λk. (e, .., f))).i = build(n, λk. (e, .., f).i), which depends on a direction",            head: Some(Head::Get),                rewrite: of_build },
];

/// The component that a term is of an array taken apart, and the array.
fn component_of_unzip<'e>(e: &'e Expr, cx: &'e Context) -> Option<(usize, &'e Expr)> {
    let e = cx.facts.term(e).map_or(e, |(term, _)| term);
    let Kind::App(Op::Get(i, _), args) = e.kind() else { return None };
    let whole = cx.facts.term(&args[0]).map_or(&args[0], |(term, _)| term);
    let [v] = whole.args_of_prim(Prim::Unzip)? else { return None };
    (cx.at_any_cost || cx.facts.is_late(v)).then_some((*i, v))
}

fn of_index(e: &Expr, cx: &Context) -> Option<Expr> {
    let [k, of] = e.args_of_prim(Prim::Index)? else { return None };
    let (i, v) = component_of_unzip(of, cx)?;
    // Other arrays would be made at each index.
    let is_cheap = |delta: &[Expr]| delta.iter().all(|part| cx.facts.is_cheap(part));
    let is_read = cx.at_any_cost || v.as_var().is_some() || v.args_of_prim(Prim::DeltaAt).is_some_and(is_cheap);
    is_read.then(|| Expr::get(i, Expr::prim(Prim::Index, [k.clone(), v.clone()]).at(e.span())))
}

fn of_build(e: &Expr, cx: &Context) -> Option<Expr> {
    let Kind::App(Op::Get(..), args) = e.kind() else { return None };
    // Of a name, each component would compute the elements again.
    args[0].args_of_prim(Prim::Unzip)?;
    let (i, v) = component_of_unzip(e, cx)?;
    let [size, f] = v.args_of_prim(Prim::Build)? else { return None };
    let Kind::Lam(k, body) = f.kind() else { return None };
    let (bindings, result) = body.as_block();
    let component = Expr::block(bindings.to_vec(), Expr::get(i, result.clone()));
    Some(Expr::prim(Prim::Build, [size.clone(), Expr::lam(k.clone(), component)]).at(v.span()))
}
