//! `lmc gradcheck`: what it says and with which status, for each way in which a check may end.

use common::cost;
use lm::term::FunName;
use lmc::derive::Derivation;
use lmc::{gradcheck, with_large_stack};
use native::{Jit, Options, SourceInfo};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The output of a command, and its status.
struct Said {
    status: Option<i32>,
    table: String,
    messages: String,
}

impl Said {
    /// Returns the row of a function or parameter, as words.
    fn row(&self, name: &str) -> Vec<&str> {
        let rows = self.table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        rows.into_iter().find(|row| row.first() == Some(&name)).unwrap_or_else(|| panic!("{name}: {}", self.table))
    }
}

fn folder(test: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("gradcheck-{test}"));
    fs::create_dir_all(&path).expect("the directory for tests can be written to");
    path
}

fn checked(test: &str, program: &str, options: &[&str]) -> Said {
    let folder = folder(test);
    fs::write(folder.join("p.ks"), program).expect("the program is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let output = command.args(["gradcheck", "p.ks"]).args(options).current_dir(folder).output().expect("lmc starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { status: output.status.code(), table: text(&output.stdout), messages: text(&output.stderr) }
}

/// The derivative is 0, and what its terms leave is below 1e-290 in native code.
#[test]
fn what_cancelling_terms_leave_is_zero() {
    let said = checked("zero", "(def f Float (x : Float) (div (mul x x) (mul x x)))", &[]);
    assert_eq!(said.status, Some(0), "{}{}", said.table, said.messages);
}

/// The derivative is 0, its terms are of the size of 1/v, and each way of computing it rounds them otherwise.
#[test]
fn roundings_of_terms_that_cancel_agree() {
    let entropy = "(def entropy Float (v : Vec Float)
  (let (s (sum v)) (neg (sumbuild (size v) (lam (i : Integer) (let (p (div (index i v) s)) (mul p (log p))))))))";
    for v in ["2.3", "2.3e-7", "2.3e7"] {
        let program = format!("{entropy}\n(def example (Vec Float) () (Vec_init {v}))");
        for seed in 1..6 {
            let said = checked("cancelled", &program, &["--seed", &seed.to_string(), "--math", "exact"]);
            assert_eq!(said.status, Some(0), "{v}: {}{}", said.table, said.messages);
        }
    }
}

/// Near this point the derivative jumps, which is no rounding: at the point itself the two take other branches.
#[test]
fn derivatives_that_take_other_branches_disagree() {
    let program = "(def larger Float (v : Vec Float)
  (if (gt (index 0 v) (index 1 v)) (index 0 v) (index 1 v)))
(def [rev larger] (Vec Float) ((v : Vec Float) (dr : Float))
  (if (gte (index 0 v) (index 1 v)) (Vec_init dr 0.0) (Vec_init 0.0 dr)))
(def example (Vec Float) () (Vec_init 1.0 1.0))";
    let said = checked("branches", program, &["--points", "1", "--fun", "larger"]);
    assert_eq!(said.status, Some(1), "{}{}", said.table, said.messages);
    assert!(said.messages.contains("`[fwd larger]` and `[rev larger]` disagree"), "{}", said.messages);
}

/// Where the interpreter has done its part, native code goes on alone; without native code, the interpreter does.
#[test]
fn the_interpreter_has_a_limit_where_native_code_agrees() {
    with_large_stack(|| {
        let text = "(def f Float (v : Vec Float) (sumbuild (size v) (lam (i : Integer) (sin (index i v)))))";
        let mut p = cost::pipeline(text, Derivation::Dual).expect("the program is right");
        let f = FunName::base("f");
        let entries = gradcheck::prepare(&mut p, &f).expect("it has derivatives");
        let jit =
            Jit::new(p.program(), &entries, &SourceInfo::new("p.ks", text), &Options::default()).expect("it compiles");
        for (jit, accesses, interpreted) in [(Some(&jit), 0, 1), (Some(&jit), u64::MAX, 5), (None, 0, 5)] {
            let report = gradcheck::check_within(&p, jit, &f, 5, 1, accesses);
            assert!(report.agrees() && report.points == 5, "{report:?}");
            assert_eq!(report.interpreted, interpreted, "at most {accesses}");
        }
    });
}

