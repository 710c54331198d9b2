//! Linear maps as values, and what each does to a vector.
//!
//! ```text
//! (m ∘ n) ⊙ x = m ⊙ (n ⊙ x)         (m × n) ⊙ x = (m ⊙ x, n ⊙ x)       0 ⊙ x = 0
//! (m ⊕ n) ⊙ x = m ⊙ x + n ⊙ x       (m ⋈ n) ⊙ (x, y) = m ⊙ x + n ⊙ y    1 ⊙ x = x      ...
//! ```
//!
//! A map is the tree of the operators that built it: an independent meaning against which the laws
//! are tested. Reverse application follows (RP), `(r ⊙ᴿ m) • x = r • (m ⊙ x)`, operator by operator.
//!
//! Source: working notes, Figs. 3-5. The infinite sum of L' is over the support of its argument,
//! which is finite (`Value::Support`): that makes the notes' "fishy" semantics exact.

use crate::interp::interpreter::Interpreter;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::tensor::{Position, Tensor};
pub use crate::value::LinearMap;
use crate::value::{Closure, Value};
use std::sync::Arc;

use LinearMap::*;

/// `m ⊙ x`.
pub fn apply(cx: &mut Interpreter, m: &LinearMap, x: &Value) -> Result<Value, RuntimeError> {
    Ok(match m {
        Zero(_, t) => zero(t),
        One(_) => x.clone(),
        Scale(_, k) => cx.scale(*k, x),
        ScaleR(v) => cx.scale(float(x), v),
        Dot(v) => Value::Float(cx.dot(v, x)?),
        Add(m, n) => {
            let (a, b) = (apply(cx, m, x)?, apply(cx, n, x)?);
            cx.add(&a, &b)?
        }
        VCat(ms) => Value::Tuple(ms.iter().map(|m| apply(cx, m, x)).collect::<Result<_, _>>()?),
        HCat(ms) => {
            let images = ms.iter().zip(tuple(x)).map(|(m, x)| apply(cx, m, x)).collect::<Result<Vec<_>, _>>()?;
            cx.sum(images)?.expect("a join of maps has at least one")
        }
        VCatV(ms, _) => {
            let images = ms.elements().iter().map(|m| apply(cx, map(m), x)).collect::<Result<_, _>>()?;
            Value::Tensor(Arc::new(ms.with(images)))
        }
        AddV(ms, t, _) => ms.iter().try_fold(zero(t), |sum, m| {
            let image = apply(cx, map(m), x)?;
            cx.add(&sum, &image)
        })?,
        Index(i, _) => element(tensor(x), i)?,
        Sum(_, t) => {
            let sum = cx.sum(vector(x).to_vec())?;
            sum.or_else(|| t.as_ref().map(zero)).ok_or(RuntimeError::shape_unknown())?
        }
        Fold(n, _, t, f) => {
            let [mut state, input] = pair(x);
            let mut sum = zero(&tuple(t)[1]);
            for i in 0..*n {
                let m = cx.apply_closure(f, Value::Integer(i))?;
                let [next, output] = pair(&apply(cx, map(&m), &Value::Tuple(vec![state, input.clone()]))?);
                sum = cx.add(&sum, &output)?;
                state = next;
            }
            Value::Tuple(vec![state, sum])
        }
        HCatV(ms, t) => {
            let images = ms
                .elements()
                .iter()
                .zip(vector(x))
                .map(|(m, x)| apply(cx, map(m), x))
                .collect::<Result<Vec<_>, _>>()?;
            cx.sum(images)?.or_else(|| t.as_ref().map(zero)).ok_or(RuntimeError::shape_unknown())?
        }
        At(..) => return Err(RuntimeError::new(ErrorKind::ReverseOnly)),
        Compose(m, n) => {
            let middle = apply(cx, n, x)?;
            apply(cx, m, &middle)?
        }
        Transpose(m) => apply_reverse(cx, x, m)?,
        Get(i, _) => tuple(x)[i - 1].clone(),
        L(f, _) => Value::Function(f.clone().then_apply(x)),
        LT(f, t) => over_support(cx, f, x, t, apply)?,
    })
}

