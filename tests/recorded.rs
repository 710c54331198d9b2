//! Reverse derivatives that read what the value recorded, `tupled` and `split`:
//!
//!   [rev f] = [rev f] of `jacobian`        [sufrevpass f] dr (the record of [suffwdpass f] s) = [rev f] s dr
//!   [vjp f] = (f, [rev f])                 interpreter = native
//!
//! on the demos, on all programs of `cases/gradcheck` and `cases/cost`, on random programs, and on programs that
//! are made for records; and what such derivatives cost.

mod common;

use codegen::{Jit, SourceInfo};
use common::generate_arrays::{self, Signature};
use common::{generate, random};
use lm::alpha;
use lm::interp::Interpreter;
use lm::notation::ks;
use lm::random::SplitMix;
use lm::term::{Def, FunName};
use lm::timing::Timings;
use lm::value::Value;
use lmc::demos::DEMOS;
use lmc::derivation::Derivation;
use lmc::gradcheck::{self, Random, distance};
use lmc::pipeline::Pipeline;
use lmc::source::Source;
use lmc::{LARGE_STACK, front, with_large_stack};
use std::fs;
use std::path::{Path, PathBuf};

/// Largest difference between derivations, relative to the largest Float.
const CLOSE: f64 = 1e-10;

/// Largest difference between interpreter and native code.
const NATIVE: f64 = 1e-12;

const RECORDED: [Derivation; 2] = [Derivation::Tupled, Derivation::Split];

fn pipeline(text: &str, derivation: Derivation) -> Pipeline {
    let source = Source::new("test.ks", text);
    let checked = front::load_for(&source, derivation, &Timings::default());
    Pipeline::new(checked.unwrap_or_else(|errors| panic!("{errors:?}\n{text}")))
}

fn programs_of(folder: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "ks"));
    paths.sort();
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(&path).expect("it can be read"));
    paths.into_iter().map(read).collect()
}

/// A program by all three derivations.
struct Ways {
    jacobian: Pipeline,
    recorded: [Pipeline; 2],
}

impl Ways {
    /// All that is compared, of some functions.
    fn new(text: &str, functions: impl Fn(&Pipeline) -> Vec<FunName>) -> Result<Ways, String> {
        let mut jacobian = pipeline(text, Derivation::Jacobian);
        let functions = functions(&jacobian);
        let mut recorded = RECORDED.map(|derivation| pipeline(text, derivation));
        for f in &functions {
            jacobian.require(&f.derived("rev")).map_err(|error| format!("{f}: {error}"))?;
            for (p, derivation) in recorded.iter_mut().zip(RECORDED) {
                for name in ["rev", "vjp", "suffwdpass", "sufrevpass", "sufrev"].map(|d| f.derived(d)) {
                    p.require(&name).map_err(|error| format!("{name} by {}: {error}", derivation.name()))?;
                }
            }
        }
        Ok(Ways { jacobian, recorded })
    }

    /// Compares at a point. Gives whether it is one: the function, and its reverse derivative, have values.
    fn agree_at(&self, f: &FunName, whole: &Value, random: &mut Random) -> Result<bool, String> {
        let params = self.jacobian.program().defs[f].params.len();
        let args = match whole {
            Value::Tuple(parts) if params != 1 => parts.clone(),
            _ => vec![whole.clone()],
        };
        let call = |p: &Pipeline, name: &FunName, args: &[Value]| Interpreter::new(p.program()).call(name, args);
        let Ok(y) = call(&self.jacobian, f, &args) else { return Ok(false) };
        let at = [whole.clone(), random.direction(&y)];
        let wanted = call(&self.jacobian, &f.derived("rev"), &at).map_err(|error| format!("{f}: {error}"))?;
        if ![&y, &wanted].iter().all(|v| v.floats().iter().all(|x| x.is_finite())) {
            return Ok(false);
        }
        for (p, derivation) in self.recorded.iter().zip(RECORDED) {
            let call = |d: &str, args: &[Value]| {
                call(p, &f.derived(d), args).map_err(|error| format!("[{d} {f}] by {}: {error}", derivation.name()))
            };
            let same = |what: &str, found: &Value, wanted: &Value| match distance(found, wanted) <= CLOSE {
                true => Ok(()),
                false => Err(format!("{what} of {f} by {} at {whole}: {found} for {wanted}", derivation.name())),
            };
            same("rev", &call("rev", &at)?, &wanted)?;
            same("sufrev", &call("sufrev", &at)?, &wanted)?;
            same("vjp", &call("vjp", &at)?, &Value::Tuple(vec![y.clone(), wanted.clone()]))?;
            let (value, record) = pair(call("suffwdpass", &args)?);
            same("the value", &value, &y)?;
            same("sufrevpass", &call("sufrevpass", &[at[1].clone(), record])?, &wanted)?;
        }
        Ok(true)
    }
}

