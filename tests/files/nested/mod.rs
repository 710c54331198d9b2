//! Derivatives of derivatives: second derivatives of the demos and of random programs, third ones of recursive
//! functions, against differences of the derivatives below; their costs; Jacobians and Hessians as values.
//!
//! ```text
//! [fwd [fwd f]], [rev [fwd f]] = differences of [fwd f]          [fwd [rev f]], [rev [rev f]] = those of [rev f]
//! <hvp$f(s, u), w> = <hvp$f(s, w), u>          column j of [jac f] = fwd$f(s, e_j)          row i = rev$f(s, e_i)
//! ```
//!
//! `tests/language/nested.ks` has what confuses perturbations, `dense.ks` the forms of Jacobians.

mod cost;
mod jacobians;
mod random;
mod recursive;

use crate::each::{self, Outcome, alone};
use common::agreement::stages_come_back;
use common::native::unoptimised;
use common::{generate, generate_arrays};
use libtest_mimic::Trial;
use lm::interp::Interpreter;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{self, Random, Report};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, SourceInfo};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tests.
pub fn tests() -> Vec<Trial> {
    let demos = "nested::second_derivatives_of_the_demos_are_right_and_symmetric";
    let mut tests = each::demo(demos, second_derivatives_of_a_demo);
    tests.extend(alone!("nested": parts_of_reverse_derivatives_vary));
    tests.extend([cost::tests(), jacobians::tests(), random::tests(), recursive::tests()].into_iter().flatten());
    tests
}

/// Largest relative difference of a derivative from differences of the one below.
const DIFFERENCES: f64 = 1e-5;

/// Largest relative difference of derivatives that are equal but for rounding.
const ROUNDING: f64 = 1e-9;

fn pipeline(text: &str) -> Pipeline {
    let source = Source::new("test.ks", text);
    Pipeline::new(front::load(&source).unwrap_or_else(|errors| panic!("{errors:?}\n{text}")))
}

