//! What is known of indices and sizes: true facts are found, and others are not.

use lm::facts::Facts;
use lm::prim::Prim;
use lm::term::{Binding, Expr, Pattern, Supply, Var};
use lm::types::Type;

fn size(v: &Var) -> Expr {
    Expr::prim(Prim::Size, [Expr::var(v)])
}

fn plus(a: &Expr, b: i64) -> Expr {
    Expr::prim(Prim::Add, [a.clone(), Expr::integer(b)])
}

fn minus(a: &Expr, b: i64) -> Expr {
    Expr::prim(Prim::Sub, [a.clone(), Expr::integer(b)])
}

/// `let w = build(size(v) + 1, ..) in build(size(w) - 1, λi. ..)`
#[test]
fn sizes_that_differ_by_a_number_are_compared() {
    let mut supply = Supply::default();
    let floats = Type::Tensor(1, Type::Float.into());
    let (v, w) = (supply.fresh("v", floats.clone()), supply.fresh("w", floats));
    let (i, j) = (supply.fresh("i", Type::Integer), supply.fresh("j", Type::Integer));
    let mut facts = Facts::default();
    let built = Expr::prim(Prim::Build, [plus(&size(&v), 1), Expr::lam(j, Expr::float(0.0))]);
    facts.name(&Binding { pattern: Pattern::Var(w.clone()), rhs: built }, false);
    facts.index(&i, &minus(&size(&w), 1));
    let (i, n) = (Expr::var(&i), size(&v));

    assert!(facts.are_equal(&size(&w), &plus(&n, 1)));
    assert!(facts.are_equal(&minus(&size(&w), 1), &n));
    assert!(!facts.are_equal(&size(&w), &n));
    assert!(facts.is_below(&i, &n));
    assert!(facts.is_below(&i, &size(&w)));
    assert!(facts.is_below(&plus(&i, 1), &size(&w)));
    assert!(!facts.is_below(&plus(&i, 1), &n));
    assert!(!facts.is_below(&minus(&i, 1), &n));
    assert!(!facts.is_below(&i, &minus(&n, 1)));
    assert!(!facts.is_below(&plus(&i, 2), &size(&w)));
}

/// `let n = $common_size(build(size(m).2, ..), v) in build(n, λi. ..)`
#[test]
fn sizes_that_a_check_found_equal_are_equal_where_they_are_components() {
    let mut supply = Supply::default();
    let m = supply.fresh("m", Type::Tensor(2, Type::Float.into()));
    let v = supply.fresh("v", Type::Tensor(1, Type::Float.into()));
    let (n, i, j) =
        (supply.fresh("n", Type::Integer), supply.fresh("i", Type::Integer), supply.fresh("j", Type::Integer));
    let columns = Expr::get(2, size(&m));
    let built = Expr::prim(Prim::Build, [columns.clone(), Expr::lam(j, Expr::float(0.0))]);
    let mut facts = Facts::default();
    assert!(!facts.are_equal(&size(&v), &columns));

    let mark = facts.mark();
    let check = Expr::prim(Prim::CommonSize, [Expr::var(&v), built]);
    facts.name(&Binding { pattern: Pattern::Var(n.clone()), rhs: check }, false);
    facts.index(&i, &Expr::var(&n));
    assert!(facts.are_equal(&size(&v), &columns));
    assert!(facts.is_below(&Expr::var(&i), &columns) && facts.is_below(&Expr::var(&i), &size(&v)));
    assert!(!facts.is_below(&Expr::var(&i), &Expr::get(1, size(&m))));

    facts.forget_since(mark);
    assert!(!facts.are_equal(&size(&v), &columns));
}