fn pair(value: Value) -> (Value, Value) {
    match value {
        Value::Tuple(parts) => <[Value; 2]>::try_from(parts).expect("a pair").into(),
        other => panic!("{other} is no pair"),
    }
}

/// The functions of a program that can be differentiated at random points.
fn worth_checking(p: &Pipeline) -> Vec<FunName> {
    let names = p.program().defs.keys().filter(|f| f.derivations.is_empty() && *f.base != *"main");
    let names = names.filter(|f| *f.base != *"point" && gradcheck::is_worth_checking(p.program(), f));
    names.cloned().collect()
}

/// An argument of f: that of the program, if it gives one, or a random one.
fn point(p: &Pipeline, f: &FunName, random: &mut Random) -> Value {
    let argument = p.program().defs[f].fun.argument();
    let gives = |name: &str, args: &[Value]| {
        let def = p.program().defs.get(&FunName::base(name)).filter(|def| def.fun.result == argument);
        def.filter(|def| def.params.len() == args.len())?;
        Interpreter::new(p.program()).call(&FunName::base(name), args).ok()
    };
    let given = gives("example", &[]).or_else(|| gives("point", &[Value::Integer(12)]));
    given.unwrap_or_else(|| random.point(&argument))
}

fn agree(name: &str, text: &str, points: usize) {
    const TRIES: usize = 50;
    // Before derivatives bring functions of the prelude.
    let functions = worth_checking(&pipeline(text, Derivation::Jacobian));
    let ways = Ways::new(text, |_| functions.clone()).unwrap_or_else(|why| panic!("{name}: {why}"));
    for f in functions {
        let mut random = Random::new(1);
        let mut found = 0;
        for _ in 0..points * TRIES {
            let whole = point(&ways.jacobian, &f, &mut random);
            let is_one = ways.agree_at(&f, &whole, &mut random).unwrap_or_else(|why| panic!("{name}: {why}"));
            found += usize::from(is_one);
            if found == points {
                break;
            }
        }
        assert_eq!(found, points, "{name}: {f} has no more points");
    }
}

#[test]
fn demos_agree() {
    with_large_stack(|| programs_of("demos").iter().for_each(|(name, text)| agree(name, text, 1)));
}

#[test]
fn cases_of_gradcheck_agree() {
    with_large_stack(|| programs_of("tests/cases/gradcheck").iter().for_each(|(name, text)| agree(name, text, 8)));
}

#[test]
fn cases_of_cost_agree() {
    with_large_stack(|| programs_of("tests/cases/cost").iter().for_each(|(name, text)| agree(name, text, 2)));
}

#[test]
fn native_demos_give_what_the_interpreter_gives() {
    with_large_stack(|| {
        for demo in DEMOS {
            for derivation in RECORDED {
                let mut p = pipeline(demo.text, derivation);
                let f = FunName::base(demo.fun);
                let entries = ["rev", "vjp"].map(|d| f.derived(d));
                entries.iter().for_each(|name| p.require(name).unwrap_or_else(|e| panic!("{name}: {e}")));
                let info = SourceInfo::new(demo.name, demo.text);
                let jit = Jit::new(p.program(), &entries, &info, &codegen::Options::exact());
                let jit = jit.unwrap_or_else(|error| panic!("{}: {error}", demo.name));
                let mut random = Random::new(2);
                let whole = point(&p, &f, &mut random);
                let args = match &whole {
                    Value::Tuple(parts) if p.program().defs[&f].params.len() != 1 => parts.clone(),
                    _ => vec![whole.clone()],
                };
                let y = Interpreter::new(p.program()).call(&f, &args).expect("a value");
                let at = [whole, random.direction(&y)];
                for name in &entries {
                    let interpreted = Interpreter::new(p.program()).call(name, &at).expect("a derivative");
                    let native = jit.call(name, &at).expect("a derivative");
                    let apart = distance(&interpreted, &native);
                    assert!(apart <= NATIVE, "{name} by {}: {apart}", derivation.name());
                }
            }
        }
    });
}

#[test]
fn random_programs_on_arrays_agree() {
    programs_on_arrays(random::cases(150), generate_arrays::Options { functions: 3, depth: 3, nodes: 9 });
}

#[test]
#[ignore = "takes minutes; in release mode: cargo test --release --test recorded -- --ignored"]
fn large_random_programs_on_arrays_agree() {
    programs_on_arrays(random::cases(3_000), generate_arrays::Options { functions: 6, depth: 5, nodes: 20 });
}

