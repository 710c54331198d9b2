//! Derivatives of derivatives: second derivatives of the demos and of random programs, third ones of recursive
//! functions, against differences of the derivatives below; their costs; Jacobians and Hessians as values.
//!
//!   [fwd [fwd f]], [rev [fwd f]] = differences of [fwd f]          [fwd [rev f]], [rev [rev f]] = those of [rev f]
//!   <hvp$f(s, u), w> = <hvp$f(s, w), u>          column j of [jac f] = fwd$f(s, e_j)          row i = rev$f(s, e_i)
//!
//! `tests/language/nested.ks` has what confuses perturbations, `dense.ks` the forms of Jacobians.

mod common;

use codegen::{Jit, SourceInfo};
use common::agreement::stages_come_back;
use common::{generate, generate_arrays};
use lm::interp::Interpreter;
use lm::term::FunName;
use lm::value::Value;
use lmc::demos::{DEMOS, Demo};
use lmc::gradcheck::{self, Random, Report};
use lmc::pipeline::Pipeline;
use lmc::source::Source;
use lmc::{front, with_large_stack};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::sync::atomic::{AtomicUsize, Ordering};

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
fn below(p: &mut Pipeline, f: &FunName, derivation: &str, s: &Value, random: &mut Random) -> Value {
    let args = arguments(p, f, s);
    let value = call(p, f, &args);
    let v = random.direction(if derivation == "fwd" { s } else { &value });
    Value::Tuple(vec![s.clone(), v])
}

/// That `[fwd g]` and `[rev g]` agree, with each other and with differences of g.
fn judged(g: &FunName, report: &Report) -> Result<(), String> {
    let agrees = report.points > 0
        && report.stopped.is_none()
        && report.differences.error <= DIFFERENCES
        && report.forward_reverse.error <= ROUNDING
        && report.native.error <= gradcheck::NATIVE;
    if agrees { Ok(()) } else { Err(format!("derivatives of {g}: {report:?}")) }
}

fn check(p: &mut Pipeline, jit: Option<&Jit>, g: &FunName, point: Value) -> Result<(), String> {
    gradcheck::prepare(p, g).map_err(|error| error.to_string())?;
    judged(g, &gradcheck::check_at(p, jit, g, &[point], 1))
}

/// Second derivatives of f at a point, all four.
fn second(p: &mut Pipeline, f: &FunName, point: &Value) -> Result<(), String> {
    let mut random = Random::new(3);
    for derivation in ["fwd", "rev"] {
        let at = below(p, f, derivation, point, &mut random);
        check(p, None, &f.derived(derivation), at)?;
    }
    Ok(())
}

/// Native code of some functions.
fn natively(p: &mut Pipeline, entries: &[FunName]) -> Jit {
    entries.iter().for_each(|name| p.require(name).unwrap_or_else(|error| panic!("{name}: {error}")));
    let jit = Jit::new(p.program(), entries, &SourceInfo::new("test.ks", ""), &codegen::Options::exact());
    jit.unwrap_or_else(|error| panic!("{error}"))
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
    for derivation in ["fwd", "rev"] {
        let (g, at) = (f.derived(derivation), below(p, f, derivation, point, &mut random));
        let value = call(p, &g, at.as_tuple().expect("a derivative takes two"));
        let (direction, w) = (random.direction(&at), random.direction(&value));
        let forward = call(p, &g.derived("fwd"), &[at.clone(), direction.clone()]);
        let reverse = call(p, &g.derived("rev"), &[at.clone(), w.clone()]);
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

/// That the Hessian of <dr, f(s)> is symmetric, in two random directions.
fn is_symmetric(p: &mut Pipeline, f: &FunName, point: &Value) -> Result<(), String> {
    let mut random = Random::new(5);
    let at = below(p, f, "rev", point, &mut random);
    let none = lm::map::zero(&at.as_tuple().expect("a derivative takes two")[1]);
    let [u, w] = [(); 2].map(|()| random.direction(point));
    let mut times = |v: &Value| {
        let along = Value::Tuple(vec![v.clone(), none.clone()]);
        call(p, &f.derived("rev").derived("fwd"), &[at.clone(), along])
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

#[test]
fn second_derivatives_of_the_demos_are_right_and_symmetric() {
    with_large_stack(|| {
        for demo in DEMOS {
            let (mut p, f) = (pipeline(demo.text), FunName::base(demo.fun));
            let point = point_of(&mut p, demo);
            let agree = second_by_differences(&mut p, &f, &point).and_then(|()| is_symmetric(&mut p, &f, &point));
            agree.unwrap_or_else(|why| panic!("{}: {why}", demo.name));
        }
    });
}

/// Derivatives of `[rev f]` and of `[rev [wrt$.. f]]` with respect to parts are the parts of the whole ones.
#[test]
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
            let at = below(&mut p, &f, "rev", &s, &mut random);
            for inner in [vec![], vec![vec![1]], vec![vec![1, 2], vec![3]], vec![vec![1, 1]]] {
                let name = if inner.is_empty() { f.clone() } else { f.restricted(&inner) };
                parts_vary(&mut p, &name.derived("rev"), &at, &mut random);
            }
        }
    });
}

