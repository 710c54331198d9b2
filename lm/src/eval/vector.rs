//! Defines the operations of vector spaces, component by component.
//!
//! ```text
//! (a, b) + (c, d) = (a + c, b + d)      v + w = [v_i + w_i]      (f + g)(i) = f(i) + g(i)
//! k (a, b) = (k a, k b)                 (a, b) . (c, d) = a . c + b . d
//! ```
//!
//! Source: working notes, sec. 1.1 and 2.7. A sum over all Integers has a value where one of the two
//! functions is zero except at finitely many arguments.

use super::evaluator::{Evaluator, fail};
use super::value::{Array, Outcome, Val};
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::tensor::Position;

/// Returns `x + y`.
///
/// Errors: tensors of different sizes.
pub(super) fn add(x: &Val, y: &Val) -> Outcome {
    let all = |xs: &[Val], ys: &[Val]| xs.iter().zip(ys).map(|(x, y)| add(x, y)).collect::<Result<Vec<Val>, _>>();
    Ok(match (x, y) {
        (Val::Float(a), Val::Float(b)) => Val::Float(a + b),
        (Val::Integer(a), Val::Integer(b)) => Val::Integer(a.wrapping_add(*b)),
        (Val::Tuple(xs), Val::Tuple(ys)) => Val::Tuple(all(xs, ys)?),
        (Val::Tensor(v), Val::Tensor(w)) => Val::tensor_of(common_size(v, w)?.to_vec(), all(&v.elements, &w.elements)?),
        (Val::Finite(f), Val::Finite(g)) => {
            let mut sum = f.clone();
            for (i, y) in g {
                let with_y = sum.get(i).map_or(Ok(y.clone()), |x| add(x, y))?;
                sum.insert(*i, with_y);
            }
            Val::Finite(sum)
        }
        (Val::Function(_) | Val::Finite(_), Val::Function(_) | Val::Finite(_)) => {
            let (f, g) = (x.clone(), y.clone());
            Val::function(move |cx, i| match (value_at(cx, &f, &i)?, value_at(cx, &g, &i)?) {
                (Some(x), Some(y)) => add(&x, &y),
                (one, other) => Ok(one.or(other).expect("one of them is no function of finite support")),
            })
        }
        _ => panic!("vectors of different spaces: {x:?} and {y:?}"),
    })
}

/// Returns the value of a function at i; `None` where it is zero.
fn value_at(cx: &Evaluator, f: &Val, i: &Val) -> Result<Option<Val>, RuntimeError> {
    match f {
        Val::Finite(values) => Ok(values.get(&i.integer()).cloned()),
        f => f.call(cx, i.clone()).map(Some),
    }
}

/// Returns `x - y`.
///
/// Errors: tensors of different sizes.
pub(super) fn sub(x: &Val, y: &Val) -> Outcome {
    add(x, &negative(y))
}

/// Returns `-x`.
pub(super) fn negative(x: &Val) -> Val {
    map_scalars(x, &|x| match x {
        Val::Float(a) => Val::Float(-a),
        Val::Integer(i) => Val::Integer(i.wrapping_neg()),
        other => other.clone(),
    })
}

/// Returns `k x`.
pub(super) fn scale(k: f64, x: &Val) -> Val {
    map_scalars(x, &move |x| match x {
        Val::Float(a) => Val::Float(k * a),
        other => other.clone(),
    })
}

/// Returns the same structure with other scalars.
fn map_scalars(x: &Val, change: &(impl Fn(&Val) -> Val + Clone + 'static)) -> Val {
    match x {
        Val::Tuple(parts) => Val::Tuple(parts.iter().map(|x| map_scalars(x, change)).collect()),
        Val::Tensor(v) => Val::tensor_of(v.size.clone(), v.elements.iter().map(|x| map_scalars(x, change)).collect()),
        Val::Finite(values) => Val::Finite(values.iter().map(|(i, x)| (*i, map_scalars(x, change))).collect()),
        Val::Function(f) => {
            let (f, change) = (f.clone(), change.clone());
            Val::function(move |cx, i| Ok(map_scalars(&f(cx, i)?, &change)))
        }
        scalar => change(scalar),
    }
}

/// Returns `x . y`.
///
/// Errors: tensors of different sizes; a sum over all Integers.
pub(super) fn dot(cx: &Evaluator, x: &Val, y: &Val) -> Result<f64, RuntimeError> {
    Ok(products(cx, x, y)?.into_iter().reduce(|a, b| a + b).unwrap_or(0.0))
}

/// Returns the products of the Floats at the same places. Discrete values have none.
fn products(cx: &Evaluator, x: &Val, y: &Val) -> Result<Vec<f64>, RuntimeError> {
    let all = |xs: &[Val], ys: &[Val]| -> Result<Vec<f64>, RuntimeError> {
        let each: Vec<Vec<f64>> = xs.iter().zip(ys).map(|(x, y)| products(cx, x, y)).collect::<Result<_, _>>()?;
        Ok(each.concat())
    };
    match (x, y) {
        (Val::Float(a), Val::Float(b)) => Ok(vec![a * b]),
        (Val::Tuple(xs), Val::Tuple(ys)) => all(xs, ys),
        (Val::Tensor(v), Val::Tensor(w)) => {
            common_size(v, w)?;
            all(&v.elements, &w.elements)
        }
        (Val::Function(_), Val::Function(_)) => fail(ErrorKind::InfiniteSum),
        (f, Val::Finite(values)) | (Val::Finite(values), f) => {
            let mut found = vec![];
            for (i, y) in values {
                if let Some(x) = value_at(cx, f, &Val::Integer(*i))? {
                    found.extend(products(cx, &x, y)?);
                }
            }
            Ok(found)
        }
        _ => Ok(vec![]),
    }
}

/// Returns the size of both tensors.
///
/// Errors: they have different sizes.
pub(super) fn common_size<'a>(v: &'a Array, w: &Array) -> Result<&'a [usize], RuntimeError> {
    if v.size == w.size {
        return Ok(&v.size);
    }
    let [left, right] = [v, w].map(|v| Position::from(v.size.as_slice()));
    fail(ErrorKind::SizeMismatch { left, right })
}

/// Returns the zero of the tangents of a value.
pub(super) fn zero(x: &Val) -> Val {
    tangent(x, 0.0)
}

/// Returns the zero that changes no sum, not even one of negative zeros.
pub(super) fn neutral(x: &Val) -> Val {
    tangent(x, -0.0)
}

fn tangent(x: &Val, zero: f64) -> Val {
    match x {
        Val::Float(_) => Val::Float(zero),
        Val::Tuple(parts) => Val::Tuple(parts.iter().map(|x| tangent(x, zero)).collect()),
        Val::Tensor(v) => Val::tensor_of(v.size.clone(), v.elements.iter().map(|x| tangent(x, zero)).collect()),
        Val::Function(_) | Val::Finite(_) => Val::Finite(Default::default()),
        Val::Integer(_) | Val::Bool(_) | Val::String(_) | Val::Record(_) | Val::Map(_) => Val::Tuple(vec![]),
    }
}