/// A term, 1e-9, is missing in `[rev f]`, beside terms that cancel.
#[test]
fn small_mistakes_beside_terms_that_cancel_are_found() {
    let program = "(def f Float (x : Float) (add (div x x) (mul 1.0e-9 x)))
(def [rev f] Float ((x : Float) (dr : Float)) (mul dr (sub (div 1.0 x) (div x (mul x x)))))
(def example Float () 2.3)";
    let said = checked("small-mistake", program, &[]);
    assert_eq!(said.status, Some(1), "{}{}", said.table, said.messages);
    assert!(said.messages.contains("`[fwd f]` and `[rev f]` disagree"), "{}", said.messages);
}

#[test]
fn a_wrong_derivative_by_hand_is_told_by_name() {
    let wrong = "(def f Float (x : Float) (mul x x))
(def [rev f] Float ((x : Float) (dr : Float)) (mul x dr))
(def [fwd f] Float ((x : Float) (dx : Float)) (mul 2.0 (mul x dx)))";
    let said = checked("wrong", wrong, &[]);
    assert_eq!(said.status, Some(1));
    assert!(said.messages.contains("`[fwd f]` and `[rev f]` disagree"), "{}", said.messages);
    assert!(said.messages.contains("`[rev f]` disagrees with differences"), "{}", said.messages);
    assert!(!said.messages.contains("`[fwd f]` disagrees with differences"), "{}", said.messages);
}

/// The derivative by `b` is wrong, that by `w` is right.
#[test]
fn each_parameter_has_a_row() {
    let program = "(def f Float ((w : Float) (n : Integer) (b : Float)) (mul w (mul b b)))
(def [rev f] (Tuple Float (Tuple) Float) ((s : Tuple Float Integer Float) (dr : Float))
  (let ((w n b) s) (tuple (mul dr (mul b b)) (tuple) (mul dr (mul w b)))))
(def g Float (x : Float) (mul x x))";
    let said = checked("rows", program, &["--interpret"]);
    assert_eq!(said.status, Some(1));
    assert_eq!(said.table.lines().count(), 5, "a row for w and b, none for n, none for the x of g: {}", said.table);
    let errors = |name: &str| said.row(name)[1..].iter().map(|x| x.parse::<f64>().expect("an error") < 1e-6).collect();
    let (w, b): (Vec<bool>, Vec<bool>) = (errors("w"), errors("b"));
    assert_eq!((w, b), (vec![true; 3], vec![false, true, false]), "{}", said.table);
    assert!(said.messages.contains("`[rev f]` disagrees with differences with respect to `b`"), "{}", said.messages);
}

/// Only native code can call C, and there is no forward derivative.
#[test]
fn an_external_function_with_only_a_reverse_derivative_is_checked() {
    let program = "(edef cube Float (Float))
(edef [rev cube] Float (Float Float))
(def f Float ((x : Float) (y : Float)) (mul y (cube (mul x y))))";
    let folder = folder("external");
    let status = |factor: &str| {
        let c = format!(
            "#include <stdint.h>
int32_t cube(void *ctx, double x, double *out) {{ (void)ctx; *out = x * x * x; return 0; }}
int32_t rev_cube(void *ctx, double x, double dr, double *out) {{ (void)ctx; *out = {factor} * x * x * dr; return 0; }}"
        );
        fs::write(folder.join("c.c"), c).expect("the file can be written");
        let library = format!("libcube{factor}.so");
        let args = ["-shared", "-fPIC", "c.c", "-o", &library];
        assert!(Command::new("cc").args(args).current_dir(&folder).status().expect("cc runs").success());
        checked("external", program, &["--link", &library])
    };
    let said = status("3");
    assert_eq!((said.status, said.row("f")[1]), (Some(0), "20"), "{}{}", said.table, said.messages);
    assert_eq!((said.row("f")[2], said.row("f")[3], said.row("y")[1]), ("-", "-", "-"));
    let said = status("2");
    assert_eq!(said.status, Some(1), "{}", said.table);
    assert!(said.messages.contains("`[rev f]` disagrees with differences"), "{}", said.messages);
}

