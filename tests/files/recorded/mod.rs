//! Reverse derivatives that read what the value recorded, `tupled` and `split`:
//!
//! ```text
//! [rev f] = [rev f] of `jacobian`        [sufrevpass f] dr (the record of [suffwdpass f] s) = [rev f] s dr
//! [vjp f] = (f, [rev f])                 interpreter = native
//! ```
//!
//! on the demos, on all programs of `cases/gradcheck` and `cases/cost`, on random programs, and on programs that
//! are made for records; and what such derivatives cost.

mod cost;
mod drawn;
mod programs;

use crate::each::{self, Outcome, alone};
use common::files;
use common::generate_arrays::{self, Signature};
use common::native::unoptimised;
use common::{generate, random, rounding};
use libtest_mimic::Trial;
use lm::alpha;
use lm::interp::Interpreter;
use lm::notation::ks;
use lm::random::SplitMix;
use lm::term::{Def, Derivative, FunName};
use lm::timing::Timings;
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{self, Random, distance, native_limit};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::{LARGE_STACK, with_large_stack};
use native::{Jit, SourceInfo};
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::program("recorded::demos_agree", "demos", |path| agree(path, 1));
    tests.extend(each::program("recorded::cases_of_gradcheck_agree", "tests/cases/gradcheck", |path| agree(path, 8)));
    tests.extend(each::program("recorded::cases_of_cost_agree", "tests/cases/cost", |path| agree(path, 2)));
    tests.extend(each::demo("recorded::native_demos_give_what_the_interpreter_gives", native_agrees));
    tests.extend([cost::tests(), drawn::tests(), programs::tests()].into_iter().flatten());
    tests
}

/// Largest difference between derivations, relative to the largest Float.
const CLOSE: f64 = 1e-10;

const RECORDED: [Derivation; 3] = [Derivation::Tupled, Derivation::Split, Derivation::Unary];

fn pipeline(text: &str, derivation: Derivation) -> Pipeline {
    let source = Source::new("test.ks", text);
    let checked = front::load_for(&source, derivation, &Timings::default());
    Pipeline::new(checked.unwrap_or_else(|errors| panic!("{errors:?}\n{text}")))
}

/// A program by `jacobian`, and by the derivations that record.
struct Ways {
    jacobian: Pipeline,
    recorded: [Pipeline; RECORDED.len()],
}

impl Ways {
    /// All that is compared, of some functions.
    fn new(text: &str, functions: impl Fn(&Pipeline) -> Vec<FunName>) -> Result<Ways, String> {
        let mut jacobian = pipeline(text, Derivation::Jacobian);
        let functions = functions(&jacobian);
        let mut recorded = RECORDED.map(|derivation| pipeline(text, derivation));
        for f in &functions {
            jacobian.require(&f.derived(Derivative::Rev)).map_err(|error| format!("{f}: {error}"))?;
            for (p, derivation) in recorded.iter_mut().zip(RECORDED) {
                for name in [
                    Derivative::Rev,
                    Derivative::Vjp,
                    Derivative::SufFwdPass,
                    Derivative::SufRevPass,
                    Derivative::SufRev,
                ]
                .map(|d| f.derived(d))
                {
                    p.require(&name).map_err(|error| format!("{name} by {}: {error}", derivation.name()))?;
                }
            }
        }
        Ok(Ways { jacobian, recorded })
    }

    /// Compares at a point. Gives whether it is one: the function, and its reverse derivative, have values.
    fn agree_at(&self, f: &FunName, whole: &Value, random: &mut Random) -> Result<bool, String> {
        match self.compare_at(f, whole, random)? {
            Compared::Agree => Ok(true),
            Compared::WithoutValue => Ok(false),
            Compared::ByRounding(why) => Err(why),
        }
    }

