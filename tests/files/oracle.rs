//! Compares every evaluator with the naive one: see `common::oracle`. Each program is compared by one derivation, which
//! its name decides, so that a new file changes no other test; the campaign compares it by all.

use super::each::{self, Outcome, alone};
use common::oracle::{self, Tally};
use common::{files, random};
use libtest_mimic::Trial;
use lm::random::hash;
use lmc::demos::{DEMOS, Demo};
use lmc::derive::Derivation;
use std::path::Path;

/// One in this many cases runs natively, too.
const SPREAD: usize = 5;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests: Vec<Trial> = (DEMOS.iter())
        // The naive evaluator takes a minute for the loops of `cnn`: for the campaign.
        .map(|it| {
            each::row("oracle::demos_by_one_derivation", it.name, || demo(it)).with_ignored_flag(it.name == "cnn")
        })
        .collect();
    for folder in ["bulk", "cost", "gradcheck", "ways"] {
        let programs = files::programs(&format!("tests/cases/{folder}"));
        tests.extend(programs.into_iter().map(|path| {
            let name = format!("{folder}::{}", files::name(&path));
            let number = name.bytes().fold(0, |sum, byte| hash(sum ^ u64::from(byte))) as usize;
            each::row("oracle::cases_by_one_derivation", &name, move || case(number, &path))
        }));
    }
    // The campaign runs these.
    tests.extend(each::demo("oracle::demos_by_all_derivations", demo_by_all).into_iter().map(ignored));
    for folder in ["bulk", "cost", "gradcheck", "ways"] {
        let cases = each::program("oracle::cases_by_all_derivations", &format!("tests/cases/{folder}"), case_by_all);
        tests.extend(cases.into_iter().map(ignored));
    }
    tests.extend(each::program("oracle::programs_of_the_language", "tests/language", main));
    tests.extend(each::program("oracle::errors_of_the_language", "tests/language/errors", main));
    tests.extend(alone!("oracle": random_programs_agree));
    tests
}

fn by_number(number: usize) -> Derivation {
    Derivation::OF_ALL_PROGRAMS[number % Derivation::OF_ALL_PROGRAMS.len()]
}

/// Shows what was seen; nothing is no comparison.
fn seen(tally: Tally) -> Outcome {
    println!("{tally:?}");
    if tally.values + tally.errors > 0 { Ok(()) } else { Err("nothing is compared".into()) }
}

fn demo(demo: &Demo) -> Outcome {
    let number = DEMOS.iter().position(|other| other.name == demo.name).expect("it is a demo");
    seen(oracle::demo(demo, by_number(number))?)
}

fn case(number: usize, path: &Path) -> Outcome {
    seen(oracle::program(
        &files::text(path),
        by_number(number),
        (number / Derivation::OF_ALL_PROGRAMS.len()).is_multiple_of(SPREAD),
    )?)
}

fn ignored(test: Trial) -> Trial {
    test.with_ignored_flag(true)
}

fn demo_by_all(demo: &Demo) -> Outcome {
    Derivation::OF_ALL_PROGRAMS.into_iter().try_for_each(|derivation| seen(oracle::demo(demo, derivation)?))
}

fn case_by_all(path: &Path) -> Outcome {
    let text = files::text(path);
    Derivation::OF_ALL_PROGRAMS.into_iter().try_for_each(|derivation| seen(oracle::program(&text, derivation, true)?))
}

fn main(path: &Path) -> Outcome {
    seen(oracle::main_of(&files::text(path))?)
}

fn random_programs_agree() {
    let count = u64::from(random::cases(30));
    println!("LMC_SEED={} LMC_CASES={count}", random::seed());
    let mut all = Tally::default();
    for number in 0..count {
        let tally = oracle::random(number).unwrap_or_else(|why| panic!("{why}"));
        all = Tally {
            values: all.values + tally.values,
            errors: all.errors + tally.errors,
            native: all.native + tally.native,
            bulk: all.bulk + tally.bulk,
            by_rounding: all.by_rounding + tally.by_rounding,
        };
    }
    println!("{all:?}");
    assert!(
        count < 10
            || all.values > 8 * count as usize
                && all.native > count as usize
                && all.bulk > 4 * count as usize
                && all.values > 500 * all.by_rounding,
        "{all:?}"
    );
}