fn parts_vary(p: &mut Pipeline, g: &FunName, at: &Value, random: &mut Random) {
    let value = call(p, g, at.as_tuple().expect("a derivative takes two"));
    let dds = random.direction(&value);
    let all = call(p, &g.derived("rev"), &[at.clone(), dds.clone()]);
    let part = |v: &Value, path: &[usize]| {
        path.iter().fold(v.clone(), |v, i| v.as_tuple().expect("a path leads through tuples")[i - 1].clone())
    };
    for paths in [&[&[1][..]][..], &[&[2]], &[&[1, 1, 2], &[2, 1]], &[&[1, 3]], &[&[2, 2], &[1, 1]]] {
        let paths: Vec<Vec<usize>> = paths.iter().map(|path| path.to_vec()).collect();
        let restricted = g.restricted(&paths);
        let wanted: Vec<f64> = paths.iter().flat_map(|path| part(&all, path).floats()).collect();
        let found = call(p, &restricted.derived("rev"), &[at.clone(), dds.clone()]);
        let close = |a: &[f64], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_close(*a, *b, 1.0));
        assert!(close(&found.floats(), &wanted), "{restricted}: {found} for {wanted:?}");
        // Forward by reverse: <dds, fwd$(at, dp)> = <rev$(at, dds), dp>; value and derivative together.
        let directions: Vec<Value> = paths.iter().map(|path| random.direction(&part(at, path))).collect();
        let dp = if let [one] = directions.as_slice() { one.clone() } else { Value::Tuple(directions) };
        let forward = call(p, &restricted.derived("fwd"), &[at.clone(), dp.clone()]);
        assert!(is_close(dot(&dds, &forward), dot(&found, &dp), 1.0), "{restricted}: {forward}");
        let both = [call(p, &restricted.derived("jvp"), &[at.clone(), dp]), {
            call(p, &restricted.derived("vjp"), &[at.clone(), dds.clone()])
        }];
        for (both, derivative) in both.iter().zip([&forward, &found]) {
            assert!(close(&both.floats(), &[value.floats(), derivative.floats()].concat()), "{restricted}: {both}");
        }
    }
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

#[test]
fn recursive_functions_have_derivatives_of_third_order() {
    with_large_stack(|| {
        for (name, text) in RECURSIVE {
            let (mut p, f) = (pipeline(text), FunName::base(name));
            let argument = p.program().defs[&f].fun.argument();
            let numbers =
                Value::Tensor(lm::tensor::Tensor::new(vec![3], [0.9, 0.7, 1.1].map(Value::Float).to_vec()).into());
            let point = if argument.mentions_array() { numbers } else { Value::Float(0.9) };
            second(&mut p, &f, &point).unwrap_or_else(|why| panic!("{why}\n{text}"));
            let mut random = Random::new(4);
            for (outer, inner) in [("fwd", "fwd"), ("fwd", "rev"), ("rev", "fwd"), ("rev", "rev")] {
                let first = f.derived(inner);
                let at = below(&mut p, &f, inner, &point, &mut random);
                let at = below(&mut p, &first, outer, &at, &mut random);
                check(&mut p, None, &first.derived(outer), at).unwrap_or_else(|why| panic!("{why}\n{text}"));
            }
        }
    });
}

