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
fn write_line(doing: &str, patience: Duration, pace: Duration, ended: &Receiver<()>, out: &mut dyn Write) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands on what is written, and ends the wait when that is a line.
    struct Ending {
        alive: Option<Sender<()>>,
        text: Vec<u8>,
    }

    impl Write for Ending {
        fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
            self.text.extend(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            self.alive.take();
            Ok(())
        }
    }

    #[test]
    fn what_takes_long_is_told_and_cleared() {
        let (alive, ended) = channel();
        let mut out = Ending { alive: Some(alive), text: vec![] };
        write_line("compiling", Duration::ZERO, Duration::from_secs(3_600), &ended, &mut out);
        assert_eq!(String::from_utf8(out.text).expect("it is text"), format!("{CLEAR}lmc: compiling, 0 s{CLEAR}"));
    }

    #[test]
    fn what_is_quick_is_not_told() {
        let (alive, ended) = channel();
        drop(alive);
        let mut text = vec![];
        write_line("compiling", Duration::from_secs(3_600), PACE, &ended, &mut text);
        assert!(text.is_empty());
    }
}
