//! The tables: medians, ratios, slopes in n, and targets, met or missed by how much.

use crate::contenders::{ABLATION, CONTENDERS};
use crate::harness::contender::Contender;
use crate::harness::program::grouped;
use crate::harness::rounds::{Cell, Effort};
use crate::harness::table::{self, Target, conditions, differences, ratio, table, verdict};
use crate::harness::units::shown;
use crate::programs::{Series, Shape};

/// What was found for a program at its sizes.
pub struct Found {
    /// The program.
    pub series: &'static Series,
    /// Its contenders.
    pub contenders: &'static [Contender],
    /// The size, and the results at it.
    pub sizes: Vec<(usize, Vec<Cell>)>,
}

/// The number that a slope may be away from the power of n.
const TOLERANCE: f64 = 0.1;

impl Found {
    /// The time of a contender at a size.
    fn seconds(&self, name: &str, cells: &[Cell]) -> Option<f64> {
        cells.iter().find(|cell| self.contenders[cell.contender].name == name)?.seconds
    }

    /// The exponent of n in the time of a contender: the slope of the line through logarithms that has the least
    /// squares. None below three sizes.
    fn slope(&self, name: &str) -> Option<f64> {
        let at = |(n, cells): &(usize, Vec<Cell>)| Some(((*n as f64).ln(), self.seconds(name, cells)?.ln()));
        let points: Vec<(f64, f64)> = self.sizes.iter().filter_map(at).collect();
        let count = points.len() as f64;
        let mean = |value: fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let products: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        let squares: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
        (points.len() >= 3).then(|| products / squares)
    }

    /// The targets at a size.
    fn targets(&self, n: usize, cells: &[Cell]) -> Vec<Target> {
        let seconds = |name| self.seconds(name, cells);
        let Some(ours) = seconds("dual") else { return Vec::new() };
        let mut targets = Vec::new();
        match self.series.shape {
            Shape::Gradient(_) => {
                let reverse = seconds("reverse");
                targets.extend(reverse.map(|theirs| Target::at_most("1.05 of reverse", 1.05, ours / theirs)));
                let naive = seconds("naive");
                targets
                    .extend(naive.map(|theirs| Target::at_least("n / 10 below naive", n as f64 / 10.0, theirs / ours)));
            }
            Shape::Jacobian => {
                let by_hand = seconds("C++");
                targets.extend(by_hand.map(|theirs| Target::at_most("1 of C++", 1.0, ours / theirs)));
            }
            Shape::Column => {}
        }
        targets
    }

    /// The targets of slopes.
    fn slope_targets(&self) -> Vec<Target> {
        let Shape::Gradient(power) = self.series.shape else { return Vec::new() };
        let wanted = [("dual", "slope of dual", power), ("naive", "slope of naive", power + 1)];
        let target = |(contender, name, power): (&str, &str, i32)| {
            Some(Target::at_most(name, TOLERANCE, (self.slope(contender)? - f64::from(power)).abs()))
        };
        wanted.into_iter().filter_map(target).collect()
    }
}

/// All that is told of a run.
pub fn text(all: &[Found], ablations: &[Found], effort: Effort, versions: &[String]) -> String {
    let cells = all.iter().chain(ablations).flat_map(|found| &found.sizes).flat_map(|(_, cells)| cells);
    let mut parts = vec![conditions(effort, versions), differences(cells)];
    if effort.rounds > 0 {
        parts.extend(["## Derivatives\n".to_string(), medians(all)]);
        parts.extend(["## Growth\n".to_string(), slopes(all)]);
        parts.extend(["## One group of laws after the other\n".to_string(), steps(ablations)]);
        parts.extend(["## Targets\n".to_string(), targets(all, ablations)]);
    }
    parts.join("\n")
}

fn place(found: &Found, n: usize) -> String {
    format!("`{}`, {}", found.series.program.name, found.series.at(n).size())
}

