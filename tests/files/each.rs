//! Makes a test of each file, demo or row: so that both cores are filled, and a failure names what fails.

use common::files;
use libtest_mimic::{Failed, Trial};
use lmc::demos::{DEMOS, Demo};
use lmc::with_large_stack;
use std::path::Path;

/// The result of a check: `Err` with the reason if it fails.
pub type Outcome = Result<(), String>;

/// Returns a test, which runs with a large stack.
pub fn row(test: &str, name: &str, check: impl FnOnce() -> Outcome + Send + 'static) -> Trial {
    Trial::test(format!("{test}::{name}"), move || with_large_stack(check).map_err(Failed::from))
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
