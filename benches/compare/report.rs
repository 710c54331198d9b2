//! The tables: medians, ratios, and targets, met or missed by how much.

use crate::contenders::CONTENDERS;
use crate::harness::contender::Kind;
use crate::harness::machine;
use crate::harness::program::{Program, Task};
use crate::harness::rounds::{Cell, Effort};
use crate::harness::table::{self, Target, conditions, differences, ratio, table, verdict};
use crate::harness::units::shown;
use crate::programs::is_micro;

/// The results for a program.
pub struct Row<'a> {
    /// The program.
    pub program: &'a Program,
    /// Its tasks, by those contenders that have them.
    pub cells: Vec<Cell>,
}

impl Row<'_> {
    fn cell(&self, contender: usize, task: Task) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.contender == contender && cell.task == task)
    }

    fn seconds(&self, contender: usize, task: Task) -> Option<f64> {
        self.cell(contender, task)?.seconds
    }
}

/// All that is told of a run.
pub fn text(rows: &[Row], effort: Effort, versions: &[String]) -> String {
    let cells = rows.iter().flat_map(|row| &row.cells);
    let mut parts = vec![conditions(effort, versions), differences(cells)];
    let mut numbers: Vec<usize> = CONTENDERS.iter().map(|contender| contender.threads).collect();
    numbers.dedup();
    for threads in numbers.into_iter().filter(|threads| effort.rounds > 0 && columns(rows, *threads).len() > 1) {
        let words = if threads == 1 { "One thread".to_string() } else { format!("{threads} threads") };
        parts.push(format!("## {words}\n"));
        parts.push(medians(rows, threads));
        parts.push(format!("### Targets, {}\n", words.to_lowercase()));
        parts.push(summary(rows, threads));
    }
    if effort.rounds > 0 {
        parts.push("## Derivatives over values, one thread\n".to_string());
        parts.push(over_values(rows));
    }
    parts.join("\n")
}

/// The contenders with a number of threads of which there are any results; the first is lmc.
fn columns(rows: &[Row], threads: usize) -> Vec<usize> {
    let has_any = |contender| rows.iter().flat_map(|row| &row.cells).any(|cell| cell.contender == contender);
    let with_threads = |contender: usize| CONTENDERS[contender].threads == threads;
    (0..CONTENDERS.len()).filter(|&contender| with_threads(contender) && has_any(contender)).collect()
}

fn title(row: &Row) -> String {
    format!("`{}`, {}", row.program.name, row.program.size())
}

/// Formats a row for each task: medians, their ratios to those of other contenders, and the targets.
fn medians(rows: &[Row], threads: usize) -> String {
    let columns = columns(rows, threads);
    let [first, others @ ..] = &columns[..] else { return String::new() };
    let mut headings = vec!["program".to_string(), "task".to_string(), CONTENDERS[*first].name.to_string()];
    for other in others {
        let name = CONTENDERS[*other].name;
        headings.extend([name.to_string(), format!("lmc / {name}")]);
    }
    headings.push("targets missed by".to_string());
    let mut lines = Vec::new();
    for row in rows {
        for &task in row.program.tasks {
            let ours = row.seconds(*first, task);
            let mut cells = vec![title(row), task.name().to_string(), shown(ours)];
            for other in others {
                let theirs = row.seconds(*other, task);
                cells.extend([shown(theirs), ratio(ours, theirs)]);
            }
            cells.push(verdict(&targets(row, task, threads)));
            lines.push(cells);
        }
    }
    table(&headings, lines)
}

/// The targets of a task.
fn targets(row: &Row, task: Task, threads: usize) -> Vec<Target> {
    let columns = columns(std::slice::from_ref(row), threads);
    let seconds = |contender: usize| row.seconds(contender, task);
    let named = |name| columns.iter().copied().find(|&contender| CONTENDERS[contender].name == name);
    let Some(ours) = columns.first().copied().and_then(seconds) else { return Vec::new() };
    let mut targets = Vec::new();
    let mut wanted = |name, limit, theirs: Option<f64>| {
        targets.extend(theirs.map(|theirs| Target::at_most(name, limit, ours / theirs)));
    };
    if task == Task::Both && ["gmm", "lstm", "kmeans"].contains(&row.program.name) {
        wanted("3 values", 3.0, row.seconds(columns[0], Task::Value));
    }
    if task == Task::Gradient && row.program.name == "gmm" && threads == 1 {
        let (name, limit) = if machine::has_avx512() { ("0.25 C++", 0.25) } else { ("0.35 C++", 0.35) };
        wanted(name, limit, named("C++").and_then(seconds));
    }
    if is_micro(row.program) {
        let by_hand = columns.iter().filter(|&&contender| matches!(CONTENDERS[contender].kind, Kind::ByHand(..)));
        let best = by_hand.filter_map(|&contender| seconds(contender)).min_by(f64::total_cmp);
        wanted("C++", 1.0, best);
    }
    wanted("JAX", 1.0, named("JAX").and_then(seconds));
    wanted("PyTorch", 1.0, named("PyTorch").and_then(seconds));
    wanted("PyTorch compiled", 1.0, named("PyTorch compiled").and_then(seconds));
    targets
}

/// Formats the number of targets met, by kind, and the worst miss.
fn summary(rows: &[Row], threads: usize) -> String {
    let tasks = rows.iter().flat_map(|row| row.program.tasks.iter().map(move |task| (row, *task)));
    let all: Vec<(String, Target)> = tasks
        .flat_map(|(row, task)| {
            let place = format!("{} of {}", task.name(), title(row));
            targets(row, task, threads).into_iter().map(move |target| (place.clone(), target))
        })
        .collect();
    table::summary("at most ", &all)
}

/// Formats the cost of each derivative in values, for each contender.
fn over_values(rows: &[Row]) -> String {
    let columns = columns(rows, 1);
    let mut headings = vec!["program".to_string(), "task".to_string()];
    headings.extend(columns.iter().map(|&contender| CONTENDERS[contender].name.to_string()));
    let mut lines = Vec::new();
    for row in rows {
        for &task in row.program.tasks.iter().filter(|task| **task != Task::Value) {
            let quotient =
                |&contender: &usize| ratio(row.seconds(contender, task), row.seconds(contender, Task::Value));
            let mut cells = vec![title(row), task.name().to_string()];
            cells.extend(columns.iter().map(quotient));
            lines.push(cells);
        }
    }
    table(&headings, lines)
}
