//! `lmc bench`: what it prints, draws and refuses. No time is asserted.

use crate::directory;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = "\
(def dot Float ((v : Vec Float) (w : Vec Float))
  (sum (build (size v) (lam (i : Integer) (mul (index i v) (index i w))))))
(def model (Tuple (Vec Float) (Vec Float)) (n : Integer)
  (tuple (build n (lam (i : Integer) ($ranhashdoub i))) (build n (lam (i : Integer) 2.0))))
(def example (Tuple (Vec Float) (Vec Float)) ()
  (model 5))
(def square Float (x : Float) (mul x x))
(def scaled (Vec Float) ((x : Float) (v : Vec Float))
  (map (lam (y : Float) (mul x y)) v))
(def count Integer (x : Float) 3)
(def whole Float (i : Integer) (to_float i))
(def pick Float ((v : Vec Float) (i : Integer))
  (index i v))
(def steps Float ((v : Vec Float) (n : Integer))
  (sum (fold (lam (p : Tuple (Vec Float) Integer)
               (let ((s i) p)
                 (build (size s) (lam (k : Integer)
                   (if (gt k 0) (mul 0.5 (add (index k s) (index (sub k 1) s))) (index 0 s))))))
             v
             (build n (lam (i : Integer) i)))))
(edef outside Float Float)
(def [fwd outside] Float ((x : Float) (dx : Float)) dx)
(def [rev outside] Float ((x : Float) (dr : Float)) dr)
(def calls_outside Float (x : Float) (outside x))
(def bench_argument Float () 1.0)
";

/// A directory of its own with the program.
fn directory(test: &str) -> PathBuf {
    directory::with_program(&format!("bench_{test}"), PROGRAM)
}

