//! Compares the Python that `lmc compile --emit numpy` and `--emit jax` write with the interpreter.
//!
//! `LMC_PYTHON` names a Python with NumPy, and with JAX for the second. Without it the tests say so, and compare nothing.

use super::each::{self, Outcome};
use bulk::emit::Kind;
use bulk::interp::Array;
use common::bulk::arrays_of;
use common::files;
use libtest_mimic::Trial;
use lm::interp::Interpreter;
use lm::term::{Constant, Derivative, FunName, Program};
use lm::timing::Timings;
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::Random;
use lmc::ks::front;
use lmc::ks::source::Source;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::demo("python::numpy", |demo: &Demo| demo_agrees(demo, Kind::Numpy));
    tests.extend(each::demo("python::jax", |demo: &Demo| demo_agrees(demo, Kind::Jax)));
    tests.extend(each::program("python::numpy_of_cases", "tests/cases/bulk", |path| case_agrees(path, Kind::Numpy)));
    tests.extend(each::program("python::jax_of_cases", "tests/cases/bulk", |path| case_agrees(path, Kind::Jax)));
    tests
}

fn demo_agrees(demo: &Demo, kind: Kind) -> Outcome {
    agrees(demo.name, demo.text, &|_| vec![FunName::base(demo.fun)], kind)
}

fn case_agrees(path: &Path, kind: Kind) -> Outcome {
    let functions = |program: &Program| {
        let written = program.defs.keys().filter(|name| name.derivations.is_empty() && *name.base != *"example");
        written.cloned().collect()
    };
    agrees(&files::name(path), &files::text(path), &functions, kind)
}

/// The functions that may have no form: by recursion, or, in JAX, by sizes that depend on data.
const WITHOUT_FORM: [&str; 5] = ["minors", "[vjp minors]", "det", "[vjp det]", "[vjp bins]"];

/// A call, and what the interpreter gives; nothing where it stops.
struct Call {
    python: String,
    wanted: Option<Vec<Array>>,
}

fn agrees(name: &str, text: &str, functions: &dyn Fn(&Program) -> Vec<FunName>, kind: Kind) -> Outcome {
    let Some(python) = std::env::var_os("LMC_PYTHON") else {
        println!("LMC_PYTHON names no Python: nothing is compared");
        return Ok(());
    };
    let source = Source::new(name, text);
    let checked = front::load_for(&source, Derivation::default(), &Timings::default());
    let mut pipeline = Pipeline::new(checked.map_err(|errors| format!("does not read: {errors:?}"))?);
    let mut entries = Vec::new();
    for f in functions(pipeline.program()) {
        pipeline.require(&f).map_err(|error| error.to_string())?;
        entries.push(f.clone());
        let vjp = f.derived(Derivative::Vjp);
        if pipeline.require(&vjp).is_ok() {
            entries.push(vjp);
        }
    }
    let program = pipeline.program();
    let form = |name: &FunName| {
        let function = bulk::lower(program, name, &bulk::Known::default(), kind.sizes_of())?;
        kind.text(std::slice::from_ref(&function), &|_| None, &Default::default())?;
        Ok::<_, bulk::Refusal>(function)
    };
    let (mut lowered, mut refused) = (Vec::new(), Vec::new());
    entries.retain(|name| {
        let form = form(name).map_err(|refusal| refused.push((name.to_string(), refusal)));
        form.map(|function| lowered.push(function)).is_ok()
    });
    if let Some((name, refusal)) = refused.iter().find(|(name, _)| !WITHOUT_FORM.contains(&name.as_str())) {
        return Err(format!("{name} has no form: {refusal}"));
    }
    let module = kind.text(&lowered, &|_| None, &Default::default()).map_err(|refusal| refusal.to_string())?;
    let calls: Vec<Call> = entries.iter().flat_map(|name| calls(program, name)).collect();
    let folder = files::path("target/tmp/python");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let file = folder.join(format!("{name}_{}.py", kind.name()));
    std::fs::write(&file, format!("{module}{}", driver(&calls))).map_err(|error| error.to_string())?;
    let ran = Command::new(python).arg(&file).output().map_err(|error| error.to_string())?;
    match ran.status.success() {
        true => Ok(()),
        false => {
            let text = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            Err(format!("{}: {text}", file.display()))
        }
    }
}

