//! Reverse mode on arrays: for each program of `cases/cost`, what `rev$f` does (arithmetic, and Floats
//! written into new tensors) over what `f` does, at two sizes. The ratio is small and does not grow.
//!
//! Each program has `f`, and `point`, which gives an argument of `f` of a size.

use super::each::{self, Outcome};
use common::files;
use libtest_mimic::Trial;
use lm::interp::Interpreter;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    const CASES: &str = "tests/cases/cost";
    let much = "cost_arrays::reverse_mode_does_not_grow_with_much_data";
    let much = each::program(much, CASES, |path| does_not_grow(path, [1_000, 1_000_000]));
    let some = "cost_arrays::reverse_mode_does_not_grow_with_the_data";
    let mut tests = each::program(some, CASES, |path| does_not_grow(path, SIZES));
    // The campaign runs these.
    tests.extend(much.into_iter().map(|test| test.with_ignored_flag(true)));
    tests
}

const SIZES: [i64; 2] = [400, 6_400];

/// Operations of the reverse derivative for each of the function.
const BOUND: f64 = 7.1;

/// The most that the ratio may differ between the sizes.
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

fn does_not_grow(path: &Path, sizes: [i64; 2]) -> Outcome {
    let text = files::text(path);
    let checked = front::load(&Source::new(&files::name(path), &text)).map_err(|errors| format!("{errors:?}"))?;
    let mut p = Pipeline::new(checked);
    p.require(&FunName::base("f").derived(Derivative::Rev)).map_err(|error| error.to_string())?;
    let [small, large] = sizes.map(|n| {
        let [primal, reverse] = work(&p, n);
        reverse as f64 / primal as f64
    });
    println!("{small:.2} at {}, {large:.2} at {}", sizes[0], sizes[1]);
    if large <= BOUND && large <= GROWTH * small { Ok(()) } else { Err(format!("{small}, then {large}")) }
}
