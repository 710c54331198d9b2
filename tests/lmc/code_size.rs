//! Measures the LLVM code of a program before LLVM's passes, whose cost follows from its size. Counts instructions,
//! no times.

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

/// An index that nothing is known of, n times: each is checked.
fn checks(n: usize) -> String {
    let terms = (0..n).fold("0.0".to_string(), |sum, i| format!("(add {sum} (sin (index (index {i} places) v)))"));
    format!("(def f Float ((v : Vec Float) (places : Vec Integer)) {terms})")
}

/// Vectors that need memory, n times.
fn allocations(n: usize) -> String {
    let terms = (0..n).fold("0.0".to_string(), |sum, i| {
        let row = format!("(build (index {i} sizes) (lam (j : Integer) (exp (to_float j))))");
        format!("(let (r{i} {row}) (add {sum} (mul x (add (index 0 r{i}) (index 1 r{i})))))")
    });
    format!("(def f Float ((x : Float) (sizes : Vec Integer)) {terms})")
}

/// Functions that call the one before: once, or twice.
fn layers(n: usize, calls: &dyn Fn(&str) -> String) -> String {
    let name = |i: usize| if i == n { "f".to_string() } else { format!("f{i}") };
    let first = "(def f0 Float (x : Float) (mul (sin x) x))\n".to_string();
    (1..=n).fold(first, |text, i| text + &format!("(def {} Float (x : Float) {})\n", name(i), calls(&name(i - 1))))
}

fn single_calls(n: usize) -> String {
    layers(n, &|f| format!("(add (mul ({f} x) x) (cos x))"))
}

/// The record of each function has those of two calls.
fn double_calls(n: usize) -> String {
    layers(n, &|f| format!("(add (mul ({f} x) x) ({f} (cos x)))"))
}

/// Conditionals in let position, one in the other.
fn deep_conditionals(n: usize) -> String {
    let inner = "(mul x (sin x))".to_string();
    let body = (0..n).fold(inner, |e, i| {
        format!("(let (a{i} (if (gt x {i}.5) (mul x {e}) (cos (mul x {i}.0)))) (mul a{i} (sin a{i})))")
    });
    format!("(def f Float (x : Float) {body})")
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