    /// Compares at a point.
    ///
    /// Errors: they differ by more than rounding explains.
    fn compare_at(&self, f: &FunName, whole: &Value, random: &mut Random) -> Result<Compared, String> {
        let params = self.jacobian.program().defs[f].params.len();
        let args = match whole {
            Value::Tuple(parts) if params != 1 => parts.clone(),
            _ => vec![whole.clone()],
        };
        let call = |p: &Pipeline, name: &FunName, args: &[Value]| Interpreter::new(p.program()).call(name, args);
        let Ok(y) = call(&self.jacobian, f, &args) else { return Ok(Compared::WithoutValue) };
        let at = [whole.clone(), random.direction(&y)];
        let wanted = call(&self.jacobian, &f.derived(Derivative::Rev), &at).map_err(|error| format!("{f}: {error}"))?;
        if ![&y, &wanted].iter().all(|v| v.floats().iter().all(|x| x.is_finite())) {
            return Ok(Compared::WithoutValue);
        }
        let mut by_rounding = None;
        for (p, derivation) in self.recorded.iter().zip(RECORDED) {
            let call = |d: Derivative, args: &[Value]| {
                let name = f.derived(d);
                call(p, &name, args).map_err(|error| format!("{name} by {}: {error}", derivation.name()))
            };
            let mut same = |what: &str, found: &Value, wanted: &Value, of: Derivative, at: &[Value]| {
                let why = || format!("{what} of {f} by {} at {whole}: {found} for {wanted}", derivation.name());
                let again = |seed| Interpreter::new(p.program()).rounding(seed).call(&f.derived(of.clone()), at);
                match distance(found, wanted) <= CLOSE {
                    true => Ok(()),
                    false if rounding::explains(found, wanted, &again) => {
                        by_rounding = Some(why());
                        Ok(())
                    }
                    false => Err(why()),
                }
            };
            same("rev", &call(Derivative::Rev, &at)?, &wanted, Derivative::Rev, &at)?;
            same("sufrev", &call(Derivative::SufRev, &at)?, &wanted, Derivative::SufRev, &at)?;
            let both = Value::Tuple(vec![y.clone(), wanted.clone()]);
            same("vjp", &call(Derivative::Vjp, &at)?, &both, Derivative::Vjp, &at)?;
            let (value, record) = pair(call(Derivative::SufFwdPass, &args)?);
            match distance(&value, &y) <= CLOSE {
                true => {}
                false => return Err(format!("the value of {f} by {} at {whole}: {value} for {y}", derivation.name())),
            }
            let at = [at[1].clone(), record];
            same("sufrevpass", &call(Derivative::SufRevPass, &at)?, &wanted, Derivative::SufRevPass, &at)?;
        }
        Ok(by_rounding.map_or(Compared::Agree, Compared::ByRounding))
    }
}

/// The outcome of a comparison at a point, where derivatives do not differ by more than rounding.
enum Compared {
    Agree,
    /// The function or its derivative has no finite value there.
    WithoutValue,
    /// They differ, as rounding may: the comparison says nothing.
    ByRounding(String),
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

fn agree(path: &Path, points: usize) -> Outcome {
    let text = &files::text(path);
    const TRIES: usize = 50;
    // Before derivatives bring functions of the prelude.
    let functions = worth_checking(&pipeline(text, Derivation::Jacobian));
    let ways = Ways::new(text, |_| functions.clone())?;
    for f in functions {
        let mut random = Random::new(1);
        let mut found = 0;
        for _ in 0..points * TRIES {
            let whole = point(&ways.jacobian, &f, &mut random);
            let is_one = ways.agree_at(&f, &whole, &mut random)?;
            found += usize::from(is_one);
            if found == points {
                break;
            }
        }
        assert_eq!(found, points, "{f} has no more points");
    }
    Ok(())
}

/// Both derivations, in native code.
fn native_agrees(demo: &Demo) -> Outcome {
    for derivation in RECORDED {
        let mut p = pipeline(demo.text, derivation);
        let f = FunName::base(demo.fun);
        let entries = [Derivative::Rev, Derivative::Vjp].map(|d| f.derived(d));
        entries.iter().for_each(|name| p.require(name).unwrap_or_else(|e| panic!("{name}: {e}")));
        let info = SourceInfo::new(demo.name, demo.text);
        let jit = Jit::new(p.program(), &entries, &info, &unoptimised());
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
            assert!(apart <= native_limit(Some(&jit)), "{name} by {}: {apart}", derivation.name());
        }
    }
    Ok(())
}

const POINT: &str = "(def point (Vec Float) (n : Integer) (build n (lam (i : Integer) (add 0.15 ($ranhashdoub i)))))\n";

fn argument(p: &Pipeline, n: i64) -> Value {
    let point = Interpreter::new(p.program()).call(&FunName::base("point"), &[Value::Integer(n)]);
    point.expect("an argument")
}