fn call(p: &mut Pipeline, name: &FunName, args: &[Value]) -> Value {
    p.require(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    Interpreter::new(p.program()).call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The arguments of a function, from the one that its derivatives take.
fn arguments(p: &Pipeline, f: &FunName, whole: &Value) -> Vec<Value> {
    match whole {
        Value::Tuple(parts) if p.program().defs[f].fun.params.len() != 1 => parts.clone(),
        _ => vec![whole.clone()],
    }
}

/// `(s, v)` for a derivative of f at s, with a random v of the right form.
fn below(p: &mut Pipeline, f: &FunName, derivative: &Derivative, s: &Value, random: &mut Random) -> Value {
    let args = arguments(p, f, s);
    let value = call(p, f, &args);
    let v = random.direction(if *derivative == Derivative::Fwd { s } else { &value });
    Value::Tuple(vec![s.clone(), v])
}

/// Checks that `[fwd g]` and `[rev g]` agree, with each other and with differences of g.
fn judged(g: &FunName, report: &Report) -> Result<(), String> {
    let agrees = report.points > 0
        && report.stopped.is_none()
        && report.whole.differences.error <= DIFFERENCES
        && report.whole.forward_reverse.error <= ROUNDING
        && report.native.error <= report.native_limit;
    if agrees { Ok(()) } else { Err(format!("derivatives of {g}: {report:?}")) }
}

fn check(p: &mut Pipeline, jit: Option<&Jit>, g: &FunName, point: Value) -> Result<(), String> {
    gradcheck::prepare(p, g).map_err(|error| error.to_string())?;
    judged(g, &gradcheck::check_at(p, jit, g, &[point], 1))
}

/// Second derivatives of f at a point, all four.
fn second(p: &mut Pipeline, f: &FunName, point: &Value) -> Result<(), String> {
    let mut random = Random::new(3);
    for derivation in [Derivative::Fwd, Derivative::Rev] {
        let at = below(p, f, &derivation, point, &mut random);
        check(p, None, &f.derived(derivation.clone()), at)?;
    }
    Ok(())
}

/// Exact and fast native code of some functions, without optimisation.
fn natively(p: &mut Pipeline, entries: &[FunName]) -> [Jit; 2] {
    entries.iter().for_each(|name| p.require(name).unwrap_or_else(|error| panic!("{name}: {error}")));
    [unoptimised(), native::Options { opt_level: 0, ..native::Options::default() }].map(|options| {
        let jit = Jit::new(p.program(), entries, &SourceInfo::new("test.ks", ""), &options);
        jit.unwrap_or_else(|error| panic!("{error}"))
    })
}

fn dot(a: &Value, b: &Value) -> f64 {
    a.floats().iter().zip(b.floats()).map(|(a, b)| a * b).sum()
}

fn is_close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= ROUNDING * scale.max(1e-6)
}

/// The point at which a demo is looked at. Some examples are special: no rotation, say.
fn point_of(p: &mut Pipeline, demo: &Demo) -> Value {
    let example = FunName::base("example");
    if p.program().defs.contains_key(&example) {
        let example = call(p, &example, &[]);
        return moved(&example, 1e-2, &Random::new(12).direction(&example));
    }
    let argument = p.program().defs[&FunName::base(demo.fun)].fun.argument();
    Random::new(11).point(&argument)
}

/// `v + h dv`.
fn moved(v: &Value, h: f64, dv: &Value) -> Value {
    match (v, dv) {
        (Value::Float(x), Value::Float(dx)) => Value::Float(x + h * dx),
        (Value::Tuple(parts), Value::Tuple(dparts)) => {
            Value::Tuple(parts.iter().zip(dparts).map(|(v, dv)| moved(v, h, dv)).collect())
        }
        (Value::Tensor(t), Value::Tensor(dt)) => {
            let elements = t.elements().iter().zip(dt.elements()).map(|(v, dv)| moved(v, h, dv));
            Value::Tensor(t.with(elements.collect()).into())
        }
        (discrete, _) => discrete.clone(),
    }
}

/// The derivative of <w, g> at a point in a direction, by differences of fourth order.
fn difference(p: &mut Pipeline, g: &FunName, w: &Value, point: &Value, direction: &Value) -> f64 {
    const H: f64 = 1e-3;
    let mut at = |h: f64| {
        let args = moved(point, h, direction);
        dot(w, &call(p, g, args.as_tuple().expect("a derivative takes two")))
    };
    (8.0 * (at(H) - at(-H)) - (at(2.0 * H) - at(-2.0 * H))) / (12.0 * H)
}

/// Second derivatives of f at a point, all four, each against differences of the first.
fn second_by_differences(p: &mut Pipeline, f: &FunName, point: &Value) -> Result<(), String> {
    let mut random = Random::new(3);
    for derivation in [Derivative::Fwd, Derivative::Rev] {
        let (g, at) = (f.derived(derivation.clone()), below(p, f, &derivation, point, &mut random));
        let value = call(p, &g, at.as_tuple().expect("a derivative takes two"));
        let (direction, w) = (random.direction(&at), random.direction(&value));
        let forward = call(p, &g.derived(Derivative::Fwd), &[at.clone(), direction.clone()]);
        let reverse = call(p, &g.derived(Derivative::Rev), &[at.clone(), w.clone()]);
        let (forward, scale) = (dot(&w, &forward), 1e-3 * size(&forward).max(size(&value)).max(1e-3));
        let (reverse, expected) = (dot(&reverse, &direction), difference(p, &g, &w, &at, &direction));
        let scale = scale.max(expected.abs());
        let agree = (forward - expected).abs() <= DIFFERENCES * scale && is_close(forward, reverse, scale);
        if !agree {
            return Err(format!("{g}: forward {forward}, reverse {reverse}, differences {expected}"));
        }
    }
    Ok(())
}

/// Checks that the Hessian of <dr, f(s)> is symmetric, in two random directions.
fn is_symmetric(p: &mut Pipeline, f: &FunName, point: &Value) -> Result<(), String> {
    let mut random = Random::new(5);
    let at = below(p, f, &Derivative::Rev, point, &mut random);
    let none = lm::map::zero(&at.as_tuple().expect("a derivative takes two")[1]);
    let [u, w] = [(); 2].map(|()| random.direction(point));
    let mut times = |v: &Value| {
        let along = Value::Tuple(vec![v.clone(), none.clone()]);
        call(p, &f.derived(Derivative::Rev).derived(Derivative::Fwd), &[at.clone(), along])
    };
    let (hu, hw) = (times(&u), times(&w));
    let scale = hu.floats().iter().chain(&hw.floats()).fold(0.0, |m: f64, x| m.max(x.abs()));
    let (one, other) = (dot(&hu, &w), dot(&hw, &u));
    if is_close(one, other, scale) { Ok(()) } else { Err(format!("{one} against {other}")) }
}

/// The sum of the absolute components.
fn size(v: &Value) -> f64 {
    v.floats().iter().map(|x| x.abs()).sum()
}

fn second_derivatives_of_a_demo(demo: &Demo) -> Outcome {
    let (mut p, f) = (pipeline(demo.text), FunName::base(demo.fun));
    let point = point_of(&mut p, demo);
    second_by_differences(&mut p, &f, &point)?;
    is_symmetric(&mut p, &f, &point)
}

/// Derivatives of `[rev f]` and of `[rev [wrt$.. f]]` with respect to parts are the parts of the whole ones.
fn parts_of_reverse_derivatives_vary() {
    // With a record, and without.
    let recursive = "(def g Float ((x : Float) (v : Vec Float) (i : Integer))
          (if (gte i (size v)) x (let (y (g x v (add i 1))) (mul y (sin (mul y (index i v)))))))";
    let plain = "(def g Float ((x : Float) (v : Vec Float) (i : Integer)) (mul x (sin (mul x (sum v)))))";
    let f = "(def f (Tuple Float Float) ((t : Tuple Float (Vec Float)) (n : Integer) (z : Float))
          (let ((x v) t) (tuple (mul z (g x v 0)) (mul z (mul z x)))))";
    with_large_stack(|| {
        for text in [recursive, plain] {
            let mut p = pipeline(&format!("{text}\n{f}"));
            let f = FunName::base("f");
            let v = Value::vector([0.6, 0.8].map(Value::Float).to_vec());
            let s = Value::Tuple(vec![Value::Tuple(vec![Value::Float(0.7), v]), Value::Integer(1), Value::Float(1.3)]);
            let mut random = Random::new(13);
            let at = below(&mut p, &f, &Derivative::Rev, &s, &mut random);
            for inner in [vec![], vec![vec![1]], vec![vec![1, 2], vec![3]], vec![vec![1, 1]]] {
                let name = if inner.is_empty() { f.clone() } else { f.restricted(&inner) };
                parts_vary(&mut p, &name.derived(Derivative::Rev), &at, &mut random);
            }
        }
    });
}