fn programs_on_arrays(cases: u32, options: generate_arrays::Options) {
    let mut draws = SplitMix::new(random::seed());
    let mut points = 0;
    for _ in 0..cases {
        let length = draws.draw() % 160;
        let choices: Vec<u32> = (0..length).map(|_| (draws.draw() % 5040) as u32).collect();
        let made = generate_arrays::program(&choices, options);
        points += with_large_stack(|| arrays_agree(&made).unwrap_or_else(|why| panic!("{why}\n{}", made.text)));
    }
    assert!(points > cases as usize, "only {points} points");
}

/// Compares all functions at several sizes. Gives the number of points.
fn arrays_agree(made: &generate_arrays::Generated) -> Result<usize, String> {
    const SIZES: [[usize; 2]; 5] = [[2, 3], [3, 2], [1, 5], [0, 2], [2, 0]];
    let names = |_: &Pipeline| made.functions.iter().map(|f| FunName::base(&f.name)).collect();
    let mut ways = Ways::new(&made.text, names)?;
    let mut points = 0;
    for f in &made.functions {
        let mut random = SplitMix::new(3);
        for whole in SIZES.iter().filter_map(|sizes| argument_of(f, *sizes, &mut random)) {
            let is_one = ways.agree_at(&FunName::base(&f.name), &whole, &mut Random::new(2))?;
            points += usize::from(is_one);
        }
    }
    let last = made.functions.last().expect("there is a function");
    ways.recorded.iter_mut().try_for_each(|p| varying_alone(p, last))?;
    ways.recorded.iter().try_for_each(|p| costs_a_multiple(p, last))?;
    Ok(points)
}

/// Operations of the reverse derivative for each of the function: arithmetic, moves, steps of loops, and what is
/// read and given, as `derivatives_of_arrays` counts them.
fn costs_a_multiple(p: &Pipeline, f: &Signature) -> Result<(), String> {
    const BOUND: f64 = 20.0;
    let name = FunName::base(&f.name);
    let count = |name: &FunName, args: &[Value]| {
        let mut interpreter = Interpreter::new(p.program());
        let value = interpreter.call(name, args).ok()?;
        let counts = interpreter.counts;
        Some((value, (counts.arithmetic() + counts.moves + counts.steps) as f64, counts.shared as f64))
    };
    let mut before = f64::INFINITY;
    for n in [6, 12, 24] {
        let Some(whole) = argument_of(f, [n, n], &mut SplitMix::new(6)) else { return Ok(()) };
        let args = match &whole {
            Value::Tuple(parts) if f.params.len() > 1 => parts.clone(),
            _ => vec![whole.clone()],
        };
        let Some((y, primal, shared)) = count(&name, &args) else { return Ok(()) };
        if primal + shared > 20_000.0 {
            return Ok(());
        }
        let (ends, dr) = ((whole.floats().len() + y.floats().len()) as f64, Random::new(7).direction(&y));
        let Some((_, reverse, _)) = count(&name.derived("rev"), &[whole, dr]) else { return Ok(()) };
        let ratio = reverse / (primal + shared + ends + 10.0);
        if ratio > BOUND || ratio > 8.0 && ratio > 1.5 * before {
            return Err(format!("{name}: {ratio} at {n}, {before} at half of that"));
        }
        before = ratio;
    }
    Ok(())
}

fn argument_of(f: &Signature, sizes: [usize; 2], random: &mut SplitMix) -> Option<Value> {
    let parts = f.params.iter().map(|ty| ty.value(sizes, random)).collect::<Option<Vec<Value>>>()?;
    Some(if let [one] = parts.as_slice() { one.clone() } else { Value::Tuple(parts) })
}

/// `[rev [wrt$k f]]` against `[rev f]`.
fn varying_alone(p: &mut Pipeline, f: &Signature) -> Result<(), String> {
    let name = FunName::base(&f.name);
    let Some(whole) = argument_of(f, [2, 3], &mut SplitMix::new(3)) else { return Ok(()) };
    let args = match &whole {
        Value::Tuple(parts) if f.params.len() > 1 => parts.clone(),
        _ => vec![whole.clone()],
    };
    let Ok(y) = Interpreter::new(p.program()).call(&name, &args) else { return Ok(()) };
    let at = [whole, Random::new(4).direction(&y)];
    for k in (0..f.params.len()).filter(|k| f.params[*k].varies()) {
        let restricted = name.restricted(&[vec![k + 1]]).derived("rev");
        p.require(&restricted).map_err(|error| error.to_string())?;
        let call = |name: &FunName| Interpreter::new(p.program()).call(name, &at).map_err(|e| format!("{name}: {e}"));
        let (found, all) = (call(&restricted)?, call(&name.derived("rev"))?);
        let wanted = match all {
            Value::Tuple(parts) if f.params.len() > 1 => parts[k].clone(),
            one => one,
        };
        if wanted.floats().iter().all(|x| x.is_finite()) && distance(&found, &wanted) > CLOSE {
            return Err(format!("{restricted}: {found} for {wanted}"));
        }
    }
    Ok(())
}

