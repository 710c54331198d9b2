//! Programs and points to measure by [`lmc::cost`].

use lm::interp::Counts;
use lm::term::FunName;
use lm::timing::Timings;
use lm::types::Type;
use lm::value::Value;
use lmc::cost::Measured;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front::{self, Choices};
use lmc::ks::source::Source;

/// The pipeline of a program, for derivatives by a derivation, or by other choices.
///
/// Errors: what is wrong with the program.
pub fn pipeline(text: &str, choices: impl Into<Choices>) -> Result<Pipeline, String> {
    let source = Source::new("program.ks", text);
    let checked = front::load_for(&source, choices, &Timings::default());
    checked.map(Pipeline::new).map_err(|errors| format!("does not read: {errors:?}"))
}

/// The value of a call, and what it took.
pub fn call(p: &Pipeline, name: &FunName, args: &[Value]) -> Result<(Value, Counts), String> {
    lmc::cost::call(p.program(), name, args).map_err(|error| error.to_string())
}

/// Measures `f` at a point: see [`Measured::new`].
pub fn measured(p: &mut Pipeline, f: &FunName, point: &Value) -> Result<Measured, String> {
    Measured::new(p, f, point).map_err(|error| error.to_string())
}

/// Splits a whole argument of `f` into its parameters' arguments.
pub fn arguments(p: &Pipeline, f: &FunName, whole: &Value) -> Vec<Value> {
    lmc::benchmark::parts(&p.program().defs[f].fun, whole)
}

/// A point of a demo: its `example`, or small numbers.
pub fn point_of_demo(p: &Pipeline, f: &FunName) -> Value {
    let example = FunName::base("example");
    let params = &p.program().defs[f].fun.params;
    match p.program().defs.contains_key(&example) {
        true => call(p, &example, &[]).expect("an example").0,
        false if params.len() == 1 => one_of(&params[0]),
        false => Value::Tuple(params.iter().map(one_of).collect()),
    }
}

fn one_of(ty: &Type) -> Value {
    match ty {
        Type::Float => Value::Float(0.75),
        Type::Integer => Value::Integer(2),
        Type::Tuple(parts) => Value::Tuple(parts.iter().map(one_of).collect()),
        other => panic!("no demo takes {other}"),
    }
}

/// The point of a demo as an option of a command: nothing for its `example`, which commands take by themselves.
///
/// Errors: what is wrong with the program.
pub fn input_of_demo(demo: &Demo) -> Result<Option<String>, String> {
    let p = pipeline(demo.text, Derivation::default())?;
    let has_example = p.program().defs.contains_key(&FunName::base("example"));
    Ok((!has_example).then(|| written(&point_of_demo(&p, &FunName::base(demo.fun)))))
}

fn written(value: &Value) -> String {
    match value {
        Value::Tuple(parts) => format!("(tuple {})", parts.iter().map(written).collect::<Vec<_>>().join(" ")),
        number => number.to_string(),
    }
}

/// The point of a size, of a program that has `f` and `point`.
pub fn point_of_size(p: &Pipeline, n: i64) -> Result<Value, String> {
    Ok(call(p, &FunName::base("point"), &[Value::Integer(n)])?.0)
}
