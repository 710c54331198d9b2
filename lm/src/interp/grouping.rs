//! Finds a `reduce` whose value depends on the grouping.
//!
//! ```text
//! reduce f a [x1, .., xn] = f(.. f(f(a, x1), x2) .., xn)         from the left, as the language says
//!                         = f(r[x1, .., xk], r[xk+1, .., xn])    in halves, r[x] = x       if f is associative, a its left unit
//!                         = f(r[x1, .., xn], a)                                            if a is its right unit
//! ```
//!
//! Each evaluation of a `reduce` is repeated in these ways. The first one that gives something else, beyond rounding, is
//! kept. What f prints is printed again.

use super::interpreter::{Interpreter, Regrouped};
use crate::prim::Prim;
use crate::runtime_error::RuntimeError;
use crate::term::Span;
use crate::value::{Closure, Value};

/// The difference of two Floats that may be rounding, relative to the numbers in the elements and the value.
const ROUNDING: f64 = 1e-6;

impl Interpreter<'_> {
    /// Returns the interpreter, set to look for a `reduce` whose value depends on the grouping.
    pub fn checking_grouping(mut self) -> Self {
        self.checks_grouping = true;
        self
    }

    /// Evaluates a `reduce` in other groupings, unless one was found before.
    pub(super) fn regroup(&mut self, p: Prim, args: &[Value], from_left: &Value, span: Span) {
        let (Prim::Reduce, [Value::Function(f), a, Value::Tensor(v)]) = (p, args) else { return };
        if !self.checks_grouping || self.regrouped.is_some() || v.elements().is_empty() {
            return;
        }
        // Those inside of f were looked at from the left.
        self.checks_grouping = false;
        let counts = self.counts;
        let other = self.other_grouping(f, a, v.elements(), from_left);
        self.counts = counts;
        self.checks_grouping = true;
        self.regrouped = other.map(|in_halves| Regrouped { span, from_left: from_left.clone(), in_halves });
    }

    /// Returns the value in a grouping that gives something else. One that stops with an error gives nothing.
    fn other_grouping(&mut self, f: &Closure, a: &Value, elements: &[Value], from_left: &Value) -> Option<Value> {
        let scale = elements.iter().chain([a, from_left]).map(size).sum();
        let differs = |value: &Value| !is_same(from_left, value, scale);
        let in_halves = self.in_halves(f, elements).ok()?;
        if differs(&in_halves) {
            return Some(in_halves);
        }
        self.of_pair(f, in_halves, a.clone()).ok().filter(differs)
    }

    fn in_halves(&mut self, f: &Closure, elements: &[Value]) -> Result<Value, RuntimeError> {
        match elements {
            [one] => Ok(one.clone()),
            many => {
                let (left, right) = many.split_at(many.len() / 2);
                let (left, right) = (self.in_halves(f, left)?, self.in_halves(f, right)?);
                self.of_pair(f, left, right)
            }
        }
    }

    fn of_pair(&mut self, f: &Closure, x: Value, y: Value) -> Result<Value, RuntimeError> {
        self.apply_closure(f, Value::Tuple(vec![x, y]))
    }
}

/// Returns the sum of the absolute values of the numbers in a value. A unit may be infinite.
fn size(v: &Value) -> f64 {
    v.floats().iter().map(|x| x.abs()).filter(|x| x.is_finite()).sum()
}

/// Returns whether two values are the same but for rounding. Where a number is not finite, nothing is known of it.
fn is_same(x: &Value, y: &Value, scale: f64) -> bool {
    match (x, y) {
        (Value::Float(x), Value::Float(y)) => {
            let distance = (x - y).abs();
            !distance.is_finite() || distance <= ROUNDING * scale
        }
        (Value::Tuple(xs), Value::Tuple(ys)) => xs.iter().zip(ys).all(|(x, y)| is_same(x, y, scale)),
        (Value::Tensor(v), Value::Tensor(w)) => {
            v.size() == w.size() && v.elements().iter().zip(w.elements()).all(|(x, y)| is_same(x, y, scale))
        }
        _ => x == y,
    }
}