#[test]
fn random_programs_on_numbers_agree() {
    let mut draws = SplitMix::new(random::seed());
    for _ in 0..random::cases(150) {
        let choices: Vec<u32> = (0..draws.draw() % 300).map(|_| draws.draw() as u32).collect();
        let made = generate::program(&choices, generate::Options { smooth: true, functions: 3, depth: 4 });
        let text = generate::text(&made);
        with_large_stack(|| {
            let ways = Ways::new(&text, |p| p.program().defs.keys().cloned().collect::<Vec<_>>());
            let ways = ways.unwrap_or_else(|why| panic!("{why}\n{text}"));
            for def in made.defs.values() {
                let mut random = Random::new(1);
                let whole = random.point(&def.fun.argument());
                let agrees = ways.agree_at(&def.fun.name, &whole, &mut random);
                agrees.unwrap_or_else(|why| panic!("{why}\n{text}"));
            }
        });
    }
}

/// Arithmetic, and Floats written into new tensors, of f and of its reverse derivative.
fn work(p: &Pipeline, f: &FunName, whole: &Value) -> [u64; 2] {
    let call = |name: &FunName, args: &[Value]| {
        let mut interpreter = Interpreter::new(p.program());
        let value = interpreter.call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"));
        (value, interpreter.counts.arithmetic() + interpreter.counts.moves)
    };
    let args = match whole {
        Value::Tuple(parts) if p.program().defs[f].params.len() != 1 => parts.clone(),
        _ => vec![whole.clone()],
    };
    let (y, primal) = call(f, &args);
    let dr = Random::new(1).direction(&y);
    [primal, call(&f.derived("rev"), &[whole.clone(), dr]).1]
}

/// Operations of the reverse derivative for each of the function, by `jacobian`, `tupled` and `split`.
fn ratios(text: &str, f: &FunName, point: impl Fn(&Pipeline) -> Value) -> [f64; 3] {
    [Derivation::Jacobian, Derivation::Tupled, Derivation::Split].map(|derivation| {
        let mut p = pipeline(text, derivation);
        p.require(&f.derived("rev")).unwrap_or_else(|error| panic!("{f}: {error}"));
        let [primal, reverse] = work(&p, f, &point(&p));
        reverse as f64 / primal.max(1) as f64
    })
}

fn row(name: &str, ratios: &[f64]) -> String {
    format!("{name:<24}{}", ratios.iter().map(|r| format!("{r:8.2}")).collect::<String>())
}

/// What the ratio may differ by between the sizes.
const GROWTH: f64 = 1.05;

#[test]
fn cost_does_not_grow_with_the_data() {
    const SIZES: [i64; 2] = [400, 6_400];
    const BOUND: f64 = 7.1;
    for (name, text) in programs_of("tests/cases/cost") {
        let name = Path::new(&name).file_stem().expect("a file").to_string_lossy().into_owned();
        let at = |n| {
            let point = |p: &Pipeline| {
                let point = Interpreter::new(p.program()).call(&FunName::base("point"), &[Value::Integer(n)]);
                point.expect("a point")
            };
            with_large_stack(|| ratios(&text, &FunName::base("f"), point))
        };
        let [small, large] = SIZES.map(at);
        println!("{}", row(&name, &[small, large].concat()));
        for i in [1, 2] {
            assert!(large[i] <= BOUND && large[i] <= GROWTH * small[i], "{name}: {small:?}, then {large:?}");
        }
    }
}

/// No value is computed twice, so the bound does not grow with the nesting of loops: four operations for each of
/// the primal, one more for the record, and one more where `split` gives the value, too.
#[test]
fn demos_meet_a_bound_that_does_not_grow_with_the_nesting_of_loops() {
    for demo in DEMOS {
        let f = FunName::base(demo.fun);
        let ratios = with_large_stack(|| ratios(demo.text, &f, |p| point(p, &f, &mut Random::new(3))));
        println!("{}", row(demo.name, &ratios));
        // lgamma is one operation here, its derivative digamma a function of the prelude.
        let digamma = if demo.name == "ex9" { 5.0 } else { 0.0 };
        assert!(ratios[1] <= 5.0 + digamma && ratios[2] <= 6.0 + digamma, "{}: {ratios:?}", demo.name);
    }
}

/// The arithmetic of the reverse derivative of a function of a Float, over that of the function.
fn arithmetic(text: &str, derivation: Derivation) -> f64 {
    with_large_stack(|| {
        let mut p = pipeline(text, derivation);
        let f = FunName::base("f");
        p.require(&f.derived("rev")).unwrap_or_else(|error| panic!("{error}"));
        let count = |name: &FunName, args: &[Value]| {
            let mut interpreter = Interpreter::new(p.program());
            interpreter.call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"));
            interpreter.counts.arithmetic() as f64
        };
        let x = Value::Float(0.75);
        let primal = count(&f, std::slice::from_ref(&x));
        count(&f.derived("rev"), &[x, Value::Float(1.0)]) / primal
    })
}

