//! lmc in a process that may have little address space: stacks and arenas are less then, and results are the same.

use std::path::Path;
use std::process::{Command, Output};

/// Runs lmc with so many KiB of address space.
fn limited(kibibytes: u64, arguments: &str) -> Output {
    let script = format!("ulimit -v {kibibytes} && exec \"$LMC\" {arguments}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("LMC", env!("CARGO_BIN_EXE_lmc")).current_dir(env!("CARGO_MANIFEST_DIR"));
    shell.output().expect("there is a shell")
}

#[test]
fn results_do_not_depend_on_it() {
    let [plenty, some, little] = [16_000_000, 4_000_000, 1_500_000].map(|kibibytes| {
        let output = limited(kibibytes, "run demos/gmm.ks");
        assert!(output.status.success(), "{kibibytes} KiB: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    });
    assert!(!plenty.is_empty() && plenty == some && some == little);
}

#[test]
fn a_library_is_the_same() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [plenty, little] = [16_000_000, 1_500_000].map(|kibibytes| {
        let object = folder.join(format!("address_space_{kibibytes}.o"));
        let output = limited(kibibytes, &format!("compile demos/ba.ks --rev --emit obj -o {}", object.display()));
        assert!(output.status.success(), "{kibibytes} KiB: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(object).expect("lmc wrote it")
    });
    assert!(plenty == little);
}

#[test]
fn nesting_is_limited_in_proportion() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let deep = |n: usize| {
        let program = folder.join(format!("address_space_{n}.ks"));
        let body = (0..n).fold("x".to_string(), |term, _| format!("(sin {term})"));
        std::fs::write(&program, format!("(def f Float (x : Float) {body})")).expect("a file can be written");
        limited(4_000_000, &format!("check {}", program.display()))
    };
    assert!(deep(2_000).status.success());
    // A quarter of 4,000,000 KiB, where 8 GiB are for 20,000.
    let refused = deep(3_000);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{message}");
    assert!(message.contains("error[E111]: parentheses are nested deeper than 2384"), "{message}");
}
