//! Says on a terminal that a command still works, if it takes long.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Commands that take less say nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the line is written anew.
const PACE: Duration = Duration::from_secs(1);

/// Goes to the start of the line, and clears it.
const CLEAR: &str = "\r\x1b[K";

/// Does some work. If it takes long, a line on standard error says so meanwhile, where that is a terminal.
pub fn told<T>(doing: &'static str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let (alive, ended) = channel();
    thread::scope(|scope| {
        scope.spawn(move || write_line(doing, PATIENCE, PACE, &ended, &mut std::io::stderr()));
        let result = work();
        drop::<Sender<()>>(alive);
        result
    })
}

/// Writes how long it took so far, again and again until the end; then clears the line.
pub fn write_line(doing: &str, patience: Duration, pace: Duration, ended: &Receiver<()>, out: &mut dyn Write) {
    let start = Instant::now();
    let mut wait = patience;
    while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        let _ = write!(out, "{CLEAR}lmc: {doing}, {} s", start.elapsed().as_secs());
        let _ = out.flush();
        wait = pace;
    }
    if wait == pace {
        let _ = write!(out, "{CLEAR}");
    }
}
