//! Runs functions in bulk form, on values of the interpreters.

use bulk::emit::Kind;
use bulk::emit::stablehlo::Options;
use bulk::interp::{Array, Stop};
use bulk::ir::Function;
use lm::tensor::Tensor;
use lm::term::{Constant, FunName, Program};
use lm::types::Type;
use lm::value::Value;
use std::sync::Arc;

/// Returns the bulk forms of a function, as far as it has any: one for each language whose sizes are made of other things.
/// The same form is listed once.
pub fn lowered(program: &Program, name: &FunName) -> Vec<Function> {
    let form = |kind: &Kind| {
        let function = bulk::lower(program, name, &bulk::Known::default(), kind.sizes_of()).ok()?;
        let text = Kind::Bulk.text(std::slice::from_ref(&function), &|_| None, &Options::default());
        Some((text.expect("each form has a text for people"), function))
    };
    let mut forms: Vec<(String, Function)> = [Kind::Bulk, Kind::StableHlo].iter().filter_map(form).collect();
    forms.dedup_by(|a, b| a.0 == b.0);
    forms.into_iter().map(|(_, function)| function).collect()
}

/// Calls a function; `None` where an argument has rows of several sizes. `like` shows the sizes of results without
/// numbers.
pub fn call(
    function: &Function,
    params: &[Type],
    result: &Type,
    args: &[Value],
    like: Option<&Value>,
) -> Option<Result<Value, Stop>> {
    counted(function, params, result, args, like).map(|(value, _)| value)
}

/// The same, with the number of elements that operations wrote.
pub fn counted(
    function: &Function,
    params: &[Type],
    result: &Type,
    args: &[Value],
    like: Option<&Value>,
) -> Option<(Result<Value, Stop>, u64)> {
    let mut inputs = Vec::new();
    for (ty, value) in params.iter().zip(args) {
        inputs.extend(arrays(ty, &[], &[value])?);
    }
    for (array, &id) in inputs.iter().zip(&function.inputs) {
        assert_eq!(array.dims.len(), function.node(id).dims.len(), "the dimensions of an input");
    }
    let (results, written) = bulk::interp::counted(function, &inputs);
    Some((results.map(|results| element(result, 0, 0, &results, like)), written))
}

/// Returns the arrays of a value of a type; `None` where it has rows of several sizes, or no numbers.
pub fn arrays_of(ty: &Type, value: &Value) -> Option<Vec<Array>> {
    arrays(ty, &[], &[value])
}

/// Returns the arrays of several values of a type, which are the elements of an array of size `outer`.
fn arrays(ty: &Type, outer: &[usize], values: &[&Value]) -> Option<Vec<Array>> {
    let scalar = |constant: fn(&Value) -> Option<Constant>| {
        let elements = values.iter().map(|value| constant(value)).collect::<Option<Vec<Constant>>>()?;
        Some(vec![Array { dims: outer.to_vec(), elements }])
    };
    match ty {
        Type::Float => scalar(|v| if let Value::Float(x) = v { Some(Constant::Float(*x)) } else { None }),
        Type::Integer => scalar(|v| if let Value::Integer(x) = v { Some(Constant::Integer(*x)) } else { None }),
        Type::Bool => scalar(|v| if let Value::Bool(x) = v { Some(Constant::Bool(*x)) } else { None }),
        Type::Tuple(parts) => {
            let mut all = Vec::new();
            for (k, part) in parts.iter().enumerate() {
                let column: Vec<&Value> = values.iter().map(|v| &v.as_tuple().expect("a tuple")[k]).collect();
                all.extend(arrays(part, outer, &column)?);
            }
            Some(all)
        }
        Type::Tensor(rank, element) => {
            let tensors: Vec<&Tensor> = values.iter().map(|v| tensor(v)).collect();
            let size = tensors.first().map_or(vec![0; *rank], |first| first.size().to_vec());
            if tensors.iter().any(|tensor| tensor.size() != size) {
                return None;
            }
            let inner: Vec<&Value> = tensors.iter().flat_map(|tensor| tensor.elements()).collect();
            arrays(element, &[outer, &size].concat(), &inner)
        }
        Type::String | Type::Lam(..) | Type::LM(..) | Type::Record(_) => None,
    }
}

fn tensor(value: &Value) -> &Tensor {
    match value {
        Value::Tensor(tensor) => tensor,
        other => panic!("{other:?} is no tensor"),
    }
}

/// Returns element `at` of arrays with so many dimensions in front of those of a value of a type.
fn element(ty: &Type, outer: usize, at: usize, parts: &[Array], like: Option<&Value>) -> Value {
    match ty {
        Type::Float | Type::Integer | Type::Bool => match &parts[0].elements[at] {
            Constant::Float(x) => Value::Float(*x),
            Constant::Integer(n) => Value::Integer(*n),
            Constant::Bool(b) => Value::Bool(*b),
            Constant::String(_) => unreachable!("arrays hold no text"),
        },
        Type::Tuple(types) => {
            let mut first = 0;
            let part = |(k, ty): (usize, &Type)| {
                let count = leaves(ty);
                let like = like.and_then(Value::as_tuple).and_then(|parts| parts.get(k));
                let value = element(ty, outer, at, &parts[first..first + count], like);
                first += count;
                value
            };
            Value::Tuple(types.iter().enumerate().map(part).collect())
        }
        Type::Tensor(rank, inner) => {
            let known = parts.first().map(|array| array.dims[outer..outer + rank].to_vec());
            let size = match (known, like) {
                (Some(size), _) => size,
                (None, Some(Value::Tensor(tensor))) => tensor.size().to_vec(),
                (None, _) => vec![0; *rank],
            };
            let count: usize = size.iter().product();
            let like = |k: usize| match like {
                Some(Value::Tensor(tensor)) => tensor.elements().get(k),
                _ => None,
            };
            let elements = (0..count).map(|k| element(inner, outer + rank, at * count + k, parts, like(k))).collect();
            Value::Tensor(Arc::new(Tensor::new(size, elements)))
        }
        Type::String | Type::Lam(..) | Type::LM(..) | Type::Record(_) => panic!("{ty} is no array"),
    }
}

/// Returns the number of arrays of values of a type.
fn leaves(ty: &Type) -> usize {
    match ty {
        Type::Tuple(parts) => parts.iter().map(leaves).sum(),
        Type::Tensor(_, element) => leaves(element),
        _ => 1,
    }
}
