//! `lmc cost`: what it prints, checks and refuses.

use crate::directory;
use lmc::derive::Derivation;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = "\
(def prod Float (v : Vec Float)
  (reduce (lam (p : (Tuple Float Float)) (mul (get$1$2 p) (get$2$2 p))) 1.0 v))
(def dot Float ((v : Vec Float) (w : Vec Float))
  (sum (map2 (lam (p : (Tuple Float Float)) (mul (get$1$2 p) (get$2$2 p))) v w)))
(def square Float (x : Float) (mul x x))
(def gamma Float (x : Float) (lgamma x))
(def count Integer (x : Float) 3)
(def whole Float (i : Integer) (to_float i))
(def twice Float ((f : (Lam Float Float)) (x : Float)) (f (f x)))
(def pick Float ((v : Vec Float) (i : Integer)) (index (add i 1) v))
(def slope (LM Float Float) (x : Float) (lmScale x 2.0))
(edef outside Float Float)
(def calls Float (x : Float) (mul 2.0 (outside x)))
";

/// A directory of its own with the program.
fn directory(test: &str) -> PathBuf {
    directory::with_program(&format!("cost_{test}"), PROGRAM)
}

fn cost(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(["cost", "p.ks"]).args(args).current_dir(directory).output().expect("lmc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The rows of a command that succeeds, and says nothing on standard error.
fn rows(directory: &Path, args: &[&str]) -> Vec<Value> {
    let output = cost(directory, &[args, &["--format", "json"]].concat());
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{args:?}");
    let text = text(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// ADDS, MULTS, NLOPS and moves of an entry.
fn counts(row: &Value, entry: &str) -> [u64; 4] {
    ["ADDS", "MULTS", "NLOPS", "moves"].map(|kind| row[entry][kind].as_u64().expect("a count"))
}

/// n products are 0 ADDS, n MULTS and n states; their gradient has three products an element, and one addition to the
/// cotangent of the element.
#[test]
fn counts_are_exact_at_each_size() {
    let directory = directory("counts");
    for (n, row) in [3, 10, 1000].into_iter().zip(rows(&directory, &["--fun", "prod", "--sizes", "1000,3,10"])) {
        assert_eq!((row["n"].as_u64(), row["p"].as_u64(), row["floats"].as_u64()), (Some(n), Some(1), Some(n + 1)));
        assert_eq!(row["primal"]["MOVES"].as_u64(), Some(9 * n + 3), "{row}");
        assert_eq!(counts(&row, "primal"), [0, n, 0, n], "{row}");
        assert_eq!(counts(&row, "vjp"), [n, 3 * n, 0, 3 * n + 1], "{row}");
        let work = (7 * n + 1) as f64 / (3 * n + 1) as f64;
        assert_eq!(row["vjp_ratios"]["work"].as_f64(), Some(work), "{row}");
        assert_eq!((row["theorem"].as_u64(), row["bound"].as_u64()), (Some(12), Some(4)), "{row}");
        assert_eq!(row["met"].as_bool(), Some(true), "{row}");
    }
    for (n, row) in [4, 50].into_iter().zip(rows(&directory, &["--fun", "dot", "--sizes", "4,50"])) {
        assert_eq!(counts(&row, "primal"), [n - 1, n, 0, n], "{row}");
        assert_eq!(counts(&row, "rev"), [0, 2 * n, 0, 2 * n], "{row}");
    }
    for row in rows(&directory, &["--fun", "dot", "--sizes", "4,50", "--wrt", "v"]) {
        let n = row["n"].as_u64().expect("a size");
        assert_eq!(row["function"], "[wrt$1 dot]");
        assert_eq!(counts(&row, "rev"), [0, n, 0, n], "{row}");
    }
}

/// So a derivation that is added is there without a change.
#[test]
fn all_derivations_are_those_that_there_are() {
    let directory = directory("derivations");
    let of = |given: &str| -> Vec<String> {
        let rows = rows(&directory, &["--fun", "square", "--derivation", given]);
        rows.iter().map(|row| row["derivation"].as_str().expect("a name").to_string()).collect()
    };
    assert_eq!(of("all"), Derivation::OF_ALL_PROGRAMS.map(Derivation::name));
    assert_eq!(of("split,jacobian,split"), ["jacobian", "split"]);
    assert_eq!(rows(&directory, &["--fun", "square"])[0]["derivation"], Derivation::default().name());
}

#[test]
fn the_table_has_a_row_for_each_entry() {
    let directory = directory("table");
    let args = ["--fun", "prod", "--fun", "square", "--sizes", "10,5", "--derivation", "tupled,split"];
    let output = cost(&directory, &args);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let table = text(&output.stdout);
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    let found: Vec<String> = table.lines().map(|line| words(line)[..5].join(" ")).collect();
    let rows = |name: &str, n: u64, p: u64| {
        let of = |(entry, derivation)| format!("{name} {n} {p} {entry} {derivation}");
        let entries = [("primal", "-"), ("vjp", "tupled"), ("rev", "tupled"), ("vjp", "split"), ("rev", "split")];
        entries.map(of)
    };
    assert_eq!(found[0], "function n p entry derivation");
    let expected = [rows("prod", 5, 1), rows("prod", 10, 1), rows("square", 5, 0), rows("square", 10, 0)].concat();
    assert_eq!(found[1..=expected.len()], expected, "{table}");
    assert_eq!(found.len(), expected.len() + 4, "{table}");
}

#[test]
fn what_is_not_measured_is_named_with_the_reason() {
    let directory = directory("reasons");
    let output = cost(&directory, &["--sizes", "5", "--check"]);
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    for reason in [
        "`count` was not measured: p.ks:7:6: `count` gives no Float: it has no derivative",
        "`whole` was not measured: p.ks:8:6: `whole` takes no Float: it has no derivative",
        "`twice` was not measured: p.ks:9:6: `twice` takes functions: measure a function of the program that calls it",
        "`pick` was not measured by jacobian: p.ks:10:49: index 5 is out of range for size 5",
        "`slope` was not measured: p.ks:11:6: `slope` takes or gives a linear map: measure a function that calls it",
        "`outside` was not measured: p.ks:12:7: `outside` is external: only operations of the program are counted",
        "`calls` was not measured by jacobian: p.ks:12:7: `[vjp calls]` cannot be made: `outside` is external, so its derivatives \
         are unknown: write `[rev outside]` by `def` or `edef` (E306)",
    ] {
        assert!(printed.lines().any(|line| line == reason), "{reason}\n{printed}");
    }
    // The derivative of lgamma is a function of many operations.
    assert_eq!(output.status.code(), Some(1), "{printed}");
    let violation = "error: the bound is not met: `[vjp gamma]` does ";
    assert!(errors.starts_with(violation) && errors.contains(" at n = 5 by jacobian, more than 4"), "{errors}");
    let without_gamma = PROGRAM.lines().filter(|line| !line.contains("gamma")).collect::<Vec<_>>().join("\n");
    fs::write(directory.join("p.ks"), without_gamma).expect("the program is written");
    let output = cost(&directory, &["--sizes", "5", "--check"]);
    let expected = "error: `pick`, `calls` could not be measured, for the reasons above\n";
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(3), expected));
    assert_eq!(cost(&directory, &["--sizes", "5"]).status.code(), Some(0));
    // Each is named once, whatever the derivations are.
    let output = cost(&directory, &["--sizes", "5", "--check", "--derivation", "jacobian,split"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(3), expected));
}

/// A loop over loops whose gradient takes a tangent for each number.
#[test]
fn dual_has_no_bound() {
    let directory = directory("dual");
    let program = "(def f (Vec Float) (v : Vec Float) (sumbuild (size v) (lam (i : Integer)
        (deltaVec (size v) (to_integer (mul 3.0 (index i v))) (sin (index i v))))))";
    fs::write(directory.join("p.ks"), program).expect("the program is written");
    let args = ["--sizes", "32", "--check", "--derivation", "jacobian,dual"];
    let output = cost(&directory, &args);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let last = |entry: &str| text(&output.stdout).lines().find(|line| line.contains(entry)).map(|l| l.ends_with("  -"));
    assert_eq!([last("vjp     jacobian"), last("vjp     dual")], [Some(false), Some(true)]);
    let rows = rows(&directory, &args);
    assert_eq!([&rows[0]["met"], &rows[1]["met"]], [&Value::Bool(true), &Value::Null]);
    assert!(rows[1]["vjp_ratios"]["work"].as_f64() > Some(rows[1]["bound"].as_f64().expect("a number")), "{rows:?}");
}

