//! Derivatives of random smooth programs: every way to a derivative, and every stage on the way, gives
//! the same.
//!
//!   [D f] s ⊙ ds, before optimisation  =  [fwd f] s ds        dr ⊙ᴿ [D f] s  =  [rev f] s dr
//!   [fwd f] = [rev f] = finite differences                     interpreter = native
//!   [jvp f] = (f, [fwd f])                                     [sufrevpass f] after [suffwdpass f] = [rev f]
//!
//! A failure is shrunk, and shown as KS text.

mod common;

use codegen::{Jit, SourceInfo};
use common::generate::{Options, programs, text};
use lm::alpha;
use lm::interp::Interpreter;
use lm::map;
use lm::notation::ks;
use lm::term::{Def, FunName, Program};
use lm::value::Value;
use lmc::call_order;
use lmc::diagnostic::Diagnostic;
use lmc::front::{load, load_stage};
use lmc::gradcheck::{self, Random, same_bits};
use lmc::pipeline::{Pipeline, Stage};
use lmc::render::{Format, render_all};
use lmc::source::Source;
use lmc::with_large_stack;
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

const POINTS: usize = 2;
/// Largest difference, relative to the largest component, between ways that differ in rounding only.
const ROUNDING: f64 = 1e-12;

#[test]
fn of_500_programs() {
    of_programs(500);
}

#[test]
#[ignore = "takes minutes; in release mode: cargo test --release --test derivatives -- --ignored"]
fn of_10_000_programs() {
    of_programs(10_000);
}

