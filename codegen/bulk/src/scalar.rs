//! The values of operations on numbers, as the reference interpreter has them.

use crate::ir::Fun;
use lm::random::hash;
use lm::term::Constant::{self, Bool, Float, Integer};

/// Returns the value of an operation; `None` for Integer division by zero, and for operands that do not fit.
pub fn apply(fun: Fun, args: &[Constant]) -> Option<Constant> {
    Some(match (fun, args) {
        (Fun::Add, [Float(x), Float(y)]) => Float(x + y),
        (Fun::Sub, [Float(x), Float(y)]) => Float(x - y),
        (Fun::Mul, [Float(x), Float(y)]) => Float(x * y),
        (Fun::Div, [Float(x), Float(y)]) => Float(x / y),
        (Fun::Neg, [Float(x)]) => Float(-x),
        (Fun::Abs, [Float(x)]) => Float(x.abs()),
        (Fun::Sqrt, [Float(x)]) => Float(x.sqrt()),
        (Fun::Powi, [Float(x), Integer(n)]) => Float(x.powf(*n as f64)),
        (Fun::Libm(f), args) => {
            let args: Vec<f64> =
                args.iter().map(|x| if let Float(x) = x { Some(*x) } else { None }).collect::<Option<_>>()?;
            Float(f.at(&args)?)
        }
        (Fun::Add, [Integer(a), Integer(b)]) => Integer(a.wrapping_add(*b)),
        (Fun::Sub, [Integer(a), Integer(b)]) => Integer(a.wrapping_sub(*b)),
        (Fun::Mul, [Integer(a), Integer(b)]) => Integer(a.wrapping_mul(*b)),
        (Fun::Div, [Integer(_), Integer(0)]) => return None,
        (Fun::Div, [Integer(a), Integer(b)]) => Integer(a.wrapping_div(*b)),
        (Fun::Neg, [Integer(a)]) => Integer(a.wrapping_neg()),
        (Fun::Abs, [Integer(a)]) => Integer(a.wrapping_abs()),
        (Fun::Gt, [a, b]) => Bool(order(a, b)?.is_some_and(|o| o.is_gt())),
        (Fun::Lt, [a, b]) => Bool(order(a, b)?.is_some_and(|o| o.is_lt())),
        (Fun::Gte, [a, b]) => Bool(order(a, b)?.is_some_and(|o| o.is_ge())),
        (Fun::Lte, [a, b]) => Bool(order(a, b)?.is_some_and(|o| o.is_le())),
        (Fun::Eq, [Bool(a), Bool(b)]) => Bool(a == b),
        (Fun::Ne, [Bool(a), Bool(b)]) => Bool(a != b),
        (Fun::Eq, [a, b]) => Bool(order(a, b)?.is_some_and(|o| o.is_eq())),
        (Fun::Ne, [a, b]) => Bool(!order(a, b)?.is_some_and(|o| o.is_eq())),
        (Fun::And, [Bool(a), Bool(b)]) => Bool(*a && *b),
        (Fun::Or, [Bool(a), Bool(b)]) => Bool(*a || *b),
        (Fun::Not, [Bool(a)]) => Bool(!a),
        (Fun::ToFloat, [Integer(a)]) => Float(*a as f64),
        (Fun::ToInteger, [Float(x)]) => Integer(*x as i64),
        (Fun::BoolToFloat, [Bool(a)]) => Float(f64::from(*a)),
        (Fun::Hash, [Integer(a)]) => Float((hash(*a as u64) >> 11) as f64 / (1u64 << 53) as f64),
        (Fun::Stop, [x]) => x.clone(),
        (Fun::Used, [Bool(c), Integer(k)]) => Integer(if *c { *k } else { 0 }),
        (Fun::Select, [Bool(c), x, y]) => {
            if *c {
                x.clone()
            } else {
                y.clone()
            }
        }
        _ => return None,
    })
}

/// Returns how two numbers of one type compare: `Some(None)` if one is NaN, `None` if they are no two numbers.
fn order(a: &Constant, b: &Constant) -> Option<Option<std::cmp::Ordering>> {
    match (a, b) {
        (Float(a), Float(b)) => Some(a.partial_cmp(b)),
        (Integer(a), Integer(b)) => Some(Some(a.cmp(b))),
        _ => None,
    }
}
