//! Deep recursion: reverse mode through a million levels, and runaway recursion, which is an error and no crash.

use super::directory::with_program;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// `s` after n steps of s := sin(s + x), by tail recursion. It counts by two: by one, it would be a loop.
const STEPS: &str = "(def steps Float ((i : Integer) (n : Integer) (s : Float) (x : Float))
  (if (gte i n) s (steps (add i 2) n (sin (add s x)) x)))
(def f Float ((x : Float) (n : Integer)) (steps 0 (mul 2 n) 0.5 x))
";

const RUNAWAY: &str = "(def forever Float ((n : Integer) (x : Float))
  (if (eq n -1) x (mul x (sin (forever (add n 1) (cos x))))))
(def endless Float (x : Float) (mul x (endless (add x 1.0))))
";

/// Returns the value of [`STEPS`] and its derivative, with forward mode's order of operations.
fn steps(n: usize, x: f64) -> (f64, f64) {
    (0..n).fold((0.5, 0.0), |(s, ds): (f64, f64), _| ((s + x).sin(), (s + x).cos() * (ds + 1.0)))
}

/// A directory of a test's own.
fn directory(test: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("recursion-{test}"));
    fs::create_dir_all(&directory).expect("the directory is made");
    directory
}

/// `lmc run` of a program in a file of that name.
fn lmc_run(name: &str, text: &str, options: &[&str]) -> Output {
    let file = format!("{name}.ks");
    let directory = directory(name);
    fs::write(directory.join(&file), text).expect("the file is written");
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    lmc.current_dir(directory).args(["run", &file]).args(options).output().expect("lmc starts")
}

