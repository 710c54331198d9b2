//! Measures the terms of a derivative, and its LLVM code before LLVM's passes, whose cost follows from its size. Counts
//! nodes and instructions, no times.

use common::shapes::{self, allocations, checks};
use lm::term::{Derivative, FunName};
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
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

/// Counts the instructions.
fn instructions(program: &str) -> usize {
    emitted(program).iter().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).count()
}

/// Returns the program of a size.
type Family = fn(usize) -> String;

/// The families whose code is counted, and the smallest size. Above it no shape changes its kind of code.
const COUNTED: &[(Family, usize)] = &[
    (shapes::chain, 15),
    (shapes::web, 15),
    (shapes::single_calls, 20),
    (shapes::double_calls, 20),
    (shapes::calls_of_calls, 200),
    (shapes::functions_of_functions, 8),
    (shapes::deep_conditionals, 16),
    (shapes::loops_in_a_row, 5),
    // Beyond 40 levels the first vector must be empty, or the last would be too large: its loops are simpler.
    (shapes::doubled_sizes, 8),
    (checks, 20),
    (allocations, 5),
];

/// Counts the nodes of the terms of `[rev f]` and all that it calls.
fn nodes(program: &str) -> usize {
    let source = Source::new("shape.ks", program);
    let mut pipeline = Pipeline::new(front::load(&source).unwrap_or_else(|errors| panic!("{program}: {errors:?}")));
    let rev = FunName::base("f").derived(Derivative::Rev);
    pipeline.require(&rev).unwrap_or_else(|error| panic!("{program}: {error}"));
    pipeline.program().defs.values().map(|def| def.body.size()).sum()
}

/// Checks that twice as much text gives at most a little over twice as much. What grows with the square of the text
/// adds four times as much.
fn grows_linearly(of: &str, sizes: [usize; 3], counts: [usize; 3]) {
    let [few, twice, more] = counts;
    let added = (more - twice) as f64 / (twice - few) as f64;
    assert!(added < 2.3, "{of} at {sizes:?}: {counts:?}");
}

#[test]
fn code_grows_with_the_program() {
    // The terms of loops in loops grow with the square of the depth; passes merge them again.
    let deep_loops: (Family, usize) = (shapes::deep_loops, 4);
    for (i, (program, fewest)) in COUNTED.iter().chain([&deep_loops]).enumerate() {
        let sizes = [*fewest, 2 * fewest, 4 * fewest];
        grows_linearly(&format!("instructions of {i}"), sizes, sizes.map(|n| instructions(&program(n))));
    }
}

#[test]
fn terms_grow_with_the_program() {
    with_large_stack(|| {
        for (i, (program, fewest)) in COUNTED.iter().enumerate() {
            let sizes = [*fewest, 2 * fewest, 4 * fewest];
            grows_linearly(&format!("nodes of {i}"), sizes, sizes.map(|n| nodes(&program(n))));
        }
    });
}

/// Counts the calls that report errors, in each function.
fn reports(program: &str) -> Vec<usize> {
    let lines = emitted(program);
    let functions = lines.split(|line| line.starts_with("define"));
    let is_report = |line: &&String| line.contains(" call ") && line.contains("@lmc.fail");
    functions.map(|function| function.iter().filter(is_report).count()).collect()
}

#[test]
fn errors_are_reported_in_one_place_of_a_function() {
    let [few, many] = [20, 80].map(|n| reports(&checks(n)));
    let calls = |of: &[usize]| of.iter().sum::<usize>();
    assert!(calls(&few) > 0 && calls(&few) == calls(&many), "{few:?} and {many:?} calls");
    // Equal runs of allocations are functions of their own, each with its place for errors.
    let [few, many] = [20, 80].map(|n| reports(&allocations(n)));
    assert!(few.iter().max() > Some(&0) && few.iter().max() == many.iter().max(), "{few:?} and {many:?} calls");
}

/// Counts the functions that chunks of loops run.
fn bodies_of_chunks(program: &str) -> usize {
    emitted(program).iter().filter(|line| line.starts_with("define") && line.contains("lmc.chunk")).count()
}

#[test]
fn equal_loops_on_threads_are_emitted_once() {
    let [few, many] = [3, 12].map(|n| bodies_of_chunks(&shapes::products(n)));
    assert!(few > 0 && few == many, "{few} and {many} functions");
}

#[test]
fn long_loops_are_not_unrolled_at_run_time() {
    let body = |n: usize| (0..n).fold("y".to_string(), |e, i| format!("(add (mul {e} y) {i}.5)"));
    let is_told = |n: usize| {
        let program = format!(
            "(def f Float (x : Vec Float) (fold (lam (t : Tuple Float Float)
               (let ((s y) t) (div {} s))) 1.0 x))",
            body(n)
        );
        emitted(&program).iter().any(|line| line.contains("llvm.loop.unroll.runtime.disable"))
    };
    assert_eq!([is_told(1), is_told(30)], [false, true]);
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
      (fold (lam (t : Tuple (Vec Float) Integer)
              (let (s (get$1$2 t)) (map (lam (x : Float) (mul x (add x (index 0 s)))) s)))
            v (build n (lam (i : Integer) i))))";
    // The remainder of a loop runs in shorter vectors.
    assert_eq!([has(once, "vec.epilog.vector.body"), has(again, "vec.epilog.vector.body")], [[true; 2]; 2]);
    // Only a loop that others repeat is told to have few vectors side by side.
    let is_told =
        |program| compiled(program, &["-O", "0"]).iter().any(|line| line.contains("llvm.loop.interleave.count"));
    assert_eq!([once, again].map(is_told), [false, true]);
}
