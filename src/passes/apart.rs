//! Tells the sums of a loop apart from its state.
//!
//!   $loop(n, λp. a + b, s, w)   =   $loop(n, λp. (a.1 + b.1, a.2 + b.2), s, w)
//!
//! The terms are pairs: a part of the next state, and what goes to the sum. The state goes back to the loop, so a pair does
//! as a whole, and has zeros of its own, of the shape of the sum, in each step. As components, what goes to the sum is
//! added right there (`lm::destination`). The terms are variables, or components of such: no work is copied.
//! Takes and gives: terms without linear maps.

use lm::destination::selection;
use lm::prim::Prim;
use lm::term::{Def, Expr, Kind, Op};

/// The definition with such loops.
pub fn apart(def: &Def) -> Def {
    Def { body: term(&def.body), ..def.clone() }
}

fn term(e: &Expr) -> Expr {
    let e = e.map_children(term);
    let Some([n, step, start, witness]) = e.args_of_prim(Prim::Loop) else { return e };
    let Kind::Lam(p, body) = step.kind() else { return e };
    let (bindings, result) = body.as_block();
    if result.ty().has_fixed_shape() || result.args_of_prim(Prim::Add).is_none() || !is_of_names(result) {
        return e;
    }
    let pair = Expr::app(Op::Tuple, vec![component(1, result), component(2, result)]).at(result.span());
    let step = Expr::lam(p.clone(), Expr::block(bindings.to_vec(), pair)).at(step.span());
    Expr::prim(Prim::Loop, [n.clone(), step, start.clone(), witness.clone()]).at(e.span())
}

/// Whether the terms of a sum are variables or components of such.
fn is_of_names(e: &Expr) -> bool {
    match e.args_of_prim(Prim::Add) {
        Some(terms) => terms.iter().all(is_of_names),
        None => selection(e).is_some(),
    }
}

fn component(i: usize, e: &Expr) -> Expr {
    match e.args_of_prim(Prim::Add) {
        Some([a, b]) => Expr::prim(Prim::Add, [component(i, a), component(i, b)]).at(e.span()),
        _ => Expr::get(i, e.clone()).at(e.span()),
    }
}
