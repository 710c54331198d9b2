//! Reverse mode on arrays: for each program of `cases/cost`, what `rev$f` does (arithmetic, and Floats
//! written into new tensors) over what `f` does, at two sizes. The ratio is small and does not grow.
//!
//! LMC_CASE chooses one program.
//!
//! Each program has `f`, and `point`, which gives an argument of `f` of a size.

use lm::interp::Interpreter;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use std::fs;
use std::path::Path;

const SIZES: [i64; 2] = [400, 6_400];

/// Operations of the reverse derivative for each of the function.
const BOUND: f64 = 7.1;

/// What the ratio may differ by between the sizes.
const GROWTH: f64 = 1.05;

/// Arithmetic and moves of `f` and of `rev$f` at a size.
fn work(p: &Pipeline, n: i64) -> [u64; 2] {
    let f = FunName::base("f");
    let call = |name: &FunName, args: &[Value]| {
        let mut interpreter = Interpreter::new(p.program());
        let value = interpreter.call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"));
        (value, interpreter.counts.arithmetic() + interpreter.counts.moves)
    };
    let (point, _) = call(&FunName::base("point"), &[Value::Integer(n)]);
    let args = match &point {
        Value::Tuple(parts) if p.program().defs[&f].params.len() > 1 => parts.clone(),
        _ => vec![point.clone()],
    };
    [call(&f, &args).1, call(&f.derived(Derivative::Rev), &[point, Value::Float(1.0)]).1]
}

/// The ratios of all programs, by name, at each of the sizes.
fn ratios(sizes: [i64; 2]) -> Vec<(String, [f64; 2])> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/cost");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    if let Ok(only) = std::env::var("LMC_CASE") {
        paths.retain(|path| path.file_stem().is_some_and(|stem| *stem == *only));
    }
    let ratio = |path: &std::path::PathBuf| {
        let source = Source::new(&path.display().to_string(), &fs::read_to_string(path).expect("the file can be read"));
        let mut p = Pipeline::new(front::load(&source).unwrap_or_else(|errors| panic!("{path:?}: {errors:?}")));
        p.require(&FunName::base("f").derived(Derivative::Rev)).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let at = |n| {
            let [primal, reverse] = work(&p, n);
            reverse as f64 / primal as f64
        };
        (path.file_stem().expect("a file").to_string_lossy().into_owned(), sizes.map(at))
    };
    paths.iter().map(|path| with_large_stack(|| ratio(path))).collect()
}

fn check(sizes: [i64; 2]) {
    let ratios = ratios(sizes);
    let table: Vec<String> = ratios.iter().map(|(name, [a, b])| format!("{name:<16} {a:8.2} {b:8.2}")).collect();
    let table = format!("{:<16} {:>8} {:>8}\n{}", "n", sizes[0], sizes[1], table.join("\n"));
    println!("{table}");
    for (name, [small, large]) in ratios {
        assert!(large <= BOUND && large <= GROWTH * small, "{name}: {small} and then {large}\n{table}");
    }
}

#[test]
fn reverse_mode_does_not_grow_with_the_data() {
    check(SIZES);
}

#[test]
#[ignore = "takes minutes: cargo test --release --test cost_arrays -- --ignored"]
fn reverse_mode_does_not_grow_with_much_data() {
    check([1_000, 1_000_000]);
}
