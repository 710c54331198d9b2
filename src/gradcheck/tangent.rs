//! Tangents at a point: the parts of one that vary, and the points along it.

use lm::term::Path;
use lm::value::Value;
use std::sync::Arc;

/// Returns the parts of a tangent that vary, as a derivative takes them; and the tangent with all else zero.
pub(super) fn varied(tangent: &Value, one: bool, varying: &[Path]) -> (Value, Value) {
    (part_that_varies(tangent, one, varying), masked(tangent, &[], &paths_into_argument(one, varying)))
}

/// Returns the parts of a tangent that vary, as a derivative takes them. With one parameter, it is the argument itself.
///
/// Panics when a path leads nowhere.
pub fn part_that_varies(tangent: &Value, one: bool, varying: &[Path]) -> Value {
    let component = |v: &Value, i: &usize| v.as_tuple().expect("a path leads through tuples")[i - 1].clone();
    let part = |path: &Path| path.iter().fold(tangent.clone(), |v, i| component(&v, i));
    let mut parts: Vec<Value> = paths_into_argument(one, varying).iter().map(part).collect();
    if parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts) }
}

/// Returns whether a part of the argument has Floats: tensors may be empty.
pub(super) fn has_floats(argument: &Value, one: bool, way: &Path) -> bool {
    !part_that_varies(argument, one, std::slice::from_ref(way)).floats().is_empty()
}

/// Paths into the argument, from paths that start with the number of a parameter.
fn paths_into_argument(one: bool, varying: &[Path]) -> Vec<Path> {
    varying.iter().map(|path| if one { path[1..].to_vec() } else { path.clone() }).collect()
}

fn masked(tangent: &Value, path: &[usize], varying: &[Path]) -> Value {
    if varying.iter().any(|v| path.starts_with(v)) {
        return tangent.clone();
    }
    match tangent {
        Value::Tuple(parts) if varying.iter().any(|v| v.starts_with(path)) => {
            let part = |(i, part)| masked(part, &[path, &[i + 1]].concat(), varying);
            Value::Tuple(parts.iter().enumerate().map(part).collect())
        }
        _ => lm::map::zero(tangent),
    }
}

/// Returns `s + h ds`, argument by argument.
pub(super) fn moved(parts: &[Value], ds: &Value, h: f64) -> Vec<Value> {
    match (parts, ds) {
        ([one], ds) => vec![shifted(one, ds, h)],
        (many, Value::Tuple(ds)) => many.iter().zip(ds).map(|(s, ds)| shifted(s, ds, h)).collect(),
        _ => panic!("the tangent of several arguments is a tuple"),
    }
}

pub(super) fn shifted(s: &Value, ds: &Value, h: f64) -> Value {
    match (s, ds) {
        (Value::Float(s), Value::Float(ds)) => Value::Float(s + h * ds),
        (Value::Tuple(ss), Value::Tuple(dss)) if ss.len() == dss.len() => {
            Value::Tuple(ss.iter().zip(dss).map(|(s, ds)| shifted(s, ds, h)).collect())
        }
        (Value::Tensor(ss), Value::Tensor(dss)) => {
            let moved = ss.elements().iter().zip(dss.elements()).map(|(s, ds)| shifted(s, ds, h));
            Value::Tensor(Arc::new(ss.with(moved.collect())))
        }
        (s, _) => s.clone(),
    }
}

/// Returns the value with other Floats.
pub(super) fn with_floats(v: &Value, other: &mut dyn FnMut(f64) -> f64) -> Value {
    match v {
        Value::Float(x) => Value::Float(other(*x)),
        Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| with_floats(part, other)).collect()),
        Value::Tensor(t) => {
            let elements = t.elements().iter().map(|x| with_floats(x, other)).collect();
            Value::Tensor(Arc::new(t.with(elements)))
        }
        v => v.clone(),
    }
}