/// Runs the command, as short as it goes.
fn bench(directory: &Path, fun: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(["bench", "p.ks", "--fun", fun, "--samples", "3"]).args(args);
    if !args.contains(&"--time") {
        command.args(["--time", "0"]);
    }
    command.current_dir(directory).output().expect("lmc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a command that succeeds, and says nothing on standard error.
fn printed(output: &Output) -> String {
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    text(&output.stdout)
}

fn json(directory: &Path, fun: &str, args: &[&str]) -> Value {
    let printed = printed(&bench(directory, fun, &[args, &["--format", "json"]].concat()));
    assert_eq!(printed.lines().count(), 1, "{printed}");
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

#[test]
fn the_table_has_a_row_for_each_size_and_entry() {
    let directory = directory("table");
    let table = printed(&bench(&directory, "dot", &["--input", "model n", "--sizes", "30,10", "--entries", "rev,jvp"]));
    let lines: Vec<&str> = table.lines().collect();
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    let heading = ["n", "entry", "median", "quartiles", "ratio", "flop", "calls", "bytes", "GFLOP/s", "GB/s"];
    assert_eq!(words(lines[0]), heading, "{table}");
    let rows: Vec<Vec<String>> = lines[1..7].iter().map(|line| words(line)[..2].to_vec()).collect();
    let expected = [("10", "primal"), ("10", "rev"), ("10", "jvp"), ("30", "primal"), ("30", "rev"), ("30", "jvp")];
    assert_eq!(rows, expected.map(|(n, entry)| vec![n.to_string(), entry.to_string()]), "{table}");
    assert!(lines[1..7].iter().all(|line| line.chars().count() == lines[0].chars().count()), "{table}");
    assert!(lines[7].starts_with("100% is what one core did in this run: "), "{table}");
    assert_eq!(lines.len(), 9, "{table}");
}

/// The loops are those of lowering, so that counts do not change with the passes.
#[test]
fn json_tells_times_ratios_and_counts() {
    let directory = directory("json");
    let measured = json(&directory, "dot", &["--sizes", "8,64", "--after", "lowering", "--derivation", "tupled"]);
    assert_eq!(measured["function"], "dot");
    assert_eq!(measured["input"], "random values");
    assert_eq!(measured["derivation"], "tupled");
    for peak in ["operations", "lanes", "bytes", "arrays", "cached_bytes"] {
        assert!(measured["peaks"][peak].as_f64().is_some_and(|x| x > 0.0), "{measured}");
    }
    let rows = measured["rows"].as_array().expect("rows");
    let names: Vec<&str> = rows.iter().filter_map(|row| row["entry"].as_str()).collect();
    assert_eq!(names, ["primal", "fwd", "rev", "vjp", "primal", "fwd", "rev", "vjp"]);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("no number {key} in {row}"));
        assert!(row["samples"].as_u64().is_some_and(|samples| samples >= 3), "{row}");
        assert!(0.0 < number("lower_quartile") && number("lower_quartile") <= number("median"), "{row}");
        assert!(number("median") <= number("upper_quartile") && number("ratio") > 0.0, "{row}");
        let operations = row["counts"]["additions"].as_f64().expect("a count")
            + row["counts"]["multiplications"].as_f64().expect("a count");
        let rate = operations / number("median");
        assert!((number("operations_per_second") / rate - 1.0).abs() < 1e-9, "{row}");
    }
    for (row, n) in [(&rows[0], 8), (&rows[4], 64)] {
        assert_eq!((row["n"].as_i64(), row["ratio"].as_f64()), (Some(n), Some(1.0)));
        let counts = [&row["counts"]["multiplications"], &row["counts"]["additions"], &row["counts"]["bytes_loaded"]];
        assert_eq!(counts.map(Value::as_i64), [n, n, 16 * n].map(Some), "{row}");
    }
}

/// An `example` that fits is the argument unless something else is said.
#[test]
fn the_input_is_what_was_given() {
    let directory = directory("input");
    let multiplications = |fun: &str, args: &[&str]| {
        let args = [args, &["--entries", "primal", "--after", "lowering"]].concat();
        let measured = json(&directory, fun, &args);
        let row = &measured["rows"][0];
        (row["counts"]["multiplications"].as_i64(), row["n"].as_i64())
    };
    assert_eq!(multiplications("dot", &[]), (Some(5), None));
    assert_eq!(multiplications("dot", &["--input", "example"]), (Some(5), None));
    assert_eq!(multiplications("dot", &["--input", "(model 7) ; seven"]), (Some(7), None));
    assert_eq!(multiplications("dot", &["--input", "model (add n 1)", "--sizes", "9"]), (Some(10), Some(9)));
    assert_eq!(multiplications("dot", &["--sizes", "3"]), (Some(3), Some(3)));
    assert_eq!(multiplications("square", &[]), (Some(1), None));
    assert_eq!(multiplications("square", &["--input", "2.0"]), (Some(1), None));
    assert_eq!(multiplications("square", &["--input", "to_float n", "--sizes", "2"]), (Some(1), Some(2)));
}

/// With respect to one vector there is one gradient to compute.
#[test]
fn derivatives_are_with_respect_to_what_was_given() {
    let directory = directory("wrt");
    let all = ["--sizes", "100", "--entries", "fwd,rev,jvp,vjp", "--after", "lowering"];
    let whole = json(&directory, "scaled", &all);
    let part = json(&directory, "scaled", &[&all[..], &["--wrt", "x"]].concat());
    let multiplications = |measured: &Value, entry: usize| {
        measured["rows"][entry]["counts"]["multiplications"].as_i64().expect("a count")
    };
    assert_eq!(multiplications(&whole, 0), multiplications(&part, 0));
    assert!((1..5).all(|entry| multiplications(&part, entry) < multiplications(&whole, entry)), "{whole} {part}");
}

/// Threads share the work; what they do is counted on one.
#[test]
fn threads_are_used() {
    let directory = directory("threads");
    let args = ["--sizes", "1000", "--entries", "rev"];
    let one = json(&directory, "dot", &args);
    let several = json(&directory, "dot", &[&args[..], &["--threads", "2"]].concat());
    assert_eq!((one["threads"].as_i64(), several["threads"].as_i64()), (Some(1), Some(2)));
    for entry in 0..2 {
        assert_eq!(one["rows"][entry]["counts"], several["rows"][entry]["counts"]);
    }
}

/// The plot has a line for each entry, with a corner for each size; sizes are its ticks, from left to right.
#[test]
fn a_plot_is_drawn() {
    let directory = directory("plot");
    let args = ["--sizes", "20,2000,200", "--entries", "rev", "--plot", "x.svg"];
    assert!(printed(&bench(&directory, "dot", &args)).contains("GFLOP/s"));
    let svg = fs::read_to_string(directory.join("x.svg")).expect("the plot is there");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    let lines: Vec<&str> = svg.lines().filter(|line| line.starts_with("<polyline")).collect();
    assert_eq!(lines.len(), 2, "{svg}");
    for line in lines {
        let points = line.split('"').nth(1).expect("points");
        let across: Vec<f64> = points.split(' ').map(|p| p.split(',').next().expect("x").parse().expect("x")).collect();
        assert_eq!(across.len(), 3, "{line}");
        // Equal factors are equal distances.
        assert!(((across[1] - across[0]) - (across[2] - across[1])).abs() <= 0.2 && across[0] < across[1], "{line}");
    }
    for words in ["dot: time against size", ">20<", ">200<", ">2,000<", ">function<", ">reverse derivative<"] {
        assert!(svg.contains(words), "no {words} in {svg}");
    }
    let alone = printed(&bench(&directory, "dot", &["--sizes", "2,3", "--plot", "-"]));
    assert!(alone.starts_with("<svg ") && alone.ends_with("</svg>\n"), "{alone}");
}

/// The loop of the fold runs once, the loop in it in each step; both are too long to be left out.
#[test]
fn loops_are_explained() {
    let directory = directory("explain");
    let args = ["--input", "tuple (build 20000 (lam (i : Integer) 1.0)) n", "--sizes", "7,9", "--explain"];
    let measured = json(&directory, "steps", &[&args[..], &["--entries", "rev"]].concat());
    let rows = measured["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4, "{measured}");
    for (row, n) in rows.iter().zip([7_i64, 7, 9, 9]) {
        let loops = row["loops"].as_array().unwrap_or_else(|| panic!("no loops in {row}"));
        // The states, and their cotangents, are in two buffers: two steps are an iteration.
        let iterations = ((n + 1) / 2) as f64;
        let is_fold = |one: &Value| (one["times"].as_i64(), one["iterations"].as_f64()) == (Some(1), Some(iterations));
        let fold = loops.iter().position(is_fold).unwrap_or_else(|| panic!("no fold of {n} in {row}"));
        assert_eq!(loops[fold]["depth"].as_i64(), Some(0), "{row}");
        // Chunks for threads may lie between.
        let goes_along =
            |one: &&Value| one["iterations"].as_f64().is_some_and(|made| (19_990.0..=20_000.0).contains(&made));
        let steps: Vec<&Value> = loops[fold + 1..].iter().filter(goes_along).collect();
        let times: Vec<i64> = steps.iter().filter_map(|one| one["times"].as_i64()).collect();
        // The first state lies elsewhere, so the first step may be missing; the first cotangent is where it is wanted.
        let wanted = if row["entry"] == "primal" { [n / 2, n - n / 2] } else { [n - n / 2, n / 2] };
        assert_eq!(times.get(..2), Some(&wanted[..]), "{row}");
        assert!(steps[0]["depth"].as_i64() > Some(0), "{row}");
        for one in loops {
            assert!(one["seconds"].as_f64() > Some(0.0) && one["model"].as_f64() > Some(0.0), "{one}");
            assert!(one["loop"].as_str().is_some_and(|name| name.contains("steps") && name.contains('%')), "{one}");
            assert!(one["lanes"].as_i64() >= Some(1) && one["reason"].is_string(), "{one}");
        }
    }
    let in_lanes = json(&directory, "steps", &[&args[..], &["--entries", "primal", "--lanes", "4"]].concat());
    let loops = in_lanes["rows"][0]["loops"].as_array().expect("loops");
    assert!(loops.iter().any(|one| one["lanes"].as_i64() == Some(4)), "{in_lanes}");
    let table = printed(&bench(&directory, "steps", &args));
    for entry in ["primal", "fwd", "rev", "vjp"] {
        assert_eq!(table.matches(&format!("loop of {entry} at n = 9\n")).count(), 1, "{table}");
    }
    assert!(table.contains(" steps ") && table.contains("[vjp steps]"), "{table}");
    let plain = printed(&bench(&directory, "steps", &args[..4]));
    assert!(!plain.contains("loop of"), "{plain}");
    let loopless = printed(&bench(&directory, "square", &["--input", "2.0", "--explain"]));
    assert!(loopless.contains("loop of vjp\n  no loops\n"), "{loopless}");
}

#[test]
fn errors_say_where_why_and_what_to_do() {
    let directory = directory("errors");
    let pair = "tuple (build 3 (lam (i : Integer) 1.0)) (build 3 (lam (i : Integer) 1.0))";
    let cases: [(&str, &[&str], i32, &[&str]); 21] = [
        ("nothing", &[], 1, &["has no function `nothing`", "dot, model"]),
        ("count", &[], 1, &["p.ks:10:6: `count` gives no Float", "`--entries primal`"]),
        ("whole", &["--sizes", "3"], 1, &["p.ks:11:6: `whole` takes no Float", "`--entries primal`"]),
        ("outside", &[], 1, &["`outside` is external", "measure a function of the program that calls it"]),
        ("calls_outside", &["--input", "1.0"], 1, &["`outside`", "--link FILE"]),
        ("scaled", &[], 2, &["say how large, `--sizes 100,1000`", "`--input EXPRESSION`"]),
        ("scaled", &["--sizes", "100000000"], 1, &["more than 67108864 elements"]),
        ("dot", &["--input", "model n"], 2, &["`--input` uses n", "`--sizes 100,1000`"]),
        ("dot", &["--input", pair, "--sizes", "3"], 2, &["`--input` does not use n"]),
        ("dot", &["--input", " "], 2, &["`--input` is empty", "example"]),
        ("dot", &["--input", "1.0"], 1, &["--input:1:1: the argument has type `Float`, but `dot` takes `(Tuple"]),
        ("dot", &["--input", "modle 3"], 1, &["--input:1:1", "unknown function `modle`", "did you mean `model`?"]),
        ("dot", &["--input", "(model 3"], 1, &["E108", "--input:1:1"]),
        ("dot", &["--input", "model (div 3 0)"], 1, &["--input:1:7: integer division of 3 by zero"]),
        ("pick", &["--input", "tuple (Vec_init 1.0) 4"], 1, &["p.ks:13:3: index 4 is out of range for size 1"]),
        ("dot", &["--sizes", "0"], 2, &["0 is not in 1.."]),
        ("dot", &["--time", "long"], 2, &["not a number"]),
        ("dot", &["--sizes", "3", "--plot", "x.svg"], 2, &["a plot needs two sizes", "`--sizes 100,1000,10000`"]),
        ("dot", &["--sizes", "3,4", "--plot", "p.ks"], 2, &["the program `p.ks` would be overwritten"]),
        ("dot", &["--target-cpu", "none"], 1, &["`none` is no processor"]),
        ("dot", &["--wrt", "u"], 1, &["`dot` has no parameter called `u`; its parameters are v, w"]),
    ];
    for (fun, args, status, said) in cases {
        let output = bench(&directory, fun, args);
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{fun} {args:?}: {shown}");
        said.iter().for_each(|words| assert!(shown.contains(words), "{fun} {args:?}: no `{words}` in {shown}"));
    }
    assert_eq!(fs::read_to_string(directory.join("p.ks")).expect("the program is there"), PROGRAM);
}

#[test]
fn what_has_no_derivative_can_be_measured_alone() {
    let directory = directory("alone");
    for (fun, args) in [("count", &[][..]), ("whole", &["--sizes", "4"])] {
        let measured = json(&directory, fun, &[args, &["--entries", "primal"]].concat());
        assert_eq!(measured["rows"].as_array().map(Vec::len), Some(1), "{measured}");
    }
}
