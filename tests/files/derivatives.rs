//! Derivatives of random smooth programs: every way to a derivative, and every stage on the way, gives
//! the same.
//!
//! ```text
//! [D f] s ⊙ ds, before optimisation  =  [fwd f] s ds        dr ⊙ᴿ [D f] s  =  [rev f] s dr
//! [fwd f] = [rev f] = finite differences                     interpreter = native
//! [jvp f] = (f, [fwd f])                                     [sufrevpass f] after [suffwdpass f] = [rev f]
//! ```
//!
//! A failure is shrunk, and shown as KS text.

use super::each::alone;
use common::agreement::{all_ways, stages_come_back, ways_agree_at, with_unoptimised_jacobians};
use common::generate::{Options, programs, text};
use common::native::unoptimised;
use libtest_mimic::Trial;
use lm::term::{FunName, Program};
use lm::value::Value;
use lmc::derive::call_order;
use lmc::derive::pipeline::{Pipeline, Stage};
use lmc::gradcheck::{self, Random};
use lmc::ks::front::load;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, Math, SourceInfo};
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

const POINTS: usize = 2;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!("derivatives": of_random_programs)
}

fn of_random_programs() {
    let config = common::random::config(500);
    let smooth = programs(Options { smooth: true, functions: 3, depth: 4 }).prop_map(Box::new);
    // Native code takes most of the time.
    let natively = prop::option::weighted(0.1, prop_oneof![Just(Math::Exact), Just(Math::Fast)]);
    let outcome = with_large_stack(|| {
        TestRunner::new(config)
            .run(&(smooth, natively), |(program, natively)| agrees(&program, natively).map_err(TestCaseError::fail))
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, (program, natively))) => {
            panic!("{why}\nsmallest program (native code: {natively:?}):\n{}", text(&program))
        }
        Err(TestError::Abort(why)) => panic!("{why}"),
    }
}

fn agrees(program: &Program, natively: Option<Math>) -> Result<(), String> {
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

fn options(math: Math) -> native::Options {
    match math {
        Math::Exact => unoptimised(),
        Math::Fast => native::Options { opt_level: 0, ..native::Options::default() },
    }
}

/// Forward against reverse, finite differences, and native code.
fn checks(pipeline: &Pipeline, functions: &[FunName], f: &FunName, natively: Option<Math>) -> Result<(), String> {
    let jit = match natively {
        Some(math) => {
            let entries: Vec<FunName> = functions.iter().flat_map(gradcheck::names).collect();
            let info = SourceInfo::new("random.ks", "");
            let jit = Jit::new(pipeline.program(), &entries, &info, &options(math));
            Some(jit.map_err(|error| error.to_string())?)
        }
        None => None,
    };
    let report = gradcheck::check(pipeline, jit.as_ref(), f, POINTS, 1);
    if report.agrees() { Ok(()) } else { Err(format!("{f}: {report:?}")) }
}

/// The derivatives that the pipeline gives, against the Jacobians as they were before any law.
fn ways_agree(pipeline: &Pipeline, functions: &[FunName], stages: &[Vec<Stage>]) -> Result<(), String> {
    let unoptimised = with_unoptimised_jacobians(pipeline, stages);
    let mut random = Random::new(2);
    for f in functions {
        let fun = &pipeline.program().defs[f].fun;
        let point: Vec<Value> = fun.params.iter().map(|ty| random.point(ty)).collect();
        ways_agree_at(pipeline.program(), &unoptimised, f, &point, &mut random)
            .map_err(|why| format!("{f} at {point:?}: {why}"))?;
    }
    Ok(())
}
