//! Values and derivatives do not depend on how a program is compiled: for every two choices of level, lanes, checks,
//! forward mode, arithmetic and derivation there is a way that has both, with loops divided into the smallest chunks,
//! on 1, 2 and 4 threads. They are the interpreter's, to 1e-12, or 1e-9 with fast arithmetic; so are errors, but that
//! lanes may find another one first.
//!
//! `cases/ways/` has programs that are hard on a compiler that changes orders, stores, and runs what conditions forbid.
//! Each is compiled in a few of the ways with every commit, and in all by the ignored tests.

use common::generate_arrays::drawn;
use common::native::{Case, Way};
use common::ways::{KINDS, covering, rows};
use lm::random::SplitMix;
use lm::types::Type;
use lmc::demos::DEMOS;
use lmc::derive::Derivation;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A way with its derivation.
type Chosen = (Derivation, Way);

/// One of so many ways is for each program, the others for the programs after it.
const SPREAD: usize = 6;

fn some(ways: &[Chosen], number: usize, spread: usize) -> Vec<Chosen> {
    ways.iter().enumerate().filter(|(i, _)| i % spread == number % spread).map(|(_, way)| way.clone()).collect()
}

/// A case for each derivation of the ways.
fn cases(text: &str, f: &str, ways: &[Chosen]) -> Vec<Case> {
    let by = |derivation: Derivation| {
        let ways: Vec<Way> = ways.iter().filter(|(d, _)| *d == derivation).map(|(_, way)| way.clone()).collect();
        (!ways.is_empty()).then(|| Case::derived(text, f, derivation, &ways))
    };
    Derivation::ALL.into_iter().filter_map(by).collect()
}

/// What ran.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    in_lanes: usize,
    divided: usize,
}

impl Tally {
    fn add(&mut self, case: &Case) {
        self.in_lanes += case.loops_in_lanes();
        self.divided += case.divided();
    }
}

/// All sizes around those of vectors.
fn agrees(case: &mut Case, seed: u64) {
    for size in [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23] {
        case.agrees_sized(&[size], false, seed + size as u64);
    }
    for (i, sizes) in [&[1, 2][..], &[0, 3], &[7, 8, 9], &[2, 5, 17]].iter().enumerate() {
        (0..3).for_each(|k| case.agrees_sized(sizes, true, seed + 100 + (10 * i + k) as u64));
    }
    for size in [1, 5, 8, 17] {
        case.agrees_special(size, seed + 200);
    }
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/ways");
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}

/// The functions of a program that have arguments one can draw.
fn functions(text: &str) -> Vec<String> {
    let checked = front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    let named = checked.places.keys().filter(|f| f.derivations.is_empty());
    named.filter(|f| checked.program.defs.contains_key(*f)).map(|f| f.base.to_string()).collect()
}

/// Each function of a folder in one of `spread` of the ways; all that fail are told.
fn programs_agree(spread: usize) {
    let (only, ways) = (std::env::var("LMC_ONLY").ok(), covering(2));
    let (mut tally, mut failures, mut number) = (Tally::default(), vec![], 0);
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("the program can be read");
        for f in functions(&text) {
            number += 1;
            if only.as_ref().is_some_and(|only| *only != f) {
                continue;
            }
            // One by one, so that a failure of one way does not hide those of others.
            for way in some(&ways, number, spread) {
                // What is printed last tells where native code crashed.
                println!("{f}, {}", way.1.name);
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    with_large_stack(|| {
                        let mut tally = Tally::default();
                        for mut case in cases(&text, &f, std::slice::from_ref(&way)) {
                            agrees(&mut case, number as u64);
                            tally.add(&case);
                        }
                        tally
                    })
                }));
                match outcome {
                    Ok(found) => {
                        tally =
                            Tally { in_lanes: tally.in_lanes + found.in_lanes, divided: tally.divided + found.divided }
                    }
                    Err(_) => failures.push(format!("{}, {f}: {}", path.display(), way.1.name)),
                }
            }
        }
    }
    println!("{number} functions, {tally:?}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(only.is_some() || tally.in_lanes > number && tally.divided > number / 4, "{tally:?}");
}

#[test]
fn hard_programs_agree() {
    programs_agree(SPREAD);
}

#[test]
#[ignore = "takes minutes: cargo test --release --test all_ways -- --ignored"]
fn hard_programs_agree_in_all_ways() {
    programs_agree(1);
}

fn random_programs_agree(otherwise: u32, spread: usize) {
    let (seed, count) = (common::random::seed(), common::random::cases(otherwise));
    println!("LMC_SEED={seed} LMC_CASES={count}");
    let (mut random, mut tally, ways) = (SplitMix::new(seed), Tally::default(), covering(2));
    for number in 0..count {
        let generated = drawn(&mut random);
        let last = generated.functions.last().expect("there is a function");
        with_large_stack(|| {
            for mut case in cases(&generated.text, &last.name, &some(&ways, number as usize, spread)) {
                for sizes in [[0, 2], [2, 0], [1, 1], [3, 4], [5, 2], [7, 8], [9, 3], [17, 2]] {
                    case.agrees_at(last, sizes, &mut random);
                }
                for sizes in [&[1, 2][..], &[3, 7, 8]] {
                    case.agrees_sized(sizes, true, random.draw());
                }
                tally.add(&case);
            }
        });
    }
    println!("{tally:?}");
    // Their loops do too little to be divided; those of the hard programs are.
    assert!(count < 10 || tally.in_lanes > 0, "{tally:?}");
}

#[test]
fn random_programs_agree_in_some_ways() {
    random_programs_agree(24, SPREAD);
}

#[test]
#[ignore = "takes minutes: cargo test --release --test all_ways -- --ignored"]
fn random_programs_agree_in_all_ways() {
    random_programs_agree(200, 1);
}

fn demos_agree(spread: usize) {
    let (ways, only) = (covering(2), std::env::var("LMC_ONLY").ok());
    for (number, demo) in DEMOS.iter().enumerate() {
        if only.as_ref().is_some_and(|only| only != demo.name) {
            continue;
        }
        with_large_stack(|| {
            for mut case in cases(demo.text, demo.fun, &some(&ways, number, spread)) {
                let has_example = demo.text.contains("(def example");
                let takes_numbers = case.params().iter().all(|ty| matches!(ty, Type::Float | Type::Integer));
                assert!(has_example || takes_numbers, "{}: there is no point", demo.name);
                match has_example {
                    true => case.agrees(&case.example()),
                    false => (0..3).for_each(|seed| case.agrees_sized(&[3], false, seed)),
                }
            }
        });
    }
}

#[test]
fn demos_agree_in_some_ways() {
    demos_agree(covering(2).len() / 2);
}

#[test]
#[ignore = "takes minutes: cargo test --release --test all_ways -- --ignored"]
fn demos_agree_in_all_ways() {
    demos_agree(1);
}

/// Every choice of one kind with every choice of another.
#[test]
fn every_pair_of_choices_is_there() {
    let rows = rows(2);
    println!("{} ways", rows.len());
    for (i, j) in (0..KINDS.len()).flat_map(|j| (0..j).map(move |i| (i, j))) {
        for (a, b) in (0..KINDS[i]).flat_map(|a| (0..KINDS[j]).map(move |b| (a, b))) {
            assert!(rows.iter().any(|row| row[i] == a && row[j] == b), "{i} {a}, {j} {b}");
        }
    }
    assert_eq!(covering(2).len(), rows.len());
}
