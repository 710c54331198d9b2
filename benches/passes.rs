//! Measures the passes over loops: the run time of each array demo and its reverse derivative, native, on one thread.
//!
//! `cargo bench --bench passes` prints two tables, of medians over calls that take turns: the ways of checking, as
//! multiples of the time with full checks; and what each pass alone is worth, as the time without it in multiples of
//! the time with all of them. `cargo bench --bench passes -- gmm det` measures these demos only.

#[allow(dead_code)] // each bench uses a part
mod measure;

use lmc::derive::Derivation;
use loops::{Checks, PASSES, Selection};
use measure::{ARGUMENTS, Native, demo, in_turns, shown};
use native::Options;

/// The time to measure each row, for the function and for its derivative.
const SECONDS: f64 = 3.0;

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let demos = || ARGUMENTS.iter().filter(|arguments| given.is_empty() || given.iter().any(|g| g == arguments.demo));
    let checks = [Checks::Full, Checks::Hoisted, Checks::None];
    let checks = checks.map(|checks| Options { checks, ..Options::default() });
    println!(
        "| demo | full | hoisted | none | reverse, full | hoisted | none |\n| --- | --- | --- | --- | --- | --- | --- |"
    );
    demos().for_each(|arguments| row(arguments.demo, arguments.text, &checks));
    let hoisting: Vec<&str> = PASSES.iter().map(|pass| pass.name).filter(|name| *name != "drop_checks").collect();
    let without = |pass: &str| {
        let others = hoisting.iter().filter(|name| **name != pass).map(ToString::to_string).collect();
        Options { passes: Selection::Only(others), ..Options::default() }
    };
    let ways: Vec<Options> =
        [Options::default()].into_iter().chain(hoisting.iter().map(|pass| without(pass))).chain([none()]).collect();
    let names = hoisting.join(" | ");
    println!("\n| demo | all | {names} | no pass | reverse, all | {names} | no pass |");
    println!("|{}", " --- |".repeat(2 * ways.len() + 1));
    demos().for_each(|arguments| row(arguments.demo, arguments.text, &ways));
}

fn none() -> Options {
    Options { passes: Selection::Only(vec![]), ..Options::default() }
}

/// The time of the first way, and those of the others as multiples of it.
fn row(name: &str, arguments: &str, ways: &[Options]) {
    let natives: Vec<Native> =
        ways.iter().map(|options| Native::with(Derivation::default(), demo(name), arguments, options)).collect();
    let mut primal: Vec<_> = natives.iter().map(Native::prepare).collect();
    let mut reverse: Vec<_> = natives.iter().filter_map(Native::prepare_reverse).collect();
    let cells = [&mut primal, &mut reverse].map(|calls| {
        let times = in_turns(calls, SECONDS);
        let rest = times[1..].iter().map(|time| format!("{:.2}", time / times[0]));
        [shown(Some(times[0]))].into_iter().chain(rest).collect::<Vec<_>>().join(" | ")
    });
    println!("| `{name}` | {} |", cells.join(" | "));
}
