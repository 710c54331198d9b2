//! Calls by XLA, and the comparison with the interpreter.

use bulk::emit::stablehlo::Options;
use bulk::emit::{Kind, Places};
use bulk::{Known, Reason, Refusal};
use lm::interp::Interpreter;
use lm::term::{Derivative, FunName, Program};
use lm::types::Type;
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::Random;
use lmc::ks::front;
use lmc::ks::source::Source;
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Results of XLA agree to this, relative to the largest number of a result, or to 1.
const TOLERANCE: f64 = 1e-12;

/// A call: its text, its inputs, and what the interpreter gives.
pub struct Call {
    pub what: String,
    text: String,
    inputs: Vec<Json>,
    pub wanted: Wanted,
}

pub enum Wanted {
    Results(Vec<Vec<f64>>),
    /// A check that fails, at a place.
    Stop(u32),
}

/// Adds what is known of a value: the sizes of its tensors. The rows of one are all of one size.
fn know(path: &str, value: &Value, ty: &Type, integers: bool, known: &mut Known) {
    match (value, ty) {
        (Value::Tuple(parts), Type::Tuple(types)) => {
            let parts = parts.iter().zip(types.iter()).enumerate();
            parts.for_each(|(k, (part, ty))| know(&format!("{path}.{}", k + 1), part, ty, integers, known));
        }
        (Value::Tensor(tensor), Type::Tensor(rank, element)) => {
            for (k, &size) in tensor.size().iter().enumerate() {
                let size_path = if *rank == 1 { format!("{path}.size") } else { format!("{path}.size.{}", k + 1) };
                known.insert(size_path, size as i64);
            }
            match tensor.elements().first() {
                Some(first) => know(&format!("{path}.each"), first, element, false, known),
                None => know_nothing(&format!("{path}.each"), element, known),
            }
        }
        (Value::Integer(n), _) if integers => {
            known.insert(path.into(), *n);
        }
        _ => {}
    }
}

/// Says that tensors that are not there have no elements.
fn know_nothing(path: &str, ty: &Type, known: &mut Known) {
    match ty {
        Type::Tuple(types) => {
            types.iter().enumerate().for_each(|(k, ty)| know_nothing(&format!("{path}.{}", k + 1), ty, known));
        }
        Type::Tensor(rank, element) => {
            let size = |k: usize| if *rank == 1 { format!("{path}.size") } else { format!("{path}.size.{k}") };
            known.extend((1..=*rank).map(|k| (size(k), 0)));
            know_nothing(&format!("{path}.each"), element, known);
        }
        _ => {}
    }
}

/// Adds the numbers of each array that a value is, from left to right.
fn arrays(values: &[Value], ty: &Type, all: &mut Vec<Vec<f64>>) {
    match ty {
        Type::Tuple(types) => {
            for (k, ty) in types.iter().enumerate() {
                let parts: Vec<Value> =
                    values.iter().map(|value| value.as_tuple().expect("a tuple")[k].clone()).collect();
                arrays(&parts, ty, all);
            }
        }
        Type::Tensor(_, element) => {
            let elements = |value: &Value| match value {
                Value::Tensor(tensor) => tensor.elements().to_vec(),
                other => panic!("{other:?} is no tensor"),
            };
            arrays(&values.iter().flat_map(elements).collect::<Vec<_>>(), element, all);
        }
        _ => {
            let number = |value: &Value| match value {
                Value::Float(x) => *x,
                Value::Integer(n) => *n as f64,
                Value::Bool(b) => f64::from(*b),
                other => panic!("{other:?} is no number"),
            };
            all.push(values.iter().map(number).collect());
        }
    }
}

/// Returns JSON of the numbers, as Python takes them.
fn inputs(program: &Program, name: &FunName, args: &[Value]) -> Vec<Json> {
    let mut all = Vec::new();
    for (value, x) in args.iter().zip(&program.defs[name].params) {
        arrays(std::slice::from_ref(value), x.ty(), &mut all);
    }
    all.into_iter().map(|numbers| json!(numbers)).collect()
}

/// Returns the text of a function for the sizes of its arguments, and for its Integers if sizes depend on them.
pub fn text(
    program: &Program,
    name: &FunName,
    args: &[Value],
    place: Places,
    options: &Options,
) -> Result<String, Refusal> {
    let given = |integers| text_given(program, name, args, integers, place, options);
    given(false).or_else(|refusal| match refusal.reason {
        Reason::UnknownSize => given(true),
        _ => Err(refusal),
    })
}

fn text_given(
    program: &Program,
    name: &FunName,
    args: &[Value],
    integers: bool,
    place: Places,
    options: &Options,
) -> Result<String, Refusal> {
    let mut known = Known::default();
    let (def, written) = (&program.defs[name], &program.defs[&name.as_written()]);
    let is_whole = name != &written.fun.name && written.params.len() > 1;
    for (k, (value, x)) in args.iter().zip(&def.params).enumerate() {
        match value {
            Value::Tuple(parts) if k == 0 && is_whole => {
                let named = parts.iter().zip(&written.params);
                named.for_each(|(part, x)| know(x.name(), part, x.ty(), integers, &mut known));
            }
            _ => know(x.name(), value, x.ty(), integers, &mut known),
        }
    }
    let function = bulk::lower(program, name, &known, Kind::StableHlo.sizes_of())?;
    Kind::StableHlo.text(&[function], place, options)
}