/// Formats a row for each size: medians, their ratios, and the targets.
fn medians(all: &[Found]) -> String {
    let others: Vec<&str> = CONTENDERS[1..].iter().map(|row| row.name).collect();
    let mut headings = vec!["program".to_string(), "n".to_string(), "dual".to_string()];
    for other in &others {
        headings.push(other.to_string());
        headings.push(if *other == "naive" { "naive / dual".to_string() } else { format!("dual / {other}") });
    }
    headings.push("targets missed by".to_string());
    let mut lines = Vec::new();
    for found in all {
        for (n, cells) in &found.sizes {
            let ours = found.seconds("dual", cells);
            let name = format!("`{}`", found.series.program.name);
            let mut line = vec![name, found.series.at(*n).size(), shown(ours)];
            for other in &others {
                let theirs = found.seconds(other, cells);
                let quotient = if *other == "naive" { ratio(theirs, ours) } else { ratio(ours, theirs) };
                line.extend([shown(theirs), quotient]);
            }
            line.push(verdict(&found.targets(*n, cells)));
            lines.push(line);
        }
    }
    table(&headings, lines)
}

/// Formats the exponents of n.
fn slopes(all: &[Found]) -> String {
    let mut headings = vec!["program".to_string(), "sizes".to_string()];
    headings.extend(CONTENDERS.iter().map(|row| row.name.to_string()));
    headings.push("targets missed by".to_string());
    let line = |found: &Found| {
        let sizes = found.series.sizes;
        let range = [sizes[0], sizes[sizes.len() - 1]].map(grouped).join(" to ");
        let slope = |row: &Contender| found.slope(row.name).map_or("-".to_string(), |slope| format!("{slope:.2}"));
        let mut line = vec![format!("`{}`", found.series.program.name), range];
        line.extend(CONTENDERS.iter().map(slope));
        line.push(verdict(&found.slope_targets()));
        line
    };
    table(&headings, all.iter().map(line).collect())
}

/// Formats what each group of laws gains.
fn steps(ablations: &[Found]) -> String {
    let names: Vec<&str> = ABLATION.iter().map(|row| row.name).collect();
    let mut headings = ["program", "n", names[0]].map(String::from).to_vec();
    headings.extend(names.windows(2).flat_map(|pair| [pair[1].to_string(), format!("{} / {}", pair[0], pair[1])]));
    let mut lines = Vec::new();
    for found in ablations {
        for (n, cells) in &found.sizes {
            let seconds = |name| found.seconds(name, cells);
            let mut line = vec![format!("`{}`", found.series.program.name), grouped(*n), shown(seconds(names[0]))];
            let step = |pair: &[&'static str]| [shown(seconds(pair[1])), ratio(seconds(pair[0]), seconds(pair[1]))];
            line.extend(names.windows(2).flat_map(step));
            lines.push(line);
        }
    }
    table(&headings, lines)
}

/// What normalised loops gain of a program at a size, where 100 times is the target.
fn gain(found: &Found, size: usize) -> Option<(String, Target)> {
    let (n, cells) = found.sizes.iter().find(|(n, _)| *n == size)?;
    let gain = found.seconds("fused", cells)? / found.seconds("normalised", cells)?;
    Some((place(found, *n), Target::at_least("100 gained by normalised loops", 100.0, gain)))
}

/// Formats the number of targets met, by kind, and the worst miss.
fn targets(all: &[Found], ablations: &[Found]) -> String {
    let mut targets = Vec::new();
    for found in all {
        for (n, cells) in &found.sizes {
            targets.extend(found.targets(*n, cells).into_iter().map(|target| (place(found, *n), target)));
        }
        let name = format!("`{}`", found.series.program.name);
        targets.extend(found.slope_targets().into_iter().map(|target| (name.clone(), target)));
    }
    targets.extend(ablations.iter().filter_map(|found| gain(found, 1_000)));
    table::summary("", &targets)
}
