//! Compares native code with the interpreter in chosen [`ways`](crate::ways) to compile: functions that are hard on a
//! compiler, demos and random programs.

use crate::generate_arrays::Generated;
use crate::native::{Case, Way};
use crate::random::large;
use crate::ways::Chosen;
use lm::random::SplitMix;
use lm::types::Type;
use lmc::demos::Demo;
use lmc::ks::front::Choices;

/// Counts of the runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Loops in lanes, of all ways.
    pub in_lanes: usize,
    /// Ways in which loops are divided.
    pub divided: usize,
}

impl Tally {
    fn add(&mut self, case: &Case) {
        self.in_lanes += case.loops_in_lanes();
        self.divided += case.divided();
    }
}

/// Returns every `spread`-th of the ways, from another one on for each number.
pub fn some(ways: &[Chosen], number: usize, spread: usize) -> Vec<Chosen> {
    ways.iter().enumerate().filter(|(i, _)| i % spread == number % spread).map(|(_, way)| way.clone()).collect()
}

/// A case for each of the ways to make derivatives.
fn cases(text: &str, f: &str, ways: &[Chosen]) -> Vec<Case> {
    let mut all: Vec<(Choices, Vec<Way>)> = Vec::new();
    for (choices, way) in ways {
        match all.iter_mut().find(|(known, _)| known == choices) {
            Some((_, ways)) => ways.push(way.clone()),
            None => all.push((choices.clone(), vec![way.clone()])),
        }
    }
    all.into_iter().map(|(choices, ways)| Case::derived(text, f, choices, &ways)).collect()
}

/// Sizes around those of vectors: none, less than one, one, several, and all rests. The others are for the campaign.
const SIZES: [usize; 10] = [0, 1, 2, 3, 5, 7, 8, 9, 15, 17];
const MORE_SIZES: [usize; 3] = [4, 16, 23];

/// Compares a function at sizes around those of vectors.
///
/// Panics where one differs.
pub fn function(text: &str, f: &str, ways: &[Chosen], seed: u64) {
    for mut case in cases(text, f, ways) {
        let more = if large() { &MORE_SIZES[..] } else { &[] };
        for &size in SIZES.iter().chain(more) {
            case.agrees_sized(&[size], false, seed + size as u64);
        }
        for (i, sizes) in [&[1, 2][..], &[0, 3], &[7, 8, 9], &[2, 5, 17]].iter().enumerate() {
            (0..3).for_each(|k| case.agrees_sized(sizes, true, seed + 100 + (10 * i + k) as u64));
        }
        for size in [1, 5, 8, 17] {
            case.agrees_special(size, seed + 200);
        }
    }
}

/// Compares the last function of a random program at random points.
///
/// Panics where one differs.
pub fn drawn(generated: &Generated, ways: &[Chosen], random: &mut SplitMix) -> Tally {
    let last = generated.functions.last().expect("there is a function");
    let mut tally = Tally::default();
    for mut case in cases(&generated.text, &last.name, ways) {
        for sizes in [[0, 2], [2, 0], [1, 1], [3, 4], [5, 2], [7, 8], [9, 3], [17, 2]] {
            case.agrees_at(last, sizes, random);
        }
        for sizes in [&[1, 2][..], &[3, 7, 8]] {
            case.agrees_sized(sizes, true, random.draw());
        }
        tally.add(&case);
    }
    tally
}

/// Compares a demo at its example, or at numbers.
///
/// Panics where one differs.
pub fn demo(demo: &Demo, ways: &[Chosen]) {
    for mut case in cases(demo.text, demo.fun, ways) {
        let has_example = demo.text.contains("(def example");
        let takes_numbers = case.params().iter().all(|ty| matches!(ty, Type::Float | Type::Integer));
        assert!(has_example || takes_numbers, "{}: there is no point", demo.name);
        match has_example {
            true => case.agrees(&case.example()),
            false => (0..3).for_each(|seed| case.agrees_sized(&[3], false, seed)),
        }
    }
}

/// A function of a text.
#[derive(Clone, Debug)]
pub struct Hard {
    /// The program's name.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The function's name.
    pub name: String,
}

/// Returns the functions of `cases/ways`, which are hard on a compiler that changes orders, stores, and runs what
/// conditions forbid. They are found by their text, `(def NAME` at the start of a line: a test that is listed must be
/// cheap.
pub fn hard() -> Vec<Hard> {
    let mut all = Vec::new();
    for path in crate::files::programs("tests/cases/ways") {
        let (file, text) = (crate::files::name(&path), crate::files::text(&path));
        let names = text.lines().filter_map(|line| line.strip_prefix("(def ")?.split_whitespace().next());
        let of = |name: &str| Hard { file: file.clone(), text: text.clone(), name: name.to_string() };
        all.extend(names.map(of));
    }
    all
}