pub fn call(pipeline: &Pipeline, name: &FunName, args: &[Value], options: &Options) -> Result<Call, Refusal> {
    let program = pipeline.program();
    // A place in the text is its offset.
    let text = text(program, name, args, &|span| Some(format!("@{}", span.start)), options)?;
    let wanted = match Interpreter::new(program).call(name, args) {
        Ok(value) => {
            let mut all = Vec::new();
            arrays(&[value], &program.defs[name].fun.result, &mut all);
            Wanted::Results(all)
        }
        Err(error) => Wanted::Stop(error.span.start),
    };
    Ok(Call { what: name.to_string(), text, inputs: inputs(program, name, args), wanted })
}

/// Returns a function and its vjp at a point, which another function gives, or at a random one. Leaves out those
/// without a form.
pub fn calls(what: &str, pipeline: &mut Pipeline, fun: &str, at: &str, options: &Options) -> Vec<Call> {
    let (f, at) = (FunName::base(fun), FunName::base(at));
    let vjp = f.derived(Derivative::Vjp);
    pipeline.require(&vjp).expect("it derives");
    let program = pipeline.program();
    let argument = program.defs[&f].fun.argument();
    let gives = program.defs.get(&at).is_some_and(|def| def.params.is_empty() && def.fun.result == argument);
    let point = match gives {
        true => Interpreter::new(program).call(&at, &[]).expect("a point"),
        false => Random::new(7).point(&argument),
    };
    let args = match &point {
        Value::Tuple(parts) if program.defs[&f].params.len() != 1 => parts.clone(),
        one => vec![one.clone()],
    };
    let value = Interpreter::new(program).call(&f, &args);
    let mut all = vec![(f.clone(), args)];
    if let Ok(value) = value {
        all.push((vjp, vec![point, Random::new(3).direction(&value)]));
    }
    let made = all.iter().map(|(name, args)| call(pipeline, name, args, options));
    let told = |call: Result<Call, Refusal>| match call {
        Ok(call) => Some(Call { what: format!("{what}: {}", call.what), ..call }),
        Err(refusal) => {
            println!("{what}: {refusal}");
            None
        }
    };
    made.filter_map(told).collect()
}

pub fn pipeline(file: &str, text: &str) -> Pipeline {
    Pipeline::new(front::load(&Source::new(file, text)).expect("the program is right"))
}

pub fn python() -> Option<PathBuf> {
    let found = std::env::var_os("LMC_PYTHON").map(PathBuf::from);
    if found.is_none() {
        println!("skipped: LMC_PYTHON names no Python with jax");
    }
    found
}

/// Runs calls by XLA, on so many simulated devices. Errors: those whose results differ, and those for which devices send
/// each other more than one sum.
pub fn run(python: &Path, calls: &[Call], folder: &str, devices: usize) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("lmc-stablehlo-{folder}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut command = Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stablehlo/run.py"));
    let path = |k: usize, end: &str| folder.join(format!("{k}.{end}"));
    for (k, call) in calls.iter().enumerate() {
        std::fs::write(path(k, "mlir"), &call.text).expect("a file");
        std::fs::write(path(k, "json"), json!(call.inputs).to_string()).expect("a file");
    }
    command
        .args((0..calls.len()).map(|k| path(k, "mlir")))
        .args(["--devices", &devices.to_string()])
        .arg("--inputs")
        .args((0..calls.len()).map(|k| path(k, "json")));
    let output = command.output().expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout).to_string();
    let mut lines = text.lines();
    let mut errors = Vec::new();
    for (k, call) in calls.iter().enumerate() {
        let Some(line) = lines.next() else {
            let error = String::from_utf8_lossy(&output.stderr).to_string();
            errors.push(format!("{}: {}: {error}", call.what, path(k, "mlir").display()));
            break;
        };
        if let Err(error) = compare(call, line) {
            errors.push(format!("{}: {}: {error}", call.what, path(k, "mlir").display()));
        }
    }
    if errors.is_empty() {
        std::fs::remove_dir_all(&folder).expect("the folder is there");
    }
    errors
}

fn compare(call: &Call, line: &str) -> Result<(), String> {
    let found: Json = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
    let sent = found.get("collectives").filter(|sent| **sent != json!({"all-reduce": 1}));
    if let Some(sent) = sent {
        return Err(format!("devices send each other {sent}"));
    }
    let status = found["status"].as_i64().ok_or("no status")?;
    let wanted = match &call.wanted {
        Wanted::Results(wanted) => wanted,
        Wanted::Stop(place) => {
            let check = format!("//   {status}  @{place}: ");
            return if call.text.contains(&check) {
                Ok(())
            } else {
                Err(format!("check {status} fails, not @{place}"))
            };
        }
    };
    if status != 0 {
        return Err(format!("check {status} fails"));
    }
    let results = found["results"].as_array().ok_or("no results")?;
    if results.len() != wanted.len() {
        return Err(format!("{} results, not {}", results.len(), wanted.len()));
    }
    for (k, (result, wanted)) in results.iter().zip(wanted).enumerate() {
        let mut numbers = Vec::new();
        flat(result, &mut numbers);
        let most = wanted.iter().filter(|x| x.is_finite()).fold(1.0f64, |most, x| most.max(x.abs()));
        let is_near = |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= TOLERANCE * most;
        if numbers.len() != wanted.len() || !numbers.iter().zip(wanted).all(|(x, y)| is_near(*x, *y)) {
            return Err(format!("result {k} is {numbers:?}, not {wanted:?}"));
        }
    }
    Ok(())
}

/// Adds the numbers of nested lists. Python writes `NaN` and `Infinity` as strings here.
fn flat(json: &Json, numbers: &mut Vec<f64>) {
    match json {
        Json::Array(parts) => parts.iter().for_each(|part| flat(part, numbers)),
        Json::Bool(b) => numbers.push(f64::from(*b)),
        Json::String(text) => numbers.push(text.parse().expect("a number")),
        number => numbers.push(number.as_f64().expect("a number")),
    }
}
