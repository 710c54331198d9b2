//! The table of the cheap-gradient bound, as Markdown: demos, families, random programs, for each derivation.

use super::cost::{measured, pipeline, point_of_demo, point_of_size};
use super::families::families;
use super::generate_scaled::program;
use super::shrink::smallest;
use lm::interp::Counts;
use lm::term::FunName;
use lmc::cost::{Measured, PER_LEVEL, WORK, moves};
use lmc::demos::{DEMOS, Demo};
use lmc::derive::Derivation;
use lmc::with_large_stack;
use std::panic::catch_unwind;

/// The sizes at which random programs are measured.
pub const SIZES: [i64; 2] = [4, 16];

/// The seed of the random programs.
pub const SEED: u64 = 1;

/// A header and its rule.
fn header(columns: &[&str]) -> String {
    format!("| {} |\n|{}\n", columns.join(" | "), " --- |".repeat(columns.len()))
}

/// The counts of value and gradient of every demo, at its `example` or at small numbers.
pub fn demos() -> String {
    let kinds = ["adds", "mults", "nonlinear", "moves", "MOVES"];
    let columns = [&["demo", "derivation", "levels"][..], &kinds, &kinds, &["per level", "bound"]].concat();
    let rows = DEMOS.iter().flat_map(|demo| Derivation::BOUNDED.map(|derivation| row_of_demo(demo, derivation)));
    header(&columns) + &rows.collect::<String>()
}

/// One row.
pub fn row_of_demo(demo: &Demo, derivation: Derivation) -> String {
    let start = format!("| `{}` | {} |", demo.name, derivation.name());
    match with_large_stack(|| measured_demo(demo, derivation)) {
        Ok(m) => {
            let counts = [&m.primal, &m.vjp].map(kinds);
            row_of_counts(demo.name, derivation.name(), m.levels(), counts, m.per_level(), m.is_cheap())
        }
        Err(why) => format!("{start} {why} |\n"),
    }
}

/// One row, of counts that are known: adds, mults, nonlinear, moves and MOVES of the function, then of value and
/// gradient.
pub fn row_of_counts(
    demo: &str,
    derivation: &str,
    levels: u64,
    counts: [[u64; 5]; 2],
    per_level: f64,
    is_cheap: bool,
) -> String {
    let [primal, vjp] = counts.map(|counts| counts.map(|n| n.to_string()).join(" | "));
    let bound = if is_cheap { "met" } else { "not met" };
    format!("| `{demo}` | {derivation} | {levels} | {primal} | {vjp} | {per_level:.2} | {bound} |\n")
}

/// The counts of a demo.
///
/// Errors: it has no derivative by this derivation.
pub fn measured_demo(demo: &Demo, derivation: Derivation) -> Result<Measured, String> {
    let mut p = pipeline(demo.text, derivation)?;
    let f = FunName::base(demo.fun);
    let point = point_of_demo(&p, &f);
    measured(&mut p, &f, &point)
}

fn kinds(c: &Counts) -> [u64; 5] {
    [c.additions, c.multiplications, c.nonlinear, moves(c), c.accesses]
}

/// The ratio of work, value and gradient over value, of each family at its sizes.
pub fn grown() -> String {
    let names = Derivation::BOUNDED.map(Derivation::name);
    let columns = [&["family", "grows", "size"][..], &names].concat();
    let mut text = header(&columns);
    for family in families() {
        for size in family.sizes {
            let ratio = |derivation| match with_large_stack(|| family.measured(*size, derivation)) {
                Ok(m) => format!("{:.2}", m.ratio(&m.vjp, &WORK)),
                Err(why) => why,
            };
            let ratios = Derivation::BOUNDED.map(ratio).join(" | ");
            text += &format!("| {} | {} | {size} | {ratios} |\n", family.name, family.grows);
        }
    }
    text
}

/// The measurements of a random program.
#[derive(Clone, Debug)]
pub struct Found {
    /// The program's number.
    pub number: u64,
    /// The largest ratio per level, over the sizes.
    pub per_level: f64,
    /// Whether the program is within the bound at all points.
    pub is_cheap: bool,
}

/// A random program at its sizes. What panics or fails is an error.
pub fn measured_program(text: &str, derivation: Derivation) -> Result<Vec<Measured>, String> {
    let measured = || {
        with_large_stack(|| {
            let mut p = pipeline(text, derivation)?;
            let f = FunName::base("f");
            SIZES.iter().map(|n| point_of_size(&p, *n).and_then(|at| measured(&mut p, &f, &at))).collect()
        })
    };
    catch_unwind(measured).unwrap_or_else(|_| Err("panics".into()))
}

/// The random programs below a number, by a derivation; then those that have no derivative, or fail.
pub fn programs_below(count: u64, derivation: Derivation) -> (Vec<Found>, Vec<(u64, String)>) {
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    for number in 0..count {
        match measured_program(&program(SEED, number), derivation) {
            Ok(all) => found.push(Found {
                number,
                per_level: all.iter().map(Measured::per_level).fold(0.0, f64::max),
                is_cheap: all.iter().all(Measured::is_cheap),
            }),
            Err(why) => failed.push((number, why)),
        }
    }
    found.sort_by(|a, b| b.per_level.total_cmp(&a.per_level));
    (found, failed)
}

/// Returns whether a program has a gradient above the bound.
pub fn is_dear(text: &str, derivation: Derivation) -> bool {
    measured_program(text, derivation).is_ok_and(|all| !all.iter().all(Measured::is_cheap))
}

/// The summary of the random programs.
pub fn random(count: u64) -> String {
    let above = format!("above {PER_LEVEL}");
    let mut text = header(&["derivation", "programs", "failed", "median", "99 of 100", "worst", &above]);
    let mut examples = String::new();
    for derivation in Derivation::BOUNDED {
        let (found, failed) = programs_below(count, derivation);
        let dear: Vec<&Found> = found.iter().filter(|f| !f.is_cheap).collect();
        let at = |part: usize| found.get(found.len() / part).map_or(f64::NAN, |f| f.per_level);
        text += &format!(
            "| {} | {} | {} | {:.2} | {:.2} | {:.2} | {} |\n",
            derivation.name(),
            found.len(),
            failed.len(),
            at(2),
            at(100),
            found.first().map_or(f64::NAN, |f| f.per_level),
            dear.len()
        );
        let shortest = dear.iter().map(|f| program(SEED, f.number)).min_by_key(String::len);
        if let Some(text) = shortest {
            let small = smallest(&text, |text| is_dear(text, derivation));
            examples += &format!("\nThe smallest program found above the bound, {}:\n\n", derivation.name());
            examples += &format!("```lisp\n{}```\n", small.trim_start());
        }
    }
    text + &examples
}
