//! Defines the operations of vector spaces on values of any type, component by component.
//!
//! Each operation on Floats is counted. Tensors that are added or multiplied must have one size.

use super::interpreter::Interpreter;
use super::sizes::common_size;
use crate::runtime_error::RuntimeError;
use crate::value::{Change, Closure, Then, Value};
use std::sync::Arc;

type Outcome = Result<Value, RuntimeError>;

/// An operation on two values, by their numbers.
struct Numbers {
    name: &'static str,
    floats: fn(f64, f64) -> f64,
    integers: fn(i64, i64) -> i64,
    /// The operation on the second value where there is no first.
    alone: fn(&mut Interpreter, &Value) -> Value,
}

impl Interpreter<'_> {
    pub(crate) fn add(&mut self, x: &Value, y: &Value) -> Outcome {
        self.zip(
            x,
            y,
            &Numbers { name: "add", floats: |a, b| a + b, integers: i64::wrapping_add, alone: |_, y| y.clone() },
        )
    }

    pub(crate) fn sub(&mut self, x: &Value, y: &Value) -> Outcome {
        self.zip(
            x,
            y,
            &Numbers { name: "sub", floats: |a, b| a - b, integers: i64::wrapping_sub, alone: |cx, y| cx.neg(y) },
        )
    }

    pub(crate) fn neg(&mut self, x: &Value) -> Value {
        self.changed(x, Change::Negate)
    }

    pub(crate) fn scale(&mut self, k: f64, x: &Value) -> Value {
        self.changed(x, Change::Scale(k))
    }

    pub(crate) fn dot(&mut self, x: &Value, y: &Value) -> Result<f64, RuntimeError> {
        let mut products = Vec::new();
        self.multiply(x, y, &mut products)?;
        let (products_made, sums) = (products.len() as u64, products.len().saturating_sub(1) as u64);
        self.counts.multiplications += products_made;
        self.counts.additions += sums;
        self.counts.accesses += 3 * (products_made + sums);
        let sum = products.into_iter().reduce(|a, b| self.record("add", &[a, b], a + b));
        Ok(sum.unwrap_or(0.0))
    }

    /// Returns the sum from left to right; `None` for no terms.
    pub(crate) fn sum(&mut self, terms: Vec<Value>) -> Result<Option<Value>, RuntimeError> {
        let mut terms = terms.into_iter();
        let Some(first) = terms.next() else { return Ok(None) };
        terms.try_fold(first, |a, b| self.add(&a, &b)).map(Some)
    }

    pub(super) fn changed(&mut self, x: &Value, change: Change) -> Value {
        let mut all = |vs: &[Value]| vs.iter().map(|v| self.changed(v, change)).collect();
        match x {
            Value::Tuple(vs) => Value::Tuple(all(vs)),
            Value::Tensor(t) => Value::Tensor(Arc::new(t.with(all(t.elements())))),
            Value::Support(vs) => Value::Support(all(vs)),
            Value::Float(a) => Value::Float(self.changed_float(*a, change)),
            Value::Function(f) => Value::Function(f.clone().then(Then::Change(change))),
            Value::Integer(_) | Value::Bool(_) | Value::String(_) | Value::Map(_) | Value::Record(_) => x.clone(),
        }
    }

    fn changed_float(&mut self, a: f64, change: Change) -> f64 {
        match change {
            Change::Negate => {
                self.counts.additions += 1;
                self.counts.accesses += 2;
                -a
            }
            Change::Scale(k) => {
                self.counts.multiplications += 1;
                self.counts.accesses += 3;
                self.record("mul", &[k, a], k * a)
            }
        }
    }

    fn zip(&mut self, x: &Value, y: &Value, f: &Numbers) -> Outcome {
        let mut all = |xs: &[Value], ys: &[Value]| -> Result<Vec<Value>, RuntimeError> {
            xs.iter().zip(ys).map(|(x, y)| self.zip(x, y, f)).collect()
        };
        Ok(match (x, y) {
            (Value::Tuple(xs), Value::Tuple(ys)) => Value::Tuple(all(xs, ys)?),
            (Value::Tensor(xs), Value::Tensor(ys)) => {
                common_size(xs, ys)?;
                Value::Tensor(Arc::new(xs.with(all(xs.elements(), ys.elements())?)))
            }
            (Value::Support(xs), Value::Support(ys)) => {
                let mut both: Vec<Value> = all(xs, ys)?;
                let more = ys.iter().skip(xs.len()).map(|y| (f.alone)(self, y));
                both.extend(xs.iter().skip(ys.len()).cloned().chain(more));
                Value::Support(both)
            }
            (Value::Function(x), Value::Function(_) | Value::Support(_)) => {
                Value::Function(x.clone().then(Then::Add((f.alone)(self, y))))
            }
            (Value::Support(_), Value::Function(_)) => match (f.alone)(self, y) {
                Value::Function(y) => Value::Function(y.then(Then::Add(x.clone()))),
                other => panic!("a function became {other:?}"),
            },
            (Value::Float(a), Value::Float(b)) => {
                self.counts.additions += 1;
                self.counts.accesses += 3;
                Value::Float(self.record(f.name, &[*a, *b], (f.floats)(*a, *b)))
            }
            (Value::Integer(a), Value::Integer(b)) => Value::Integer((f.integers)(*a, *b)),
            _ => panic!("vectors of different spaces: {x:?} and {y:?}"),
        })
    }

    /// Collects the products of the Floats at the same places. Discrete values have none.
    fn multiply(&mut self, x: &Value, y: &Value, products: &mut Vec<f64>) -> Result<(), RuntimeError> {
        let mut all =
            |xs: &[Value], ys: &[Value]| xs.iter().zip(ys).try_for_each(|(x, y)| self.multiply(x, y, products));
        match (x, y) {
            (Value::Tuple(xs), Value::Tuple(ys)) | (Value::Support(xs), Value::Support(ys)) => all(xs, ys),
            (Value::Tensor(xs), Value::Tensor(ys)) => {
                common_size(xs, ys)?;
                all(xs.elements(), ys.elements())
            }
            (Value::Float(a), Value::Float(b)) => {
                products.push(self.record("mul", &[*a, *b], a * b));
                Ok(())
            }
            (Value::Function(f), Value::Support(vs)) | (Value::Support(vs), Value::Function(f)) => {
                self.multiply_over(f, vs, products)
            }
            (Value::Function(_), Value::Function(_)) => Err(RuntimeError::infinite_sum()),
            _ => Ok(()),
        }
    }

    /// Collects the products of a function's values with those of a function of finite support.
    fn multiply_over(&mut self, f: &Closure, support: &[Value], products: &mut Vec<f64>) -> Result<(), RuntimeError> {
        (0..).zip(support).try_for_each(|(i, y)| {
            let x = self.apply_closure(f, Value::Integer(i))?;
            self.multiply(&x, y, products)
        })
    }
}
