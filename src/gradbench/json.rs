//! Arguments from JSON, by the types of parameters, and JSON from results.
//!
//! ```text
//! Float               a number
//! Integer, Bool       an integer, true or false
//! (Tuple T1 .. Tn)    a list of n
//! (Tensor d T)        lists inside of lists, d deep, all of one depth equally long
//! ```

use super::error::Error;
use super::evals::Form;
use lm::tensor::Tensor;
use lm::types::Type;
use lm::value::Value;
use serde_json::{Map, Number, Value as Json};
use std::sync::Arc;

/// Converts JSON to a value of a type. `place` is its place in the message, for errors.
pub fn value(ty: &Type, json: &Json, place: &str) -> Result<Value, Error> {
    let wrong = |expected: &str| Error::Input { place: place.into(), expected: expected.into() };
    match ty {
        Type::Float => json.as_f64().map(Value::Float).ok_or_else(|| wrong("a number")),
        Type::Integer => json.as_i64().map(Value::Integer).ok_or_else(|| wrong("an integer of 64 bits")),
        Type::Bool => json.as_bool().map(Value::Bool).ok_or_else(|| wrong("true or false")),
        Type::String => json.as_str().map(|text| Value::String(text.into())).ok_or_else(|| wrong("a string")),
        Type::Tuple(parts) => {
            let given = json.as_array().filter(|given| given.len() == parts.len());
            let given = given.ok_or_else(|| wrong(&format!("a list of {}", parts.len())))?;
            let part = |(i, (ty, json))| value(ty, json, &place_of_element(place, i));
            Ok(Value::Tuple(parts.iter().zip(given).enumerate().map(part).collect::<Result<_, _>>()?))
        }
        Type::Tensor(rank, element) => {
            let mut reading = Reading { element, size: vec![None; *rank], elements: Vec::new() };
            reading.read(0, json, place)?;
            // The elements of an empty list have no size.
            let size = reading.size.iter().map(|n| n.unwrap_or(0)).collect();
            Ok(Value::Tensor(Arc::new(Tensor::new(size, reading.elements))))
        }
        Type::Lam(..) | Type::LM(..) | Type::Record(_) => panic!("no model takes {ty}"),
    }
}

/// A tensor, as far as it was read.
struct Reading<'a> {
    element: &'a Type,
    size: Vec<Option<usize>>,
    elements: Vec<Value>,
}

impl Reading<'_> {
    fn read(&mut self, depth: usize, json: &Json, place: &str) -> Result<(), Error> {
        if depth == self.size.len() {
            self.elements.push(value(self.element, json, place)?);
            return Ok(());
        }
        let wrong = |expected: String| Error::Input { place: place.into(), expected };
        let given = json.as_array().ok_or_else(|| wrong("a list".into()))?;
        let size = *self.size[depth].get_or_insert(given.len());
        if size != given.len() {
            return Err(wrong(format!("a list of {size}, as the one before is")));
        }
        given.iter().enumerate().try_for_each(|(i, json)| self.read(depth + 1, json, &place_of_element(place, i)))
    }
}

fn place_of_element(place: &str, i: usize) -> String {
    format!("{place}[{i}]")
}

/// Converts a result to JSON of a form. Errors: a number is not finite.
pub fn output(form: &Form, value: &Value) -> Result<Json, Error> {
    match form {
        Form::Value => plain(value),
        Form::Flat => value.floats().into_iter().map(number).collect(),
        Form::Fields(fields) => {
            let parts = value.as_tuple().expect("fields are of a tuple");
            assert_eq!(fields.len(), parts.len(), "each component has a name");
            let field = |((name, form), part): (&(&str, Form), _)| Ok((name.to_string(), output(form, part)?));
            Ok(Json::Object(fields.iter().zip(parts).map(field).collect::<Result<Map<_, _>, _>>()?))
        }
    }
}

fn plain(value: &Value) -> Result<Json, Error> {
    match value {
        Value::Float(x) => number(*x),
        Value::Integer(i) => Ok(Json::from(*i)),
        Value::Bool(b) => Ok(Json::from(*b)),
        Value::String(text) => Ok(Json::from(&**text)),
        Value::Tuple(parts) => parts.iter().map(plain).collect(),
        Value::Tensor(tensor) => rows(tensor.size(), tensor.elements()),
        Value::Map(_) | Value::Function(_) | Value::Record(_) | Value::Support(_) => {
            panic!("native code gives no {value}")
        }
    }
}

fn rows(size: &[usize], elements: &[Value]) -> Result<Json, Error> {
    let Some((count, inner)) = size.split_first() else { return plain(&elements[0]) };
    let width: usize = inner.iter().product();
    (0..*count).map(|i| rows(inner, &elements[i * width..(i + 1) * width])).collect()
}

fn number(x: f64) -> Result<Json, Error> {
    Number::from_f64(x).map(Json::Number).ok_or(Error::NotFinite(x))
}
