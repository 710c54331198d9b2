//! All derivations that take every program give the same derivatives, to 1e-10: of the demos, of the programs of `cases/gradcheck`, and of
//! random programs. Where one differs, or fails where the first does not, the smallest program found is shown.

use super::each::{self, Outcome, alone};
use common::cost::{arguments, call, pipeline, point_of_size};
use common::files;
use common::generate_scaled::program;
use common::random::{cases, seed};
use common::shrink::smallest;
use common::table::SEED;
use libtest_mimic::Trial;
use lm::interp::Interpreter;
use lm::map;
use lm::tensor::Tensor;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{Random, is_worth_checking};
use lmc::with_large_stack;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::demo("derivations::of_demos", of_demo);
    tests.extend(each::demo("derivations::dual_numbers_of_demos", has_dual_numbers));
    let cases = "derivations::of_programs_that_went_wrong_or_might";
    tests.extend(each::program(cases, "tests/cases/gradcheck", of_case));
    tests.extend(alone!(
        "derivations": of_random_programs, a_wrong_derivation_is_found_and_its_program_shrunk,
        failing_where_the_first_does_not_is_a_difference, where_rounding_decides_another_point_does,
    ));
    tests
}

/// The largest difference, relative to the largest component.
const TOLERANCE: f64 = 1e-10;

/// A derivative smaller than this, for directions of size one, is what cancelling terms left.
const CANCELLED: f64 = 1e-6;

/// The size of a random program's point.
const SIZE: i64 = 5;

/// Its size where rounding decides what the derivatives are at the first one.
const SMALLER: i64 = 2;

/// How often derivatives are evaluated, each time rounded otherwise, to see what rounding decides.
const ROUNDINGS: u64 = 4;

/// The four derivatives to compare, by name.
pub(super) type Derivatives = Vec<(FunName, Result<Value, String>)>;

fn of_demo(demo: &Demo) -> Outcome {
    let f = FunName::base(demo.fun);
    let all = agree(demo.name, demo.text, &|_| vec![f.clone()])?;
    let complete = all.len() == 4 && all.iter().all(|(_, value)| value.is_ok());
    if complete { Ok(()) } else { Err(format!("{all:?}")) }
}

/// Fig. 7: `[dual f]` at the dual numbers of a point and a direction gives those of `[jvp f]`.
fn has_dual_numbers(demo: &Demo) -> Outcome {
    let f = FunName::base(demo.fun);
    let mut p = pipeline(demo.text, Derivation::default())?;
    let (point, _) = point(&p, &f).ok_or("there is no point")?;
    let direction = Random::new(1).direction(&point);
    let [dual, jvp] = [Derivative::Dual, Derivative::Jvp].map(|derivative| f.derived(derivative));
    for name in [&dual, &jvp] {
        p.require(name).map_err(|error| format!("{name}: {error}"))?;
    }
    let arguments = arguments(&p, &f, &doubled(&point, &direction));
    let found = call(&p, &dual, &arguments)?.0;
    let Value::Tuple(both) = call(&p, &jvp, &[point, direction])?.0 else { return Err("no pair".into()) };
    let expected = doubled(&both[0], &both[1]);
    if is_close(&found, &expected) { Ok(()) } else { Err(format!("{found} instead of {expected}")) }
}

/// Returns the dual numbers of a value and a tangent.
fn doubled(x: &Value, dx: &Value) -> Value {
    match (x, dx) {
        (Value::Float(_), _) => Value::Tuple(vec![x.clone(), dx.clone()]),
        (Value::Tuple(xs), Value::Tuple(dxs)) if !xs.is_empty() && !dxs.is_empty() => {
            Value::Tuple(xs.iter().zip(dxs).map(|(x, dx)| doubled(x, dx)).collect())
        }
        (Value::Tensor(xs), Value::Tensor(dxs)) => {
            let elements = xs.elements().iter().zip(dxs.elements()).map(|(x, dx)| doubled(x, dx)).collect();
            Value::Tensor(Tensor::new(xs.size().to_vec(), elements).into())
        }
        _ => x.clone(),
    }
}

fn of_case(path: &Path) -> Outcome {
    let all = agree(&path.display().to_string(), &files::text(path), &checkable)?;
    if all.iter().any(|(_, value)| value.is_ok()) { Ok(()) } else { Err("nothing is compared".into()) }
}

/// The functions of a program that can be compared without being told where.
pub(super) fn checkable(p: &Pipeline) -> Vec<FunName> {
    let program = p.program();
    let names = program.defs.keys().filter(|f| f.derivations.is_empty() && *f.base != *"main");
    names.filter(|f| is_worth_checking(program, f)).cloned().collect()
}

