//! Every step of a derivation, as `lmc demo --trace` prints it: it is typed, it can be redone from the data alone, its
//! text reads back, and the naive evaluator gives the same before and after it. Of the demos, by all derivations, and of
//! random programs. Of long derivations some steps are read back and evaluated; the campaign does so with all.

use super::each::{Outcome, alone, program, row};
use common::cost::{call, pipeline, point_of_demo};
use common::files;
use common::generate_scaled;
use common::random::{cases, large, seed};
use common::trace::{Plan, Tally, agree, holds, stage_holds, stages_hold};
use libtest_mimic::Trial;
use lm::law;
use lm::prim::Prim;
use lm::term::{Derivative, Expr, FunName};
use lm::value::Value;
use lmc::demos::{DEMOS, Demo};
use lmc::derive::Derivation;
use lmc::derive::pipeline::Stage;
use lmc::derive::recipes::NormalForm;
use lmc::gradcheck::Random;
use std::collections::BTreeSet;
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let of = |demo: &'static Demo| Derivation::OF_ALL_PROGRAMS.map(|derivation| (demo, derivation));
    let demos = DEMOS.iter().flat_map(of).map(|(demo, derivation)| {
        let name = format!("{}_{}", demo.name, derivation.name());
        // Loops over directions make long traces of long definitions: for the campaign.
        let is_long = derivation == Derivation::Dual && matches!(demo.name, "cnn" | "lstm" | "ode" | "ba" | "gmm");
        row("traces::of_demos", &name, move || of_demo(demo, derivation)).with_ignored_flag(is_long)
    });
    let mut tests: Vec<Trial> = demos.collect();
    let by_notes = |demo: &'static Demo| row("traces::by_rules_of_the_notes", demo.name, move || by_notes(demo));
    tests.extend(DEMOS.iter().filter(|demo| BY_NOTES.contains(&demo.name)).map(by_notes));
    tests.extend(program("traces::normal_forms", "tests/cases/maps", normal_forms));
    tests.extend(program("traces::of_cases", "tests/cases/traces", of_case));
    tests.extend(
        alone!("traces": of_random_programs, a_step_that_is_not_true_is_found, each_law_of_figures_4_and_5_is_applied),
    );
    tests
}

fn of_demo(demo: &Demo, derivation: Derivation) -> Outcome {
    let mut p = pipeline(demo.text, derivation)?;
    let f = FunName::base(demo.fun);
    let point = point_of_demo(&p, &f);
    let stages = p.stages(&f, true).map_err(|error| error.to_string())?;
    let steps: usize = stages.iter().map(|stage| stage.steps.len()).sum();
    let is_slow = matches!(demo.name, "cnn" | "det" | "gmm" | "lstm" | "minors" | "ode");
    // By dual numbers, each step computes a derivative along each direction.
    let most = match (is_slow, derivation) {
        (true, Derivation::Dual) if demo.name == "cnn" => 1,
        (true, Derivation::Dual) => 10,
        (true, _) => 20,
        (false, _) => 60,
    };
    let plan = Plan { point: &point, spread: if large() { 1 } else { steps.div_ceil(most) } };
    let Tally { steps, evaluated } = stages_hold(&mut p, &f, &stages, plan)?;
    println!("{steps} steps, {evaluated} evaluated");
    if evaluated > 0 { Ok(()) } else { Err(format!("none of {steps} steps is evaluated")) }
}

/// Checks the derivations of the function `f` of a program.
fn of_case(path: &Path) -> Outcome {
    let f = FunName::base("f");
    for derivation in Derivation::OF_ALL_PROGRAMS {
        let mut p = pipeline(&files::text(path), derivation)?;
        let example = call(&p, &FunName::base("example"), &[]).map(|(point, _)| point);
        let point = example.unwrap_or_else(|_| Random::new(1).point(&p.program().defs[&f].fun.argument()));
        holds(&mut p, &f, Plan { point: &point, spread: 1 }).map_err(|why| format!("{derivation:?}: {why}"))?;
    }
    Ok(())
}

/// The demos that are derived by the rules of the notes in little time.
const BY_NOTES: [&str; 8] = ["ex1", "ex2", "ex3", "ex4", "ex5", "ex10", "ex11", "black_scholes"];

/// Checks the derivation by the rules of the notes alone, and that it gives the derivatives that the default one gives.
fn by_notes(demo: &Demo) -> Outcome {
    let mut p = pipeline(demo.text, Derivation::default())?;
    let f = FunName::base(demo.fun);
    let point = point_of_demo(&p, &f);
    let stages = p.stages_by_notes(&f, true).map_err(|error| error.to_string())?;
    let plan = Plan { point: &point, spread: if large() { 1 } else { 7 } };
    let Tally { steps, evaluated } = stages_hold(&mut p, &f, &stages, plan)?;
    println!("{steps} steps, {evaluated} evaluated");
    for derivative in [Derivative::Fwd, Derivative::Rev] {
        let name = f.derived(derivative);
        p.require(&name).map_err(|error| error.to_string())?;
        let by_notes = stages.iter().rfind(|stage| stage.def.fun.name == name).expect("a last stage");
        let usual = p.program().defs[&name].clone();
        agree(&mut p, &f, &by_notes.def, &usual, &point)?;
    }
    Ok(())
}

