//! Loops of a call: how long they took, and how long the cost model takes them to take.
//!
//! ```text
//! call --Jit::iterating--> iterations --Module::explained--> costs --watched--> loops --Jit::timing--> seconds
//! ```
//!
//! Costs are those by which loops get lanes, for as many iterations as there were. Clocks are read around loops that
//! cost much more than that: outer ones, and those in them.

use super::report::seconds_in_words;
use loops::analyses::watch::{Iterations, LoopId};
use loops::passes::vectorize::Explained;
use native::{LoopRuns, Module, Peaks};
use rustc_hash::FxHashMap;
use std::time::Instant;

/// The least cost of a loop around which clocks are read: about a microsecond.
const LEAST: f64 = 4_000.0;

/// The least part of a call that a loop must take to be listed.
pub(super) const PART: f64 = 0.005;

/// A loop in the calls of an entry. Times are of one call, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopRow {
    /// How many of the loops in the list are around it.
    pub depth: usize,
    /// Its function and its index: `[vjp f] i%12`.
    pub name: String,
    /// How often it ran.
    pub times: u64,
    /// How many iterations it made, on average.
    pub iterations: f64,
    /// How many of them run at once, in lanes.
    pub lanes: u32,
    /// How long it took in all.
    pub seconds: f64,
    /// How long it takes by the cost model.
    pub model: f64,
    /// Why it has so many lanes.
    pub reason: String,
}

/// The loops of an entry, as one call runs them.
pub struct Plan {
    explained: Vec<Explained>,
    runs: Vec<LoopRuns<u64>>,
    names: Vec<String>,
}

impl Plan {
    /// Returns the loops of a module, as they run, that made so many iterations in all.
    pub fn new(module: &Module, runs: Vec<LoopRuns<u64>>) -> Plan {
        let average = |(id, runs): (LoopId, &LoopRuns<u64>)| {
            (runs.times > 0).then(|| (id, runs.total as f64 / runs.times as f64))
        };
        let iterations: Iterations = module.loops().all_loops().into_iter().zip(&runs).filter_map(average).collect();
        let explained = module.explained(&iterations);
        let function = |one: &Explained| &module.loops().functions[one.id.function.0].name;
        let names = explained.iter().map(|one| format!("{} {}", function(one), one.name)).collect();
        Plan { explained, runs, names }
    }

    /// Returns the loops to watch: those that ran, where it does not cost much to read clocks.
    pub fn watched(&self) -> Vec<LoopId> {
        let mut watched: Vec<bool> = vec![];
        for (one, runs) in self.explained.iter().zip(&self.runs) {
            let is_known = one.inside.is_none_or(|around| watched[around]);
            let is_long = one.cost.is_some_and(|cost| cost >= LEAST || runs.times == 1);
            watched.push(runs.times > 0 && is_known && is_long);
        }
        self.explained.iter().zip(watched).filter(|(_, is_watched)| *is_watched).map(|(one, _)| one.id).collect()
    }

    /// Returns the rows of the loops that took a part of the call worth telling, and the number of others.
    pub fn rows(&self, seconds: &FxHashMap<LoopId, f64>, call: f64, peaks: &Peaks) -> (Vec<LoopRow>, usize) {
        // Two units of the cost model are a cycle, and so are two fused operations on vectors.
        let unit = 2.0 * f64::from(peaks.lanes) / peaks.operations;
        let mut depths: Vec<usize> = vec![];
        let (mut rows, mut others) = (vec![], 0);
        for ((one, runs), name) in self.explained.iter().zip(&self.runs).zip(&self.names) {
            let took = seconds.get(&one.id).copied();
            let is_listed = took.is_some_and(|took| took >= PART * call);
            let around = one.inside.map_or(0, |around| depths[around]);
            depths.push(around + usize::from(is_listed));
            others += usize::from(runs.times > 0 && !is_listed && one.inside.is_none());
            let (Some(seconds), Some(cost), true) = (took, one.cost, is_listed) else { continue };
            rows.push(LoopRow {
                depth: around,
                name: name.clone(),
                times: runs.times,
                iterations: runs.total as f64 / runs.times as f64,
                lanes: one.lanes,
                seconds,
                model: cost * runs.times as f64 * unit,
                reason: one.reason.clone().unwrap_or_default(),
            });
        }
        (rows, others)
    }

    /// Returns how long loops took in one call of several, without the time that it takes to read clocks.
    pub fn seconds(&self, watched: &[LoopId], calls: &[Vec<LoopRuns<f64>>]) -> FxHashMap<LoopId, f64> {
        let clock = clock();
        let count = calls.len() as f64;
        let mean = |k: usize, of: fn(&LoopRuns<f64>) -> f64| calls.iter().map(|call| of(&call[k])).sum::<f64>() / count;
        let mut seconds: FxHashMap<LoopId, f64> = FxHashMap::default();
        let places: FxHashMap<LoopId, usize> = self.explained.iter().enumerate().map(|(i, one)| (one.id, i)).collect();
        for (k, id) in watched.iter().enumerate() {
            let (took, times) = (mean(k, |runs| runs.total), mean(k, |runs| runs.times as f64));
            *seconds.entry(*id).or_default() += took - times * clock;
            // Loops around it read two clocks more each time.
            let mut around = places.get(id).and_then(|i| self.explained[*i].inside);
            while let Some(i) = around {
                *seconds.entry(self.explained[i].id).or_default() -= 2.0 * times * clock;
                around = self.explained[i].inside;
            }
        }
        seconds.values_mut().for_each(|took| *took = took.max(0.0));
        seconds
    }
}

/// Returns how long it takes to read a clock, in seconds.
fn clock() -> f64 {
    const READ: u32 = 10_000;
    let start = Instant::now();
    for _ in 0..READ {
        std::hint::black_box(Instant::now());
    }
    start.elapsed().as_secs_f64() / f64::from(READ)
}

/// Returns the head of the table of loops.
pub fn heading(entry: &str) -> String {
    columns("measured", "share", "model", "times", "iterations", "lanes", &format!("loop of {entry}"))
}

/// Returns a line of the table; shares are of a call that took so long.
pub fn line(row: &LoopRow, call: f64) -> String {
    let reason = if row.reason.is_empty() { String::new() } else { format!(": {}", row.reason) };
    columns(
        &seconds_in_words(row.seconds),
        &format!("{:.0}%", 100.0 * row.seconds / call),
        &seconds_in_words(row.model),
        &row.times.to_string(),
        &format!("{:.0}", row.iterations),
        &row.lanes.to_string(),
        &format!("{}{}{reason}", "  ".repeat(row.depth), row.name),
    )
}

fn columns(measured: &str, share: &str, model: &str, times: &str, iterations: &str, lanes: &str, name: &str) -> String {
    format!("{measured:>10}  {share:>5}  {model:>8}  {times:>8}  {iterations:>10}  {lanes:>5}  {name}")
}

/// A row as a JSON object.
pub fn json(row: &LoopRow) -> String {
    let LoopRow { depth, name, times, iterations, lanes, seconds, model, reason } = row;
    format!(
        "{{\"loop\":{},\"depth\":{depth},\"times\":{times},\"iterations\":{iterations:e},\"lanes\":{lanes},\
         \"seconds\":{seconds:e},\"model\":{model:e},\"reason\":{}}}",
        serde_json::Value::from(name.as_str()),
        serde_json::Value::from(reason.as_str())
    )
}
