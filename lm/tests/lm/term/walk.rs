//! Walks over terms.

use lm::prim::Prim;
use lm::term::{Atom, Binding, Constant, Expr};
use lm::term::{Pattern, Supply};
use lm::types::Type;

/// Returns `let x = 1.0 + 2.0 in build(3, λi. x)`.
fn term() -> Expr {
    let mut supply = Supply::default();
    let (x, i) = (supply.fresh("x", Type::Float), supply.fresh("i", Type::Integer));
    let rhs = Expr::prim(Prim::Add, [Expr::float(1.0), Expr::float(2.0)]);
    let body = Expr::prim(Prim::Build, [Expr::integer(3), Expr::lam(i, Expr::var(&x))]);
    Expr::block(vec![Binding { pattern: Pattern::Var(x), rhs }], body)
}

#[test]
fn a_walk_sees_every_term_once_from_the_outside_in() {
    let term = term();
    let mut seen = Vec::new();
    term.visit(|e| seen.push(e.address()));
    assert_eq!(seen.len(), term.size());
    assert_eq!(seen[0], term.address());
    let constants: Vec<Atom> = [1.0, 2.0].map(|x| Atom::Const(Constant::Float(x))).into();
    assert_eq!(term.find_map(Atom::of), Some(constants[0].clone()));
    assert!(term.any(|e| Atom::of(e) == Some(constants[1].clone())));
    assert!(!term.all(|e| e.is_atom()));
}

#[test]
fn bindings_are_seen_at_any_depth() {
    let term = Expr::tuple([term(), Expr::float(0.0)]);
    let mut count = 0;
    term.visit_bindings(|_| count += 1);
    assert_eq!(count, 1);
}
