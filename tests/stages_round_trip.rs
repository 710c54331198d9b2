//! Every stage of every derivation, printed as KS, reads back as the same definition.

mod common;

use common::generate::{Options, programs};
use lm::alpha;
use lm::notation::ks;
use lm::term::{Def, Program};
use lmc::front::{load, load_stage};
use lmc::pipeline::Pipeline;
use lmc::render::{Format, render_all};
use lmc::source::Source;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

fn comes_back(program: &Program, what: &str) {
    let text = ks::program(program, 80);
    let source = Source::new("stage.ks", &text);
    match load_stage(&source) {
        Ok(checked) => {
            assert!(alpha::programs(program, &checked.program), "{what} reads back as something else:\n{text}");
        }
        Err(errors) => panic!("{what}:\n{}\n{text}", render_all(&source, &errors, Format::Human, false)),
    }
}

fn stages_come_back(program: &Program) {
    let text = ks::program(program, 80);
    let checked = load(&Source::new("program.ks", &text)).expect("printed programs are right");
    let names: Vec<_> = checked.program.defs.keys().cloned().collect();
    let mut pipeline = Pipeline::new(checked);
    for name in names {
        let Ok(stages) = pipeline.stages(&name, false) else { continue };
        for stage in stages {
            let mut with_stage: Program = pipeline.program().clone();
            with_stage.defs.insert(stage.def.fun.name.clone(), Def::clone(&stage.def));
            comes_back(&with_stage, stage.heading);
        }
    }
}

/// The Jacobian of an empty tuple, or of a call without arguments, has no term so far: `lmVCat` of
/// nothing has no type.
fn has_no_empty_tuple(program: &Program) -> bool {
    let takes_something = |def: &Def| !def.params.is_empty();
    program.defs.values().all(takes_something) && !ks::program(program, 80).contains("(tuple)")
}

#[test]
fn stages_of_random_programs() {
    lmc::with_large_stack(|| {
        let config = ProptestConfig {
            cases: 100,
            max_global_rejects: 10_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let smooth = programs(Options { smooth: true, functions: 3, depth: 3 });
        let smooth = smooth.prop_filter("an empty tuple", has_no_empty_tuple);
        let result = TestRunner::new(config).run(&smooth, |program| {
            stages_come_back(&program);
            Ok(())
        });
        result.unwrap_or_else(|e| panic!("{e}"));
    });
}
