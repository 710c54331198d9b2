//! The table of recipes: its rows fit together, `lmc demo` prints them and `lmc explain` explains them.

use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::derive::recipes::{When, entry, headings};
use lmc::ks::source::Source;
use lmc::ks::{explain, front};
use std::collections::HashSet;
use std::process::{Command, Output};

fn derivatives() -> impl Iterator<Item = Derivative> {
    Derivative::all().chain([Derivative::Wrt([vec![1]].into())])
}

/// Results of recipes are kept by their conditions, so no two recipes of a derivative have the same condition.
#[test]
fn the_last_recipe_is_for_any_function_and_conditions_differ() {
    for derivative in derivatives() {
        let conditions: Vec<When> = entry(&derivative).recipes.iter().map(|recipe| recipe.when).collect();
        assert_eq!(conditions.last(), Some(&When::Always), "{derivative}");
        assert_eq!(conditions.iter().collect::<HashSet<_>>().len(), conditions.len(), "{derivative}: {conditions:?}");
    }
}

#[test]
fn the_demo_prints_the_headings_of_the_rows() {
    lmc::with_large_stack(|| {
        let source = Source::new(
            "f.ks",
            "(def f Float ((x : Float) (y : Float)) (let (z (lmApply (lmScale x y) x)) (mul z (sin z))))",
        );
        for derivation in Derivation::ALL {
            let checked = front::load_for(&source, derivation, &Timings::default()).expect("it is right");
            let stages = Pipeline::new(checked).stages(&FunName::base("f"), false).expect("f derives");
            let printed: Vec<_> = stages.iter().map(|stage| stage.heading.clone()).collect();
            assert_eq!(printed, headings(derivation).collect::<Vec<_>>(), "{derivation:?}");
        }
    });
}

#[test]
fn every_derivative_is_explained() {
    for derivative in derivatives() {
        let text = explain::derivative(&derivative.to_string()).expect("it is a derivative");
        assert!(text.starts_with(&format!("[{derivative} f]: ")), "{text}");
        assert!(text.contains("For f : S -> T its type is") && text.contains("source: "), "{text}");
    }
    let rev = explain::derivative("rev").expect("it is a derivative");
    assert!(rev.contains("    (S, dT) -> dS\n"), "{rev}");
    assert!(rev.contains("any function: from [Dt f]"), "{rev}");
    assert!(rev.contains("apply, simplify values, place   \"Reverse-mode derivative (optimised)\"\n"), "{rev}");
    assert_eq!(explain::derivative("reverse"), None);
}

fn lmc(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lmc")).args(args).output().expect("lmc starts")
}

#[test]
fn one_stage_is_printed() {
    let stage = lmc(&["demo", "ex2", "--stage", "transposed jacobian"]);
    let text = String::from_utf8_lossy(&stage.stdout).into_owned();
    assert!(text.starts_with("-----\nTransposed Jacobian\n-----\nfun Rf2(x)\n"), "{text}");
    assert_eq!(text.matches("-----").count(), 2, "{text}");
    let unknown = lmc(&["demo", "ex2", "--stage", "last"]);
    let message = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert_eq!(unknown.status.code(), Some(2), "{message}");
    assert!(message.contains("there is no stage `last`; there are `Original definition`, "), "{message}");
}