/// Chains of calls, calls under conditionals, nested conditionals and nested loops, n of them.
#[test]
fn cost_does_not_grow_with_the_program() {
    let calls = |n: usize, body: &dyn Fn(String) -> String| {
        let below = |i: usize| if i == 0 { "(sin x)".to_string() } else { format!("(g{} (mul x 0.9))", i - 1) };
        let defs = (0..n).map(|i| format!("(def g{i} Float (x : Float) {})\n", body(below(i))));
        defs.collect::<String>() + &format!("(def f Float (x : Float) (g{} x))", n - 1)
    };
    let nested = |n: usize, wrap: &dyn Fn(usize, String) -> String| {
        format!("(def f Float (x : Float) {})", (0..n).fold("(sin x)".to_string(), |inner, i| wrap(i, inner)))
    };
    let straight = |below| format!("(let (y {below}) (mul y (sin y)))");
    let branching =
        |below: String| format!("(let (y (if (gt x 0.0) (let (u {below}) (mul u u)) {below})) (sin (mul y x)))");
    let conditional =
        |i, inner| format!("(let (y{i} (if (gt x -{i}.5) {inner} x)) (mul (sin y{i}) (exp (mul x y{i}))))");
    let in_loop = |i, inner| {
        format!("(sumbuild 2 (lam (i{i} : Integer) (let (y{i} (mul x {inner})) (mul y{i} (exp (sin y{i}))))))")
    };
    let in_fold = |i, inner| {
        let state = format!("(get$1$2 t{i})");
        format!(
            "(fold (lam (t{i} : Tuple Float Float) (let (y{i} (mul {state} {inner})) (mul {state} (sin y{i})))) x (Vec_init x 0.5))"
        )
    };
    type Text<'a> = &'a dyn Fn(usize) -> String;
    let texts: [(Text, [usize; 2]); 5] = [
        (&|n| calls(n, &straight), [10, 40]),
        (&|n| calls(n, &branching), [10, 40]),
        (&|n| nested(n, &conditional), [5, 20]),
        (&|n| nested(n, &in_loop), [2, 6]),
        (&|n| nested(n, &in_fold), [2, 5]),
    ];
    for (text, sizes) in texts {
        for derivation in RECORDED {
            let [small, large] = sizes.map(|n| arithmetic(&text(n), derivation));
            println!("{} {small:.2} {large:.2}", derivation.name());
            assert!(large <= 4.0 && large <= 1.2 * small, "{small}, then {large}:\n{}", text(sizes[0]));
        }
    }
}

/// Programs made for records, with `f` from vectors to Floats.
const PROGRAMS: &[&str] = &[
    // Branches whose records differ: a vector, a pair of numbers, nothing.
    "(def f Float (v : Vec Float)
       (sumbuild (size v) (lam (i : Integer)
         (let (x (index i v))
           (if (gt x 0.8)
               (let (w (build (size v) (lam (k : Integer) (exp (mul x (index k v)))))) (ts_dot w w))
               (if (gt x 0.5) (mul (sin (exp x)) (cos (mul x x))) (mul 2.0 x)))))))",
    // Loops in loops, with calls in them that have conditionals in them.
    "(def g (Tuple Float (Vec Float)) ((x : Float) (v : Vec Float))
       (if (gt x 0.6) (tuple (exp x) (ts_scale x v)) (tuple (sin x) (ts_add v v))))
     (def f Float (v : Vec Float)
       (sumbuild (size v) (lam (i : Integer)
         (sum (build i (lam (j : Integer)
           (let (((y w) (g (index j v) v))
                 ((z u) (g y w)))
             (mul (mul y z) (fold (lam (t : Tuple Float Float) (sin (mul (get$1$2 t) (get$2$2 t)))) z u)))))))))",
    // A matrix whose rows are recorded.
    "(def f Float (v : Vec Float)
       (let (m (build (size v) (lam (i : Integer) (map (lam (x : Float) (exp (mul x (index i v)))) v))))
         (sumbuild (size v) (lam (i : Integer)
           (let (r (map (lam (x : Float) (sin x)) (index i m))) (mul (ts_dot r r) (sum (index i m))))))))",
    // A state that changes its shape, in a loop that records a vector in each step.
    "(def f Float (v : Vec Float)
       (sum (fold (lam (t : Tuple (Vec Float) Float)
                    (let (w (map (lam (x : Float) (sin (mul x (get$2$2 t)))) (get$1$2 t)))
                      (build (add 1 (size w)) (lam (i : Integer) (if (lt i (size w)) (mul (index i w) (index i w)) 0.3)))))
                  (Vec_init 0.7) v)))",
    // A scan that records, of which all states are used.
    "(def f Float (v : Vec Float)
       (let (s (scanl (lam (t : Tuple Float Float) (let (y (exp (sin (get$1$2 t)))) (mul y (sin (mul y (get$2$2 t)))))) 0.2 v))
         (ts_dot s s)))",
    // A recursive function, called in loops, in states, in conditionals.
    "(def power Float ((n : Integer) (x : Float) (v : Vec Float))
       (if (eq n 0) (sum v)
           (if (gt x 0.5) (mul x (power (sub n 1) (sin x) (ts_scale x v)))
               (let (w (ts_add v v)) (add (index 0 w) (power (sub n 1) (cos x) w))))))
     (def f Float (v : Vec Float)
       (let (w (build (size v) (lam (i : Integer) (power (mod i) (index i v) (Vec_init (index i v) 1.0)))))
         (fold (lam (t : Tuple Float Float)
                 (if (gt (get$2$2 t) 0.4) (sin (power 3 (get$1$2 t) w)) (mul 0.5 (get$1$2 t)))) 0.1 v)))
     (def mod Integer (i : Integer) (sub i (mul 4 (div i 4))))",
    // Functions that call each other, one of them in a loop.
    "(def even Float ((n : Integer) (x : Float)) (if (eq n 0) x (mul x (odd (sub n 1) (sin x)))))
     (def odd Float ((n : Integer) (x : Float))
       (if (eq n 0) (exp x) (sumbuild 2 (lam (i : Integer) (mul (to_float (add i 1)) (even (sub n 1) (mul x 0.9)))))))
     (def f Float (v : Vec Float) (sum (map (lam (x : Float) (even 5 x)) v)))",
];

