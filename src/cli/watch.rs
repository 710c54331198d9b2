//! The diagnostics of commands that compile: times, names of passes, and a file for the result of each pass.

use super::dump::Dump;
use super::failure::Failure;
use crate::derive::pipeline::{PassDone, Pipeline};
use crate::ks::check::Checked;
use lm::timing::{Row, Timings};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Options of every command that compiles.
#[derive(clap::Args)]
pub struct WatchOptions {
    /// Print the wall time of each pass, summed over functions, on standard error.
    #[arg(long)]
    time_passes: bool,
    /// Print on standard error each file read or written, and each pass with its function and result.
    #[arg(long, short)]
    verbose: bool,
    /// Write the result of each pass on each function to a file in this directory, as a program.
    #[arg(long, value_name = "DIR")]
    dump_stages: Option<PathBuf>,
}

/// The state behind the options: the table of times, and the place of dumps.
#[derive(Clone)]
pub struct Watch {
    /// The table of times.
    pub timings: Timings,
    verbose: bool,
    dump: Option<Arc<Mutex<Dump>>>,
}

impl Watch {
    /// Returns a watch that prints nothing. It still takes times.
    pub fn off() -> Watch {
        Watch { timings: Timings::default(), verbose: false, dump: None }
    }

    /// Prints a line if `--verbose` was given.
    pub fn say(&self, text: impl FnOnce() -> String) {
        if self.verbose {
            eprintln!("lmc: {}", text());
        }
    }

    /// Returns a pipeline that reports to this watch.
    pub fn pipeline(&self, checked: Checked) -> Pipeline {
        if let Some(dump) = &self.dump {
            dump.lock().expect("dumping does not panic").start(&checked.program);
        }
        let mut pipeline = Pipeline::new(checked);
        let watch = self.clone();
        pipeline.watch(self.timings.clone(), Some(Box::new(move |pass| watch.report_pass(pass))));
        pipeline
    }

    fn report_pass(&self, pass: &PassDone) {
        let PassDone { name, def, took } = pass;
        self.say(|| format!("{name:<9} {}: {} nodes, {}", def.fun.name, def.body.size(), milliseconds(*took)));
        if let Some(dump) = &self.dump {
            dump.lock().expect("dumping does not panic").stage(name, def);
        }
    }
}

/// Runs a command under its options. Prints the times whether the command succeeds or not.
pub fn watched(options: &WatchOptions, command: impl FnOnce(&Watch) -> Result<(), Failure>) -> Result<(), Failure> {
    let dump = options.dump_stages.as_deref().map(Dump::new).transpose()?;
    let dump = dump.map(|dump| Arc::new(Mutex::new(dump)));
    let watch = Watch { timings: Timings::default(), verbose: options.verbose, dump };
    let done = command(&watch);
    if options.time_passes {
        eprint!("{}", table(&watch.timings));
    }
    let dumped = watch.dump.map_or(Ok(()), |dump| dump.lock().expect("dumping does not panic").finish());
    done.and(dumped)
}

/// Formats the table of times: a row for each step, one for the time between steps, and the total.
fn table(timings: &Timings) -> String {
    let (rows, total) = (timings.rows(), timings.elapsed());
    let steps: Duration = rows.iter().map(|(_, row)| row.time).sum();
    let other = Row { count: 1, time: total.saturating_sub(steps) };
    let whole = Row { count: 1, time: total };
    let rows = rows.into_iter().chain([("other", other), ("total", whole)]);
    let width = rows.clone().map(|(step, _)| step.len()).max().unwrap_or_default();
    let mut text = format!("{:<width$}  {:>6}  {:>12}  {:>6}\n", "pass", "times", "wall time", "share");
    for (step, Row { count, time }) in rows {
        let count = if matches!(step, "other" | "total") { String::new() } else { count.to_string() };
        let share = 100.0 * time.as_secs_f64() / total.as_secs_f64();
        let _ = writeln!(text, "{step:<width$}  {count:>6}  {:>12}  {share:>5.1}%", milliseconds(time));
    }
    text
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
