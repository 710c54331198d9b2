//! `--time-passes`, `--verbose` and `--dump-stages`.

use crate::directory;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Overloads, calls, a conditional, values used beside their derivatives.
const PROGRAM: &str = "(def g Float (x : Float) (if (gt x 0.0) (sin x) (mul x x)))
(def g Float ((x : Float) (n : Integer)) (mul (g x) n))
(def h Float ((x : Float) (y : Float)) (mul (g (mul x y)) (g x 2)))
(def main Integer () (print (h 1.0 2.0) ([rev h] (tuple 1.0 2.0) 1.0)))\n";

/// A directory of its own with the program `p.ks`.
fn directory(test: &str) -> PathBuf {
    directory::with_program(test, PROGRAM)
}

fn lmc(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(args).current_dir(directory).output().expect("lmc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn times_add_up() {
    let directory = directory("times_add_up");
    let expected = [
        (&["compile", "--rev", "p.ks", "-o", "p.so"][..], "LLVM code"),
        (&["run", "p.ks"], "running"),
        (&["run", "--interpret", "p.ks"], "running"),
        (&["gradcheck", "p.ks"], "comparing"),
        (&["demo", "p.ks"], "transpose"),
    ];
    for (command, last) in expected {
        let plain = lmc(&directory, command);
        let timed = lmc(&directory, &[command, &["--time-passes"]].concat());
        assert_eq!((plain.status.code(), timed.status.code()), (Some(0), Some(0)), "{}", text(&timed.stderr));
        assert_eq!((plain.stdout, plain.stderr), (timed.stdout, Vec::new()), "the table goes to standard error");
        let table = text(&timed.stderr);
        let time = |row: &str| {
            let starts = format!("{row} ");
            let line =
                table.lines().find(|line| line.starts_with(&starts)).unwrap_or_else(|| panic!("no {row}:\n{table}"));
            let time = line.split(" ms").next().and_then(|line| line.rsplit(' ').next());
            time.and_then(|time| time.parse::<f64>().ok()).unwrap_or_else(|| panic!("{line}"))
        };
        for row in ["reading", "checking", "anf", "jacobian", "simplify", "apply", "cse", "merge_calls", "other", last]
        {
            time(row);
        }
        let rows: Vec<&str> = table.lines().skip(1).map(|line| line.split("  ").next().unwrap_or(line)).collect();
        let (total, steps) = rows.split_last().expect("there are rows");
        let sum: f64 = steps.iter().map(|row| time(row)).sum();
        // Each row is rounded.
        assert!((time(total) - sum).abs() < 0.001 * rows.len() as f64, "{table}");
    }
}

#[test]
fn a_wrong_program_is_timed_too() {
    let directory = directory("a_wrong_program_is_timed_too");
    fs::write(directory.join("wrong.ks"), "(def f Float (x : Float) y)").expect("the file is written");
    let output = lmc(&directory, &["compile", "wrong.ks", "-o", "x.so", "--time-passes"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("E201") && text(&output.stderr).contains("\nchecking "));
}

#[test]
fn verbose_names_files_passes_and_functions() {
    let directory = directory("verbose");
    let output = lmc(&directory, &["compile", "--rev", "p.ks", "--emit", "ks=-,header=p.h", "--verbose"]);
    let said = text(&output.stderr);
    for line in ["lmc: read p.ks: 4 lines, 4 definitions", "lmc: transpose [Dt h]: ", "lmc: write p.h: "] {
        assert!(said.contains(line), "{said}");
    }
    assert!(text(&output.stdout).starts_with("(def"));
}

#[test]
fn verbose_tells_which_loops_run_in_lanes_and_why_others_do_not() {
    let directory = directory("verbose_lanes");
    let fold = "(def power Float ((n : Integer) (x : Float))\n\
                (fold (lam (p : Tuple Float Integer) (mul (get$1$2 p) x)) 1.0 (build n (lam (i : Integer) i))))\n\
                (def f (Vec Float) (v : Vec Float) (build (size v) (lam (i : Integer) (power i (index i v)))))\n";
    fs::write(directory.join("powers.ks"), fold).expect("the file is written");
    let compile = |lanes: &str| {
        let given =
            ["compile", "powers.ks", "--emit", "loops=-", "--target-cpu", "x86-64-v3", "--verbose", "--lanes", lanes];
        let output = lmc(&directory, &given);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let (loops, said) = compile("auto");
    assert!(loops.contains(" lanes 16 {") && said.contains(" in 16 lanes: costs "), "{said}");
    assert!(said.contains(" is carried, and neither a sum nor a best element"), "{said}");
    assert!(compile("2").0.contains(" lanes 2 {"));
    let (loops, said) = compile("off");
    assert!(!loops.contains(" lanes ") && !said.contains(" lanes: "), "{said}");
}

#[test]
fn stages_read_back() {
    let directory = directory("stages_read_back");
    let dumped = lmc(
        &directory,
        &["compile", "--fwd", "--rev", "--jvp", "--vjp", "p.ks", "-o", "p.so", "--dump-stages", "stages"],
    );
    assert_eq!(dumped.status.code(), Some(0), "{}", text(&dumped.stderr));
    let entries = fs::read_dir(directory.join("stages")).expect("the stages are there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names[0], "0001-_g_Float_-source.ks");
    for stage in ["D$h-jacobian", "Dt$h-transpose", "rev$h-apply", "jvp$h-cse", "sufrevpass$_g_Float_-simplify"] {
        assert!(names.iter().any(|name| name.contains(stage)), "no {stage} in {names:?}");
    }
    let paths: Vec<String> = names.iter().map(|name| format!("stages/{name}")).collect();
    let check: Vec<&str> = ["check", "--stage"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let checked = lmc(&directory, &check);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
    // The last stage of a function is what the command compiles.
    let last = names.iter().rfind(|name| name.contains("-rev$h-")).expect("it is there");
    let stage = fs::read_to_string(directory.join("stages").join(last)).expect("the stage is read");
    let compiled = text(&lmc(&directory, &["compile", "--rev", "p.ks", "--emit", "ks=-"]).stdout);
    let definition = |text: &str| text.split("\n\n").find(|def| def.starts_with("(def [rev h]")).map(str::to_string);
    assert_eq!(definition(stage.trim_end()), definition(compiled.trim_end()));
    assert!(definition(&stage).is_some());
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let directory = directory("a_directory_that_cannot_be_made");
    let output = lmc(&directory, &["run", "p.ks", "--dump-stages", "p.ks/stages"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: cannot write `p.ks/stages`: "));
}