fn parts_vary(p: &mut Pipeline, g: &FunName, at: &Value, random: &mut Random) {
    let value = call(p, g, at.as_tuple().expect("a derivative takes two"));
    let dds = random.direction(&value);
    let all = call(p, &g.derived(Derivative::Rev), &[at.clone(), dds.clone()]);
    let part = |v: &Value, path: &[usize]| {
        path.iter().fold(v.clone(), |v, i| v.as_tuple().expect("a path leads through tuples")[i - 1].clone())
    };
    for paths in [&[&[1][..]][..], &[&[2]], &[&[1, 1, 2], &[2, 1]], &[&[1, 3]], &[&[2, 2], &[1, 1]]] {
        let paths: Vec<Vec<usize>> = paths.iter().map(|path| path.to_vec()).collect();
        let restricted = g.restricted(&paths);
        let wanted: Vec<f64> = paths.iter().flat_map(|path| part(&all, path).floats()).collect();
        let found = call(p, &restricted.derived(Derivative::Rev), &[at.clone(), dds.clone()]);
        let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_close(*a, *b, 1.0));
        assert!(close(&found.floats(), &wanted), "{restricted}: {found} for {wanted:?}");
        // Forward by reverse: <dds, fwd$(at, dp)> = <rev$(at, dds), dp>; value and derivative together.
        let directions: Vec<Value> = paths.iter().map(|path| random.direction(&part(at, path))).collect();
        let dp = if let [one] = directions.as_slice() { one.clone() } else { Value::Tuple(directions) };
        let forward = call(p, &restricted.derived(Derivative::Fwd), &[at.clone(), dp.clone()]);
        assert!(is_close(dot(&dds, &forward), dot(&found, &dp), 1.0), "{restricted}: {forward}");
        let both = [call(p, &restricted.derived(Derivative::Jvp), &[at.clone(), dp]), {
            call(p, &restricted.derived(Derivative::Vjp), &[at.clone(), dds.clone()])
        }];
        for (both, derivative) in both.iter().zip([&forward, &found]) {
            assert!(close(&both.floats(), &[value.floats(), derivative.floats()].concat()), "{restricted}: {both}");
        }
    }
}

