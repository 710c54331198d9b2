//! The line that says that a command still works.

use lmc::cli::progress::write_line;
use std::io::Write;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Goes to the start of the line, and clears it.
const CLEAR: &str = "\r\x1b[K";

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
    write_line("compiling", Duration::from_secs(3_600), Duration::from_secs(1), &ended, &mut text);
    assert!(text.is_empty());
}
