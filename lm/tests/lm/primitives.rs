//! The derivative in each primitive's row against central differences of its value.

use lm::interp::{Env, Interpreter};
use lm::law;
use lm::libm::Libm;
use lm::map::LinearMap;
use lm::prim::{self, JacobianRule, Prim};
use lm::term::{Expr, Op, Program};
use lm::types::Type;
use lm::value::Value;

/// Points inside the domain of every primitive's derivative, away from kinks.
const POINTS: &[(f64, f64)] = &[(0.3, 0.7), (0.9, 0.2), (0.5, 0.45), (0.15, 0.95)];

fn value(p: Prim, args: &[Expr]) -> f64 {
    let program = Program::default();
    let mut interpreter = Interpreter::new(&program);
    let call = Expr::app(Op::Prim(p), args.to_vec());
    interpreter.eval(&call, &mut Env::default()).expect("in the domain").as_float().expect("a Float")
}

/// The row of the Jacobian at `args`, from the law.
fn gradient(p: Prim, args: &[Expr]) -> Vec<f64> {
    let program = Program::default();
    let mut interpreter = Interpreter::new(&program);
    let jacobian = interpreter.eval(&law::jacobian_of(p, args), &mut Env::default()).expect("in the domain");
    let Value::Map(m) = jacobian else { panic!("a Jacobian is a map") };
    let m: &LinearMap = &m;
    lm::map::apply_reverse(&mut interpreter, &Value::Float(1.0), m).expect("maps are total").floats()
}

#[test]
fn each_derivative_is_the_limit_of_differences() {
    let mut checked = Vec::new();
    for &p in prim::ALL.iter() {
        // lgamma's derivative is a function of the prelude, which this crate does not have.
        let smooth = matches!(p.jacobian(), JacobianRule::Law(_)) && p != Prim::Libm(Libm::Lgamma);
        let unary = p.result(&[Type::Float]) == Some(Type::Float);
        let binary = p.result(&[Type::Float, Type::Float]) == Some(Type::Float);
        if !smooth || !(unary || binary) {
            continue;
        }
        for &(x, y) in POINTS {
            let at = |x: f64, y: f64| {
                if unary { vec![Expr::float(x)] } else { vec![Expr::float(x), Expr::float(y)] }
            };
            let h = 1e-5;
            let mut differences = vec![(value(p, &at(x + h, y)) - value(p, &at(x - h, y))) / (2.0 * h)];
            if binary {
                differences.push((value(p, &at(x, y + h)) - value(p, &at(x, y - h))) / (2.0 * h));
            }
            for (exact, approximate) in gradient(p, &at(x, y)).iter().zip(&differences) {
                let error = (exact - approximate).abs() / exact.abs().max(1.0);
                assert!(error < 1e-8, "{} at ({x}, {y}): {exact} against {approximate}", p.name());
            }
        }
        checked.push(p.name());
    }
    assert!(checked.len() >= 22, "only {checked:?} were checked");
}

#[test]
fn kinks_and_poles_follow_the_language() {
    let grad1 = |p, x| gradient(p, &[Expr::float(x)])[0];
    assert_eq!(grad1(Prim::Abs, 0.0), -1.0);
    assert_eq!(gradient(Prim::Max, &[Expr::float(2.0), Expr::float(2.0)]), [1.0, 0.0]);
    assert_eq!(gradient(Prim::Min, &[Expr::float(2.0), Expr::float(2.0)]), [1.0, 0.0]);
    assert_eq!(gradient(Prim::Libm(Libm::Pow), &[Expr::float(0.0), Expr::float(0.0)])[0], 0.0);
    assert_eq!(gradient(Prim::Libm(Libm::Pow), &[Expr::float(0.0), Expr::float(2.0)]), [0.0, 0.0]);
    assert_eq!(gradient(Prim::Powi, &[Expr::float(0.0), Expr::integer(0)]), [0.0]);
    assert_eq!(gradient(Prim::Powi, &[Expr::float(3.0), Expr::integer(2)]), [6.0]);
}
