//! `lmc gradbench`, and the C++ that it is measured beside: `benches/gradbench/check.py` sends messages and compares
//! outputs with formulas in plain Python.

mod json;

use std::process::Command;

fn check(arguments: &[&str]) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/gradbench");
    let output = Command::new("python3")
        .arg("check.py")
        .args(arguments)
        .current_dir(folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("the check runs with python3, of the Debian package of that name");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
}

#[test]
fn outputs_are_those_of_the_formulas_and_failures_are_answered() {
    check(&[env!("CARGO_BIN_EXE_lmc")]);
}

#[test]
fn the_programs_in_cpp_give_what_the_formulas_give() {
    check(&["--tool", "python3 with_cc.py", "lse", "llsq", "gmm", "ba", "kmeans", "lstm", "ode", "det"]);
}

/// `benches/gradbench/evals.txt`, which GradBench reads, has the evals that there are models for.
#[test]
fn the_evals_are_listed() {
    let listed: Vec<&str> = include_str!("../../../benches/gradbench/evals.txt").lines().collect();
    let known: Vec<&str> = lmc::gradbench::EVALS.iter().map(|eval| eval.module).collect();
    assert_eq!(listed, known);
}
