//! Compares values: largest differences, and equality to the bit.

use lm::value::Value;
use std::sync::Arc;

/// Returns the sum of the absolute components.
pub(super) fn size(v: &Value) -> f64 {
    v.floats().iter().map(|x| x.abs()).sum()
}

pub(super) fn relative(difference: f64, scale: f64) -> f64 {
    if difference == 0.0 { 0.0 } else { difference.abs() / scale.max(f64::MIN_POSITIVE) }
}

pub(super) fn dot(a: &Value, b: &Value) -> f64 {
    a.floats().iter().zip(b.floats()).map(|(a, b)| a * b).sum()
}

/// Returns the sum of the absolute products: the scale on which the dot product is rounded.
pub(super) fn magnitude(a: &Value, b: &Value) -> f64 {
    a.floats().iter().zip(b.floats()).map(|(a, b)| (a * b).abs()).sum()
}

/// Returns the largest difference of two values' Floats, relative to the largest Float; infinite when they differ in
/// anything else.
pub fn distance(a: &Value, b: &Value) -> f64 {
    distance_above(a, b, f64::MIN_POSITIVE)
}

/// Returns the distance of a value of native code from the interpreter's. Numbers below one count as one: where terms
/// cancel, each way of computing leaves another small number.
pub(super) fn native_distance(a: &Value, b: &Value) -> f64 {
    distance_above(a, b, 1.0)
}

/// Returns the largest difference, relative to the largest Float or to `least`, whichever is larger.
fn distance_above(a: &Value, b: &Value, least: f64) -> f64 {
    let (xs, ys) = (a.floats(), b.floats());
    if xs.len() != ys.len() || without_floats(a) != without_floats(b) {
        return f64::INFINITY;
    }
    let scale = xs.iter().filter(|x| x.is_finite()).fold(least, |m, x| m.max(x.abs()));
    let one = |(x, y): (&f64, &f64)| {
        let same = x == y || (x.is_nan() && y.is_nan());
        if same { 0.0 } else { (x - y).abs() / scale }
    };
    xs.iter().zip(&ys).map(one).fold(0.0, |worst: f64, e| if e.is_nan() || e > worst { e } else { worst })
}

/// Returns the value with zeros for Floats: its shape, and what is discrete.
fn without_floats(v: &Value) -> Value {
    match v {
        Value::Float(_) => Value::Float(0.0),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(without_floats).collect()),
        Value::Tensor(t) => Value::Tensor(Arc::new(t.with(t.elements().iter().map(without_floats).collect()))),
        other => other.clone(),
    }
}

/// Returns whether two values are equal to the bit; all NaNs are one.
pub fn same_bits(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::Tuple(a), Value::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_bits(a, b)),
        (Value::Tensor(a), Value::Tensor(b)) => {
            a.size() == b.size() && a.elements().iter().zip(b.elements()).all(|(a, b)| same_bits(a, b))
        }
        (a, b) => a == b,
    }
}
