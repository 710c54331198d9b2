//! Puts the bodies of functions in place of calls: of those that the program marks by `$inline`, and of small functions
//! that pass arrays on.
//!
//! ```text
//! $inline (f e1 .. en)  =  let x1 = e1 .. xn = en in b                     (def f (x1 .. xn) b)
//! ```
//!
//! So no derivative of f is called where the caller is differentiated. Takes: a definition as it is written. Gives: the
//! same, before normal form.

use crate::derive::forms::smallest;
use crate::derive::postcondition::Facts;
use lm::rewrites::Rewrites;
use lm::scope::renamed;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply};

/// Inlines the calls of which `body` knows the definition of the callee.
pub fn inline_marked<'a>(
    def: &Def,
    body: &dyn Fn(&Expr) -> Option<&'a Def>,
    supply: &mut Supply,
    rewrites: &mut Rewrites,
) -> Def {
    Def { body: inlined(&def.body, body, supply, rewrites), ..def.clone() }
}

fn inlined<'a>(
    e: &Expr,
    body: &dyn Fn(&Expr) -> Option<&'a Def>,
    supply: &mut Supply,
    rewrites: &mut Rewrites,
) -> Expr {
    let callee = body(e);
    let e = e.map_children(|a| inlined(a, body, supply, rewrites));
    match (callee, e.kind()) {
        (Some(callee), Kind::App(Op::Call(_), args)) if rewrites.may("call-inline") => {
            let given = callee.params.iter().zip(args);
            let bind = given.map(|(x, a)| Binding { pattern: Pattern::Var(x.clone()), rhs: a.clone() });
            renamed(&Expr::block(bind.collect(), callee.body.clone()), supply)
        }
        _ => e,
    }
}

/// Returns what breaks the postcondition: a call that is to be inlined.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    smallest(&def.body, facts.is_inlined)
}
