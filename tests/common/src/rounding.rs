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

/// An evaluation that rounds by a seed, as by [`lm::interp::Interpreter::rounding`].
pub type Again<'a> = &'a dyn Fn(u64) -> Result<Value, RuntimeError>;

/// Returns whether two values are no further apart, number by number, than evaluations of them are for several seeds. Of
/// those that are given, each may be as far from the number itself.
pub fn explains(a: &Value, b: &Value, evaluations: &[Again]) -> bool {
    let samples = |again: &Again| (0..SAMPLES).map(|seed| Ok(again(seed)?.floats())).collect();
    let Ok(samples) = evaluations.iter().map(samples).collect::<Result<Vec<Vec<Vec<f64>>>, RuntimeError>>() else {
        return false;
    };
    let (a, b) = (a.floats(), b.floats());
    let scale = a.iter().filter(|x| x.is_finite()).fold(1.0, |scale: f64, x| scale.max(x.abs()));
    let is_explained = |i: usize| {
        let width = |samples: &Vec<Vec<f64>>| {
            let seen = || samples.iter().filter_map(|sample| sample.get(i)).copied();
            seen().fold(f64::NEG_INFINITY, f64::max) - seen().fold(f64::INFINITY, f64::min)
        };
        let width: f64 = samples.iter().map(width).sum();
        a[i] == b[i] || width <= FURTHEST * scale && (a[i] - b[i]).abs() <= width
    };
    a.len() == b.len() && (0..a.len()).all(is_explained)
}
