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
use crate::prim::Prim;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::tensor::Position;

/// Returns `x + y`.
///
/// Errors: tensors of different sizes.
pub(super) fn add(cx: &Evaluator, x: &Val, y: &Val) -> Outcome {
    match (x, y) {
        (Val::Integer(a), Val::Integer(b)) => Ok(Val::Integer(a.wrapping_add(*b))),
        (Val::Finite(f), Val::Finite(g)) => {
            let mut sum = f.clone();
            for (i, y) in g {
                let with_y = sum.get(i).map_or(Ok(y.clone()), |x| add(cx, x, y))?;
                sum.insert(*i, with_y);
            }
            Ok(Val::Finite(sum))
        }
        (Val::Function(_) | Val::Finite(_), Val::Function(_) | Val::Finite(_)) => {
            let (f, g) = (x.clone(), y.clone());
            Ok(Val::function(move |cx, i| match (value_at(cx, &f, &i)?, value_at(cx, &g, &i)?) {
                (Some(x), Some(y)) => add(cx, &x, &y),
                (one, other) => Ok(one.or(other).expect("one of them is no function of finite support")),
            }))
        }
        _ => zip(cx, Prim::Add, add, x, y),
    }
}

/// Returns `x - y`.
///
/// Errors: tensors of different sizes.
pub(super) fn sub(cx: &Evaluator, x: &Val, y: &Val) -> Outcome {
    match (x, y) {
        (Val::Integer(a), Val::Integer(b)) => Ok(Val::Integer(a.wrapping_sub(*b))),
        (Val::Function(_) | Val::Finite(_), _) => add(cx, x, &negative(cx, y)?),
        _ => zip(cx, Prim::Sub, sub, x, y),
    }
}

/// An operation of two vectors.
type Operation = fn(&Evaluator, &Val, &Val) -> Outcome;

/// Applies a primitive to the Floats of two vectors, and the same operation to what they are made of.
fn zip(cx: &Evaluator, p: Prim, same: Operation, x: &Val, y: &Val) -> Outcome {
    let all = |xs: &[Val], ys: &[Val]| xs.iter().zip(ys).map(|(x, y)| same(cx, x, y)).collect::<Result<Vec<Val>, _>>();
    match (x, y) {
        (Val::Float(a), Val::Float(b)) => {
            let value = if p == Prim::Sub { a.value - b.value } else { a.value + b.value };
            cx.float(p, &[x, y], value)
        }
        (Val::Tuple(xs), Val::Tuple(ys)) => Ok(Val::Tuple(all(xs, ys)?)),
        (Val::Tensor(v), Val::Tensor(w)) => {
            Ok(Val::tensor_of(common_size(v, w)?.to_vec(), all(&v.elements, &w.elements)?))
        }
        _ => panic!("vectors of different spaces: {x:?} and {y:?}"),
    }
}

/// Returns the value of a function at i; `None` where it is zero.
fn value_at(cx: &Evaluator, f: &Val, i: &Val) -> Result<Option<Val>, RuntimeError> {
    match f {
        Val::Finite(values) => Ok(values.get(&i.integer()).cloned()),
        f => f.call(cx, i.clone()).map(Some),
    }
}

/// Returns `-x`.
pub(super) fn negative(cx: &Evaluator, x: &Val) -> Outcome {
    map_scalars(cx, x, &|cx, x| match x {
        Val::Float(a) => cx.float(Prim::Neg, &[x], -a.value),
        Val::Integer(i) => Ok(Val::Integer(i.wrapping_neg())),
        other => Ok(other.clone()),
    })
}

/// Returns `k x`.
pub(super) fn scale(cx: &Evaluator, k: &Val, x: &Val) -> Outcome {
    let k = k.clone();
    map_scalars(cx, x, &move |cx, x| match x {
        Val::Float(a) => cx.float(Prim::Mul, &[&k, x], k.float() * a.value),
        other => Ok(other.clone()),
    })
}

/// Returns the same structure with other scalars.
fn map_scalars(cx: &Evaluator, x: &Val, change: &(impl Fn(&Evaluator, &Val) -> Outcome + Clone + 'static)) -> Outcome {
    let all = |xs: &[Val]| xs.iter().map(|x| map_scalars(cx, x, change)).collect::<Result<Vec<Val>, _>>();
    Ok(match x {
        Val::Tuple(parts) => Val::Tuple(all(parts)?),
        Val::Tensor(v) => Val::tensor_of(v.size.clone(), all(&v.elements)?),
        Val::Finite(values) => {
            let changed = values.iter().map(|(i, x)| Ok((*i, map_scalars(cx, x, change)?)));
            Val::Finite(changed.collect::<Result<_, RuntimeError>>()?)
        }
        Val::Function(f) => {
            let (f, change) = (f.clone(), change.clone());
            Val::function(move |cx, i| map_scalars(cx, &f(cx, i)?, &change))
        }
        scalar => change(cx, scalar)?,
    })
}

/// Returns the same value, whose Floats depend on nothing.
pub(super) fn untraced(cx: &Evaluator, x: &Val) -> Outcome {
    map_scalars(cx, x, &|_, x| match x {
        Val::Float(a) => Ok(Val::constant(a.value)),
        other => Ok(other.clone()),
    })
}

/// Returns `x . y`.
///
/// Errors: tensors of different sizes; a sum over all Integers.
pub(super) fn dot(cx: &Evaluator, x: &Val, y: &Val) -> Outcome {
    let products = products(cx, x, y)?;
    let value = products.iter().map(Val::float).reduce(|a, b| a + b).unwrap_or(0.0);
    Ok(cx.sum_node(&products.iter().collect::<Vec<_>>(), value))
}

/// Returns the products of the Floats at the same places. Discrete values have none.
fn products(cx: &Evaluator, x: &Val, y: &Val) -> Result<Vec<Val>, RuntimeError> {
    let all = |xs: &[Val], ys: &[Val]| -> Result<Vec<Val>, RuntimeError> {
        let each: Vec<Vec<Val>> = xs.iter().zip(ys).map(|(x, y)| products(cx, x, y)).collect::<Result<_, _>>()?;
        Ok(each.concat())
    };
    match (x, y) {
        (Val::Float(a), Val::Float(b)) => Ok(vec![cx.float(Prim::Mul, &[x, y], a.value * b.value)?]),
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
        Val::Float(_) => Val::constant(zero),
        Val::Tuple(parts) => Val::Tuple(parts.iter().map(|x| tangent(x, zero)).collect()),
        Val::Tensor(v) => Val::tensor_of(v.size.clone(), v.elements.iter().map(|x| tangent(x, zero)).collect()),
        Val::Function(_) | Val::Finite(_) => Val::Finite(Default::default()),
        Val::Integer(_) | Val::Bool(_) | Val::String(_) | Val::Record(_) | Val::Map(_) => Val::Tuple(vec![]),
    }
}
