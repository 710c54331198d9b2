//! Terms are equal but for the names of bound variables.

use lm::alpha::exprs;
use lm::term::{Binding, Pattern, Supply};
use lm::term::{Expr, Var};
use lm::types::Type;

#[test]
fn bound_variables_may_differ_but_not_merge() {
    let mut supply = Supply::default();
    let mut two = |first: bool| {
        let (x, y) = (supply.fresh("x", Type::Float), supply.fresh("y", Type::Float));
        let bind = |v: &Var, value| Binding { pattern: Pattern::Var(v.clone()), rhs: Expr::float(value) };
        let body = Expr::var(if first { &x } else { &y });
        Expr::block(vec![bind(&x, 1.0), bind(&y, 1.0)], body)
    };
    let (a, b, c) = (two(true), two(true), two(false));
    assert!(exprs(&a, &b));
    assert!(!exprs(&a, &c));
    assert!(a != b, "the variables have different numbers");
}
