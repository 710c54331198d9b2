//! Tells derivations of the arguments on whose numbers a call does not depend.
//!
//! ```text
//! f(v, w)  =  f(stop_gradient(v), w)             when the result of f depends on no number of its first argument
//! ```
//!
//! So no derivative of f is called with respect to them, and no zeros of their size are made and added. Takes: a
//! definition as it is written. Gives: the same, before normal form.

use crate::derive::forms::smallest;
use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::term::{Def, Expr, FunName, Kind, Op};

/// Whether the result of a function depends on no number of an argument, counted from 0.
pub type IsIndependent<'a> = &'a dyn Fn(&FunName, usize) -> bool;

/// Marks the arguments on which calls do not depend.
pub fn independent_arguments(def: &Def, is_independent: IsIndependent, rewrites: &mut Rewrites) -> Def {
    Def { body: marked(&def.body, is_independent, rewrites), ..def.clone() }
}

fn marked(e: &Expr, is_independent: IsIndependent, rewrites: &mut Rewrites) -> Expr {
    let e = e.map_children(|child| marked(child, is_independent, rewrites));
    let Kind::App(op @ Op::Call(_), args) = e.kind() else { return e };
    let mut has_changed = false;
    let args = args.iter().enumerate().map(|(i, a)| match can_be_marked(op, i, a, is_independent) {
        true if rewrites.may("call-independent") => {
            has_changed = true;
            Expr::prim(Prim::StopGradient, [a.clone()]).at(a.span())
        }
        _ => a.clone(),
    });
    let args: Vec<Expr> = args.collect();
    if has_changed { Expr::app(op.clone(), args).at(e.span()) } else { e }
}

fn can_be_marked(op: &Op, i: usize, a: &Expr, is_independent: IsIndependent) -> bool {
    let Op::Call(f) = op else { return false };
    let is_known = matches!(a.kind(), Kind::Const(_) | Kind::App(Op::Prim(Prim::StopGradient), _));
    a.ty().is_differentiable() && !is_known && is_independent(&f.name, i)
}

/// Returns what breaks the postcondition: a call with an argument on which it does not depend.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let has_one = |e: &Expr| match e.kind() {
        Kind::App(op, args) => (0..args.len()).any(|i| can_be_marked(op, i, &args[i], facts.is_independent)),
        _ => false,
    };
    smallest(&def.body, has_one)
}
