//! Values and derivatives do not depend on how a program is compiled: for every two choices of level, lanes, checks,
//! forward mode, arithmetic, derivation and checkpoints some way has both, with loops divided into the smallest chunks,
//! on 1, 2 and 4 threads. They are the interpreter's, to 1e-12, or 1e-9 with fast arithmetic; so are errors, but that
//! lanes may find another one first.
//!
//! Each program is compiled in a few of the ways, neighbours in others; the campaign compiles it in all of them.

use super::each::{self, Outcome, alone};
use common::all_ways::{Hard, Tally, demo, drawn, function, hard, some};
use common::native::Way;
use common::random::{cases, seed};
use common::ways::{Chosen, KINDS, covering, rows};
use common::{draw, files, ways};
use libtest_mimic::Trial;
use lm::random::SplitMix;
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lmc::demos::{DEMOS, Demo};
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front::{self, Choices};
use lmc::ks::source::Source;
use native::SourceInfo;
use std::sync::LazyLock;

/// The ways, which take longer to find than a small program takes to compile.
static WAYS: LazyLock<Vec<Chosen>> = LazyLock::new(|| covering(2));

/// Each program tests one of this many ways; the programs after it test the others.
const SPREAD: usize = 18;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests: Vec<Trial> =
        hard().into_iter().enumerate().map(|(number, hard)| of_function(number, hard)).collect();
    tests.extend(each::demo("all_ways::demos_agree_in_some_ways", demo_agrees));
    tests.extend(alone!(
        "all_ways": hard_programs_run_in_lanes_and_on_threads, random_programs_agree_in_some_ways,
        hard_programs_agree_in_drawn_ways, demos_agree_in_drawn_ways, every_pair_of_choices_is_there,
    ));
    tests
}

fn of_function(number: usize, hard: Hard) -> Trial {
    let name = format!("{}::{}", hard.file, hard.name);
    each::row("all_ways::hard_programs_agree", &name, move || {
        for way in some(&WAYS, number, SPREAD) {
            // The last line printed shows the program whose native code crashed.
            println!("{}", way.1.name);
            function(&hard.text, &hard.name, &[way], number as u64);
        }
        Ok(())
    })
}

/// Without passes, and in one or two of the ways.
fn demo_agrees(the_demo: &'static Demo) -> Outcome {
    let number = DEMOS.iter().position(|other| other.name == the_demo.name).expect("it is a demo");
    let passes = loops::Selection::Only(vec![]);
    let plain = native::Options { passes, opt_level: 0, ..native::Options::exact() };
    let plain = (Choices::default(), Way::new("no pass", plain));
    demo(the_demo, &[vec![plain], some(&WAYS, number, 16)].concat());
    Ok(())
}

/// The functions are those that the checker finds, and many of their loops are changed: by the loops, without LLVM.
fn hard_programs_run_in_lanes_and_on_threads() {
    let (all, mut tally, mut names) = (hard(), Tally::default(), vec![]);
    for (number, one) in all.iter().enumerate() {
        names.push(one.name.clone());
        for (choices, way) in some(&WAYS, number, SPREAD) {
            let loops = loops(one, choices, &way);
            tally.in_lanes += loops.matches(" lanes ").count();
            tally.divided += usize::from(loops.contains(" on threads"));
        }
    }
    println!("{} functions, {tally:?}", all.len());
    assert!(tally.in_lanes > all.len() / 2 && tally.divided > all.len() / 8, "{tally:?}");
    let checked = files::programs("tests/cases/ways").into_iter().flat_map(|path| functions(&files::text(&path)));
    let mut checked: Vec<String> = checked.collect();
    checked.sort();
    names.sort();
    assert_eq!(names, checked);
}

/// The functions of a program, by the checker.
fn functions(text: &str) -> Vec<String> {
    let checked = front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    let named = checked.places.keys().filter(|f| f.derivations.is_empty());
    named.filter(|f| checked.program.defs.contains_key(*f)).map(|f| f.base.to_string()).collect()
}

/// The loops of a function and its reverse derivative, if it has one.
fn loops(hard: &Hard, choices: Choices, way: &Way) -> String {
    let checked = front::load_for(&Source::new("case.ks", &hard.text), choices, &Timings::default());
    let mut pipeline = Pipeline::new(checked.expect("cases are right programs"));
    let f = FunName::base(&hard.name);
    let mut entries = vec![f.clone(), f.derived(Derivative::Rev)];
    pipeline.require(&f).expect("it is defined");
    entries.retain(|name| pipeline.require(name).is_ok());
    let module = native::compile(pipeline.program(), &entries, &SourceInfo::new("case.ks", &hard.text), &way.options);
    module.expect("it compiles").loops().to_string()
}

fn random_programs_agree_in_some_ways() {
    let (count, in_lanes) = draw::programs(24, |generated, random| {
        let ways = [ways::drawn(random), ways::drawn(random)];
        drawn(generated, &ways, random).in_lanes
    });
    // Their loops do too little to be divided; those of the hard programs are.
    assert!(count < 10 || in_lanes > 0, "nothing runs in lanes");
}

/// Returns as many functions and ways as are asked for.
fn hard_programs_agree_in_drawn_ways() {
    let (mut random, all) = (SplitMix::new(seed()), hard());
    for _ in 0..cases(4) {
        let (one, way) = (&all[random.draw() as usize % all.len()], ways::drawn(&mut random));
        println!("{}, {}", one.name, way.1.name);
        function(&one.text, &one.name, &[way], random.draw());
    }
}

/// Returns as many demos and ways as are asked for.
fn demos_agree_in_drawn_ways() {
    let mut random = SplitMix::new(seed());
    for _ in 0..cases(2) {
        let (one, way) = (&DEMOS[random.draw() as usize % DEMOS.len()], ways::drawn(&mut random));
        println!("{}, {}", one.name, way.1.name);
        demo(one, &[way]);
    }
}

/// Every choice of one kind with every choice of another.
fn every_pair_of_choices_is_there() {
    let rows = rows(2);
    println!("{} ways", rows.len());
    for (i, j) in (0..KINDS.len()).flat_map(|j| (0..j).map(move |i| (i, j))) {
        for (a, b) in (0..KINDS[i]).flat_map(|a| (0..KINDS[j]).map(move |b| (a, b))) {
            assert!(rows.iter().any(|row| row[i] == a && row[j] == b), "{i} {a}, {j} {b}");
        }
    }
    assert_eq!(WAYS.len(), rows.len());
}
