//! The passes over loops: the same values, texts and errors without passes, with all, and with every way of checking;
//! on programs with stencils and on random ones. `loops_agree` runs each pass alone, without code.

use super::each::{self, Outcome, alone};
use common::native::{Case, Way};
use common::{draw, files};
use libtest_mimic::Trial;
use loops::{Checks, Forward, PASSES, Selection};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::program("passes::programs_agree", "tests/cases/passes", check);
    tests.extend(alone!(
        "passes": on_random_programs, checks_are_chosen_on_the_command_line, loops_are_shown_after_each_pass,
    ));
    tests
}

/// The ways to compile: all keep all errors, but for the last one, which checks nothing.
fn ways() -> Vec<Way> {
    let options = |passes, checks, opt_level| native::Options { passes, checks, opt_level, ..native::Options::exact() };
    let mut ways = vec![
        Way::new("no pass", options(Selection::Only(vec![]), Checks::Hoisted, 0)),
        Way::new("all passes", options(Selection::All, Checks::Hoisted, 2)),
        Way::new("all passes, not optimised", options(Selection::All, Checks::Hoisted, 0)),
        Way::new("full checks", options(Selection::All, Checks::Full, 0)),
    ];
    for (name, forward) in [("all stored", Forward::Store), ("all computed again", Forward::Recompute)] {
        ways.push(Way::new(name, native::Options { forward, opt_level: 0, ..Default::default() }));
    }
    ways.push(Way::new("drop_checks", options(Selection::All, Checks::None, 0)));
    ways
}

/// Arguments of one size throughout, and of sizes that do not fit.
fn check(path: &Path) -> Outcome {
    let mut case = Case::new(&files::text(path), "f", &ways());
    for size in [0, 1, 2, 3, 7, 8, 9, 17] {
        (0..3).for_each(|seed| case.agrees_sized(&[size], false, seed));
    }
    for sizes in [&[1, 2][..], &[2, 3], &[7, 8], &[8, 9, 10], &[0, 1, 5]] {
        (0..8).for_each(|seed| case.agrees_sized(sizes, true, seed));
    }
    Ok(())
}

fn on_random_programs() {
    draw::programs(25, |generated, random| {
        let last = generated.functions.last().expect("there is a function");
        let mut case = Case::new(&generated.text, &last.name, &ways());
        for sizes in [[0, 2], [2, 0], [1, 1], [2, 3], [3, 2], [7, 8], [9, 1], [17, 2]] {
            case.agrees_at(last, sizes, random);
        }
        for sizes in [&[1, 2][..], &[2, 3], &[3, 7, 8]] {
            case.agrees_sized(sizes, true, random.draw());
        }
        0
    });
}

/// The command line, with a program on standard input: what it prints, on both ways, and its status.
fn lmc(args: &[&str], program: &str) -> (String, String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let command = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("lmc starts");
    child.stdin.take().expect("it is piped").write_all(program.as_bytes()).expect("lmc reads its program");
    let output = child.wait_with_output().expect("lmc ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("lmc prints text");
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn checks_are_chosen_on_the_command_line() {
    let program = "(def at Float ((v : Vec Float) (k : Integer)) (sumbuild k (lam (i : Integer) (index (add i 1) v))))
(def main Integer () (print (at (Vec_init 1.0 2.0 4.0) 2) \"\\n\" (at (Vec_init 1.0 2.0 4.0) 5)))\n";
    let run = |checks| lmc(&["run", "-", "--checks", checks], program);
    let full = run("full");
    assert_eq!(full, run("hoisted"));
    assert_eq!(full.2, Some(1));
    assert!(full.1.contains("3") && full.1.contains("range"), "{}", full.1);
    let loops = |checks| lmc(&["compile", "-", "--fun", "at", "--emit", "loops=-", "--checks", checks], program).0;
    let count = |text: String| text.matches("check ").count();
    let [full, hoisted, none] = ["full", "hoisted", "none"].map(|checks| count(loops(checks)));
    // The size and the index; of hoisted checks, the index in the second version.
    assert_eq!([full, hoisted, none], [3, 3, 0]);
    let usage = lmc(&["run", "-", "--checks", "some"], program);
    assert_eq!(usage.2, Some(2), "{}", usage.1);
}

fn loops_are_shown_after_each_pass() {
    let program = "(def f Float ((v : Vec Float) (w : Vec Float)) (sumbuild (size v) (lam (i : Integer)
      (mul (index i v) (index i w)))))\n";
    let after = |pass: &str| lmc(&["compile", "-", "--emit", "loops=-", "--after", pass], program);
    let texts: Vec<String> =
        ["lowering"].into_iter().chain(PASSES.iter().map(|pass| pass.name)).map(|p| after(p).0).collect();
    let whole = lmc(&["compile", "-", "--emit", "loops=-"], program).0;
    assert_eq!(texts.last(), Some(&whole));
    assert!(!texts[0].contains("likely") && whole.contains("likely"), "{whole}");
    let (_, error, status) = after("nothing");
    assert_eq!(status, Some(1));
    let names: Vec<&str> = ["lowering"].into_iter().chain(PASSES.iter().map(|pass| pass.name)).collect();
    assert!(error.contains(&names.join(", ")), "{error}");
    let timed = lmc(&["compile", "-", "--emit", "loops=-", "--time-passes"], program).1;
    assert!(PASSES.iter().filter(|pass| pass.name != "drop_checks").all(|pass| timed.contains(pass.name)), "{timed}");
}