/// `r ⊙ᴿ m`.
pub fn apply_reverse(cx: &mut Interpreter, r: &Value, m: &LinearMap) -> Result<Value, RuntimeError> {
    Ok(match m {
        Zero(s, _) => zero(s),
        One(_) => r.clone(),
        Scale(_, k) => cx.scale(*k, r),
        ScaleR(v) => Value::Float(cx.dot(v, r)?),
        Dot(v) => cx.scale(float(r), v),
        Add(m, n) => {
            let (a, b) = (apply_reverse(cx, r, m)?, apply_reverse(cx, r, n)?);
            cx.add(&a, &b)?
        }
        VCat(ms) => {
            let images =
                ms.iter().zip(tuple(r)).map(|(m, r)| apply_reverse(cx, r, m)).collect::<Result<Vec<_>, _>>()?;
            cx.sum(images)?.expect("a vertical juxtaposition has at least one map")
        }
        HCat(ms) => Value::Tuple(ms.iter().map(|m| apply_reverse(cx, r, m)).collect::<Result<_, _>>()?),
        VCatV(ms, s) => {
            let pairs = ms.elements().iter().zip(vector(r));
            let images = pairs.map(|(m, r)| apply_reverse(cx, r, map(m))).collect::<Result<Vec<_>, _>>()?;
            cx.sum(images)?.or_else(|| s.as_ref().map(zero)).ok_or(RuntimeError::shape_unknown())?
        }
        HCatV(ms, _) => {
            let images = ms.elements().iter().map(|m| apply_reverse(cx, r, map(m))).collect::<Result<_, _>>()?;
            Value::Tensor(Arc::new(ms.with(images)))
        }
        AddV(ms, _, s) => {
            let images = ms.iter().map(|m| apply_reverse(cx, r, map(m))).collect::<Result<Vec<_>, _>>()?;
            cx.sum(images)?.or_else(|| s.as_ref().map(zero)).ok_or(RuntimeError::shape_unknown())?
        }
        Index(i, v) => {
            element(v, i)?;
            let at = v.offset(i);
            let part = |(j, x): (usize, &Value)| if Some(j) == at { r.clone() } else { zero(x) };
            Value::Tensor(Arc::new(v.with(v.elements().iter().enumerate().map(part).collect())))
        }
        Sum(v, _) => Value::Tensor(Arc::new(v.with(vec![r.clone(); v.elements().len()]))),
        Fold(n, s, _, f) => {
            let [mut state, output] = pair(r);
            let mut sum = zero(&tuple(s)[1]);
            for i in (0..*n).rev() {
                let m = cx.apply_closure(f, Value::Integer(i))?;
                let [before, input] = pair(&apply_reverse(cx, &Value::Tuple(vec![state, output.clone()]), map(&m))?);
                sum = cx.add(&sum, &input)?;
                state = before;
            }
            Value::Tuple(vec![state, sum])
        }
        At(half, record, ..) => cx.call(half, &[r.clone(), record.clone()])?,
        Compose(m, n) => {
            let middle = apply_reverse(cx, r, m)?;
            apply_reverse(cx, &middle, n)?
        }
        Transpose(m) => apply(cx, m, r)?,
        Get(i, s) => {
            let mut parts: Vec<Value> = tuple(s).iter().map(zero).collect();
            parts[i - 1] = r.clone();
            Value::Tuple(parts)
        }
        L(f, s) => over_support(cx, f, r, s, |cx, m, r| apply_reverse(cx, r, m))?,
        LT(f, _) => Value::Function(f.clone().then_apply_reverse(r)),
    })
}

/// `Σ_i (f i) ⊙ g(i)` over the support of g; the witness is of the sum.
fn over_support(
    cx: &mut Interpreter,
    f: &Closure,
    g: &Value,
    witness: &Option<Value>,
    apply: impl Fn(&mut Interpreter, &LinearMap, &Value) -> Result<Value, RuntimeError>,
) -> Result<Value, RuntimeError> {
    let Value::Support(values) = g else {
        return Err(RuntimeError::infinite_sum());
    };
    let mut images = Vec::new();
    for (i, x) in values.iter().enumerate() {
        let m = cx.apply_closure(f, Value::Integer(i as i64))?;
        images.push(apply(cx, map(&m), x)?);
    }
    cx.sum(images)?.or_else(|| witness.as_ref().map(zero)).ok_or(RuntimeError::shape_unknown())
}

/// The zero tangent of a value's shape.
pub fn zero(shape: &Value) -> Value {
    match shape {
        Value::Float(_) => Value::Float(0.0),
        Value::Integer(_) | Value::Bool(_) | Value::String(_) | Value::Map(_) | Value::Record(_) => {
            Value::Tuple(vec![])
        }
        Value::Tuple(vs) => Value::Tuple(vs.iter().map(zero).collect()),
        Value::Tensor(t) => Value::Tensor(Arc::new(t.with(t.elements().iter().map(zero).collect()))),
        Value::Support(_) | Value::Function(_) => Value::Support(vec![]),
    }
}

// Terms are typed, so a value of another form here is a bug of the checker or of a law.

fn float(x: &Value) -> f64 {
    x.as_float().unwrap_or_else(|| panic!("{x:?} is no Float"))
}

fn tuple(x: &Value) -> &[Value] {
    x.as_tuple().unwrap_or_else(|| panic!("{x:?} is no tuple"))
}

fn vector(x: &Value) -> &[Value] {
    match x {
        Value::Tensor(t) => t.elements(),
        other => panic!("{other:?} is no tensor"),
    }
}

fn tensor(x: &Value) -> &Tensor {
    match x {
        Value::Tensor(t) => t,
        other => panic!("{other:?} is no tensor"),
    }
}

fn pair(x: &Value) -> [Value; 2] {
    let [a, b] = tuple(x) else { panic!("{x:?} is no pair") };
    [a.clone(), b.clone()]
}

fn element(v: &Tensor, i: &Position) -> Result<Value, RuntimeError> {
    let out_of_range = || ErrorKind::IndexOutOfRange { index: i.clone(), size: v.size().into() };
    v.offset(i).map(|at| v.elements()[at].clone()).ok_or_else(|| RuntimeError::new(out_of_range()))
}

fn map(x: &Value) -> &LinearMap {
    match x {
        Value::Map(m) => m,
        other => panic!("{other:?} is no linear map"),
    }
}
