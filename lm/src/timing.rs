//! The times of the steps of a compilation: one row per kind of step.

use indexmap::IndexMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A table of steps and the wall time they took. Clones share it, so that each part of a compilation can hold one.
///
/// Steps must not contain each other: then the rows add up to no more than the whole.
#[derive(Clone, Debug)]
pub struct Timings {
    start: Instant,
    rows: Arc<Mutex<IndexMap<&'static str, Row>>>,
}

/// The total time of all steps of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The number of steps.
    pub count: usize,
    /// Their wall time.
    pub time: Duration,
}

impl Default for Timings {
    fn default() -> Timings {
        Timings { start: Instant::now(), rows: Arc::default() }
    }
}

impl Timings {
    /// Does a step, and adds its time to the row of that name.
    pub fn time<T>(&self, step: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(step, start.elapsed());
        result
    }

    /// Adds the time of one step to the row of that name.
    pub fn add(&self, step: &'static str, time: Duration) {
        let mut rows = self.rows.lock().expect("nothing panics while it holds the table");
        let row = rows.entry(step).or_default();
        row.count += 1;
        row.time += time;
    }

    /// Returns the rows, in the order in which their first steps ended.
    pub fn rows(&self) -> Vec<(&'static str, Row)> {
        let rows = self.rows.lock().expect("nothing panics while it holds the table");
        rows.iter().map(|(step, row)| (*step, *row)).collect()
    }

    /// Returns the wall time since the table was made.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
