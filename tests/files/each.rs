//! Makes a test of each file, demo or row: so that both cores are filled, and a failure names what fails.

use common::files;
use libtest_mimic::{Failed, Trial};
use lmc::demos::{DEMOS, Demo};
use lmc::with_large_stack;
use std::path::Path;
use std::time::{Duration, Instant};

/// The result of a check: `Err` with the reason if it fails.
pub type Outcome = Result<(), String>;

/// A test that takes longer is named.
const SLOW: Duration = Duration::from_secs(30);

/// A test that takes longer ends the run: nothing is asserted about time, but a test that hangs would hide all others.
const HANGS: Duration = Duration::from_secs(600);

/// Returns a test, which runs with a large stack.
pub fn row(test: &str, name: &str, check: impl FnOnce() -> Outcome + Send + 'static) -> Trial {
    let name = format!("{test}::{name}");
    Trial::test(name.clone(), move || watched(&name, || with_large_stack(check)).map_err(Failed::from))
}

/// Runs a test, and ends the process if it hangs.
fn watched(name: &str, test: impl FnOnce() -> Outcome) -> Outcome {
    let start = Instant::now();
    let (ended, wait) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|threads| {
        threads.spawn(move || {
            // A sender that is gone tells of the end, too.
            if wait.recv_timeout(HANGS) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{name} has not ended in {} s: no other test is run", HANGS.as_secs());
                std::process::exit(101);
            }
        });
        let _ended = ended;
        let outcome = test();
        if start.elapsed() > SLOW {
            eprintln!("{name} took {} s", start.elapsed().as_secs());
        }
        outcome
    })
}

/// Returns a test of each program of a folder.
pub fn program(test: &str, folder: &str, check: impl Fn(&Path) -> Outcome + Copy + Send + 'static) -> Vec<Trial> {
    let one = |path: std::path::PathBuf| row(test, &files::name(&path), move || check(&path));
    files::programs(folder).into_iter().map(one).collect()
}

/// Returns a test of each demo.
pub fn demo(test: &str, check: impl Fn(&'static Demo) -> Outcome + Copy + Send + 'static) -> Vec<Trial> {
    DEMOS.iter().map(|demo| row(test, demo.name, move || check(demo))).collect()
}

/// Returns a test that is ignored, and says so, where there is no valgrind.
pub fn in_valgrind(test: Trial) -> Trial {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| folder.join("valgrind").is_file());
    test.with_ignored_flag(!is_there)
}

/// Returns a test of a single subject.
pub fn one(subject: &str, name: &str, check: fn()) -> Trial {
    row(subject, name, move || {
        check();
        Ok(())
    })
}

/// Returns single tests of a subject, by the names of their functions.
macro_rules! alone {
    ($subject:literal: $($test:path),+ $(,)?) => {
        vec![$(crate::each::one($subject, stringify!($test), $test)),+]
    };
}
pub(crate) use alone;