#[test]
fn stopped_gradients_are_not_compared_with_differences() {
    let program = "(def inner Float (x : Float) (stop_gradient x))
(def f Float (x : Float) (mul x (inner x)))
(def g Float (x : Float) (mul x x))";
    let said = checked("stop", program, &[]);
    assert_eq!(said.status, Some(0), "{}", said.messages);
    assert_eq!(said.row("f")[3..5], ["-", "-"]);
    assert!(!said.row("g")[3..5].contains(&"-"));
    assert!(said.messages.contains("`f` uses `stop_gradient`"), "{}", said.messages);
    assert!(!said.messages.contains("`g`"), "{}", said.messages);
}

/// An argument on which nothing depends is stopped by lmc, and by no user: in the function, and in derivatives that it
/// calls.
#[test]
fn what_does_not_depend_on_an_argument_is_compared_with_differences() {
    let program = "(def g Float ((n : Integer) (a : Float) (u : Float))
  (if (lte n 0) (sin a) (add (g (sub n 1) a u) (g (sub n 2) a u))))
(def f Float (a : Float) ([grad [wrt$2 g]] 2 a a))
(def h Float (a : Float) (g 3 a a))";
    let said = checked("independent", program, &[]);
    assert_eq!((said.status, &*said.messages), (Some(0), ""), "{}", said.table);
    for f in ["f", "h"] {
        assert!(!said.row(f)[3..5].contains(&"-"), "{}", said.table);
    }
}

#[test]
fn sizes_that_must_agree_do() {
    let program = "(def f Float ((n : Integer) (m : Integer) (k : Integer) (a : Tensor 2 Float) (picks : Vec Integer))
  (assert (and (and (eq n m) (eq m k)) (eq k (get$1$2 (size a))))
    (mul (index (tuple (index 0 picks) 0) a) (sum (build n (lam (i : Integer) (index (tuple i i) a)))))))";
    let said = checked("sizes", program, &["--interpret"]);
    assert_eq!((said.status, said.row("f")[1]), (Some(0), "20"), "{}{}", said.table, said.messages);
}

/// The derivative of `bad` is wrong. `v` has a size in its type, `w`, `g` and `p` have none.
#[test]
fn tensors_without_a_size_are_not_empty_beside_others() {
    let program = "(def bad (Vec Float) (w : Vec Float) (map exp w))
(def [rev bad] (Vec Float) ((w : Vec Float) (dr : Vec Float)) (mul 3.0 dr))
(def sized Float ((v : Vec h Float) (w : Vec Float)) (add (sum (bad w)) (ts_dot v v)))
(def nested Float (g : Vec n (Vec Float)) (sum (map (lam (row : Vec Float) (sum (bad row))) g)))
(def tuples Float ((v : Vec h Float) (p : Vec (Tuple Float Float)))
  (add (ts_dot v v) (sum (bad (map (lam (q : Tuple Float Float) (get$1$2 q)) p)))))";
    let said = checked("unsized", program, &["--points", "3", "--seed", "9"]);
    assert_eq!(said.status, Some(1), "{}{}", said.table, said.messages);
    for name in ["bad", "sized", "nested", "tuples"] {
        assert!(
            said.messages.contains(&format!("`[rev {name}]` disagrees with differences")),
            "{name}: {}",
            said.table
        );
    }
    assert!(
        said.messages.contains("`[rev sized]` disagrees with differences with respect to `w`"),
        "{}",
        said.messages
    );
    assert!(!said.messages.contains("empty"), "{}", said.messages);
}

