//! Measures the LLVM code of a program before LLVM's passes, whose cost follows from its size. Counts instructions,
//! no times.

use common::shapes::{allocations, checks, deep_conditionals, double_calls, single_calls};
use std::io::Write;
use std::process::{Command, Stdio};

/// The lines of the LLVM IR of a program, not optimised.
fn emitted(program: &str) -> Vec<String> {
    compiled(program, &["--rev", "-O", "0"])
}

/// The lines of the LLVM IR of a program, with some options.
fn compiled(program: &str, options: &[&str]) -> Vec<String> {
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    lmc.args(["compile", "-", "--fun", "f", "--emit", "llvm-ir=-"]).args(options);
    let mut lmc = lmc.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("lmc runs");
    lmc.stdin.take().expect("it is a pipe").write_all(program.as_bytes()).expect("lmc reads");
    let output = lmc.wait_with_output().expect("lmc ends");
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("IR is text").lines().map(str::to_string).collect()
}

/// Counts the instructions, and the calls of functions whose names have a prefix.
fn counted(program: &str, callee: &str) -> (usize, usize) {
    let lines = emitted(program);
    let instructions = lines.iter().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let calls = lines.iter().filter(|line| line.contains(" call ") && line.contains(callee));
    (instructions.count(), calls.count())
}

/// Checks that twice as much text gives at most a little over twice as much code. Code that grows with the square of
/// the text adds four times as much.
fn grows_linearly(program: &dyn Fn(usize) -> String, fewest: usize) {
    let [few, twice, more] = [fewest, 2 * fewest, 4 * fewest].map(|n| counted(&program(n), "@lmc.").0);
    let added = (more - twice) as f64 / (twice - few) as f64;
    assert!(added < 2.3, "{fewest}: {few}, twice that: {twice}, four times: {more}");
}

#[test]
fn code_grows_with_the_program() {
    for program in [checks, allocations, single_calls, double_calls] {
        grows_linearly(&program, 20);
    }
}

#[test]
fn code_grows_with_the_depth_of_conditionals() {
    grows_linearly(&deep_conditionals, 16);
}

#[test]
fn errors_are_reported_in_one_place_of_a_function() {
    let [few, many] = [20, 80].map(|n| counted(&checks(n), "@lmc.fail"));
    assert!(few.1 > 0 && few.1 == many.1, "{} and {} calls", few.1, many.1);
    let [few, many] = [20, 80].map(|n| counted(&allocations(n), "@lmc.fail"));
    assert!(few.1 > 0 && few.1 == many.1, "{} and {} calls", few.1, many.1);
}

/// Returns whether the optimised IR contains a text, for processors with vectors of 4 and of 8 Floats.
fn has(program: &str, text: &str) -> [bool; 2] {
    ["x86-64-v3", "x86-64-v4"].map(|cpu| {
        let lines = compiled(program, &["-O", "2", "--target-cpu", cpu]);
        lines.iter().any(|line| line.contains(text))
    })
}

#[test]
fn short_loops_have_vectors() {
    let once = "(def f (Vec Float) (v : Vec Float) (map (lam (x : Float) (mul x (add x 1.0))) v))";
    let again = "(def f (Vec Float) ((v : Vec Float) (n : Integer))
      (fold (lam (t : Tuple (Vec Float) Integer) (map (lam (x : Float) (mul x (add x 1.0))) (get$1$2 t)))
            v (build n (lam (i : Integer) i))))";
    // The remainder of a loop runs in shorter vectors.
    assert_eq!([has(once, "vec.epilog.vector.body"), has(again, "vec.epilog.vector.body")], [[true; 2]; 2]);
    // Only a loop that others repeat is told to have few vectors side by side.
    let is_told =
        |program| compiled(program, &["-O", "0"]).iter().any(|line| line.contains("llvm.loop.interleave.count"));
    assert_eq!([once, again].map(is_told), [false, true]);
}