fn of_random_programs() {
    let (seed, count) = (seed(), u64::from(cases(40)));
    println!("LMC_SEED={seed} LMC_CASES={count}");
    let mut made = 0;
    for number in 0..count {
        let all = agree(&format!("program {number}"), &program(seed, number), &|_| vec![FunName::base("f")]);
        made += usize::from(all.is_ok_and(|all| all.iter().all(|(_, value)| value.is_ok())));
    }
    assert_eq!(made, count as usize, "programs with all four derivatives");
}

pub(super) type Functions<'a> = &'a (dyn Fn(&Pipeline) -> Vec<FunName> + Sync);

/// Returns the derivatives of the first derivation. Panics with the smallest program found if another one disagrees.
fn agree(name: &str, text: &str, functions: Functions) -> Result<Derivatives, String> {
    let first = derivatives(text, Derivation::default(), functions);
    for other in Derivation::OF_ALL_PROGRAMS.into_iter().filter(|d| *d != Derivation::default()) {
        let Some(why) = difference(&first, &derivatives(text, other, functions)) else { continue };
        let differ = |text: &str| {
            // Where rounding moves derivatives as far, they say nothing. Then they must be the same at the other point.
            let there = derivatives_at(SMALLER, text, Derivation::default(), functions);
            let is_told = there.is_ok_and(|all| !all.is_empty()) && !is_steady(text, functions, SIZE);
            let size = if is_told { SMALLER } else { SIZE };
            let [first, other] = [Derivation::default(), other].map(|d| derivatives_at(size, text, d, functions));
            difference(&first, &other)
        };
        if differ(text).is_none() {
            continue;
        }
        let small = smallest(text, |text| differ(text).is_some());
        let at = differ(&small).unwrap_or(why);
        panic!("{name}: {} differs from {}: {at}\n{small}", other.name(), Derivation::default().name());
    }
    first
}

/// Returns a difference between the derivatives of two ways. Where the first has none, the second may have any.
fn difference(one: &Result<Derivatives, String>, two: &Result<Derivatives, String>) -> Option<String> {
    let Ok(one) = one else { return None };
    let two = match two {
        Ok(two) => two,
        Err(why) => return Some(why.clone()),
    };
    one.iter().zip(two).find_map(|((name, a), (_, b))| match (a, b) {
        (Err(_), _) => None,
        (Ok(_), Err(why)) => Some(format!("{name}: {why}")),
        (Ok(a), Ok(b)) => (!is_close(a, b)).then(|| format!("{name}: {a} and {b}")),
    })
}

/// Equal in form, and in each component up to rounding. Infinite and undefined ones are alike.
pub(super) fn is_close(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.floats(), b.floats());
    let finite = a.iter().chain(&b).filter(|x| x.is_finite());
    let scale = finite.fold(CANCELLED, |scale: f64, x| scale.max(x.abs()));
    let close = |(a, b): (&f64, &f64)| match a.is_finite() && b.is_finite() {
        true => (a - b).abs() <= TOLERANCE * scale,
        false => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
    };
    a.len() == b.len() && a.iter().zip(&b).all(close)
}

/// `[fwd f]`, `[rev f]`, `[jvp f]` and `[vjp f]` of functions at a point where they have a value. What panics is an
/// error, too.
pub(super) fn derivatives(text: &str, derivation: Derivation, functions: Functions) -> Result<Derivatives, String> {
    derivatives_at(SIZE, text, derivation, functions)
}

/// The same, where points that a program gives have this size.
fn derivatives_at(size: i64, text: &str, derivation: Derivation, functions: Functions) -> Result<Derivatives, String> {
    let run = |p: &Pipeline, name: &FunName, args: &[Value]| Ok(call(p, name, args)?.0);
    let all = || with_large_stack(|| derivatives_or_panic(size, text, derivation, functions, &run));
    catch_unwind(AssertUnwindSafe(all)).unwrap_or_else(|_| Err("panics".into()))
}

/// Returns whether the default derivatives are the same up to what is compared where each operation is rounded up or down
/// at random.
fn is_steady(text: &str, functions: Functions, size: i64) -> bool {
    let exact = derivatives_at(size, text, Derivation::default(), functions);
    (0..ROUNDINGS).all(|seed| {
        let run = |p: &Pipeline, name: &FunName, args: &[Value]| {
            Interpreter::new(p.program()).rounding(seed).call(name, args).map_err(|error| error.to_string())
        };
        let rounded = with_large_stack(|| derivatives_or_panic(size, text, Derivation::default(), functions, &run));
        difference(&exact, &rounded).is_none()
    })
}

/// Calls a function of a program.
type Run<'a> = &'a (dyn Fn(&Pipeline, &FunName, &[Value]) -> Result<Value, String> + Sync);