#[test]
fn an_example_chooses_the_functions_and_their_argument() {
    let directory = directory("example");
    let example = format!("{PROGRAM}(def example (Vec Float) () (Vec_init 1.0 2.0 3.0))\n");
    fs::write(directory.join("p.ks"), example).expect("the program is written");
    let rows = rows(&directory, &["--check"]);
    assert_eq!((&rows[0]["function"], &rows[0]["input"]), (&Value::from("prod"), &Value::from("example")));
    assert_eq!(counts(&rows[0], "primal"), [0, 3, 0, 3]);
    let why = |name: &str| rows.iter().find(|row| row["function"] == name).map(|row| row["not_measured"].to_string());
    let expected =
        "p.ks:5:6: `square` does not take the value of `example`: say `--fun 'square'` or `--sizes 100,1000`";
    assert_eq!(why("square"), Some(format!("\"{expected}\"")));
}

#[test]
fn mistakes_have_a_cause_a_place_and_a_status() {
    let directory = directory("mistakes");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--fun", "nope"], 1, "error: `p.ks` has no function `nope`; it has "),
        (&["--fun", "twice"], 1, "error: `twice` takes functions: name a function of the program that calls it"),
        (&["--fun", "outside"], 1, "p.ks:12:7: `outside` is external"),
        (&["--fun", "count"], 1, "p.ks:7:6: `count` gives no Float: it has no derivative"),
        (&["--fun", "slope"], 1, "p.ks:11:6: `slope` takes or gives a linear map"),
        (&["--fun", "calls"], 1, "error[E306]: `outside` is external, so its derivatives are unknown"),
        (&["--fun", "pick", "--sizes", "4"], 1, "p.ks:10:49: index 4 is out of range for size 4"),
        (&["--fun", "prod"], 2, "error: `prod` takes (Vec Float): say how large, `--sizes 100,1000` for random ones"),
        (&["--fun", "dot", "--sizes", "3", "--wrt", "q"], 1, "error: `dot` has no parameter called `q`"),
        (&["--input", "3.0"], 2, "error: `--input` is the argument of one function: say which, `--fun NAME`"),
        (&["--fun", "square", "--input", "true"], 1, "--input:1:1: the argument has type `Bool`, but `square` takes"),
        (&["--fun", "square", "--input", "x"], 1, "error[E201]: unknown variable `x`"),
        (&["--fun", "square", "--input", "3.0", "--sizes", "3"], 2, "error: `--input` does not use n, so `--sizes`"),
        (&["--fun", "square", "--derivation", "nope"], 2, "error: invalid value 'nope' for '--derivation"),
        (&["--sizes", "0"], 2, "error: invalid value '0' for '--sizes"),
    ];
    for (args, status, message) in cases {
        let output = cost(&directory, args);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(*status), "{args:?}: {errors}");
        assert!(errors.starts_with(message), "{args:?}: {errors}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
    }
    let json = cost(&directory, &["--fun", "count", "--error-format", "json"]);
    let error: Value = serde_json::from_str(&text(&json.stderr)).expect("JSON");
    assert_eq!((&error["file"], &error["line"]), (&Value::from("p.ks"), &Value::from(7)));
    fs::write(directory.join("p.ks"), "(def whole Float (i : Integer) (to_float i))\n")
        .expect("the program is written");
    let output = cost(&directory, &[]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), "error: no function was measured\n"));
}

#[test]
fn a_program_comes_from_standard_input_for_all_derivations() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(["cost", "-", "--derivation", "all", "--format", "json", "--seed", "7"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("lmc starts");
    let program = "(def f Float (x : Float) (if (gt x 0.5) (exp x) (mul x x)))";
    child.stdin.take().expect("a pipe").write_all(program.as_bytes()).expect("lmc reads");
    let output = child.wait_with_output().expect("lmc ends");
    assert_eq!(text(&output.stdout).lines().count(), Derivation::OF_ALL_PROGRAMS.len());
}