/// By symmetry: <dr, fwd fwd$f(s, u, w)> = <fwd rev$f(s, dr, u), w> = <rev fwd$f(s, w, dr), u> = <rev rev$f(s, dr, w),
/// u>. Whether that is more than 0 = 0.
fn agreement_of_orders(p: &mut Pipeline, f: &FunName, s: &Value) -> Result<bool, String> {
    let args = arguments(p, f, s);
    let value = call(p, f, &args);
    let mut random = Random::new(9);
    let (u, w, dr) = (random.direction(s), random.direction(s), random.direction(&value));
    let pair = |a: &Value, b: &Value| Value::Tuple(vec![a.clone(), b.clone()]);
    let first = |v: Value| v.as_tuple().expect("a cotangent of a pair")[0].clone();
    let [fwd, rev] = [Derivative::Fwd, Derivative::Rev].map(|d| f.derived(d));
    let ff = call(p, &fwd.derived(Derivative::Fwd), &[pair(s, &w), pair(&u, &lm::map::zero(&u))]);
    let fr = call(p, &rev.derived(Derivative::Fwd), &[pair(s, &dr), pair(&u, &lm::map::zero(&dr))]);
    let rf = first(call(p, &fwd.derived(Derivative::Rev), &[pair(s, &w), dr.clone()]));
    let rr = first(call(p, &rev.derived(Derivative::Rev), &[pair(s, &dr), w.clone()]));
    let all = [dot(&dr, &ff), dot(&fr, &w), dot(&rf, &u), dot(&rr, &u)];
    let scale = [&ff, &fr, &rf, &rr].iter().flat_map(|v| v.floats()).fold(1.0, |m: f64, x| m.max(x.abs()));
    if !all.iter().all(|x| x.is_finite()) || all.iter().all(|x| is_close(*x, all[0], scale)) {
        return Ok(size(&rr) > 0.0);
    }
    Err(format!("{f} at {s}: {all:?}"))
}

/// The operations of a call, and the Floats that it writes.
fn work(p: &mut Pipeline, name: &FunName, args: &[Value]) -> f64 {
    p.require(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut interpreter = Interpreter::new(p.program());
    interpreter.call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"));
    (interpreter.counts.arithmetic() + interpreter.counts.moves) as f64
}

const RECURSIVE: [(&str, &str); 6] = [
    (
        "f",
        "(def power Float ((x : Float) (n : Integer)) (if (lte n 0) 1.0 (mul x (power x (sub n 1)))))
         (def f Float (x : Float) (power x 4))",
    ),
    (
        "f",
        "(def from Float ((v : Vec Float) (i : Integer))
           (if (gte i (size v)) 1.0 (let (y (from v (add i 1))) (add (mul y (sin (index i v))) (mul y (index 0 v))))))
         (def f Float (v : Vec Float) (from v 0))",
    ),
    (
        "f",
        "(def even Float ((x : Float) (n : Integer)) (if (lte n 0) x (sin (mul x (odd x (sub n 1))))))
         (def odd Float ((x : Float) (n : Integer)) (if (lte n 0) (mul x x) (exp (mul 0.3 (mul x (even x (sub n 1)))))))
         (def f Float (x : Float) (even x 5))",
    ),
    (
        "f",
        "(def halves Float ((v : Vec Float) (a : Integer) (b : Integer))
           (if (lte (sub b a) 1) (index a v)
             (let (m (div (add a b) 2)) (sin (mul (halves v a m) (halves v m b))))))
         (def f Float (v : Vec Float) (halves v 0 (size v)))",
    ),
    (
        "f",
        "(def steps (Vec Float) ((i : Integer) (s : Vec Float) (v : Vec Float))
           (if (eq i (size v)) s
             (steps (add i 1) (build (size s) (lam (k : Integer) (sin (mul (index k s) (index i v))))) v)))
         (def f (Vec Float) (v : Vec Float) (steps 0 v v))",
    ),
    // Value and reverse derivative of a recursive function, in one that is differentiated.
    (
        "f",
        "(def power Float ((x : Float) (n : Integer)) (if (lte n 0) 1.0 (mul x (power x (sub n 1)))))
         (def f Float (x : Float) (mul (power x 3) ([rev [wrt$1 power]] (tuple x 4) (sin x))))",
    ),
];
