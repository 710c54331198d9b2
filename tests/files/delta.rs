//! The gradient by a trace of Delta terms is that of `[rev f]`, to 1e-10: of the demos, of the programs of `tests/cases`
//! and `tests/language`, and of random programs. `derivations` compares `[rev f]` of all derivations.

use super::derivations::{checkable, is_close, point};
use super::each::{self, Outcome, alone};
use common::cost::{arguments, call, pipeline};
use common::random::{cases, seed};
use common::shrink::smallest;
use common::{files, generate_scaled, oracle};
use libtest_mimic::Trial;
use lm::delta::Traced;
use lm::eval::Evaluator;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::Random;
use lmc::with_large_stack;
use std::io::sink;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::demo("delta::of_demos", of_demo);
    for folder in ["cases/gradcheck", "cases/cost", "cases/ways", "language"] {
        let name = format!("delta::of_{folder}");
        tests.extend(each::program(&name, &format!("tests/{folder}"), of_program));
    }
    tests.extend(alone!("delta": of_random_programs, a_wrong_gradient_is_found));
    tests
}

/// The most visits without IDs.
const MOST_VISITS: u64 = 100_000;

fn of_demo(demo: &Demo) -> Outcome {
    let compared = agree(demo.text, &|_| vec![FunName::base(demo.fun)])?;
    if compared == 1 { Ok(()) } else { Err("nothing is compared".into()) }
}

/// Programs with a derivative by hand that is not linear in the cotangent, and so none: a trace takes it at 1 and scales.
const NOT_LINEAR: &[&str] = &["structured_names"];

/// Programs without a function to differentiate are no fault: `derivations` says which must have one.
fn of_program(path: &Path) -> Outcome {
    let outcome = agree(&files::text(path), &checkable);
    if NOT_LINEAR.contains(&files::name(path).as_str()) {
        let differs = outcome.is_err_and(|why| why.contains(DIFFERS));
        return if differs { Ok(()) } else { Err("it agrees: take it from the list".into()) };
    }
    println!("{} functions", outcome?);
    Ok(())
}

fn of_random_programs() {
    let (seed, count) = (seed(), u64::from(cases(60)));
    println!("LMC_SEED={seed} LMC_CASES={count}");
    let text = |number: u64| match number % 2 {
        0 => generate_scaled::program(seed, number / 2),
        _ => oracle::generated(number / 2).text,
    };
    let mut compared = 0;
    for number in 0..count {
        let text = text(number);
        compared += agree(&text, &checkable).unwrap_or_else(|why| {
            let small = smallest(&text, |text| agree(text, &checkable).is_err_and(|why| why.contains(DIFFERS)));
            panic!("program {number}: {why}\n{small}")
        });
    }
    println!("{compared} functions");
    assert!(count < 10 || compared > count as usize, "{compared} functions");
}

/// What the message of a difference has.
const DIFFERS: &str = "the trace gives";

/// Compares functions of a program; returns how many have a gradient.
fn agree(text: &str, functions: &(dyn Fn(&Pipeline) -> Vec<FunName> + Sync)) -> Result<usize, String> {
    let all = || {
        with_large_stack(|| {
            let mut p = pipeline(text, Derivation::default())?;
            let functions = functions(&p);
            let compared = functions.iter().map(|f| agrees(&mut p, f).map(usize::from));
            compared.sum::<Result<usize, String>>()
        })
    };
    catch_unwind(AssertUnwindSafe(all)).unwrap_or_else(|_| Err("panics".into()))
}

/// Compares a function at a point; returns whether it has one, and a reverse derivative there.
fn agrees(p: &mut Pipeline, f: &FunName) -> Result<bool, String> {
    let Some((point, value)) = point(p, f) else { return Ok(false) };
    let dr = Random::new(1).direction(&value);
    let reverse = f.derived(Derivative::Rev);
    let expected = match p.require(&reverse) {
        Ok(()) => call(p, &reverse, &[point.clone(), dr.clone()]),
        Err(_) => return Ok(false),
    };
    let Ok((expected, _)) = expected else { return Ok(false) };
    let traced = traced(p, f, &point)?;
    differs(f, "value", &value, &traced.value)?;
    let found = traced.reverse_pass(&dr.floats()).gradient();
    differs(f, "gradient", &expected, &unless_undefined(&expected, found))?;
    if let Ok(found) = traced.by_paths(&dr.floats(), MOST_VISITS) {
        differs(f, "gradient without IDs", &expected, &unless_undefined(&expected, found.gradient))?;
    }
    Ok(true)
}

/// Returns a gradient, with NaN where it is expected: `[rev f]` multiplies infinite partial derivatives of what the value
/// does not use by 0, and a trace does not visit them.
fn unless_undefined(expected: &Value, found: Vec<f64>) -> Value {
    let expected = expected.floats();
    let unless = |(i, x)| if expected.get(i).is_some_and(|x: &f64| x.is_nan()) { f64::NAN } else { x };
    vector(found.into_iter().enumerate().map(unless).collect())
}

fn traced(p: &mut Pipeline, f: &FunName, point: &Value) -> Result<Traced, String> {
    p.require_traced(f).map_err(|error| format!("{f}: {error}"))?;
    let args = arguments(p, f, point);
    Evaluator::new(&p.program_as_written(), sink()).trace(f, &args).map_err(|error| format!("{f}: {error}"))
}

fn vector(numbers: Vec<f64>) -> Value {
    Value::vector(numbers.into_iter().map(Value::Float).collect())
}

fn differs(f: &FunName, what: &str, expected: &Value, found: &Value) -> Result<(), String> {
    match is_close(expected, found) {
        true => Ok(()),
        false => Err(format!("{f}: {DIFFERS} the {what} {found} instead of {expected}")),
    }
}

/// A derivative by hand that is wrong, in the program whose `[rev f]` is compared, and not in the one that is traced.
fn a_wrong_gradient_is_found() {
    let program = |derivative: &str| format!("(def f Float (x : Float) (mul x (g x)))\n{derivative}");
    let right = "(def g Float (x : Float) (sin x))";
    let wrong = format!("{right}\n(def [rev g] Float ((x : Float) (dr : Float)) (mul dr (sin x)))");
    let f = FunName::base("f");
    let gradient = |text: &str| {
        let mut p = pipeline(text, Derivation::default()).expect("it reads");
        let traced = traced(&mut p, &f, &Value::Float(0.5)).expect("it runs");
        vector(traced.reverse_pass(&[1.0]).gradient())
    };
    let (right, wrong) = (gradient(&program(right)), gradient(&program(&wrong)));
    assert!(differs(&f, "gradient", &right, &right).is_ok());
    assert!(differs(&f, "gradient", &right, &wrong).is_err_and(|why| why.contains(DIFFERS)), "{right} {wrong}");
}