/// Of second derivatives of all orders of fwd and rev, of recursive functions and of small demos.
#[test]
fn native_code_agrees_with_the_interpreter() {
    with_large_stack(|| {
        let small = DEMOS.iter().filter(|demo| ["ex5", "ex8", "lse", "black_scholes"].contains(&demo.name));
        let demos = small.map(|demo| (demo.fun, demo.text));
        for (name, text) in RECURSIVE.into_iter().chain(demos) {
            let (mut p, f) = (pipeline(text), FunName::base(name));
            let argument = p.program().defs[&f].fun.argument();
            let example = FunName::base("example");
            let point = match p.program().defs.contains_key(&example) {
                true => call(&mut p, &example, &[]),
                false => Random::new(2).point(&argument),
            };
            let entries = ["fwd", "rev"].map(|d| f.derived(d)).iter().flat_map(gradcheck::names).collect::<Vec<_>>();
            let jit = natively(&mut p, &entries);
            let mut random = Random::new(6);
            for derivation in ["fwd", "rev"] {
                // Some points are outside of the domain.
                let value = Interpreter::new(p.program()).call(&f, &arguments(&p, &f, &point));
                if value.is_ok() {
                    let at = below(&mut p, &f, derivation, &point, &mut random);
                    check(&mut p, Some(&jit), &f.derived(derivation), at).unwrap_or_else(|why| panic!("{why}\n{text}"));
                }
            }
        }
    });
}