fn number(output: &Output) -> f64 {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

#[test]
fn reverse_mode_goes_through_a_million_levels() {
    let main = "(def main Integer () (print (get$1$2 ([rev f] (tuple 0.3 1000000) 1.0))))\n";
    let gradient = number(&lmc_run("million", &format!("{STEPS}{main}"), &[]));
    let (_, expected) = steps(1_000_000, 0.3);
    assert!((gradient - expected).abs() <= 1e-12 * expected.abs(), "{gradient} for {expected}");
}

#[test]
fn the_interpreter_goes_through_ten_thousand() {
    let main = "(def main Integer () (print (get$1$2 ([rev f] (tuple 0.3 10000) 1.0))))\n";
    let gradient = number(&lmc_run("thousands", &format!("{STEPS}{main}"), &["--interpret"]));
    let (_, expected) = steps(10_000, 0.3);
    assert!((gradient - expected).abs() <= 1e-12 * expected.abs(), "{gradient} for {expected}");
}

#[test]
fn runaway_recursion_is_an_error_with_a_place() {
    // `endless` has no way out, so that all it could do is fail.
    let calls = [
        ("value", "(forever 0 0.5)"),
        ("reverse", "([rev forever] (tuple 0 0.5) 1.0)"),
        ("endless", "(endless 1.0)"),
        ("endless-reverse", "([rev endless] 1.0 1.0)"),
    ];
    for (what, call) in calls {
        for (how, options) in [("native", &[][..]), ("interpreted", &["--interpret"])] {
            let text = format!("{RUNAWAY}(def main Integer () (print {call}))\n");
            let output = lmc_run(&format!("runaway-{what}-{how}"), &text, options);
            assert_eq!(output.status.code(), Some(1), "{what}, {how}: {output:?}");
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            let place = format!("runaway-{what}-{how}.ks:");
            assert!(message.starts_with(&place) && message.contains("recursion too deep"), "{message}");
            let line = message[place.len()..].split(':').next().and_then(|line| line.parse::<u32>().ok());
            assert!(line.is_some_and(|line| (1..=6).contains(&line)), "{message}");
        }
    }
}

/// A program in C, linked with a library: a million levels with the stack that they need, runaway recursion as a
/// status, and a call that goes well after it.
const PROGRAM: &str = r#"#include "deep.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int failed = 0;

static void expect(int holds, const char *what) {
  if (!holds) { fprintf(stderr, "%s\n", what); failed = 1; }
}

static void *calls(void *unused) {
  lmc_context ctx;
  memset(&ctx, 0, sizeof ctx);
  double dx = 0.0, y = 0.0;
  expect(rev_f(&ctx, 0.3, 1000000, 1.0, &dx) == LMC_RECURSION_TOO_DEEP, "a million levels in one MiB");
  expect(forever(&ctx, 0, 0.5, &y) == LMC_RECURSION_TOO_DEEP, "runaway recursion");
  expect(rev_forever(&ctx, 0, 0.5, 1.0, &dx) == LMC_RECURSION_TOO_DEEP, "runaway reverse recursion");
  ctx.stack_bytes = (uint64_t)1 << 30;
  expect(rev_f(&ctx, 0.3, 1000000, 1.0, &dx) == LMC_OK, "a million levels in one GiB");
  expect(f(&ctx, 0.3, 10, &y) == LMC_OK, "a call after errors");
  printf("%.17g %.17g\n", dx, y);
  lmc_context_free(&ctx);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_attr_t large;
  pthread_attr_init(&large);
  pthread_attr_setstacksize(&large, (size_t)2 << 30);
  if (pthread_create(&thread, &large, calls, NULL) != 0) return 2;
  pthread_join(thread, NULL);
  return failed;
}
"#;

/// Links a program in C with a program's functions, and returns its output.
fn linked(test: &str, text: &str, program: &str, derivatives: &[&str]) -> Vec<f64> {
    let directory = directory(test);
    let write = |name: &str, text: &str| fs::write(directory.join(name), text).expect("the file is written");
    write("deep.ks", text);
    write("program.c", program);
    let run = |command: &mut Command| {
        let output = command.current_dir(&directory).output().expect("starts");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let lmc = ["deep.ks", "--emit", "a,header", "-o", "deep.a"];
    run(Command::new(env!("CARGO_BIN_EXE_lmc")).arg("compile").args(derivatives).args(lmc));
    let cc = ["-std=c11", "-Wall", "-Werror", "program.c", "deep.a", "-lm", "-lpthread", "-o", "program"];
    run(Command::new("cc").args(cc));
    let printed = run(&mut Command::new(directory.join("program")));
    printed.split_whitespace().map(|x| x.parse().expect("a number")).collect()
}

#[test]
fn a_library_goes_deep_and_gives_a_status() {
    let numbers = linked("library", &format!("{STEPS}{RUNAWAY}"), PROGRAM, &["--rev"]);
    let (dx, y) = (steps(1_000_000, 0.3).1, steps(10, 0.3).0);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
    assert!(close(numbers[0], dx) && close(numbers[1], y), "{numbers:?} for {dx} and {y}");
}

/// Recursion by last calls: of more results than fit into registers, and of each other.
const LAST: &str = "(def orbit (Tuple Float Float Float Float)
     ((n : Integer) (a : Float) (b : Float) (c : Float) (d : Float))
  (if (eq n 0) (tuple a b c d) (if (gt a b) (orbit (sub n 1) b c d a) (orbit (sub n 1) b a d c))))
(def even Float ((n : Integer) (x : Float)) (if (eq n 0) x (odd (sub n 1) (neg x))))
(def odd Float ((n : Integer) (x : Float)) (if (eq n 0) (mul 2.0 x) (even (sub n 1) x)))
(def turns Float ((n : Integer)) (let ((a b c d) (orbit n 1.0 2.0 3.0 4.0)) (add a (add (mul 10.0 b) (mul 100.0 c)))))
";

/// Ten million levels in the stack of one thread.
const LAST_PROGRAM: &str = r#"#include "deep.h"
#include <stdio.h>
#include <string.h>

int main(void) {
  lmc_context ctx;
  memset(&ctx, 0, sizeof ctx);
  double y = 0.0, dy = 0.0, z = 0.0, w = 0.0;
  int status = f(&ctx, 0.3, 10000000, &y);
  status |= fwd_f(&ctx, 0.3, 10000000, 1.0, &dy);
  status |= even(&ctx, 10000001, 3.0, &z);
  status |= turns(&ctx, 10000001, &w);
  printf("%d %.17g %.17g %.17g %.17g\n", status, y, dy, z, w);
  lmc_context_free(&ctx);
  return 0;
}
"#;

#[test]
fn last_calls_take_no_stack() {
    let n = 10_000_000;
    let numbers = linked("last", &format!("{STEPS}{LAST}"), LAST_PROGRAM, &["--fwd"]);
    let (y, dy) = steps(n, 0.3);
    let turn = |(a, b, c, d): (f64, f64, f64, f64), _| if a > b { (b, c, d, a) } else { (b, a, d, c) };
    let (a, b, c, _) = (0..=n).fold((1.0, 2.0, 3.0, 4.0), turn);
    let sign = if (n + 1).div_ceil(2) % 2 == 0 { 1.0 } else { -1.0 };
    let expected = [0.0, y, dy, 2.0 * 3.0 * sign, a + 10.0 * b + 100.0 * c];
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
    assert!(numbers.len() == 5 && numbers.iter().zip(&expected).all(close), "{numbers:?} for {expected:?}");
}

/// The costs that `dual` shows look into callees. A parameter that a recursion passes on as it is has no size of its own.
#[test]
fn costs_of_recursion_that_nothing_uses_end() {
    let text = "(def halves (Vec Float) ((from : Integer) (to : Integer) (rows : Vec (Vec Float)))
          (if (lte (sub to from) 1)
              (index from rows)
              (let (middle (div (add from to) 2))
                (ts_add (halves from middle rows) (halves middle to rows)))))
        (def f (Vec Float) (v : Vec Float) (let (unused (halves 0 (size v) (constVec (size v) v))) v))";
    let directory = with_program("costs_of_recursion_that_nothing_uses_end", text);
    let mut demo = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let output = demo.current_dir(&directory).args(["demo", "p.ks", "--fun", "f", "--derivation", "dual"]).output();
    let output = output.expect("lmc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("steps of loops"), "the costs are shown");
}
