//! Every step of a derivation, as `lmc demo --trace` prints it: its text reads back, it can be redone from the data
//! alone, and the naive evaluator gives the same before and after it. Of the demos, by all derivations, and of random
//! programs. Of the slowest demos every seventh step is evaluated; the campaign evaluates all.

use super::each::{Outcome, alone, row};
use common::cost::{pipeline, point_of_demo};
use common::generate_scaled::program;
use common::random::{cases, large, seed};
use common::trace::{Tally, holds};
use libtest_mimic::Trial;
use lm::term::FunName;
use lmc::demos::{DEMOS, Demo};
use lmc::derive::Derivation;
use lmc::gradcheck::Random;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let of = |demo: &'static Demo| Derivation::ALL.map(|derivation| (demo, derivation));
    let demos = DEMOS.iter().flat_map(of).map(|(demo, derivation)| {
        row("traces::of_demos", &format!("{}_{}", demo.name, derivation.name()), move || of_demo(demo, derivation))
    });
    let mut tests: Vec<Trial> = demos.collect();
    tests.extend(alone!("traces": of_random_programs));
    tests
}

fn of_demo(demo: &Demo, derivation: Derivation) -> Outcome {
    let mut p = pipeline(demo.text, derivation)?;
    let f = FunName::base(demo.fun);
    let point = point_of_demo(&p, &f);
    let has_small_maps = has_small_maps(demo.name);
    let is_slow = matches!(demo.name, "cnn" | "gmm" | "lstm" | "minors");
    let spread = if is_slow && !large() { 7 } else { 1 };
    let Tally { steps, evaluated } = holds(&mut p, &f, &point, has_small_maps, spread)?;
    println!("{steps} steps, {evaluated} evaluated");
    if evaluated > 0 || !has_small_maps { Ok(()) } else { Err(format!("none of {steps} steps is evaluated")) }
}

/// Returns whether the Jacobian of a demo is small as a tree.
fn has_small_maps(demo: &str) -> bool {
    !matches!(demo, "ex6" | "ex10" | "ode" | "cnn" | "lstm" | "det" | "ba")
}

/// Longer programs have thousands of steps.
const LONGEST: usize = 1_500;

fn of_random_programs() {
    let (seed, count) = (seed(), cases(12) as usize);
    println!("LMC_SEED={seed} LMC_CASES={count}");
    let programs = (0..).map(|number| program(seed, number)).filter(|text| text.len() <= LONGEST);
    let mut evaluated = 0;
    for (number, text) in programs.take(count).enumerate() {
        let derivation = Derivation::ALL[number % Derivation::ALL.len()];
        let f = FunName::base("f");
        let checked = pipeline(&text, derivation).and_then(|mut p| {
            let point = Random::new(number as u64).point(&p.program().defs[&f].fun.argument());
            holds(&mut p, &f, &point, false, 1)
        });
        evaluated += checked.unwrap_or_else(|why| panic!("program {number}: {why}\n{text}")).evaluated;
    }
    assert!(evaluated > count, "{evaluated} steps are evaluated");
}