/// Checks the normal forms of all functions of a program: with names of Jacobians and without, and as matrices.
fn normal_forms(path: &Path) -> Outcome {
    let text = files::text(path);
    let mut p = pipeline(&text, Derivation::default())?;
    let all: Vec<FunName> = p.program().defs.keys().filter(|f| f.derivations.is_empty()).cloned().collect();
    let mut evaluated = 0;
    let forms = [(false, false), (true, false), (true, true)];
    let forms = forms.map(|(has_jacobians, is_matrix)| NormalForm { has_jacobians, is_matrix });
    for (f, form) in all.iter().flat_map(|f| forms.map(|form| (f, form))) {
        let argument = p.program().defs[f].fun.argument();
        if argument.mentions_lm() {
            continue;
        }
        // Vectors have elements.
        let point = Random::new(3).point(&argument);
        let stages = p.normal_form(f, form, true).map_err(|error| error.to_string())?;
        evaluated += stages_hold(&mut p, f, &stages, Plan { point: &point, spread: 1 })?.evaluated;
    }
    if evaluated > 0 { Ok(()) } else { Err("no step is evaluated".into()) }
}

/// Each law of Figs. 4 and 5 is a step of a trace that a user can print.
fn each_law_of_figures_4_and_5_is_applied() {
    let mut p =
        pipeline(&files::text(&files::path("tests/cases/maps/figures.ks")), Derivation::default()).expect("a program");
    let all: Vec<FunName> = p.program().defs.keys().cloned().collect();
    let mut applied = BTreeSet::new();
    for f in &all {
        let stages = p.normal_form(f, NormalForm::default(), true).unwrap_or_else(|error| panic!("{f}: {error}"));
        applied.extend(stages.iter().flat_map(|stage| &stage.steps).map(|step| step.law.clone()));
    }
    let of_figures = law::all().values().filter(|law| ["Fig. 4", "Fig. 5"].contains(&&*law.source));
    let missing: Vec<_> = of_figures.map(|law| law.name.clone()).filter(|name| !applied.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Longer programs have thousands of steps.
const LONGEST: usize = 1_500;

fn of_random_programs() {
    let (seed, count) = (seed(), cases(12) as usize);
    println!("LMC_SEED={seed} LMC_CASES={count}");
    let programs = (0..).map(|number| generate_scaled::program(seed, number)).filter(|text| text.len() <= LONGEST);
    let mut evaluated = 0;
    for (number, text) in programs.take(count).enumerate() {
        let derivation = Derivation::OF_ALL_PROGRAMS[number % Derivation::OF_ALL_PROGRAMS.len()];
        println!("program {number} by {derivation:?}:\n{text}");
        let f = FunName::base("f");
        let checked = pipeline(&text, derivation).and_then(|mut p| {
            let point = Random::new(number as u64).point(&p.program().defs[&f].fun.argument());
            holds(&mut p, &f, Plan { point: &point, spread: 1 })
        });
        evaluated += checked.unwrap_or_else(|why| panic!("program {number}: {why}\n{text}")).evaluated;
    }
    assert!(evaluated > count, "{evaluated} steps are evaluated");
}

/// A step to another value, a step that is left out, and one of no law are found; the trace itself holds.
fn a_step_that_is_not_true_is_found() {
    let mut p = pipeline("(def f Float (x : Float) (mul (sin x) (sin x)))", Derivation::default()).expect("a program");
    let f = FunName::base("f");
    let stages = p.stages(&f, true).expect("it has a derivative");
    let [before, stage] = &stages[stages.len() - 2..] else { panic!("there are two") };
    let plan = Plan { point: &Value::Float(0.75), spread: 1 };
    let mut check = |stage: &Stage| stage_holds(&mut p, &f, Some(before), stage, plan).map(|tally| tally.evaluated);
    assert_eq!(check(stage), Ok(stage.steps.len()));
    let fails =
        |found: Result<usize, String>, why: &str| assert!(found.as_ref().is_err_and(|e| e.contains(why)), "{found:?}");

    let mut other = stage.clone();
    let last = other.steps.last_mut().expect("a step");
    last.after = Expr::prim(Prim::Add, [last.after.clone(), Expr::float(1.0)]);
    other.def.body = last.after.clone();
    fails(check(&other), " becomes ");

    let mut fewer = stage.clone();
    fewer.steps.remove(1);
    fails(check(&fewer), "does not start where the one before ends");
    let mut late = stage.clone();
    late.steps.remove(0);
    fails(check(&late), "do not start at the stage before");

    // A pass is no law.
    for name in ["magic", "merge_calls", "category"] {
        let mut unlisted = stage.clone();
        unlisted.steps[0].law = name.into();
        fails(check(&unlisted), "no such law");
    }
}
