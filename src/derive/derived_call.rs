//! Calls derivatives of functions.

use lm::term::{Derivative, Expr, Fun, Op};
use std::sync::Arc;

/// Returns `fwd$f(x, dx)` or `rev$f(x, dx)`, the Jacobian of f at its arguments applied to a vector.
///
/// Source: working notes, Fig. 6.
pub fn call_derivative(derivative: Derivative, f: &Fun, args: &[Expr], dx: Expr) -> Expr {
    let argument = if let [one] = args { one.clone() } else { Expr::tuple(args.to_vec()) };
    let result = if derivative == Derivative::Fwd { f.result.tangent() } else { f.varying().tangent() };
    let params = vec![argument.ty().clone(), dx.ty().clone()];
    let derived = Fun { name: f.name.derived(derivative), params, result };
    Expr::app(Op::Call(Arc::new(derived)), vec![argument, dx])
}
