//! Administrative normal form: every argument is an atom, every intermediate value has a name.
//!
//! ```text
//! f(g(x), y)   =   let t = g(x) in f(t, y)
//! ```
//!
//! Source: working notes, sec. 5.1. Takes: any term. Gives: blocks whose right-hand sides and
//! results are atoms, or operators on atoms, or conditionals on an atom whose branches are such
//! blocks, or functions whose bodies are.

use crate::derive::forms;
use crate::derive::postcondition::Facts;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply};

/// The definition in normal form.
pub fn anf(def: &Def, supply: &mut Supply) -> Def {
    Def { body: block(&def.body, supply), ..def.clone() }
}

/// A term as a block of its own.
pub fn block(e: &Expr, supply: &mut Supply) -> Expr {
    let mut bindings = Vec::new();
    let result = simple(e, supply, &mut bindings);
    Expr::block(bindings, result)
}

/// The term as an operator on atoms; what it computes before goes to `out`.
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
        Kind::Lam(x, body) => Expr::lam(x.clone(), block(body, supply)).at(e.span()),
        Kind::App(Op::If, args) => {
            let c = atom(&args[0], supply, out);
            let branches = [block(&args[1], supply), block(&args[2], supply)];
            let [a, b] = branches;
            Expr::conditional(c, a, b).at(e.span())
        }
        Kind::App(..) => e.map_children(|a| atom(a, supply, out)),
    }
}

/// The term as an atom (or a function, which only ever stands as an argument).
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

/// The postcondition: the definition is in normal form.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    forms::not_normal(&def.body)
}
