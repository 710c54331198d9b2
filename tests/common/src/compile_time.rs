//! The limit on the time that compiling one program may take.

use crate::random;
use std::fs;

/// Seconds of processor time.
const LIMIT: f64 = 10.0;

/// Runs what compiles a program. In a campaign, panics if that takes too long.
///
/// A campaign runs one test at a time in a process, so that the time of the process is that of its one test.
pub fn limited<T>(compile: impl FnOnce() -> T) -> T {
    let start = processor_seconds();
    let compiled = compile();
    let took = processor_seconds() - start;
    assert!(!random::large() || took <= LIMIT, "compiling took {took:.1} s");
    compiled
}

/// The time of all threads of this process, in steps of 10 ms.
fn processor_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let line = fs::read_to_string("/proc/self/stat").expect("Linux tells it");
    // The name of the program may hold spaces; it ends with the last parenthesis.
    let fields = line.rsplit(')').next().expect("there is a rest").split_whitespace();
    let times = fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("a number"));
    times.sum::<f64>() / TICKS_PER_SECOND
}