const POINT: &str = "(def point (Vec Float) (n : Integer) (build n (lam (i : Integer) (add 0.15 ($ranhashdoub i)))))\n";

/// Each at sizes from 0, where no step of a loop records anything; and what is printed reads back as the same.
#[test]
fn programs_with_records() {
    with_large_stack(|| {
        for program in PROGRAMS {
            let text = format!("{POINT}{program}");
            let f = FunName::base("f");
            let ways = Ways::new(&text, |_| vec![f.clone()]).unwrap_or_else(|why| panic!("{why}\n{program}"));
            for p in &ways.recorded {
                reads_back(p).unwrap_or_else(|why| panic!("{why}\n{program}"));
                let name = f.derived("rev");
                let (info, options) = (SourceInfo::new("test.ks", &text), codegen::Options::exact());
                let jit = Jit::new(p.program(), std::slice::from_ref(&name), &info, &options);
                let jit = jit.unwrap_or_else(|error| panic!("{error}\n{program}"));
                for n in [0, 1, 2, 3, 9] {
                    let at = [argument(p, n), Value::Float(0.7)];
                    let interpreted = Interpreter::new(p.program()).call(&name, &at).expect("a derivative");
                    let apart = distance(&interpreted, &jit.call(&name, &at).expect("a derivative"));
                    assert!(apart <= NATIVE, "{apart} at {n}: {program}");
                }
            }
            for n in [0, 1, 2, 3, 9] {
                let whole = argument(&ways.jacobian, n);
                let is_point = ways.agree_at(&f, &whole, &mut Random::new(2));
                assert!(is_point.unwrap_or_else(|why| panic!("{why}\n{program}")), "at {n}: {program}");
            }
        }
    });
}

fn argument(p: &Pipeline, n: i64) -> Value {
    let point = Interpreter::new(p.program()).call(&FunName::base("point"), &[Value::Integer(n)]);
    point.expect("an argument")
}

/// The program with all its derivatives, printed and read.
fn reads_back(p: &Pipeline) -> Result<(), String> {
    let text = ks::program(p.program(), 80);
    let read = front::load_stage(&Source::new("stage.ks", &text)).map_err(|errors| format!("{errors:?}\n{text}"))?;
    let differ = |(name, def): &(&FunName, &Def)| !read.program.defs.get(*name).is_some_and(|d| alpha::defs(def, d));
    match p.program().defs.iter().find(differ) {
        Some((_, def)) => Err(format!("reads back as something else: {}", ks::def(def, 80))),
        None => Ok(()),
    }
}

/// Derivatives of `[rev f]`: of what reads records.
#[test]
fn second_derivatives_agree_with_finite_differences() {
    let mut draws = SplitMix::new(random::seed());
    let mut points = 0;
    for _ in 0..random::cases(60) {
        let choices: Vec<u32> = (0..draws.draw() % 120).map(|_| (draws.draw() % 5040) as u32).collect();
        let options = generate_arrays::Options { functions: 2, depth: 3, nodes: 6 };
        let made = generate_arrays::program(&choices, options);
        if made.is_recursive || made.stops_gradients {
            continue;
        }
        points += with_large_stack(|| second_derivatives(&made).unwrap_or_else(|why| panic!("{why}\n{}", made.text)));
    }
    assert!(points > 20, "only {points} points");
}

