//! Elements of terms of arrays are terms of elements, where they depend on a direction.
//!
//! ```text
//! index(k, v + f * -w)   =   index(k, v) + f * -index(k, w)
//! ```
//!
//! It sees through the names of such terms, however deep, as no pattern does: a name of an array is one to read an element
//! of, and no reason to make the array.

use super::context::Context;
use super::native::{Head, Native};
use crate::prim::Prim;
use crate::term::{Expr, Kind, Op};
use crate::types::Type;

#[rustfmt::skip]
/// The rows of the table of laws.
pub(super) static ELEMENTS: &[Native] = &[
    Native { name: "index-of-terms", source: "derived", text: "index(k, v + f * -w) = index(k, v) + f * -index(k, w), which depends on a direction", head: Some(Head::Prim(Prim::Index)), rewrite: of_terms },
];

/// The most operations of a term.
const MOST_OPERATIONS: usize = 8;

fn of_terms(e: &Expr, cx: &Context) -> Option<Expr> {
    let [k, v] = e.args_of_prim(Prim::Index)? else { return None };
    if !(cx.at_any_cost || cx.facts.is_late(v) && cx.facts.is_cheap(k)) {
        return None;
    }
    let mut left = MOST_OPERATIONS;
    let element = Element { k, read: e, cx }.of(v, false, &mut left)?;
    (left < MOST_OPERATIONS).then_some(element)
}

struct Element<'a> {
    k: &'a Expr,
    /// The term that reads the element.
    read: &'a Expr,
    cx: &'a Context,
}

impl Element<'_> {
    /// Returns the element of an array; `is_copy` where the array has a name that may stay.
    fn of(&self, v: &Expr, is_copy: bool, left: &mut usize) -> Option<Expr> {
        let (term, is_copy) = match self.cx.facts.term(v) {
            Some((term, is_once)) => (term, is_copy || !is_once),
            None => (v, is_copy),
        };
        let index = |v: &Expr| Expr::prim(Prim::Index, [self.k.clone(), v.clone()]).at(self.read.span());
        let Kind::App(Op::Prim(p), args) = term.kind() else {
            return (v.is_atom() || !is_copy).then(|| index(v));
        };
        let is_term = match p {
            Prim::Add | Prim::Sub | Prim::Neg => true,
            Prim::Mul => *args[0].ty() == Type::Float && (!is_copy || self.cx.facts.is_cheap(&args[0])),
            _ => false,
        };
        if !is_term || *left == 0 {
            let is_delta = *p == Prim::DeltaAt && args.iter().all(|a| self.cx.facts.is_cheap(a));
            return if is_delta { Some(index(term)) } else { (v.is_atom() || !is_copy).then(|| index(v)) };
        }
        *left -= 1;
        let of = |v: &Expr, left: &mut usize| match v.ty() {
            Type::Tensor(..) => self.of(v, is_copy, left),
            _ => Some(v.clone()),
        };
        let parts: Option<Vec<Expr>> = args.iter().map(|a| of(a, left)).collect();
        Some(Expr::prim(*p, parts?).at(term.span()))
    }
}
