//! The operations of vector spaces, on values of any type, component by component.
//!
//! They count each operation on Floats. Tensors that are added or multiplied must have one size.

use super::{ErrorKind, Interpreter, RuntimeError};
use crate::tensor::Tensor;
use crate::value::Value;
use std::sync::Arc;

type Outcome = Result<Value, RuntimeError>;

/// What an operation on two values does to their numbers.
struct Numbers {
    floats: fn(f64, f64) -> f64,
    integers: fn(i64, i64) -> i64,
}

impl Interpreter<'_> {
    pub(crate) fn add(&mut self, x: &Value, y: &Value) -> Outcome {
        self.zip(x, y, &Numbers { floats: |a, b| a + b, integers: i64::wrapping_add })
    }

    pub(crate) fn sub(&mut self, x: &Value, y: &Value) -> Outcome {
        self.zip(x, y, &Numbers { floats: |a, b| a - b, integers: i64::wrapping_sub })
    }

    pub(crate) fn neg(&mut self, x: &Value) -> Value {
        self.each(x, &mut |cx, a| {
            cx.counts.additions += 1;
            cx.counts.accesses += 2;
            -a
        })
    }

    pub(crate) fn scale(&mut self, k: f64, x: &Value) -> Value {
        self.each(x, &mut |cx, a| {
            cx.counts.multiplications += 1;
            cx.counts.accesses += 3;
            k * a
        })
    }

    pub(crate) fn dot(&mut self, x: &Value, y: &Value) -> Result<f64, RuntimeError> {
        let mut products = Vec::new();
        multiply(x, y, &mut products)?;
        let (products_made, sums) = (products.len() as u64, products.len().saturating_sub(1) as u64);
        self.counts.multiplications += products_made;
        self.counts.additions += sums;
        self.counts.accesses += 3 * (products_made + sums);
        Ok(products.into_iter().reduce(|a, b| a + b).unwrap_or(0.0))
    }

    /// The sum from left to right; nothing for no terms.
    pub(crate) fn sum(&mut self, terms: Vec<Value>) -> Result<Option<Value>, RuntimeError> {
        let mut terms = terms.into_iter();
        let Some(first) = terms.next() else { return Ok(None) };
        terms.try_fold(first, |a, b| self.add(&a, &b)).map(Some)
    }

    fn each(&mut self, x: &Value, f: &mut dyn FnMut(&mut Self, f64) -> f64) -> Value {
        let mut all = |vs: &[Value]| vs.iter().map(|v| self.each(v, f)).collect();
        match x {
            Value::Tuple(vs) => Value::Tuple(all(vs)),
            Value::Tensor(t) => Value::Tensor(Arc::new(t.with(all(t.elements())))),
            Value::Support(vs) => Value::Support(all(vs)),
            Value::Float(a) => Value::Float(f(self, *a)),
            Value::Integer(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Map(_)
            | Value::Function(_)
            | Value::Record(_) => x.clone(),
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
                let longer = if xs.len() > ys.len() { xs } else { ys };
                both.extend(longer[both.len()..].iter().cloned());
                Value::Support(both)
            }
            (Value::Float(a), Value::Float(b)) => {
                self.counts.additions += 1;
                self.counts.accesses += 3;
                Value::Float((f.floats)(*a, *b))
            }
            (Value::Integer(a), Value::Integer(b)) => Value::Integer((f.integers)(*a, *b)),
            _ => panic!("vectors of different spaces: {x:?} and {y:?}"),
        })
    }
}

/// The products of the Floats at the same places; what is discrete has none.
fn multiply(x: &Value, y: &Value, products: &mut Vec<f64>) -> Result<(), RuntimeError> {
    let mut all = |xs: &[Value], ys: &[Value]| xs.iter().zip(ys).try_for_each(|(x, y)| multiply(x, y, products));
    match (x, y) {
        (Value::Tuple(xs), Value::Tuple(ys)) | (Value::Support(xs), Value::Support(ys)) => all(xs, ys),
        (Value::Tensor(xs), Value::Tensor(ys)) => {
            common_size(xs, ys)?;
            all(xs.elements(), ys.elements())
        }
        (Value::Float(a), Value::Float(b)) => {
            products.push(a * b);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The size of both tensors.
///
/// Errors: they have different sizes.
pub(super) fn common_size<'a>(x: &'a Tensor, y: &Tensor) -> Result<&'a [usize], RuntimeError> {
    if x.size() == y.size() {
        return Ok(x.size());
    }
    Err(RuntimeError::new(ErrorKind::SizeMismatch { left: x.size().into(), right: y.size().into() }))
}