fn second_derivatives(made: &generate_arrays::Generated) -> Result<usize, String> {
    let f = made.functions.last().expect("there is a function");
    let name = FunName::base(&f.name);
    let mut points = 0;
    for derivation in RECORDED {
        let mut p = pipeline(&made.text, derivation);
        let first = name.derived("rev");
        gradcheck::prepare(&mut p, &first).map_err(|error| error.to_string())?;
        let mut random = SplitMix::new(3);
        let at = [[2, 3], [3, 1], [0, 2]].iter().filter_map(|sizes| {
            let whole = argument_of(f, *sizes, &mut random)?;
            let args = match &whole {
                Value::Tuple(parts) if f.params.len() > 1 => parts.clone(),
                _ => vec![whole.clone()],
            };
            let y = Interpreter::new(p.program()).call(&name, &args).ok()?;
            Some(Value::Tuple(vec![whole, Random::new(2).direction(&y)]))
        });
        let at: Vec<Value> = at.collect();
        let report = gradcheck::check_at(&p, None, &first, &at, 1);
        if !report.agrees() {
            return Err(format!("{first} by {}: {report:?}", derivation.name()));
        }
        points += report.points;
    }
    Ok(points)
}

/// Where each function has its own derivation.
#[test]
fn derivations_can_be_mixed() {
    let text = |g: &str, f: &str| {
        format!(
            "(def g (Tuple Float (Vec Float)) ((x : Float) (v : Vec Float))
               (tuple (exp x) (map (lam (y : Float) (sin (mul x (exp y)))) v)))
             (def f Float ((x : Float) (v : Vec Float))
               (sumbuild (size v) (lam (i : Integer)
                 (let ((y w) (g (mul x (index i v)) v)) (if (gt y 1.0) (mul y (sum w)) (ts_dot w w))))))
             (gdef rev g {g}) (gdef rev f {f})"
        )
    };
    let at = || {
        let v = Value::vector([0.3, -0.2, 0.7].map(Value::Float).to_vec());
        [Value::Tuple(vec![Value::Float(0.6), v]), Value::Float(1.5)]
    };
    let reverse = |g: &str, f: &str| {
        with_large_stack(|| {
            let mut p = pipeline(&text(g, f), Derivation::Jacobian);
            let name = FunName::base("f").derived("rev");
            p.require(&name).unwrap_or_else(|error| panic!("{g}, {f}: {error}"));
            Interpreter::new(p.program()).call(&name, &at()).expect("a derivative")
        })
    };
    let wanted = reverse("jacobian", "jacobian");
    for g in ["jacobian", "tupled", "split"] {
        for f in ["jacobian", "tupled", "split"] {
            let apart = distance(&reverse(g, f), &wanted);
            assert!(apart <= CLOSE, "g by {g}, f by {f}: {apart}");
        }
    }
}

/// Halves that are written by hand stand for the record; other derivatives by hand are called as they are.
#[test]
fn derivatives_by_hand_are_used() {
    let f = "(def f Float (v : Vec Float)
      (sumbuild (size v) (lam (i : Integer) (if (gt (index i v) 0.0) (g (sin (index i v)) 2.0) 1.0))))
      (def g Float ((x : Float) (k : Float)) (mul k (mul x x)))";
    // Each is wrong on purpose, by a factor of its own.
    let by_hand = [
        (
            "(def [suffwdpass g] (Tuple Float Float) ((x : Float) (k : Float)) (tuple (mul k (mul x x)) x))
          (def [sufrevpass g] (Tuple Float Float) ((dr : Float) (r : Float)) (tuple (mul 6.0 (mul r dr)) 0.0))",
            6.0,
        ),
        (
            "(def [rev g] (Tuple Float Float) ((s : Tuple Float Float) (dr : Float))
            (tuple (mul 5.0 (mul (get$1$2 s) dr)) 0.0))",
            5.0,
        ),
        (
            "(def [D g] (LM (Tuple Float Float) Float) ((x : Float) (k : Float))
            (lmHCat (lmScale x (mul 7.0 x)) (lmScale x 0.0)))",
            7.0,
        ),
    ];
    for (written, factor) in by_hand {
        for derivation in RECORDED {
            let mut p = pipeline(&format!("{f}\n{written}"), derivation);
            let name = FunName::base("f").derived("rev");
            with_large_stack(|| p.require(&name).unwrap_or_else(|error| panic!("{error}")));
            let v = Value::vector([0.3, -0.2, 0.7].map(Value::Float).to_vec());
            let found = Interpreter::new(p.program()).call(&name, &[v, Value::Float(1.0)]).expect("a derivative");
            let at = |x: f64| if x > 0.0 { factor * x.sin() * x.cos() } else { 0.0 };
            let wanted = Value::vector([0.3, -0.2, 0.7].map(|x| Value::Float(at(x))).to_vec());
            assert!(distance(&found, &wanted) <= CLOSE, "by {}: {found} for {wanted}\n{written}", derivation.name());
        }
    }
}

