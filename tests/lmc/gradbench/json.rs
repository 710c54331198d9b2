//! Arguments and results of GradBench, from JSON and to it.

use lm::tensor::Tensor;
use lm::types::Type;
use lm::value::Value;
use lmc::gradbench::json::{output, value};
use lmc::gradbench::{Error, Form};
use std::sync::Arc;

fn read(ty: &Type, text: &str) -> Result<String, String> {
    let json = serde_json::from_str(text).expect("JSON");
    value(ty, &json, "x").map(|value| value.to_string()).map_err(|error| error.to_string())
}

#[test]
fn jagged_lists_are_vectors_of_vectors_but_no_matrices() {
    let (jagged, matrix) = (Type::vec(Type::vec(Type::Float)), Type::Tensor(2, Arc::new(Type::Float)));
    assert_eq!(read(&jagged, "[[1, 2], [], [3.5]]"), Ok("[[1, 2], [], [3.5]]".into()));
    assert_eq!(read(&matrix, "[[1, 2], [3, 4]]"), Ok("[[1, 2], [3, 4]]".into()));
    assert_eq!(read(&matrix, "[[1, 2], [3]]"), Err("x[1] is not a list of 2, as the one before is".into()));
    assert_eq!(read(&matrix, "[]"), Ok("[]".into()));
}

#[test]
fn what_has_another_type_is_said_where_it_stands() {
    let pairs = Type::vec(Type::tuple([Type::Integer, Type::Bool]));
    assert_eq!(read(&pairs, "[[1, true]]"), Ok("[(1, true)]".into()));
    assert_eq!(read(&pairs, "[[1, true], [1.5, true]]"), Err("x[1][0] is not an integer of 64 bits".into()));
    assert_eq!(read(&pairs, "[[1]]"), Err("x[0] is not a list of 2".into()));
    assert_eq!(read(&pairs, "{}"), Err("x is not a list".into()));
}

#[test]
fn tensors_are_lists_of_lists_and_integers_stay_integers() {
    let tensor = Tensor::new(vec![2, 1], vec![Value::Float(1.0), Value::Float(2.5)]);
    let value = Value::Tuple(vec![Value::Integer(3), Value::Tensor(Arc::new(tensor))]);
    let form = Form::Fields(&[("count", Form::Value), ("rows", Form::Value)]);
    let json = output(&form, &value).expect("it is finite").to_string();
    assert_eq!(json, r#"{"count":3,"rows":[[1.0],[2.5]]}"#);
    assert_eq!(output(&Form::Flat, &value).expect("it is finite").to_string(), "[1.0,2.5]");
    assert_eq!(output(&Form::Value, &Value::Float(f64::INFINITY)), Err(Error::NotFinite(f64::INFINITY)));
}
