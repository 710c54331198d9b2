//! How far a value moves when its arguments change in their last digits. Where terms cancel, two ways to compute it may
//! differ as much.

use lm::value::Value;
use lmc::gradcheck::distance;
use std::sync::Arc;

/// By how much of themselves arguments change: in their last two digits.
const LAST_DIGITS: f64 = 1e-14;

/// Parts of that by which they change, to see how far a value moves.
const NUDGES: [f64; 4] = [1.0, -1.0, 0.5, -0.5];

/// Returns the value with its Floats changed by so much of the last digits.
pub fn nudged(value: &Value, by: f64) -> Value {
    match value {
        Value::Float(x) => Value::Float(x * (1.0 + by * LAST_DIGITS)),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| nudged(part, by)).collect()),
        Value::Tensor(t) => Value::Tensor(Arc::new(t.with(t.elements().iter().map(|x| nudged(x, by)).collect()))),
        other => other.clone(),
    }
}

/// Numbers below that are what cancelling terms left: they may differ as that number may.
const CANCELLED: f64 = 1e-3;

/// Returns the largest difference of two values' Floats, relative to the largest Float, or to what cancelling terms
/// leave.
pub fn apart(wanted: &Value, found: &Value) -> f64 {
    let numbers = wanted.floats();
    let finite = numbers.iter().filter(|x| x.is_finite());
    let largest = finite.fold(f64::MIN_POSITIVE, |largest, x| largest.max(x.abs()));
    distance(wanted, found) * (largest / largest.max(CANCELLED))
}

/// Returns how far apart the value of a call is, at most, from its values nearby. One that fails, or is no number, is not
/// counted.
pub fn moves(args: &[Value], wanted: &Value, call: impl Fn(&[Value]) -> Option<Value>) -> f64 {
    let nearby = |by: &f64| call(&args.iter().map(|x| nudged(x, *by)).collect::<Vec<_>>());
    let distances = NUDGES.iter().filter_map(nearby).map(|value| apart(wanted, &value));
    distances.filter(|distance| distance.is_finite()).fold(0.0, f64::max)
}
