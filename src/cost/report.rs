//! Reports counts as a table, or as JSON: a row for the function, and for each of its derivatives.

use super::{Measured, SMALL, WEIGHTS, WORK, moves};
use crate::derive::Derivation;
use lm::interp::Counts;
use serde::Serialize;
use std::collections::BTreeMap;

/// A function that was measured at a point.
#[derive(Clone, Debug)]
pub struct Row {
    /// The function.
    pub function: String,
    /// A few words on its argument.
    pub input: String,
    /// The size, where there is one.
    pub size: Option<u32>,
    /// The way to the derivatives.
    pub derivation: Derivation,
    /// The counts.
    pub measured: Measured,
}

impl Row {
    /// Returns whether some counts of a derivative are within the bound; none where there is no bound.
    pub fn is_within(&self, counts: &Counts) -> Option<bool> {
        self.derivation.has_bound().then(|| self.measured.is_within(counts))
    }

    /// Returns whether a derivative is above the bound.
    pub fn is_above(&self) -> bool {
        self.derivation.has_bound() && !self.measured.is_cheap()
    }
}

/// The widths of the columns after the name of the function.
const WIDTHS: [usize; 15] = [6, 2, 6, 11, 8, 7, 7, 7, 7, 5, 5, 7, 7, 6, 10];

/// The columns whose text starts at the left.
const LEFT: [usize; 2] = [2, 3];

fn columns(width: usize, function: &str, cells: &[String; 15]) -> String {
    let mut line = format!("{function:<width$}");
    for (i, (cell, width)) in cells.iter().zip(WIDTHS).enumerate() {
        line += &if LEFT.contains(&i) { format!("  {cell:<width$}") } else { format!("  {cell:>width$}") };
    }
    line + "  "
}

/// Returns the head of the table. `width` is that of the longest name of a function.
pub fn heading(width: usize) -> String {
    let [work, arith, mix, traffic] = WEIGHTS.map(|weights| weights.name);
    let names = [
        "n",
        "p",
        "entry",
        "derivation",
        "MOVES",
        "ADDS",
        "MULTS",
        "NLOPS",
        "moves",
        work,
        arith,
        mix,
        traffic,
        "4*3^p",
        "4*max(p,1)",
    ];
    columns(width, "function", &names.map(String::from)) + "bound"
}

/// Returns the line of the function itself, with its counts.
pub fn primal_line(width: usize, row: &Row) -> String {
    let m = &row.measured;
    let cells = cells(row, "primal", "-", &m.primal, ["-", "-", "-", "-", "-", "-"].map(String::from));
    columns(width, &row.function, &cells) + "-"
}

/// Returns the lines of the derivatives, with their counts and ratios.
pub fn derivative_lines(width: usize, row: &Row) -> [String; 2] {
    let m = &row.measured;
    [("vjp", &m.vjp), ("rev", &m.rev)].map(|(entry, counts)| {
        let [work, arith, mix, traffic] = WEIGHTS.map(|weights| format!("{:.2}", m.ratio(counts, &weights)));
        let bounds = [work, arith, mix, traffic, large(m.theorem()), m.bound().to_string()];
        let line = columns(width, &row.function, &cells(row, entry, row.derivation.name(), counts, bounds));
        let outcome = match row.is_within(counts) {
            Some(true) => "met",
            Some(false) => "not met",
            None => "-",
        };
        line + outcome
    })
}

fn cells(row: &Row, entry: &str, derivation: &str, counts: &Counts, rest: [String; 6]) -> [String; 15] {
    let size = row.size.map_or("-".into(), |size| size.to_string());
    let [moved, adds, mults, nlops, written] = kinds(counts).map(|n| n.to_string());
    let [work, arith, mix, traffic, theorem, bound] = rest;
    let p = row.measured.nesting.to_string();
    let (entry, derivation) = (entry.into(), derivation.into());
    [size, p, entry, derivation, moved, adds, mults, nlops, written, work, arith, mix, traffic, theorem, bound]
}

/// Returns MOVES, ADDS, MULTS, NLOPS and moves.
fn kinds(c: &Counts) -> [u64; 5] {
    [c.accesses, c.additions, c.multiplications, c.nonlinear, moves(c)]
}

/// Returns a number of at most six characters.
fn large(number: u64) -> String {
    if number < 1_000_000 { number.to_string() } else { format!("{:.0e}", number as f64) }
}

/// Returns the lines below the table.
pub fn legend() -> String {
    let sums = WEIGHTS.map(|weights| format!("{} = {}", weights.name, weights.sum)).join("; ");
    let bounded = WORK.name;
    format!(
        "{sums}.\n\
         Ratios are of the derivative to the function with the Floats of its argument and result, {SMALL} at least.\n\
         The bound: {bounded} is at most 4*max(p,1), p the nesting of array operations. 4*3^p: Huot and Shaikhha, Thm 5.4."
    )
}

/// The counts of an entry, as JSON.
#[derive(Serialize)]
struct JsonCounts {
    #[serde(rename = "MOVES")]
    accesses: u64,
    #[serde(rename = "ADDS")]
    additions: u64,
    #[serde(rename = "MULTS")]
    multiplications: u64,
    #[serde(rename = "NLOPS")]
    nonlinear: u64,
    moves: u64,
}

impl JsonCounts {
    fn of(counts: &Counts) -> JsonCounts {
        let [accesses, additions, multiplications, nonlinear, moves] = kinds(counts);
        JsonCounts { accesses, additions, multiplications, nonlinear, moves }
    }
}

/// A row, as JSON.
#[derive(Serialize)]
struct JsonRow<'a> {
    function: &'a str,
    input: &'a str,
    n: Option<u32>,
    derivation: &'a str,
    p: u64,
    floats: u64,
    primal: JsonCounts,
    vjp: JsonCounts,
    rev: JsonCounts,
    vjp_ratios: BTreeMap<&'static str, f64>,
    rev_ratios: BTreeMap<&'static str, f64>,
    theorem: u64,
    bound: u64,
    met: Option<bool>,
}

/// Returns a row as one JSON object on a line.
pub fn json(row: &Row) -> String {
    let m = &row.measured;
    let ratios = |counts| WEIGHTS.iter().map(|weights| (weights.name, m.ratio(counts, weights))).collect();
    let row = JsonRow {
        function: &row.function,
        input: &row.input,
        n: row.size,
        derivation: row.derivation.name(),
        p: m.nesting,
        floats: m.floats,
        primal: JsonCounts::of(&m.primal),
        vjp: JsonCounts::of(&m.vjp),
        rev: JsonCounts::of(&m.rev),
        vjp_ratios: ratios(&m.vjp),
        rev_ratios: ratios(&m.rev),
        theorem: m.theorem(),
        bound: m.bound(),
        met: row.derivation.has_bound().then(|| m.is_cheap()),
    };
    serde_json::to_string(&row).expect("numbers and texts are JSON")
}

/// Returns a function that was not measured, and the reason, as one JSON object on a line.
pub fn json_not_measured(function: &str, derivation: Option<&str>, why: &str) -> String {
    serde_json::json!({ "function": function, "derivation": derivation, "not_measured": why }).to_string()
}
