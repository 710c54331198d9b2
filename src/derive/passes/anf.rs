//! Names every intermediate value: administrative normal form.
//!
//! ```text
//! f(g(x), y)   =   let t = g(x) in f(t, y)
//! ```
//!
//! Source: working notes, sec. 5.1. Takes: any term. Gives: normal form, as [`crate::derive::forms`] writes it.

use crate::derive::forms;
use crate::derive::postcondition::Facts;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply};

/// Returns the definition in normal form.
pub fn anf(def: &Def, supply: &mut Supply) -> Def {
    Def { body: normalise_block(&def.body, supply), ..def.clone() }
}

/// Returns the normal form of a term, as a block of its own.
pub fn normalise_block(e: &Expr, supply: &mut Supply) -> Expr {
    let mut bindings = Vec::new();
    let result = simple(e, supply, &mut bindings);
    Expr::block(bindings, result)
}

/// Returns the term as an operator on atoms; pushes what it needs to `out`.
fn simple(e: &Expr, supply: &mut Supply, out: &mut Vec<Binding>) -> Expr {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => e.clone(),
        Kind::Let(bindings, body) => {
            for b in bindings {
                let rhs = simple(&b.rhs, supply, out);
                out.push(Binding { pattern: b.pattern.clone(), rhs });
            }
            simple(body, supply, out)
        }
        Kind::Lam(x, body) => Expr::lam(x.clone(), normalise_block(body, supply)).at(e.span()),
        Kind::App(Op::If, args) => {
            let c = atom(&args[0], supply, out);
            let branches = [normalise_block(&args[1], supply), normalise_block(&args[2], supply)];
            let [a, b] = branches;
            Expr::conditional(c, a, b).at(e.span())
        }
        Kind::App(..) => e.map_children(|a| atom(a, supply, out)),
    }
}

/// Returns the term as an atom, or as a function if it is one.
fn atom(e: &Expr, supply: &mut Supply, out: &mut Vec<Binding>) -> Expr {
    let e = simple(e, supply, out);
    if e.is_atom() || matches!(e.kind(), Kind::Lam(..)) {
        return e;
    }
    let t = supply.fresh("t", e.ty().clone());
    let use_ = Expr::var(&t);
    out.push(Binding { pattern: Pattern::Var(t), rhs: e });
    use_
}

/// Returns what breaks the postcondition: a term that is not in normal form.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    forms::not_normal(&def.body)
}
