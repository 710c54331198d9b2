//! `$inline`: marked calls are inlined before derivatives are taken, as a step of the derivation.

use lm::term::FunName;
use lm::timing::Timings;
use lmc::derive::Derivation;
use lmc::derive::call_order;
use lmc::derive::pipeline::{Pipeline, Stage};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;

const PROGRAM: &str = "
(def h Float (x : Float) (sin x))
(def g Float (x : Float) (mul x ($inline (h x))))
(def f Float (x : Float) (add ($inline (g (mul x x))) x))
(def plain Float (x : Float) (add (g (mul x x)) x))
(def recursive Float (x : Float) (if (gt x 1.0) x ($inline (recursive (add x x)))))";

/// The stages of the derivation of a function.
fn stages(f: &str, derivation: Derivation) -> Vec<Stage> {
    with_large_stack(|| {
        let checked = front::load_for(&Source::new("f.ks", PROGRAM), derivation, &Timings::default());
        let mut pipeline = Pipeline::new(checked.expect("the program is right"));
        pipeline.stages(&FunName::base(f), true).expect("it derives")
    })
}

/// The laws of the steps to normal form, by `inline_marked`.
fn inlinings(f: &str, derivation: Derivation) -> Vec<String> {
    let all = stages(f, derivation);
    let normal = all.iter().find(|stage| &*stage.heading == "Anf-ised original definition").expect("it is shown");
    normal.steps.iter().filter(|step| step.pass == "inline_marked").map(|step| step.law.to_string()).collect()
}

/// The functions other than f that a stage calls, or of which it calls a derivative.
fn calls(stage: &Stage) -> Vec<FunName> {
    let mut called = Vec::new();
    call_order::calls(&stage.def.body, &mut called);
    called.into_iter().filter(|name| *name.base != *"f").collect()
}

#[test]
fn no_stage_after_normal_form_calls_a_function_that_is_inlined() {
    for derivation in Derivation::OF_ALL_PROGRAMS {
        let stages = stages("f", derivation);
        assert_eq!(calls(&stages[0]), [FunName::base("g")], "the original definition calls g");
        stages[1..].iter().for_each(|stage| assert_eq!(calls(stage), [], "{}: {}", derivation.name(), stage.heading));
    }
}

/// The call of h in g was inlined before.
#[test]
fn each_inlined_call_is_a_step_with_its_law() {
    for derivation in Derivation::OF_ALL_PROGRAMS {
        assert_eq!(inlinings("f", derivation), ["call-inline"]);
        assert_eq!(inlinings("g", derivation), ["call-inline"]);
    }
}

#[test]
fn other_calls_stay() {
    for f in ["plain", "recursive"] {
        assert!(inlinings(f, Derivation::default()).is_empty(), "{f}");
        assert!(stages(f, Derivation::default()).iter().all(|stage| !calls(stage).is_empty()), "{f}");
    }
}
