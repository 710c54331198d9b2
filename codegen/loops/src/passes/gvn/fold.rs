//! Folds operations whose results are known without computing them, to the bit.
//!
//! ```text
//! constants        computed, floating-point numbers too, but for those that libm computes
//! x + 0 = x        for Integers; for Floats -0 + x = x and x - 0 = x, whatever the sign of x (0 + x is not x for -0)
//! 0 + x = x        where x is never -0 (`signs`)
//! 1 x = x          and 0 x = 0 for Integers
//! x = x, x <= x    true for Integers; x < x is false
//! and, or, not     as ever
//! ```

use crate::ir::{Local, Op, Operand};
use Operand::{Bool, Float, Integer};

/// How a local was computed.
type Definitions<'m> = &'m dyn Fn(Local) -> Option<&'m (Op, Vec<Operand>)>;

/// Whether a local is never -0.
type Signs<'m> = &'m dyn Fn(Local) -> bool;

/// Returns what the operation gives, when that is an operand.
pub(super) fn folded(op: Op, args: &[Operand], made: Definitions, never_negative_zero: Signs) -> Option<Operand> {
    constant(op, args)
        .or_else(|| neutral(op, args))
        .or_else(|| undone(op, args, made))
        .or_else(|| without_zero(op, args, never_negative_zero))
}

/// Returns the value of an operation on constants.
fn constant(op: Op, args: &[Operand]) -> Option<Operand> {
    let float = |x: f64| (!x.is_nan()).then_some(Float(x));
    match (op, args) {
        (Op::AddF, [Float(x), Float(y)]) => float(x + y),
        (Op::SubF, [Float(x), Float(y)]) => float(x - y),
        (Op::MulF, [Float(x), Float(y)]) => float(x * y),
        (Op::DivF, [Float(x), Float(y)]) => float(x / y),
        (Op::NegF, [Float(x)]) => float(-x),
        (Op::EqF, [Float(x), Float(y)]) => Some(Bool(x == y)),
        (Op::LtF, [Float(x), Float(y)]) => Some(Bool(x < y)),
        (Op::LeF, [Float(x), Float(y)]) => Some(Bool(x <= y)),
        (Op::AddI, [Integer(x), Integer(y)]) => Some(Integer(x.wrapping_add(*y))),
        (Op::SubI, [Integer(x), Integer(y)]) => Some(Integer(x.wrapping_sub(*y))),
        (Op::MulI, [Integer(x), Integer(y)]) => Some(Integer(x.wrapping_mul(*y))),
        (Op::DivI, [Integer(x), Integer(y)]) if *y != 0 => Some(Integer(x.wrapping_div(*y))),
        (Op::NegI, [Integer(x)]) => Some(Integer(x.wrapping_neg())),
        (Op::EqI, [Integer(x), Integer(y)]) => Some(Bool(x == y)),
        (Op::LtI, [Integer(x), Integer(y)]) => Some(Bool(x < y)),
        (Op::LeI, [Integer(x), Integer(y)]) => Some(Bool(x <= y)),
        (Op::Below, [Integer(x), Integer(y)]) => Some(Bool((*x as u64) < *y as u64)),
        (Op::Count, [Integer(x), Integer(y)]) => Some(Integer(x.saturating_mul(*y))),
        (Op::EqB, [Bool(x), Bool(y)]) => Some(Bool(x == y)),
        (Op::Not, [Bool(x)]) => Some(Bool(!x)),
        (Op::Likely, [Bool(x)]) => Some(Bool(*x)),
        (Op::ToFloat, [Integer(x)]) => Some(Float(*x as f64)),
        (Op::BoolToFloat, [Bool(x)]) => Some(Float(f64::from(u8::from(*x)))),
        _ => None,
    }
}

/// Returns the value of an operation with an operand that does nothing, or everything.
fn neutral(op: Op, args: &[Operand]) -> Option<Operand> {
    let [a, b] = args else { return None };
    let is_negative_zero = |x: &f64| *x == 0.0 && x.is_sign_negative();
    match (op, a, b) {
        (Op::AddF, x, Float(z)) | (Op::AddF, Float(z), x) if is_negative_zero(z) => Some(x.clone()),
        (Op::SubF, x, Float(z)) if *z == 0.0 && z.is_sign_positive() => Some(x.clone()),
        (Op::MulF, x, Float(1.0)) | (Op::MulF, Float(1.0), x) | (Op::DivF, x, Float(1.0)) => Some(x.clone()),
        (Op::AddI | Op::SubI, x, Integer(0)) | (Op::AddI, Integer(0), x) => Some(x.clone()),
        (Op::MulI | Op::DivI | Op::Count, x, Integer(1)) | (Op::MulI | Op::Count, Integer(1), x) => Some(x.clone()),
        (Op::MulI, _, Integer(0)) | (Op::MulI, Integer(0), _) => Some(Integer(0)),
        (Op::And, x, Bool(true)) | (Op::And, Bool(true), x) => Some(x.clone()),
        (Op::Or, x, Bool(false)) | (Op::Or, Bool(false), x) => Some(x.clone()),
        (Op::And, _, Bool(false)) | (Op::And, Bool(false), _) => Some(Bool(false)),
        (Op::Or, _, Bool(true)) | (Op::Or, Bool(true), _) => Some(Bool(true)),
        (Op::And | Op::Or, a, b) if a.same(b) => Some(a.clone()),
        (Op::SubI, a, b) if a.same(b) => Some(Integer(0)),
        (Op::EqI | Op::LeI | Op::EqB | Op::EqT, a, b) if a.same(b) => Some(Bool(true)),
        (Op::LtI | Op::Below, a, b) if a.same(b) => Some(Bool(false)),
        _ => None,
    }
}

/// Returns what an operation undoes: -(-x), not not x; (x + y) - y for Integers.
fn undone(op: Op, args: &[Operand], made: Definitions) -> Option<Operand> {
    let (inner, operands) = args[0].local().and_then(made)?;
    match (op, inner, &operands[..], &args[1..]) {
        (Op::Not, Op::Not, [x], []) | (Op::NegF, Op::NegF, [x], []) | (Op::NegI, Op::NegI, [x], []) => Some(x.clone()),
        (Op::SubI, Op::AddI, [x, y], [z]) if y.same(z) => Some(x.clone()),
        (Op::SubI, Op::AddI, [x, y], [z]) if x.same(z) => Some(y.clone()),
        (Op::AddI, Op::SubI, [x, y], [z]) if y.same(z) => Some(x.clone()),
        _ => None,
    }
}

/// 0 + z, where z is never -0.
fn without_zero(op: Op, args: &[Operand], never_negative_zero: Signs) -> Option<Operand> {
    let is_zero = |a: &Operand| a.same(&Float(0.0));
    let z = match (op, args) {
        (Op::AddF, [a, z]) | (Op::AddF, [z, a]) if is_zero(a) => z,
        _ => return None,
    };
    z.local().filter(|z| never_negative_zero(*z)).map(Operand::Local)
}