/// The operations of a call, and the Floats that it writes.
fn work(p: &mut Pipeline, name: &FunName, args: &[Value]) -> f64 {
    p.require(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut interpreter = Interpreter::new(p.program());
    interpreter.call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"));
    (interpreter.counts.arithmetic() + interpreter.counts.moves) as f64
}

/// What second derivatives cost for each operation of the function does not grow with data or depth: the programs of
/// `cases/cost`, and chains of calls.
#[test]
fn second_derivatives_cost_a_constant_factor() {
    const SIZES: [i64; 2] = [100, 800];
    // Each level of the recursion makes cotangents of what all levels share: a known limit (docs/design.md).
    const GROWS: [&str; 1] = ["loop_by_recursion"];
    with_large_stack(|| {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/cost");
        let mut paths: Vec<_> = folder.read_dir().expect("it is there").map(|e| e.expect("an entry").path()).collect();
        paths.sort();
        for path in paths {
            let case = path.file_stem().expect("a file").to_string_lossy().into_owned();
            let mut p = pipeline(&std::fs::read_to_string(&path).expect("the file can be read"));
            let f = FunName::base("f");
            let ratios = SIZES.map(|n| {
                let s = call(&mut p, &FunName::base("point"), &[Value::Integer(n)]);
                let args = arguments(&p, &f, &s);
                let primal = work(&mut p, &f, &args);
                let at = Value::Tuple(vec![s.clone(), Value::Float(1.0)]);
                let ds = Random::new(1).direction(&s);
                let both = Value::Tuple(vec![ds.clone(), Value::Float(1.0)]);
                let forward = work(&mut p, &f.derived("rev").derived("fwd"), &[at.clone(), both]);
                let reverse = work(&mut p, &f.derived("rev").derived("rev"), &[at, ds]);
                [forward / primal, reverse / primal]
            });
            println!("{case:<24} {ratios:.2?}");
            for (small, large) in ratios[0].iter().zip(ratios[1]) {
                assert!(large <= 1.1 * small || GROWS.contains(&&*case), "{case}: {ratios:?}");
            }
        }
    });
}

#[test]
fn second_derivatives_of_a_chain_of_calls_cost_a_constant_per_call() {
    with_large_stack(|| {
        let chain = |n: usize| {
            let mut text = String::from("(def g0 Float (x : Float) (sin x))\n");
            for i in 1..n {
                text += &format!("(def g{i} Float (x : Float) (let (y (g{} x)) (mul y (sin (mul x y)))))\n", i - 1);
            }
            text + &format!("(def f Float (x : Float) (g{} x))", n - 1)
        };
        let cost = |n: usize, name: &FunName, args: &[Value]| work(&mut pipeline(&chain(n)), name, args);
        let (x, one) = (Value::Float(0.7), Value::Float(1.0));
        agreement_of_orders(&mut pipeline(&chain(4)), &FunName::base("f"), &x).expect("they agree");
        let at = Value::Tuple(vec![x, one.clone()]);
        let along = Value::Tuple(vec![one.clone(), one.clone()]);
        let ways = [("fwd", "fwd", &along), ("fwd", "rev", &along), ("rev", "fwd", &one), ("rev", "rev", &one)];
        for (outer, inner, vector) in ways {
            let name = FunName::base("f").derived(inner).derived(outer);
            let [small, large] = [10, 40].map(|n| cost(n, &name, &[at.clone(), vector.clone()]));
            assert!(large <= 4.4 * small, "{name}: {small}, then {large}");
        }
    });
}

/// The value of a recursive function comes with its tangent, not once more at each level.
#[test]
fn forward_derivatives_of_recursive_functions_cost_a_constant_per_level() {
    with_large_stack(|| {
        let (_, text) = RECURSIVE[1];
        let mut p = pipeline(text);
        let f = FunName::base("f");
        let [small, large] = [20, 80].map(|n| {
            let v = (0..n).map(|i| Value::Float(f64::from(i) / 100.0)).collect();
            let v = Value::Tensor(lm::tensor::Tensor::new(vec![n as usize], v).into());
            work(&mut p, &f.derived("jvp"), &[v.clone(), v])
        });
        assert!(large <= 4.2 * small, "{small}, then {large}");
    });
}

/// How many second derivatives that are not zero must have been compared.
const FEWEST: usize = 50;

#[test]
fn second_derivatives_of_random_programs() {
    let smooth = generate::programs(generate::Options { smooth: true, functions: 4, depth: 4 });
    let compared = AtomicUsize::new(0);
    let outcome = with_large_stack(|| {
        TestRunner::new(common::random::config(80)).run(&smooth.prop_map(Box::new), |program| {
            let (mut p, functions) = curved(&generate::text(&program));
            for (_, f) in functions {
                let argument = p.program().defs[&f].fun.argument();
                let point = Random::new(8).point(&argument);
                of_random(&mut p, &f, &point, &compared).map_err(TestCaseError::fail)?;
            }
            Ok(())
        })
    });
    judge_all(outcome, |program| generate::text(program), compared);
}

#[test]
fn second_derivatives_of_random_programs_on_arrays() {
    let options = generate_arrays::Options { functions: 4, depth: 5, nodes: 16 };
    let compared = AtomicUsize::new(0);
    let outcome = with_large_stack(|| {
        let config = Config { max_shrink_iters: 200, ..common::random::config(40) };
        TestRunner::new(config).run(&generate_arrays::programs(options), |generated| {
            let (mut p, curved) = curved(&generated.text);
            for function in &generated.functions {
                let Some((_, f)) = curved.iter().find(|(f, _)| *f.base == *function.name) else { continue };
                let mut random = lm::random::SplitMix::new(3);
                for sizes in [[2, 3], [0, 2]] {
                    let parts = function.params.iter().map(|ty| ty.value(sizes, &mut random));
                    let Some(mut parts) = parts.collect::<Option<Vec<Value>>>() else { continue };
                    let point = if parts.len() == 1 { parts.remove(0) } else { Value::Tuple(parts) };
                    of_random(&mut p, f, &point, &compared).map_err(TestCaseError::fail)?;
                }
            }
            Ok(())
        })
    });
    judge_all(outcome, |generated| generated.text.clone(), compared);
}

/// A program, and for each of its functions f that can vary one that bends its value, |f(s)|^2 sin(|f(s)|^2): random
/// functions tend to be linear.
fn curved(text: &str) -> (Pipeline, Vec<(FunName, FunName)>) {
    let mut all = text.to_string();
    let mut functions = Vec::new();
    for (i, def) in pipeline(text).program().defs.values().enumerate() {
        let fun = &def.fun;
        let varies = fun.argument().is_differentiable() && fun.result.is_differentiable();
        if varies && fun.name.overload.is_none() && !fun.name.base.contains('$') {
            let (params, args): (String, String) =
                fun.params.iter().enumerate().map(|(k, ty)| (format!("(z{k} : {ty}) "), format!(" z{k}"))).unzip();
            let call = format!("({}{args})", fun.name.base);
            all += &format!("\n(def curved{i} Float ({params}) (let ((z {call}) (z (ts_dot z z))) (mul z (sin z))))");
            functions.push((fun.name.clone(), FunName::base(&format!("curved{i}"))));
        }
    }
    (pipeline(&all), functions)
}

fn judge_all<T: std::fmt::Debug>(
    outcome: Result<(), TestError<T>>,
    text: impl Fn(&T) -> String,
    compared: AtomicUsize,
) {
    match outcome {
        Ok(()) => {
            let compared = compared.into_inner();
            println!("{compared} second derivatives that are not zero");
            assert!(compared >= FEWEST, "only {compared} second derivatives are not zero");
        }
        Err(TestError::Fail(why, program)) => panic!("{why}\nsmallest program:\n{}", text(&program)),
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

/// Where the function has a value.
fn of_random(p: &mut Pipeline, f: &FunName, point: &Value, compared: &AtomicUsize) -> Result<(), String> {
    let value = Interpreter::new(p.program()).call(f, &arguments(p, f, point));
    if value.is_ok_and(|value| value.floats().iter().all(|x| x.is_finite())) && agreement_of_orders(p, f, point)? {
        compared.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Two tangents of one call are not taken for each other where calls are merged.
#[test]
fn calls_along_several_directions_are_told_apart() {
    let text = "(def inner Float ((v : Vec (Tuple Float Float)) (x : Float) (i : Integer)) (index 0 (Vec_init x)))
        (def outer Float ((v : Vec Float) (x : Float))
          (inner (constVec (size v) (tuple x x))
                 (inner (constVec (size v) (tuple x x)) x
                        (let ((i sizes) (tuple (index 1 (Vec_init 2 1)) (constVec (size v) (size v))))
                          (if (and (gte i 0) (lt i (size sizes))) (index i sizes) (size sizes))))
                 (size v)))
        (def f Float ((v : Vec Float) (x : Float))
          (let ((y (outer v x)) (z (ts_dot y y))) (mul z (sin z))))";
    let vector = |floats: [f64; 2]| Value::vector(floats.map(Value::Float).to_vec());
    let point = Value::Tuple(vec![vector([0.7, 0.4]), Value::Float(1.3)]);
    let mut p = pipeline(text);
    let compared = agreement_of_orders(&mut p, &FunName::base("f"), &point);
    assert_eq!(compared, Ok(true));
}

/// By symmetry: <dr, fwd fwd$f(s, u, w)> = <fwd rev$f(s, dr, u), w> = <rev fwd$f(s, w, dr), u> = <rev rev$f(s, dr, w), u>.
/// Whether that is more than 0 = 0.
fn agreement_of_orders(p: &mut Pipeline, f: &FunName, s: &Value) -> Result<bool, String> {
    let args = arguments(p, f, s);
    let value = call(p, f, &args);
    let mut random = Random::new(9);
    let (u, w, dr) = (random.direction(s), random.direction(s), random.direction(&value));
    let pair = |a: &Value, b: &Value| Value::Tuple(vec![a.clone(), b.clone()]);
    let first = |v: Value| v.as_tuple().expect("a cotangent of a pair")[0].clone();
    let [fwd, rev] = ["fwd", "rev"].map(|d| f.derived(d));
    let ff = call(p, &fwd.derived("fwd"), &[pair(s, &w), pair(&u, &lm::map::zero(&u))]);
    let fr = call(p, &rev.derived("fwd"), &[pair(s, &dr), pair(&u, &lm::map::zero(&dr))]);
    let rf = first(call(p, &fwd.derived("rev"), &[pair(s, &w), dr.clone()]));
    let rr = first(call(p, &rev.derived("rev"), &[pair(s, &dr), w.clone()]));
    let all = [dot(&dr, &ff), dot(&fr, &w), dot(&rf, &u), dot(&rr, &u)];
    let scale = [&ff, &fr, &rf, &rr].iter().flat_map(|v| v.floats()).fold(1.0, |m: f64, x| m.max(x.abs()));
    if !all.iter().all(|x| x.is_finite()) || all.iter().all(|x| is_close(*x, all[0], scale)) {
        return Ok(size(&rr) > 0.0);
    }
    Err(format!("{f} at {s}: {all:?}"))
}

/// `[jac f]`, `[jacfwd f]` and `[jacrev f]`, each column against `[fwd f]` and each row against `[rev f]`.
#[test]
fn jacobians_have_the_derivatives_as_columns_and_rows() {
    const VECTORS: [(&str, &str); 4] = [
        ("tall", "(build (mul 2 (size v)) (lam (i : Integer) (sin (mul (index (div i 2) v) (to_float i)))))"),
        ("wide", "(build (div (size v) 2) (lam (i : Integer) (mul (index i v) (index (add i 1) v))))"),
        ("square", "(map (lam (x : Float) (mul x (sum v))) v)"),
        (
            "folded",
            "(build (size v) (lam (i : Integer) (fold (lam (p : Tuple Float Float) (sin (mul (get$1$2 p) (get$2$2 p)))) (index i v) v)))",
        ),
    ];
    with_large_stack(|| {
        for (name, body) in VECTORS {
            let mut p = pipeline(&format!("(def {name} (Vec Float) (v : Vec Float) {body})"));
            for n in [0, 1, 4, 5] {
                let floats = (0..n).map(|i| Value::Float(0.5 + f64::from(i) / 3.0)).collect();
                let v = Value::Tensor(lm::tensor::Tensor::new(vec![n as usize], floats).into());
                columns_and_rows(&mut p, &FunName::base(name), &v);
            }
        }
    });
}

fn columns_and_rows(p: &mut Pipeline, f: &FunName, v: &Value) {
    let value = call(p, f, std::slice::from_ref(v));
    let (n, m) = (v.floats().len(), value.floats().len());
    let unit = |n: usize, i: usize| {
        let floats = (0..n).map(|k| Value::Float(f64::from(u8::from(k == i)))).collect();
        Value::Tensor(lm::tensor::Tensor::new(vec![n], floats).into())
    };
    let columns: Vec<Vec<f64>> =
        (0..n).map(|j| call(p, &f.derived("fwd"), &[v.clone(), unit(n, j)]).floats()).collect();
    let rows: Vec<Vec<f64>> = (0..m).map(|i| call(p, &f.derived("rev"), &[v.clone(), unit(m, i)]).floats()).collect();
    for way in ["jac", "jacfwd", "jacrev"] {
        let jacobian = call(p, &f.derived(way), std::slice::from_ref(v));
        let Value::Tensor(tensor) = &jacobian else { panic!("{f}: {jacobian} is no tensor") };
        assert_eq!(tensor.size(), [m, n], "[{way} {f}]");
        let entries = jacobian.floats();
        for (i, row) in rows.iter().enumerate() {
            for (j, column) in columns.iter().enumerate() {
                let found = entries[i * n + j];
                assert!(is_close(found, row[j], 1.0) && is_close(found, column[i], 1.0), "[{way} {f}] at {i}, {j}");
            }
        }
    }
}

/// The side with fewer scalars is the one of which there is a derivative each.
#[test]
fn jacobians_take_columns_or_rows_whichever_are_fewer() {
    let text =
        "(def tall (Vec Float) (v : Vec Float) (build (mul 50 (size v)) (lam (i : Integer) (index (div i 50) v))))
        (def wide (Vec Float) (v : Vec Float) (build (div (size v) 50) (lam (i : Integer) (sum v))))
        (def curve (Vec Float) (t : Float) (build 100 (lam (i : Integer) (sin (mul t (to_float i))))))
        (def scalar Float (v : Vec Float) (ts_dot v v))";
    let mut p = pipeline(text);
    let ones = |n: usize| Value::Tensor(lm::tensor::Tensor::new(vec![n], vec![Value::Float(1.0); n]).into());
    let mut cost = |name: &str, way: &str, at: Value| work(&mut p, &FunName::base(name).derived(way), &[at]);
    let [chosen, forward, reverse] = ["jac", "jacfwd", "jacrev"].map(|way| cost("tall", way, ones(2)));
    assert!(chosen == forward && 5.0 * forward < reverse, "{chosen}, {forward}, {reverse}");
    let [chosen, forward, reverse] = ["jac", "jacfwd", "jacrev"].map(|way| cost("wide", way, ones(100)));
    assert!(chosen == reverse && 5.0 * reverse < forward, "{chosen}, {forward}, {reverse}");
    let [chosen, forward] = ["jac", "jacfwd"].map(|way| cost("curve", way, Value::Float(0.5)));
    assert!(chosen == forward && chosen <= 1000.0, "{chosen}, {forward}");
    let [chosen, reverse] = ["jac", "jacrev"].map(|way| cost("scalar", way, ones(100)));
    assert!(chosen == reverse && chosen <= 1000.0, "{chosen}, {reverse}");
}

#[test]
fn jacobians_are_compiled_and_come_back_as_text() {
    let text = "(def f (Tuple (Vec Float) Float) ((m : Tensor 2 Float) (n : Integer) (x : Float))
          (let ((r c) (size m))
            (tuple (build r (lam (i : Integer) (sumbuild c (lam (j : Integer) (mul x (sin (index (tuple i j) m)))))))
                   (mul x (to_float n)))))
        (def power Float ((x : Float) (n : Integer)) (if (lte n 0) 1.0 (mul x (power x (sub n 1)))))
        (def g Float (v : Vec Float) (mul (power (sum v) 3) (ts_dot v v)))";
    with_large_stack(|| {
        let mut p = pipeline(text);
        let (f, g) = (FunName::base("f"), FunName::base("g"));
        let ways = |f: &FunName| ["jac", "jacfwd", "jacrev"].map(|way| f.derived(way));
        let mut entries = ways(&f).to_vec();
        entries.extend(ways(&g));
        entries.extend(["grad", "hvp", "hess"].map(|way| g.derived(way)));
        entries.push(f.restricted(&[vec![1]]).derived("jac"));
        let jit = natively(&mut p, &entries);
        stages_come_back(&p, &[]).expect("no stages");
        let m =
            Value::Tensor(lm::tensor::Tensor::new(vec![2, 2], [0.1, 0.2, 0.3, 0.4].map(Value::Float).into()).into());
        let v = Value::Tensor(lm::tensor::Tensor::new(vec![3], [0.5, 0.25, 1.5].map(Value::Float).into()).into());
        for name in &entries {
            let args = match (&*name.base, &*name.derivations[0]) {
                ("f", _) => vec![m.clone(), Value::Integer(2), Value::Float(0.5)],
                (_, "hvp") => vec![v.clone(), v.clone()],
                _ => vec![v.clone()],
            };
            let interpreted = call(&mut p, name, &args);
            let native = jit.call(name, &args).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(gradcheck::distance(&interpreted, &native) <= gradcheck::NATIVE, "{name}: {interpreted}, {native}");
        }
        let hessian = call(&mut p, &g.derived("hess"), std::slice::from_ref(&v)).floats();
        for (i, j) in (0..3).flat_map(|i| (0..i).map(move |j| (i, j))) {
            assert!(is_close(hessian[3 * i + j], hessian[3 * j + i], 1.0), "{hessian:?}");
        }
        let printed = lm::notation::ks::program(p.program(), 80);
        front::load_stage(&Source::new("stage.ks", &printed)).unwrap_or_else(|errors| panic!("{errors:?}\n{printed}"));
    });
}