fn of_programs(cases: u32) {
    let config = common::random::config(cases);
    let smooth = programs(Options { smooth: true, functions: 3, depth: 4 }).prop_map(Box::new);
    // Native code takes most of the time.
    let natively = prop::bool::weighted(0.1);
    let outcome = with_large_stack(|| {
        TestRunner::new(config)
            .run(&(smooth, natively), |(program, natively)| agrees(&program, natively).map_err(TestCaseError::fail))
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, (program, natively))) => {
            panic!("{why}\nsmallest program (native code: {natively}):\n{}", text(&program))
        }
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

fn agrees(program: &Program, natively: bool) -> Result<(), String> {
    let checked = load(&Source::new("random.ks", &text(program))).map_err(|e| format!("does not read: {e:?}"))?;
    let functions: Vec<FunName> = checked.program.defs.keys().cloned().collect();
    let mut pipeline = Pipeline::new(checked);
    let mut stages = Vec::new();
    for f in &functions {
        let made = pipeline.stages(f, false).map_err(|e| e.to_string())?;
        let mut called = all_ways(f);
        made.iter().for_each(|stage| call_order::calls(&stage.def.body, &mut called));
        stages.push(made);
        for name in called {
            pipeline.require(&name).map_err(|e| e.to_string())?;
        }
    }
    stages_come_back(&pipeline, &stages)?;
    functions.iter().try_for_each(|f| checks(&pipeline, &functions, f, natively))?;
    ways_agree(&pipeline, &functions, &stages)
}

fn all_ways(f: &FunName) -> Vec<FunName> {
    let derivations = ["fwd", "rev", "D", "jvp", "suffwdpass", "sufrevpass"];
    derivations.iter().map(|derivation| f.derived(derivation)).collect()
}

/// The texts of the stages, with all that they call, read back. Stages of different names share a text.
fn stages_come_back(pipeline: &Pipeline, stages: &[Vec<Stage>]) -> Result<(), String> {
    let mut waiting: Vec<&Stage> = stages.iter().flatten().collect();
    while !waiting.is_empty() {
        let mut program = pipeline.program().clone();
        let mut taken: Vec<FunName> = Vec::new();
        waiting.retain(|stage| {
            let name = &stage.def.fun.name;
            let later = taken.contains(name);
            if !later {
                taken.push(name.clone());
                program.defs.insert(name.clone(), stage.def.clone());
            }
            later
        });
        comes_back(&program)?;
    }
    Ok(())
}

fn comes_back(program: &Program) -> Result<(), String> {
    let text = text(program);
    let read = load_stage(&Source::new("stage.ks", &text)).map_err(|errors| shown(&text, &errors))?;
    let differ = |(name, def): &(&FunName, &Def)| !read.program.defs.get(*name).is_some_and(|d| alpha::defs(def, d));
    match program.defs.iter().find(differ) {
        Some((_, def)) => Err(format!("reads back as something else: {}", ks::def(def, 80))),
        None => Ok(()),
    }
}

fn shown(text: &str, errors: &[Diagnostic]) -> String {
    let message = render_all(&Source::new("stage.ks", text), errors, Format::Human, false);
    format!("a stage does not read: {message}\n{text}")
}

/// Forward against reverse, finite differences, and native code.
fn checks(pipeline: &Pipeline, functions: &[FunName], f: &FunName, natively: bool) -> Result<(), String> {
    let jit = match natively {
        true => {
            let entries: Vec<FunName> = functions.iter().flat_map(gradcheck::names).collect();
            let info = SourceInfo::new("random.ks", "");
            let jit = Jit::new(pipeline.program(), &entries, &info, &codegen::Options::default());
            Some(jit.map_err(|error| error.to_string())?)
        }
        false => None,
    };
    let report = gradcheck::check(pipeline, jit.as_ref(), f, POINTS, 1);
    if report.agrees() { Ok(()) } else { Err(format!("{f}: {report:?}")) }
}

/// The derivatives that the pipeline gives, against the Jacobians as they were before any law.
fn ways_agree(pipeline: &Pipeline, functions: &[FunName], stages: &[Vec<Stage>]) -> Result<(), String> {
    let mut unoptimised = pipeline.program().clone();
    for stage in stages.iter().filter_map(|stages| stages.iter().find(|s| s.def.body.ty().as_lm().is_some())) {
        unoptimised.defs.insert(stage.def.fun.name.clone(), stage.def.clone());
    }
    let mut random = Random::new(2);
    for f in functions {
        let fun = &pipeline.program().defs[f].fun;
        let point: Vec<Value> = fun.params.iter().map(|ty| random.point(ty)).collect();
        ways_agree_at(pipeline.program(), &unoptimised, f, &point, &mut random)
            .map_err(|why| format!("{f} at {point:?}: {why}"))?;
    }
    Ok(())
}

fn ways_agree_at(
    program: &Program,
    unoptimised: &Program,
    f: &FunName,
    point: &[Value],
    random: &mut Random,
) -> Result<(), String> {
    let call = |name: &FunName, args: &[Value]| Interpreter::new(program).call(name, args).map_err(|e| e.to_string());
    let whole = if let [one] = point { one.clone() } else { Value::Tuple(point.to_vec()) };
    let value = call(f, point)?;
    let (ds, dr) = (random.direction(&whole), random.direction(&value));
    let forward = call(&f.derived("fwd"), &[whole.clone(), ds.clone()])?;
    let reverse = call(&f.derived("rev"), &[whole.clone(), dr.clone()])?;

    let both = pair(call(&f.derived("jvp"), &[whole, ds.clone()])?);
    same("the value of [jvp f]", same_bits(&both.0, &value))?;
    same("the derivative of [jvp f]", is_close(&both.1, &forward))?;
    let (first, record) = pair(call(&f.derived("suffwdpass"), point)?);
    same("the value of [suffwdpass f]", same_bits(&first, &value))?;
    same("[sufrevpass f]", is_close(&call(&f.derived("sufrevpass"), &[dr.clone(), record])?, &reverse))?;

    for (program, when) in [(unoptimised, "unoptimised"), (program, "optimised")] {
        let mut cx = Interpreter::new(program);
        let Value::Map(m) = cx.call(&f.derived("D"), point).map_err(|e| e.to_string())? else {
            return Err("[D f] gives no map".into());
        };
        let ahead = map::apply(&mut cx, &m, &ds).map_err(|e| e.to_string())?;
        same(&format!("the {when} [D f], applied"), is_close(&ahead, &forward))?;
        let back = map::apply_reverse(&mut cx, &dr, &m).map_err(|e| e.to_string())?;
        same(&format!("the {when} [D f], applied in reverse"), is_close(&back, &reverse))?;
    }
    Ok(())
}

fn pair(value: Value) -> (Value, Value) {
    match value {
        Value::Tuple(parts) => <[Value; 2]>::try_from(parts).expect("a pair").into(),
        other => panic!("{other} is no pair"),
    }
}

fn same(what: &str, it_is: bool) -> Result<(), String> {
    if it_is { Ok(()) } else { Err(format!("{what} differs")) }
}

fn is_close(a: &Value, b: &Value) -> bool {
    let (a, b) = (a.floats(), b.floats());
    let scale = a.iter().chain(&b).fold(1.0, |scale: f64, x| scale.max(x.abs()));
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= ROUNDING * scale)
}