/// Each has a size that is 0 for small numbers, of a parameter whose derivative is wrong.
#[test]
fn sizes_that_are_differences_are_not_zero() {
    let program = "(def bad (Vec Float) (w : Vec Float) (map exp w))
(def [rev bad] (Vec Float) ((w : Vec Float) (dr : Vec Float)) (mul 3.0 dr))
(def f Float ((n : Integer) (w : Vec (sub n 6) Float)) (sum (bad w)))
(def g Float ((v : Vec n Float) (w : Vec (sub n m) Float) (u : Vec m Float)) (add (sum (bad w)) (sum (add v v))))";
    for seed in 1..6 {
        let said = checked("differences", program, &["--points", "3", "--seed", &seed.to_string(), "--interpret"]);
        assert_eq!(said.status, Some(1), "{}{}", said.table, said.messages);
        for wrong in
            ["`[rev f]` disagrees with differences", "`[rev g]` disagrees with differences with respect to `w`"]
        {
            assert!(said.messages.contains(wrong), "{wrong}, seed {seed}: {}{}", said.table, said.messages);
        }
    }
}

#[test]
fn what_is_empty_at_all_points_is_told() {
    let program = "(def f Float ((v : Vec Float) (x : Float)) (add x (sum v)))
(def g Float (v : Vec Float) (sum v))
(def example (Tuple (Vec Float) Float) () (tuple (build 0 (lam (i : Integer) 0.0)) 1.0))";
    let said = checked("empty", program, &["--interpret", "--points", "3"]);
    assert_eq!(said.status, Some(0), "{}{}", said.table, said.messages);
    let words = "warning: `v` of `f` was empty at all points, so nothing was compared there";
    assert!(said.messages.contains(words), "{}", said.messages);
    assert_eq!(said.row("v")[1..], ["-", "-", "-"]);
    let domain = "(def f Float ((v : Vec Float) (x : Float)) (assert (eq (size v) 0) (add x (sum v))))";
    let said = checked("empty-domain", domain, &["--interpret", "--points", "3"]);
    assert_eq!(said.status, Some(0), "{}{}", said.table, said.messages);
    assert!(said.messages.contains(words), "{}", said.messages);
    // Where no parameter has a number at any point, nothing is known of the derivative.
    let none = ["(v : Vec 0 Float)", "((v : Vec 0 Float) (k : Integer))", "((v : Vec 0 Float) (w : Vec 0 Float))"];
    for (i, parameters) in none.into_iter().enumerate() {
        let program = format!("(def f Float {parameters} (sum v))");
        let said = checked(&format!("empty-all-{i}"), &program, &["--interpret", "--points", "3"]);
        assert!(said.messages.contains("empty at all points, so nothing was compared there"), "{}", said.messages);
        assert_eq!(said.status, Some(3), "{program}: {}", said.messages);
        assert!(said.messages.contains("`f` was compared at no point with numbers"), "{}", said.messages);
    }
}

#[test]
fn functions_without_a_point_have_their_own_status() {
    let cases = [
        ("(def f Float (x : Float) (assert (gt x 100.0) x))", "it stops: p.ks:1:26: assertion failed"),
        ("(def f Float (x : Float) (sqrt (sub (neg 1.0) (mul x x))))", "its value is not finite at"),
        ("(def f Float (x : Float) (sqrt (sub x x)))", "its value is finite at"),
    ];
    for (i, (program, words)) in cases.into_iter().enumerate() {
        let said = checked(&format!("nowhere-{i}"), program, &["--interpret", "--points", "3"]);
        assert_eq!(said.status, Some(3), "{program}: {}", said.messages);
        assert!(said.messages.contains(words), "{program}: {}", said.messages);
        assert!(said.messages.contains("`f` was compared at no point"), "{program}: {}", said.messages);
    }
}

