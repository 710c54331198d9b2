//! Tells rounding from mistakes, where a comparison fails.
//!
//! Where terms cancel, two orders of the same arithmetic leave different rests. There a comparison says nothing, and the
//! test that makes it goes to another point, at which it must hold. A wrong formula moves as little as a right one when
//! operations are rounded otherwise, so nothing larger than rounding is taken for it.

use lm::interp::RuntimeError;
use lm::value::Value;

/// Evaluations, each with its own rounding.
const SAMPLES: u64 = 16;

/// The furthest that rounding moves a number, relative to the largest number of its value, or to 1. What moves further
/// has jumped at a branch.
const FURTHEST: f64 = 1e-8;

/// Returns whether two values are no further apart, number by number, than those are that `again` gives for several seeds,
/// as an interpreter that rounds by that seed ([`lm::interp::Interpreter::rounding`]).
pub fn explains(a: &Value, b: &Value, again: &dyn Fn(u64) -> Result<Value, RuntimeError>) -> bool {
    let Ok(samples) = (0..SAMPLES).map(|seed| Ok(again(seed)?.floats())).collect::<Result<Vec<_>, RuntimeError>>()
    else {
        return false;
    };
    let (a, b) = (a.floats(), b.floats());
    let scale = a.iter().filter(|x| x.is_finite()).fold(1.0, |scale: f64, x| scale.max(x.abs()));
    let is_explained = |i: usize| {
        let seen = || samples.iter().filter_map(|sample| sample.get(i)).copied();
        let width = seen().fold(f64::NEG_INFINITY, f64::max) - seen().fold(f64::INFINITY, f64::min);
        a[i] == b[i] || width <= FURTHEST * scale && (a[i] - b[i]).abs() <= width
    };
    a.len() == b.len() && (0..a.len()).all(is_explained)
}
