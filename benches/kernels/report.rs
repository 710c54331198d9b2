//! The tables: medians, ratios, and targets, met or missed by how much.

use crate::contenders::{CONTENDERS, CPP, CPP_FAST, JAX, LANES_OFF, LMC, TWO_THREADS};
use crate::harness::program::{Task, grouped};
use crate::harness::rounds::{Cell, Effort};
use crate::harness::table::{self, Target, conditions, differences, ratio, table, verdict};
use crate::harness::units::shown;
use crate::kernel::Kernel;

/// The results of a formulation of a kernel.
pub struct Row {
    /// The kernel.
    pub kernel: Kernel,
    /// The name of the formulation.
    pub formulation: &'static str,
    /// Its tasks, by those contenders that have them.
    pub cells: Vec<Cell>,
}

impl Row {
    fn seconds(&self, contender: usize, task: Task) -> Option<f64> {
        let wanted = |cell: &&Cell| cell.contender == contender && cell.task == task;
        self.cells.iter().find(wanted)?.seconds
    }

    fn title(&self) -> String {
        format!("`{}`, {} {}", self.kernel.name, grouped(self.kernel.n), self.kernel.size)
    }

    /// The time of the fastest of some contenders.
    fn best(&self, contenders: &[usize], task: Task) -> Option<f64> {
        contenders.iter().filter_map(|contender| self.seconds(*contender, task)).min_by(f64::total_cmp)
    }

    /// Our time over that of the fastest other.
    fn over_others(&self, task: Task) -> Option<f64> {
        Some(self.seconds(LMC, task)? / self.best(OTHERS, task)?)
    }

    fn over_value(&self) -> Option<f64> {
        Some(self.seconds(LMC, Task::Gradient)? / self.seconds(LMC, Task::Value)?)
    }
}

const OTHERS: &[usize] = &[CPP, CPP_FAST, JAX];
const TASKS: [Task; 2] = [Task::Value, Task::Gradient];

/// What a kernel with a longer time is divided among threads for, in seconds.
const WORTH_THREADS: f64 = 1e-3;

/// All that is told of a run.
pub fn text(rows: &[Row], effort: Effort, versions: &[String]) -> String {
    let cells = rows.iter().flat_map(|row| &row.cells);
    let mut parts = vec![conditions(effort, versions), differences(cells)];
    if effort.rounds > 0 {
        parts.push(medians(rows));
        parts.push("### Targets\n".to_string());
        parts.push(summary(rows));
    }
    parts.join("\n")
}

/// Formats two rows for each formulation: medians, their ratios to those of others, and the targets.
fn medians(rows: &[Row]) -> String {
    let mut headings = vec!["kernel", "formulation", "task"];
    headings.extend([LMC, CPP, CPP_FAST, JAX].map(|contender| CONTENDERS[contender].name));
    headings.extend(["lmc / fastest other", "lmc / lanes off", "gradient / value", "two threads", "targets missed by"]);
    let headings: Vec<String> = headings.into_iter().map(String::from).collect();
    let mut lines = Vec::new();
    for row in rows {
        for task in TASKS {
            let ours = row.seconds(LMC, task);
            let mut cells = vec![row.title(), row.formulation.to_string(), task.name().to_string()];
            cells.extend([LMC, CPP, CPP_FAST, JAX].map(|contender| shown(row.seconds(contender, task))));
            cells.push(ratio(ours, row.best(OTHERS, task)));
            cells.push(ratio(ours, row.seconds(LANES_OFF, task)));
            let is_gradient = task == Task::Gradient;
            cells.push(if is_gradient { ratio(ours, row.seconds(LMC, Task::Value)) } else { "-".into() });
            cells.push(ratio(row.seconds(TWO_THREADS, task), ours));
            cells.push(verdict(&targets(rows, row, task)));
            lines.push(cells);
        }
    }
    table(&headings, lines)
}

/// The targets of a task.
fn targets(rows: &[Row], row: &Row, task: Task) -> Vec<Target> {
    let Some(ours) = row.seconds(LMC, task) else { return Vec::new() };
    let mut targets = Vec::new();
    let mut at_most = |name, limit, measured: Option<f64>| {
        targets.extend(measured.map(|measured| Target::at_most(name, limit, measured)));
    };
    if task == Task::Gradient {
        at_most("the fastest other", 1.0, row.over_others(task));
        at_most("4 values", 4.0, row.over_value());
        let of_kernel = rows.iter().filter(|other| other.kernel.name == row.kernel.name);
        let fastest = of_kernel.filter_map(|row| row.seconds(LMC, task)).min_by(f64::total_cmp);
        at_most("1.5 of the fastest formulation", 1.5, fastest.map(|fastest| ours / fastest));
    }
    at_most("1.05 of lanes off", 1.05, row.seconds(LANES_OFF, task).map(|scalar| ours / scalar));
    if ours > WORTH_THREADS {
        let faster = row.seconds(TWO_THREADS, task).map(|two| ours / two);
        targets.extend(faster.map(|faster| Target::at_least("1.6 with two threads", 1.6, faster)));
    }
    targets
}

/// Formats the number of targets met, by kind, the worst miss, and what is asked of all kernels together.
fn summary(rows: &[Row]) -> String {
    let all = rows.iter().flat_map(|row| TASKS.map(|task| (row, task)));
    let all = all.flat_map(|(row, task)| {
        let place = format!("{} of {} by {}", task.name(), row.title(), row.formulation);
        targets(rows, row, task).into_iter().map(move |target| (place.clone(), target))
    });
    let mean = geometric_mean(rows.iter().filter_map(|row| row.over_others(Task::Gradient)));
    let median = median(rows.iter().filter_map(Row::over_value));
    let shown = |number: Option<f64>| ratio(number, Some(1.0));
    format!(
        "{}\nGradients over the fastest other, geometric mean: {} (target 0.5). Gradients over values, median: {} (target 2.5).\n",
        table::summary("", &all.collect::<Vec<_>>()),
        shown(mean),
        shown(median),
    )
}

fn geometric_mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = numbers.map(f64::ln).collect();
    (!logarithms.is_empty()).then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}