/// A negative n recurses for ever. The interpreter stops at 40,000 calls, native code when its stack is full.
#[test]
fn native_code_is_not_run_where_the_recursion_is_too_deep() {
    let program = "(def power Float ((x : Float) (n : Integer))
  (if (eq n 0) 1.0 (mul x (power x (sub n 1)))))";
    let folder = folder("deep");
    fs::write(folder.join("p.ks"), program).expect("the program is written");
    let measure = "import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let lmc = env!("CARGO_BIN_EXE_lmc");
    let args = ["-c", measure, lmc, "gradcheck", "p.ks", "--points", "5"];
    let output = Command::new("python3").args(args).current_dir(folder).output().expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<u64> = said.split_whitespace().map(|n| n.parse().expect("a number")).collect();
    assert_eq!(numbers[0], 0, "{said}");
    assert!(numbers[1] < 1_000_000, "{} KB were in use at once", numbers[1]);
}

/// The square root has no derivative at 0. The value is 0.
const NORM: &str = "(def norm Float (v : Vec Float)
  (sqrt (sumbuild (size v) (lam (i : Integer) (mul (index i v) (index i v))))))
(def example (Vec Float) () (build 3 (lam (i : Integer) 0.0)))
(def main Integer () (print ([rev norm] (example) 1.0)))
";

#[test]
fn the_origin_of_a_derivative_that_is_not_finite_is_told() {
    let said = checked("norm", NORM, &["--interpret"]);
    assert_eq!(said.status, Some(0), "points near the example agree: {}{}", said.table, said.messages);
    let words = "warning: p.ks:2:3: `div` of 0.5 and 0.0 gives inf, in `[fwd norm]`: `[fwd norm]` is not finite, where \
                 `norm` is, at [0, 0, 0]";
    assert!(said.messages.contains(words), "{}", said.messages);
    let said = checked("norm", NORM, &["--interpret", "--check-finite"]);
    assert_eq!(said.status, Some(1));
    assert!(said.messages.contains("`norm` or a derivative has a result that is not finite"), "{}", said.messages);
}

/// Returns the output and the messages of `lmc run --check-finite`.
fn run_checking_finite(test: &str, program: &str) -> (Option<i32>, String) {
    let folder = folder(test);
    fs::write(folder.join("p.ks"), program).expect("the program is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let output = command.args(["run", "--check-finite", "p.ks"]).current_dir(folder).output().expect("lmc starts");
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn a_run_stops_at_the_first_result_that_is_not_finite() {
    let value = "(def f Float (x : Float) (mul 0.0 (log x)))\n(def main Integer () (print ([rev f] 0.0 1.0)))";
    let derivative = "(def f Float (x : Float) (sqrt x))\n(def main Integer () (print ([rev f] 0.0 1.0)))";
    let second = "(def f Float (x : Float) (pow x 1.5))
(def [rev f] Float ((x : Float) (dr : Float)) (mul 1.5 (mul dr (sqrt x))))
(def main Integer () (print ([fwd [rev f]] (tuple 0.0 1.0) (tuple 1.0 0.0))))";
    let sum = "(def main Integer () (print (sumbuild 3 (lam (i : Integer) (mul 0.7e308 (to_float i))))))";
    let whole = "(def main Integer () (print (add (Vec_init 1.0 1.0e308) (Vec_init 1.0 1.0e308))))";
    let fine = "(def main Integer () (print (div 1.0 4.0)))";
    let cases = [
        ("value", value, 1, "in `[rev f]`: the value of `f` is not finite"),
        (
            "derivative",
            derivative,
            1,
            "p.ks:1:26: `div` of 0.5 and 0.0 gives inf, in `[rev f]`: `[rev f]` is not finite, where `f` is",
        ),
        ("second", second, 1, "in `[fwd [rev f]]`: `[fwd [rev f]]` is not finite, where `[rev f]` is"),
        ("sum", sum, 1, "`add` of 7e307 and 1.4e308 gives inf, in `main`"),
        ("whole", whole, 1, "`add` of 1e308 and 1e308 gives inf, in `main`: the value of `main` is not finite"),
        ("fine", fine, 0, "0.25"),
    ];
    for (name, program, status, words) in cases {
        let (found, said) = run_checking_finite(&format!("finite-{name}"), program);
        assert!(found == Some(status) && said.contains(words), "{name}: {found:?} {said}");
    }
}
