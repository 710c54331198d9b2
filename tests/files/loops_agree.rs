//! Every pass keeps the meaning of loops: after each, the loops of programs and of their derivatives are run by the
//! interpreter of loops, and give the values, the text and the errors of the reference interpreter.
//!
//! No code is generated. A pass that is wrong is named, with the function and the arguments.

use super::each::{self, Outcome, alone};
use common::all_ways::{Hard, hard};
use common::loops_agree::{Case, Tally, WAYS};
use common::{draw, files};
use libtest_mimic::Trial;
use lm::value::Value;
use lmc::demos::Demo;
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let of = |hard: Hard| {
        let name = format!("{}::{}", hard.file, hard.name);
        each::row("loops_agree::hard_programs_agree_after_each_pass", &name, move || function(&hard))
    };
    let mut tests: Vec<Trial> = hard().into_iter().map(of).collect();
    tests.extend(each::demo("loops_agree::demos_agree_after_each_pass", demo));
    for folder in ["tests/cases/passes", "tests/cases/lanes"] {
        tests.extend(each::program("loops_agree::programs_agree_after_each_pass", folder, after_each_pass));
        tests.extend(each::program("loops_agree::programs_agree_after_each_pass_alone", folder, after_each_pass_alone));
    }
    tests.extend(long_programs());
    tests.extend(alone!("loops_agree": random_programs_agree_after_each_pass));
    tests
}

/// Programs that take seconds: the campaign runs them.
fn long_programs() -> Vec<Trial> {
    let text = files::text(Path::new("tests/cases/in_place/more.ks"));
    let names = text.lines().filter_map(|line| line.strip_prefix("(def ")?.split_whitespace().next());
    let of = |name: &str| {
        let (text, f) = (text.clone(), name.to_string());
        let hard = Hard { file: "more".into(), text, name: f };
        let test = move || function(&hard);
        each::row("loops_agree::long_programs_agree_after_each_pass", name, test).with_ignored_flag(true)
    };
    names.map(of).collect()
}

fn random_programs_agree_after_each_pass() {
    let (cases, in_lanes) = draw::programs(20, |generated, random| {
        let last = generated.functions.last().expect("there is a function");
        let mut case = Case::new(&generated.text, &last.name);
        for sizes in [[0, 2], [1, 1], [3, 2], [7, 8]] {
            let args: Option<Vec<Value>> = last.params.iter().map(|ty| ty.value(sizes, random)).collect();
            args.into_iter().for_each(|args| case.add(args));
        }
        let mut tally = Tally::default();
        WAYS.iter().for_each(|way| case.agrees(*way, &mut tally));
        tally.in_lanes
    });
    assert!(in_lanes > 0 || cases < 10, "nothing runs in lanes");
}

fn function(hard: &Hard) -> Outcome {
    let mut case = Case::new(&hard.text, &hard.name);
    case.add_sizes();
    agrees(&case)
}

fn agrees(case: &Case) -> Outcome {
    let mut tally = Tally::default();
    WAYS.iter().for_each(|way| case.agrees(*way, &mut tally));
    println!("{tally:?}");
    Ok(())
}

fn demo(demo: &Demo) -> Outcome {
    let mut case = Case::new(demo.text, demo.fun);
    case.add_example();
    agrees(&case)
}

fn case(path: &Path) -> Case {
    let mut case = Case::new(&files::text(path), "f");
    case.add_sizes();
    case
}

fn after_each_pass(path: &Path) -> Outcome {
    agrees(&case(path))
}

fn after_each_pass_alone(path: &Path) -> Outcome {
    let (case, mut tally) = (case(path), Tally::default());
    WAYS.iter().for_each(|way| case.agrees_by_each_pass_alone(*way, &mut tally));
    println!("{tally:?}");
    if tally.changes > 0 { Ok(()) } else { Err("no pass changes anything".into()) }
}
