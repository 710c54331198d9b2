//! The parts of reports: tables, ratios, targets, and the conditions of a run.

use super::machine;
use super::rounds::{Cell, Effort};

/// The quotient of two times that should be at most a limit, or at least.
pub struct Target {
    /// Its name.
    pub name: String,
    /// Above 1 where it is missed.
    pub missed_by: f64,
}

impl Target {
    /// The quotient should be at most a limit.
    pub fn at_most(name: &str, limit: f64, measured: f64) -> Target {
        Target { name: name.to_string(), missed_by: measured / limit }
    }

    /// The quotient should be at least a limit.
    pub fn at_least(name: &str, limit: f64, measured: f64) -> Target {
        Target { name: name.to_string(), missed_by: limit / measured }
    }

    /// Returns whether it is met.
    pub fn is_met(&self) -> bool {
        self.missed_by <= 1.0
    }
}

/// Formats the targets of a row.
pub fn verdict(targets: &[Target]) -> String {
    let missed = targets.iter().filter(|target| !target.is_met());
    let missed: Vec<String> = missed.map(|target| format!("{:.2} ({})", target.missed_by, target.name)).collect();
    match (targets.is_empty(), missed.is_empty()) {
        (true, _) => "-".to_string(),
        (_, true) => "met".to_string(),
        _ => missed.join(", "),
    }
}

/// Formats the number of targets met, by name, and the worst miss; each target comes with its place. `words` are written
/// before names.
pub fn summary(words: &str, all: &[(String, Target)]) -> String {
    let mut names: Vec<&str> = all.iter().map(|(_, target)| &*target.name).collect();
    names.sort_unstable();
    names.dedup();
    let line = |name: &str| {
        let of_kind: Vec<&(String, Target)> = all.iter().filter(|(_, target)| target.name == name).collect();
        let met = of_kind.iter().filter(|(_, target)| target.is_met()).count();
        let worst = of_kind.iter().max_by(|a, b| a.1.missed_by.total_cmp(&b.1.missed_by)).expect("there is one");
        let (place, target) = worst;
        let worst = if target.is_met() { "-".into() } else { format!("{:.2}, {place}", target.missed_by) };
        vec![format!("{words}{name}"), of_kind.len().to_string(), met.to_string(), worst]
    };
    let headings = ["target", "entries", "met", "missed most, by"].map(String::from);
    table(&headings, names.into_iter().map(line).collect())
}

/// Formats a table.
pub fn table(headings: &[String], lines: Vec<Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = vec!["---".to_string(); headings.len()];
    line(headings) + &line(&rule) + &lines.iter().map(|cells| line(cells)).collect::<String>()
}

/// Formats a quotient; a dash where there is none.
pub fn ratio(a: Option<f64>, b: Option<f64>) -> String {
    match a.zip(b).map(|(a, b)| a / b) {
        None => "-".to_string(),
        Some(ratio) if ratio < 0.001 => "< 0.001".to_string(),
        Some(ratio) => format!("{ratio:.*}", if ratio < 0.1 { 3 } else { 2 }),
    }
}

/// Names the machine, the versions of what is compared, and how it was measured.
pub fn conditions(effort: Effort, versions: &[String]) -> String {
    let who = [&[machine::compiler()], versions].concat().join("; ");
    let Effort { rounds, sample, clock } = effort;
    let times = format!("Medians of {rounds} samples of {} ms, {}.", sample.as_millis(), clock.name());
    format!("{}; {who}. {}\n", machine::description(), if rounds > 0 { &times } else { "" })
}

/// Tells how many results agree, and how far.
pub fn differences<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> String {
    let largest = cells.clone().map(|cell| cell.error).fold(0.0, f64::max);
    format!("{} results agree, to {largest:.0e} of the largest number of each.\n", cells.count())
}
