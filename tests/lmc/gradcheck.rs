//! `lmc gradcheck`: what it says and with which status, for each way in which a check may end.

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

fn gradcheck(test: &str, program: &str, options: &[&str]) -> Said {
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
    let said = gradcheck("zero", "(def f Float (x : Float) (div (mul x x) (mul x x)))", &[]);
    assert_eq!(said.status, Some(0), "{}{}", said.table, said.messages);
}

#[test]
fn a_wrong_derivative_by_hand_is_told_by_name() {
    let wrong = "(def f Float (x : Float) (mul x x))
(def [rev f] Float ((x : Float) (dr : Float)) (mul x dr))
(def [fwd f] Float ((x : Float) (dx : Float)) (mul 2.0 (mul x dx)))";
    let said = gradcheck("wrong", wrong, &[]);
    assert_eq!(said.status, Some(1));
    assert!(said.messages.contains("`[fwd f]` and `[rev f]` disagree"), "{}", said.messages);
}

#[test]
fn stopped_gradients_are_not_compared_with_differences() {
    let program = "(def inner Float (x : Float) (stop_gradient x))
(def f Float (x : Float) (mul x (inner x)))
(def g Float (x : Float) (mul x x))";
    let said = gradcheck("stop", program, &[]);
    assert_eq!(said.status, Some(0), "{}", said.messages);
    assert_eq!(said.row("f")[3], "-");
    assert_ne!(said.row("g")[3], "-");
    assert!(said.messages.contains("`f` uses `stop_gradient`"), "{}", said.messages);
    assert!(!said.messages.contains("`g`"), "{}", said.messages);
}

#[test]
fn sizes_that_must_agree_do() {
    let program = "(def f Float ((n : Integer) (m : Integer) (k : Integer) (a : Tensor 2 Float) (picks : Vec Integer))
  (assert (and (and (eq n m) (eq m k)) (eq k (get$1$2 (size a))))
    (mul (index (tuple (index 0 picks) 0) a) (sum (build n (lam (i : Integer) (index (tuple i i) a)))))))";
    let said = gradcheck("sizes", program, &["--interpret"]);
    assert_eq!((said.status, said.row("f")[1]), (Some(0), "20"), "{}{}", said.table, said.messages);
}

#[test]
fn functions_without_a_point_have_their_own_status() {
    let cases = [
        ("(def f Float (x : Float) (assert (gt x 100.0) x))", "it stops: p.ks:1:26: assertion failed"),
        ("(def f Float (x : Float) (sqrt (sub (neg 1.0) (mul x x))))", "its value is not finite at"),
        ("(def f Float (x : Float) (sqrt (sub x x)))", "its value is finite at"),
    ];
    for (i, (program, words)) in cases.into_iter().enumerate() {
        let said = gradcheck(&format!("nowhere-{i}"), program, &["--interpret", "--points", "3"]);
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
    let said = gradcheck("norm", NORM, &["--interpret"]);
    assert_eq!(said.status, Some(0), "points near the example agree: {}{}", said.table, said.messages);
    let words = "warning: p.ks:2:3: `div` of 0.5 and 0.0 gives inf, in `[fwd norm]`: `[fwd norm]` is not finite, where \
                 `norm` is, at [0, 0, 0]";
    assert!(said.messages.contains(words), "{}", said.messages);
    let said = gradcheck("norm", NORM, &["--interpret", "--check-finite"]);
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