/// A program of `cases/cost` in native code.
fn native(text: &str, derivation: Derivation) -> (Pipeline, Jit) {
    let mut p = pipeline(text, derivation);
    let name = FunName::base("f").derived("rev");
    p.require(&name).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (info, options) = (SourceInfo::new("test.ks", text), codegen::Options::exact());
    let mut jit = Jit::new(p.program(), &[name], &info, &options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    jit.set_stack(LARGE_STACK as u64 / 2);
    (p, jit)
}

/// The records of loops, and those of recursive functions, take memory in proportion to the steps.
#[test]
fn native_memory_is_linear_in_the_data() {
    let name = FunName::base("f").derived("rev");
    with_large_stack(|| {
        for (file, text) in programs_of("tests/cases/cost") {
            for derivation in RECORDED {
                let (p, jit) = native(&text, derivation);
                let at = |n: i64| [argument(&p, n), Value::Float(1.0)];
                let interpreted = Interpreter::new(p.program()).call(&name, &at(60)).expect("a derivative");
                let apart = distance(&interpreted, &jit.call(&name, &at(60)).expect("a derivative"));
                assert!(apart <= NATIVE, "{file} by {}: {apart}", derivation.name());
                let [small, large] = [2_500, 40_000].map(|n| {
                    jit.call(&name, &at(n)).unwrap_or_else(|error| panic!("{file} at {n}: {error}"));
                    jit.peak() as f64
                });
                println!("{file} {}: {small} {large}", derivation.name());
                assert!(large <= 17.0 * small, "{file} by {}: {small} bytes, then {large}", derivation.name());
            }
        }
    });
}

/// `[rev [fwd f]]`: the loops of forward derivatives of folds record, too, and compute nothing twice.
#[test]
fn derivatives_of_forward_derivatives_agree() {
    let files = ["more_folds", "nested_folds", "scanl_of_vectors", "state_that_changes_its_shape", "calls_in_loops"];
    let mut points = 0;
    for (name, text) in programs_of("tests/cases/gradcheck") {
        if !files.iter().any(|file| name.ends_with(&format!("/{file}.ks"))) {
            continue;
        }
        points += with_large_stack(|| {
            let functions = worth_checking(&pipeline(&text, Derivation::Jacobian));
            let forward: Vec<FunName> = functions.iter().map(|f| f.derived("fwd")).collect();
            let ways = Ways::new(&text, |_| forward.clone()).unwrap_or_else(|why| panic!("{name}: {why}"));
            let mut random = Random::new(1);
            let mut points = 0;
            for f in forward.iter().flat_map(|f| std::iter::repeat_n(f, 6)) {
                let whole = random.point(&ways.jacobian.program().defs[f].fun.argument());
                let is_one = ways.agree_at(f, &whole, &mut random).unwrap_or_else(|why| panic!("{name}: {why}"));
                points += usize::from(is_one);
            }
            points
        });
    }
    assert!(points > 100, "only {points} points");
}

/// Loops of derivatives nested n deep: no value is computed twice at any level.
#[test]
fn derivatives_of_forward_derivatives_do_not_grow_with_nesting() {
    let text = |n: usize| {
        let nest = (0..n).fold("(sin x)".to_string(), |inner, i| {
            let state = format!("(get$1$2 t{i})");
            format!(
                "(fold (lam (t{i} : Tuple Float Float) (let (y{i} (mul {state} {inner})) (mul {state} (sin y{i})))) x (Vec_init x 0.5))"
            )
        });
        format!("(def f Float (x : Float) {nest})")
    };
    let name = FunName::base("f").derived("fwd");
    let at = Value::Tuple(vec![Value::Float(0.75), Value::Float(1.0)]);
    for derivation in RECORDED {
        let ratio = |n: usize| {
            with_large_stack(|| {
                let mut p = pipeline(&text(n), derivation);
                p.require(&name.derived("rev")).unwrap_or_else(|error| panic!("{error}"));
                let [primal, reverse] = work(&p, &name, &at);
                reverse as f64 / primal as f64
            })
        };
        let [small, large] = [1, 4].map(ratio);
        println!("{} {small:.2} {large:.2}", derivation.name());
        assert!(large <= 5.0 && large <= 1.5 * small, "{small}, then {large}");
    }
}
