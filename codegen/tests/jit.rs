//! Programs of scalars and tuples, called in memory at every level of optimisation.

mod common;

use common::{Build, at_every_level, float};
use lm::prim::Prim;
use lm::term::{Expr, FunName};
use lm::value::Value;

#[test]
fn a_function_of_two_floats() {
    // f(x, y) = let p = 7 * x; r = 1 / y; v = p * r in v * p
    let mut b = Build::default();
    b.def("f", &[("x", float()), ("y", float())], |b, xs| {
        let p = b.bind("p", Expr::prim(Prim::Mul, [Expr::float(7.0), xs[0].clone()]));
        let r = b.bind("r", Expr::prim(Prim::Div, [Expr::float(1.0), xs[1].clone()]));
        let v = b.bind("v", Expr::prim(Prim::Mul, [p.clone(), r]));
        Expr::prim(Prim::Mul, [v, p])
    });
    at_every_level(&b.program, &[FunName::base("f")], |jit| {
        let result = jit.call(&FunName::base("f"), &[Value::Float(2.0), Value::Float(4.0)]);
        assert_eq!(result, Ok(Value::Float(49.0)));
    });
}
