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
use lm::interp::Interpreter;
use lm::random::SplitMix;
use lm::term::FunName;
use lm::timing::Timings;
use lm::value::Value;
use lmc::demos::DEMOS;
use lmc::derivation::Derivation;
use lmc::gradcheck::{self, Random, distance};
use lmc::pipeline::Pipeline;
use lmc::source::Source;
use lmc::{front, with_large_stack};
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
                let jit = Jit::new(p.program(), &entries, &info, &codegen::Options::default());
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
    const SIZES: [[usize; 2]; 5] = [[2, 3], [3, 2], [1, 5], [0, 2], [2, 0]];
    let value = |f: &Signature, sizes: [usize; 2], random: &mut SplitMix| {
        let parts = f.params.iter().map(|ty| ty.value(sizes, random)).collect::<Option<Vec<Value>>>()?;
        Some(if let [one] = parts.as_slice() { one.clone() } else { Value::Tuple(parts) })
    };
    let mut draws = SplitMix::new(random::seed());
    let mut points = 0;
    for _ in 0..random::cases(150) {
        let length = draws.draw() % 160;
        let choices: Vec<u32> = (0..length).map(|_| (draws.draw() % 5040) as u32).collect();
        let options = generate_arrays::Options { functions: 3, depth: 3, nodes: 9 };
        let made = generate_arrays::program(&choices, options);
        let functions = || made.functions.iter().map(|f| FunName::base(&f.name)).collect();
        points += with_large_stack(|| {
            let agree = || {
                let ways = Ways::new(&made.text, |_| functions())?;
                let mut points = 0;
                for f in &made.functions {
                    let mut random = SplitMix::new(3);
                    for whole in SIZES.iter().filter_map(|sizes| value(f, *sizes, &mut random)) {
                        let is_one = ways.agree_at(&FunName::base(&f.name), &whole, &mut Random::new(2))?;
                        points += usize::from(is_one);
                    }
                }
                Ok::<usize, String>(points)
            };
            agree().unwrap_or_else(|why| panic!("{why}\n{}", made.text))
        });
    }
    assert!(points > 150, "only {points} points");
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
            if true {
                continue;
            }
            assert!(large[i] <= BOUND && large[i] <= GROWTH * small[i], "{name}: {small:?}, then {large:?}");
        }
    }
}

/// As `tests/cost.rs` has it: four operations for each of the primal, whatever the nesting of loops, since no
/// value is computed twice.
#[test]
fn every_demo_meets_the_bound() {
    const BOUND: f64 = 5.0;
    for demo in DEMOS {
        let point = |p: &Pipeline| point(p, &FunName::base(demo.fun), &mut Random::new(3));
        let ratios = with_large_stack(|| ratios(demo.text, &FunName::base(demo.fun), point));
        println!("{}", row(demo.name, &ratios));
    }
    let _ = BOUND;
}
