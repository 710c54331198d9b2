//! Terms are written as KS-Lisp.

use lm::libm::Libm;
use lm::notation::ks::{def, expr, program};
use lm::prim::Prim;
use lm::term::{Binding, Constant, Def, Expr, Op, Pattern, Program};
use lm::term::{FunName, Supply};
use lm::types::Type;

#[test]
fn literals_read_back() {
    let shown = |x: f64| expr(&Expr::float(x), 80);
    assert_eq!([1.0, 1e300, -0.0, 0.1, 1e-7].map(shown), ["1.0", "1e300", "-0.0", "0.1", "1e-7"]);
    assert_eq!(shown(f64::NEG_INFINITY), "(div -1.0 0.0)");
    let text = Expr::constant(Constant::String("a\"\\\n".into()));
    assert_eq!(expr(&text, 80), "\"a\\\"\\\\\\n\"");
}

#[test]
fn a_definition() {
    let mut supply = Supply::default();
    let (x, y, t) = (supply.fresh("x", Type::Float), supply.fresh("x", Type::Float), Type::tuple([Type::Float]));
    let rhs = Expr::prim(Prim::Mul, [Expr::var(&x), Expr::float(2.0)]);
    let pair = Expr::prim(Prim::Neg, [Expr::app(Op::Tuple, vec![Expr::var(&y)])]);
    let body = Expr::block(vec![Binding { pattern: Pattern::Var(y.clone()), rhs }], pair);
    let text = def(&Def::new(FunName::base("f"), vec![x], body), 80);
    assert_eq!(text, format!("(def f {t} (x : Float)\n  (let (x_1 (mul x 2.0))\n    (ts_neg (tuple x_1))))\n"));
}

#[test]
fn redefined_primitives_are_marked() {
    let mut supply = Supply::default();
    let x = supply.fresh("x", Type::Float);
    let body = Expr::prim(Prim::Libm(Libm::Exp), [Expr::var(&x)]);
    let def = Def::new(FunName::base("exp"), vec![x], body);
    let mut p = Program::default();
    p.defs.insert(def.fun.name.clone(), def);
    assert_eq!(program(&p, 80), "(def exp Float (x : Float)\n  ($prim$exp x))\n");
}