/// Returns calls of a function at some points.
fn calls(program: &Program, name: &FunName) -> Vec<Call> {
    let Some(def) = program.defs.get(name) else { return vec![] };
    let of = name.as_written();
    let primal = &program.defs[&of].fun;
    let example = FunName::base("example");
    let gives = program.defs.get(&example).is_some_and(|d| d.params.is_empty() && d.fun.result == primal.argument());
    let points: Vec<Value> = match gives {
        true => Interpreter::new(program).call(&example, &[]).into_iter().collect(),
        false => (0..3).map(|seed| Random::new(seed).point(&primal.argument())).collect(),
    };
    let split = |whole: &Value| match whole {
        Value::Tuple(parts) if primal.params.len() != 1 => parts.clone(),
        one => vec![one.clone()],
    };
    let mut calls = Vec::new();
    for whole in points {
        let args = match name.derivations.is_empty() {
            true => split(&whole),
            false => {
                let Ok(y) = Interpreter::new(program).call(&of, &split(&whole)) else { continue };
                vec![whole, Random::new(7).direction(&y)]
            }
        };
        let Some(inputs) = arguments(&def.fun.params, &args) else { continue };
        let wanted = Interpreter::new(program).call(name, &args).ok();
        let wanted = wanted.and_then(|value| arrays_of(&def.fun.result, &value));
        let python = name.to_string().replace(['[', ']'], "").replace(' ', "_");
        calls.push(Call { python: format!("{python}({inputs})"), wanted });
    }
    calls
}

fn arguments(types: &[lm::types::Type], args: &[Value]) -> Option<String> {
    let texts = types.iter().zip(args).map(|(ty, value)| {
        let arrays = arrays_of(ty, value)?;
        Some(argument(ty, &mut arrays.iter()))
    });
    Some(texts.collect::<Option<Vec<String>>>()?.join(", "))
}

/// Returns an argument as Python: tuples of arrays, a tensor of tuples as a tuple of tensors.
fn argument<'a>(ty: &lm::types::Type, arrays: &mut impl Iterator<Item = &'a Array>) -> String {
    use lm::types::Type;
    match ty {
        Type::Tuple(parts) => {
            let parts: Vec<String> = parts.iter().map(|part| argument(part, arrays) + ", ").collect();
            format!("({})", parts.concat())
        }
        Type::Tensor(_, element) => argument(element, arrays),
        _ => literal(arrays.next().expect("an array for each part")),
    }
}

fn literal(array: &Array) -> String {
    let number = |c: &Constant| match c {
        Constant::Float(x) if x.is_nan() => "np.nan".to_string(),
        Constant::Float(x) if x.is_infinite() => if *x > 0.0 { "np.inf" } else { "-np.inf" }.to_string(),
        Constant::Float(x) => format!("{x:?}"),
        Constant::Integer(n) => n.to_string(),
        Constant::Bool(b) => if *b { "True" } else { "False" }.to_string(),
        Constant::String(_) => unreachable!("arrays hold no text"),
    };
    let numbers: Vec<String> = array.elements.iter().map(number).collect();
    match array.dims.as_slice() {
        [] => numbers[0].clone(),
        dims => format!("np.array([{}]).reshape({dims:?})", numbers.join(", ")),
    }
}

/// Returns the lines that make the calls and compare them.
fn driver(calls: &[Call]) -> String {
    let mut text = String::from(
        r#"

import numpy as np


def _flat(value):
    return [array for part in value for array in _flat(part)] if isinstance(value, tuple) else [np.asarray(value)]


def _compare(text, call, wanted):
    if wanted is None:
        try:
            found = _flat(call())
        except (IndexError, ValueError, ZeroDivisionError, AssertionError):
            return
        floats = [x for x in found if x.dtype.kind == "f" and x.size]
        assert not floats or any(np.isnan(x).all() for x in floats), f"{text}: {found}, where an error is expected"
        return
    found = _flat(call())
    assert len(found) == len(wanted), f"{text}: {len(found)} arrays, not {len(wanted)}"
    for x, y in zip(found, wanted):
        # Rows that are not there have no size in the interpreter.
        known = y.shape.index(0) + 1 if 0 in y.shape else y.ndim
        assert x.ndim == y.ndim and x.shape[:known] == y.shape[:known], f"{text}: {x.shape}, not {y.shape}"
        if not y.size:
            continue
        scale = max(1e-3, np.max(np.abs(y[np.isfinite(y)]), initial=0)) if y.dtype.kind == "f" else 1
        assert np.allclose(x, y, rtol=0, atol=1e-12 * scale, equal_nan=True), f"{text}: {x}, not {y}"


"#,
    );
    for call in calls {
        let wanted = match &call.wanted {
            None => "None".to_string(),
            Some(arrays) => {
                let all: Vec<String> = arrays.iter().map(|array| format!("np.array({})", literal(array))).collect();
                format!("[{}]", all.join(", "))
            }
        };
        let _ = writeln!(text, "_compare({:?}, lambda: {}, {wanted})", call.python, call.python);
    }
    text
}
