//! Takes the tangent out of a choice with a zero, as a factor: so laws of sums see it.
//!
//! ```text
//! if i == j then ts_zero(0.0) else f * ((if i == k then 1.0 else 0) + (if j == k then -1.0 else 0))
//!   =   (if i == j then 0.0 else f) * ((if i == k then 1.0 else 0) + (if j == k then -1.0 else 0))
//! ```
//!
//! The tangent must be finite whatever the numbers of the program are: a choice is often there because the other branch is
//! not, and 0 times infinity is no number. It is one law for either branch, and for blocks.

use super::context::Context;
use super::native::{Head, Native};
use crate::prim::Prim;
use crate::scope::free_variables;
use crate::term::{Constant, Expr, Kind, Op};
use crate::types::Type;

#[rustfmt::skip]
/// The rows of the table of laws.
pub(super) static CHOICES: &[Native] = &[
    Native { name: "coefficient-of-choice", source: "derived", text: "if c then ts_zero(s) else f * x = (if c then 0.0 else f) * x, in either branch, x late and made of literals, c early", head: Some(Head::If), rewrite: coefficient },
];

fn coefficient(e: &Expr, cx: &Context) -> Option<Expr> {
    let [c, yes, no] = e.args_of(&Op::If)? else { return None };
    let is_zero = |e: &Expr| e.args_of_prim(Prim::ZeroOf).is_some();
    let is_else = match (is_zero(yes), is_zero(no)) {
        (true, false) => true,
        (false, true) => false,
        _ => return None,
    };
    let (bindings, product) = if is_else { no.as_block() } else { yes.as_block() };
    let [f, x] = product.args_of_prim(Prim::Mul)? else { return None };
    let has_names = bindings.iter().flat_map(|b| b.pattern.vars()).any(|name| free_variables(x).contains(name));
    let pays = cx.at_any_cost || !cx.facts.is_late(c) && !cx.facts.is_late(f) && cx.facts.is_late(x);
    if has_names || !pays || *x.ty() != Type::Float || !is_finite(x, cx) || !cx.facts.is_total(x) {
        return None;
    }
    let f = Expr::block(bindings.to_vec(), f.clone());
    let zero = Expr::float(0.0);
    let f = if is_else { Expr::conditional(c.clone(), zero, f) } else { Expr::conditional(c.clone(), f, zero) };
    Some(Expr::prim(Prim::Mul, [f.at(e.span()), x.clone()]).at(product.span()))
}

/// Returns whether a number is finite for all values of its variables: whether it is made of literals.
fn is_finite(e: &Expr, cx: &Context) -> bool {
    match e.kind() {
        Kind::Const(Constant::Float(x)) => x.is_finite(),
        Kind::App(Op::Prim(Prim::ZeroOf), _) => true,
        Kind::App(Op::Prim(Prim::Add | Prim::Neg), args) => args.iter().all(|a| is_finite(a, cx)),
        Kind::App(Op::If, args) => args[1..].iter().all(|a| is_finite(a, cx)),
        _ => cx.facts.term(e).is_some_and(|(term, _)| is_finite(term, cx)),
    }
}
