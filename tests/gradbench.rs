//! `lmc gradbench`: `benches/gradbench/check.py` sends messages and compares outputs with formulas in plain Python.

use std::process::Command;

#[test]
fn outputs_are_those_of_the_formulas_and_failures_are_answered() {
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/gradbench/check.py");
    let output = Command::new("python3")
        .args([check, env!("CARGO_BIN_EXE_lmc")])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("the check runs with python3, of the Debian package of that name");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
}

/// `benches/gradbench/evals.txt`, which GradBench reads, has the evals that there are models for.
#[test]
fn the_evals_are_listed() {
    let listed: Vec<&str> = include_str!("../benches/gradbench/evals.txt").lines().collect();
    let known: Vec<&str> = lmc::gradbench::EVALS.iter().map(|eval| eval.module).collect();
    assert_eq!(listed, known);
}
