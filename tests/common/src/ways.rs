//! Ways to compile a program, so few that each small program can be compiled in all of them, that cover all choices
//! together:
//!
//! ```text
//! opt_level x lanes x checks x forward x math x derivation x checkpoint
//! ```
//!
//! [`covering`] of 2 has every pair of choices of two kinds, of 3 every triple. Each way divides the shortest loops
//! into chunks, and is called on 2 and 4 threads, too.

use super::native::Way;
use lm::random::SplitMix;
use lmc::derive::{Checkpoint, Derivation};
use lmc::gradcheck::{NATIVE, NATIVE_FAST};
use lmc::ks::front::Choices;
use loops::{Checks, Forward};
use native::{Lanes, Math, Options};

const LANES: [Lanes; 5] = [Lanes::Auto, Lanes::Off, Lanes::Width(2), Lanes::Width(4), Lanes::Width(8)];
const CHECKS: [Checks; 3] = [Checks::Hoisted, Checks::Full, Checks::None];
const FORWARD: [Forward; 3] = [Forward::Auto, Forward::Store, Forward::Recompute];
const MATH: [Math; 2] = [Math::Fast, Math::Exact];
const CHECKPOINT: [Checkpoint; 4] = [Checkpoint::None, Checkpoint::Auto, Checkpoint::Sqrt, Checkpoint::States(2)];

/// Fast arithmetic leaves another rest where terms cancel: sums of numbers of about one, rounded to 1e-16.
const CANCELLED: f64 = 1e-4;

/// The number of choices of each kind.
pub const KINDS: [usize; 7] =
    [4, LANES.len(), CHECKS.len(), FORWARD.len(), MATH.len(), Derivation::OF_ALL_PROGRAMS.len(), CHECKPOINT.len()];

/// A way, and how derivatives are made.
pub type Chosen = (Choices, Way);

/// One choice of each kind.
pub type Row = [usize; KINDS.len()];

/// Ways that have every combination of choices of so many kinds.
pub fn covering(kinds: usize) -> Vec<Chosen> {
    rows(kinds).iter().map(|row| (choices(row), way(row))).collect()
}

/// Returns any way.
pub fn drawn(random: &mut SplitMix) -> Chosen {
    let row = row(random.draw() as usize % KINDS.iter().product::<usize>());
    (choices(&row), way(&row))
}

fn choices(row: &Row) -> Choices {
    Choices { derivation: Derivation::OF_ALL_PROGRAMS[row[5]], checkpoint: CHECKPOINT[row[6]], ..Choices::default() }
}

fn way(row: &Row) -> Way {
    let [opt_level, lanes, checks, forward, math, derivation, checkpoint] = *row;
    let (lanes, checks, forward, math) = (LANES[lanes], CHECKS[checks], FORWARD[forward], MATH[math]);
    let derivation = Derivation::OF_ALL_PROGRAMS[derivation].name();
    let checkpoint = CHECKPOINT[checkpoint];
    let name = format!("O{opt_level}, {lanes:?}, {checks:?}, {forward:?}, {math:?}, {derivation}, {checkpoint}");
    let options = Options { opt_level: opt_level as u8, lanes, checks, forward, math, grain: 1, ..Options::default() };
    let (limit, floor) = if math == Math::Fast { (NATIVE_FAST, CANCELLED) } else { (NATIVE, 0.0) };
    Way { limit, floor, same_errors: lanes == Lanes::Off, threads: vec![2, 4], ..Way::new(&name, options) }
}

/// Greedy: each next row has as many combinations as possible that no row before it has.
pub fn rows(kinds: usize) -> Vec<Row> {
    let all: Vec<Row> = (0..KINDS.iter().product()).map(row).collect();
    let sets: Vec<usize> = (0..1 << KINDS.len()).filter(|set: &usize| set.count_ones() as usize == kinds).collect();
    let most = KINDS.iter().max().expect("there are kinds").pow(kinds as u32);
    let combinations = |row: &Row| sets.iter().enumerate().map(|(i, set)| i * most + code(row, *set)).collect();
    let combinations: Vec<Vec<usize>> = all.iter().map(combinations).collect();
    let mut with = vec![vec![]; sets.len() * most];
    combinations.iter().enumerate().for_each(|(i, row)| row.iter().for_each(|one| with[*one].push(i)));
    let mut missing: Vec<usize> = combinations.iter().map(Vec::len).collect();
    let mut chosen = vec![];
    // The first of the best, which has the lowest level.
    while let Some(best) = (0..all.len()).rev().max_by_key(|i| missing[*i]).filter(|i| missing[*i] > 0) {
        for one in &combinations[best] {
            std::mem::take(&mut with[*one]).into_iter().for_each(|i| missing[i] -= 1);
        }
        chosen.push(all[best]);
    }
    chosen
}

/// The row of a number.
fn row(mut number: usize) -> Row {
    KINDS.map(|choices| {
        let choice = number % choices;
        number /= choices;
        choice
    })
}

/// The choices of some kinds, as a number.
fn code(row: &Row, set: usize) -> usize {
    let chosen = (0..KINDS.len()).filter(|kind| set & 1 << kind != 0);
    chosen.fold(0, |code, kind| code * KINDS[kind] + row[kind])
}