fn derivatives_or_panic(
    size: i64,
    text: &str,
    derivation: Derivation,
    functions: Functions,
    run: Run,
) -> Result<Derivatives, String> {
    // The points do not depend on the derivation, even where the function calls derivatives.
    let first = pipeline(text, Derivation::default())?;
    let points = functions(&first).into_iter().filter_map(|f| point_at(size, &first, &f).map(|at| (f, at)));
    let mut p = pipeline(text, derivation)?;
    let mut all = Vec::new();
    for (f, (point, value)) in points {
        let mut random = Random::new(1);
        let (ds, dr) = (random.direction(&point), random.direction(&value));
        for (derived, direction) in
            [(Derivative::Fwd, &ds), (Derivative::Rev, &dr), (Derivative::Jvp, &ds), (Derivative::Vjp, &dr)]
        {
            let name = f.derived(derived);
            let made = p.require(&name).map_err(|error| format!("{}: {error}", error.code()));
            let value = made.and_then(|()| run(&p, &name, &[point.clone(), direction.clone()]));
            all.push((name, value));
        }
    }
    Ok(all)
}

/// A point at which the function has a value, with that: the program's `point` or `example`, or a random one.
pub(super) fn point(p: &Pipeline, f: &FunName) -> Option<(Value, Value)> {
    point_at(SIZE, p, f)
}

fn point_at(size: i64, p: &Pipeline, f: &FunName) -> Option<(Value, Value)> {
    const TRIES: u64 = 100;
    let given = |name: &str| p.program().defs.get(&FunName::base(name)).filter(|def| def.fun.result == argument(p, f));
    let mut points: Vec<Value> = Vec::new();
    if given("point").is_some() {
        points.extend(point_of_size(p, size));
    } else if given("example").is_some_and(|def| def.params.is_empty()) {
        points.extend(call(p, &FunName::base("example"), &[]).map(|(point, _)| point));
    } else {
        points.extend((0..TRIES).map(|seed| Random::new(seed).point(&argument(p, f))));
    }
    let value = |point: Value| {
        let value = call(p, f, &arguments(p, f, &point)).ok()?.0;
        // Of an empty vector there is little to see.
        let says_something = !map::zero(&point).floats().is_empty();
        (says_something && value.floats().iter().all(|x| x.is_finite())).then_some((point, value))
    };
    points.into_iter().find_map(value)
}

fn argument(p: &Pipeline, f: &FunName) -> lm::types::Type {
    p.program().defs[f].fun.argument()
}

/// A derivation that is wrong about tanh: what the harness must find, and show in a small program.
fn a_wrong_derivation_is_found_and_its_program_shrunk() {
    let f: Functions = &|_| vec![FunName::base("f")];
    let wrong = |text: &str| derivatives(&text.replace("(tanh ", "(atan "), Derivation::default(), f);
    let fails = |text: &str| difference(&derivatives(text, Derivation::default(), f), &wrong(text)).is_some();
    let large = (0..).map(|number| program(SEED, number)).find(|text| text.len() > 1_500 && fails(text));
    let large = large.expect("the programs do not end");
    let small = smallest(&large, fails);
    assert!(fails(&small), "what is shown fails:\n{small}");
    assert_eq!(small.matches("(tanh ").count(), 1, "{small}");
    let atoms =
        |text: &str| text.split(|c: char| c.is_whitespace() || "()".contains(c)).filter(|a| !a.is_empty()).count();
    assert!(
        atoms(&small) <= 40 && atoms(&small) * 4 < atoms(&large),
        "{} of {} atoms:\n{small}",
        atoms(&small),
        atoms(&large)
    );
}

/// A derivation that has no derivative where the first has one is a difference; one that has more is none.
fn failing_where_the_first_does_not_is_a_difference() {
    let f: Functions = &|_| vec![FunName::base("f")];
    let right = derivatives("(def f Float (x : Float) (sin x))", Derivation::default(), f);
    let fails = Err("no such derivative".to_string());
    assert!(right.as_ref().is_ok_and(|all| all.len() == 4 && all.iter().all(|(_, value)| value.is_ok())));
    assert_eq!(difference(&right, &fails), Some("no such derivative".into()));
    assert_eq!(difference(&fails, &right), None);
    assert_eq!(difference(&right, &right), None);
}

/// A sine of large numbers in a loop: at the larger size the last digits decide, and nothing is said of the derivative. A
/// wrong derivative is found at the smaller one.
fn where_rounding_decides_another_point_does() {
    let f: Functions = &|_| vec![FunName::base("f")];
    let text = "(def f Float (v : (Vec Float))
        (fold (lam (s : (Tuple Float Float)) (sin (mul 300.0 (mul (get$1$2 s) (add 2.0 (tanh (get$2$2 s))))))) 0.5 v))
      (def point (Vec Float) (n : Integer) (build n (lam (i : Integer) (div (to_float (add i 1)) 7.0))))";
    assert!(!is_steady(text, f, SIZE) && is_steady(text, f, SMALLER));
    agree("it agrees", text, f).expect("it derives");
    let wrong = text.replace("(tanh ", "(atan ");
    let [right, wrong] = [text, &wrong].map(|text| derivatives_at(SMALLER, text, Derivation::default(), f));
    assert!(difference(&right, &wrong).is_some());
}
