//! Programs in C and Rust call the derivatives that lmc compiled: `demos/run.sh`.

use lm::interp::Interpreter;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TOP: &str = env!("CARGO_MANIFEST_DIR");
const LANGUAGES: [&str; 2] = ["c", "rust"];

/// Runs a host, on the program of a test or on that of the demos.
fn run(language: &str, host: &str, program: Option<&PathBuf>, arguments: &[&str]) -> Output {
    let mut command = Command::new(format!("{TOP}/demos/run.sh"));
    command.args([language, host]).args(arguments).envs(program.map(|path| ("PROGRAM", path)));
    command.env("LMC", env!("CARGO_BIN_EXE_lmc")).env("CARGO", env!("CARGO"));
    command.output().expect("demos/run.sh runs")
}

/// A file of a test's own.
fn file(name: &str, text: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hosts-{name}"));
    std::fs::write(&path, text).expect("the file is written");
    path
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_derivative_agrees_with_differences() {
    let [c, rust] = LANGUAGES.map(|language| run(language, "ex2", None, &[]));
    for output in [&c, &rust] {
        assert!(output.status.success(), "{}", text(&output.stderr));
        let at_one = "  1.00       2.000000       7.000000       7.000000";
        assert!(text(&output.stdout).contains(at_one), "{}", text(&output.stdout));
    }
    assert_eq!(text(&c.stdout), text(&rust.stdout));
}

/// The derivative that the working notes print for f2 is 8 dx at x = 1.
#[test]
fn a_wrong_derivative_is_noticed() {
    let wrong = file(
        "wrong.ks",
        b"(def f2 Float (x : Float) (let ((y (mul x x)) (z (add x y))) (mul y z)))
         (def [rev f2] Float ((x : Float) (dr : Float))
           (let ((t1 (add x (mul x x)))
                 (t2 (add x x)))
             (mul (add (mul t1 t2) (mul t1 t2)) dr)))",
    );
    for language in LANGUAGES {
        let output = run(language, "ex2", Some(&wrong), &[]);
        assert_eq!(output.status.code(), Some(1), "{language}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("the derivative disagrees"), "{language}: {}", text(&output.stderr));
        let at_one = "  1.00       2.000000       8.000000       7.000000";
        assert!(text(&output.stdout).contains(at_one), "{language}: {}", text(&output.stdout));
    }
}

#[test]
fn a_failed_call_says_where() {
    let fails = file("fails.ks", b"(def f2 Float (x : Float)\n  (assert (lt x 1.0) (mul x x)))");
    for language in LANGUAGES {
        let output = run(language, "ex2", Some(&fails), &[]);
        assert_eq!(output.status.code(), Some(1), "{language}: {}", text(&output.stderr));
        let place = format!("at 1: status 1, {}:2:3: assertion failed", fails.display());
        assert!(text(&output.stderr).contains(&place), "{language}: {}", text(&output.stderr));
    }
}

/// Without the library's path, or with a wrong one, the build of a Rust host says what to do.
#[test]
fn the_rust_hosts_need_libraries() {
    let build = |host: &str, variable: &str, library: Option<&str>| {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/demos/rust/Cargo.toml");
        let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/hosts-target");
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--locked", "--offline", "--bin", host, "--manifest-path", manifest]);
        command.args(["--target-dir", target]).env_remove(variable).envs(library.map(|path| (variable, path)));
        let output = command.output().expect("cargo runs");
        assert!(!output.status.success());
        text(&output.stderr)
    };
    for (host, variable) in [("ex2", "EX2_LIBRARY"), ("gmm", "GMM_LIBRARY")] {
        let unset = build(host, variable, None);
        assert!(unset.contains(&format!("set {variable} to the path of {host}.so")), "{unset}");
        let missing = build(host, variable, Some("/there/is/none.so"));
        assert!(missing.contains(&format!("{variable} is `/there/is/none.so`: No such file")), "{missing}");
    }
}

/// The gradient of `example` by the interpreter, and the value.
fn interpreted() -> (Vec<Value>, f64, Vec<f64>) {
    with_large_stack(|| {
        let text = include_str!("../../demos/gmm.ks");
        let mut pipeline = Pipeline::new(front::load(&Source::new("gmm.ks", text)).expect("gmm.ks is right"));
        let gmm = FunName::base("gmm");
        let rev = gmm.derived(Derivative::Rev);
        for name in [&gmm, &rev, &FunName::base("example")] {
            pipeline.require(name).expect("gmm derives");
        }
        let mut interpreter = Interpreter::new(pipeline.program());
        let example = interpreter.call(&FunName::base("example"), &[]).expect("example gives arguments");
        let arguments = example.as_tuple().expect("there are several").to_vec();
        let value = interpreter.call(&gmm, &arguments).expect("gmm goes well");
        let gradient = interpreter.call(&rev, &[example, Value::Float(1.0)]).expect("rev gmm goes well");
        (arguments, value.as_float().expect("gmm gives a Float"), gradient.floats())
    })
}

/// `demos/data/gmm.txt` has the numbers of `example`. `BLESS=1` writes it.
#[test]
fn the_data_are_those_of_the_example() {
    let (arguments, _, _) = interpreted();
    let rows = |i: usize| match &arguments[i] {
        Value::Tensor(tensor) => tensor.elements().iter().map(Value::floats).collect::<Vec<_>>(),
        other => panic!("{other} is no tensor"),
    };
    let (means, x) = (rows(1), rows(3));
    let mut expected = format!("{} {} {}\n", means[0].len(), means.len(), x.len());
    for row in [rows(0), means, rows(2), x].concat() {
        expected += &row.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
        expected += "\n";
    }
    expected += &format!("{} {}\n", arguments[4], arguments[5]);
    let path = format!("{TOP}/demos/data/gmm.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &expected).expect("the data are written");
    }
    assert_eq!(std::fs::read_to_string(&path).expect("the data are there"), expected);
}

#[test]
fn the_gradient_is_that_of_the_interpreter() {
    let path = format!("{TOP}/demos/data/gmm.txt");
    let [c, rust] = LANGUAGES.map(|language| run(language, "gmm", None, &["--all", &path]));
    for output in [&c, &rust] {
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let printed = text(&c.stdout);
    assert_eq!(printed, text(&rust.stdout));
    let (_, value, gradient) = interpreted();
    let numbers = |line: &str| {
        let (_, numbers) = line.rsplit_once(": ").expect("a line has numbers after a colon");
        numbers.split(' ').map(|x| x.parse::<f64>().expect("a number")).collect::<Vec<_>>()
    };
    let starts = ["alphas ", "means ", "icf ", "x ", "gamma "];
    let all = printed.lines().filter(|line| line.contains(": ") && starts.iter().any(|part| line.starts_with(part)));
    let found: Vec<f64> = printed.lines().take(1).chain(all).flat_map(numbers).collect();
    let expected: Vec<f64> = [value].into_iter().chain(gradient).collect();
    assert_eq!(found.len(), expected.len(), "{printed}");
    // Twelve digits after the point are printed.
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
    assert!(found.iter().zip(&expected).all(close), "{found:?}\n{expected:?}");
}

/// Wrong data files, one after the other: the message names the mistake and its line.
#[test]
fn wrong_data_are_refused() {
    let good = "2 1 2\n0.5\n1 2\n0 0 0\n1 2\n3 4\n1.5 2\n";
    let replaced = |from: &str, to: &str| good.replacen(from, to, 1).into_bytes();
    let cases: [(Vec<u8>, &str); 21] = [
        (b"".to_vec(), ":1: the file ends before d, k and n"),
        (replaced("2 1 2", "2 1"), ":1: here are 2 numbers, the first line has 3: d, k and n"),
        (replaced("2 1 2", "2 1 2 9"), ":1: here are 4 numbers, the first line has 3: d, k and n"),
        (replaced("2 1 2", "2 1.0 2"), ":1: `1.0` is no integer"),
        (replaced("2 1 2", "2 99999999999999999999 2"), ":1: `99999999999999999999` is no integer"),
        (replaced("2 1 2", "2 0 2"), ":1: a size is from 1 to 1000000, not 0"),
        (replaced("2 1 2", "-2 1 2"), ":1: a size is from 1 to 1000000, not -2"),
        (replaced("2 1 2", "1000000 1000000 1000000"), ":3: here are 2 numbers, a row of alphas has 1"),
        (replaced("0.5\n", "0.5 1\n"), ":2: here are 2 numbers, a row of alphas has 1"),
        (replaced("0.5", "0.5x"), ":2: `0.5x` is no number"),
        (replaced("0.5", "0x10"), ":2: `0x10` is no number"),
        (replaced("0.5", "1e999"), ":2: `1e999` is no number"),
        (replaced("0.5", "nan"), ":2: `nan` is no number"),
        (replaced("0 0 0", "0 0"), ":4: here are 2 numbers, a row of icf has 3"),
        (replaced("0 0 0", "0 inf 0"), ":4: `inf` is no number"),
        (replaced("3 4", "3 \u{fc}"), ":6: `\u{fc}` is no number"),
        (replaced("3 4", "3 4\n5 6"), ":7: something follows"),
        (replaced("3 4\n1.5 2\n", "3 4\n"), ":7: the file ends before the last line: gamma and m"),
        (replaced("1.5 2", "1.5"), ":7: here are 1 numbers, the last line has 2: gamma and m"),
        (replaced("1.5 2", "1.5 2.5"), ":7: `2.5` is no integer"),
        (replaced("1.5 2", "1.5 2\n\n7"), ":7: something follows the last line"),
    ];
    let mut paths: Vec<PathBuf> =
        cases.iter().enumerate().map(|(i, (data, _))| file(&format!("wrong-{i}.txt"), data)).collect();
    let mut expected: Vec<&str> = cases.iter().map(|(_, why)| *why).collect();
    paths.push(PathBuf::from("/there/is/none.txt"));
    expected.push(": No such file or directory");
    paths.push(PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    expected.push(":1: Is a directory");
    // Files after an error are read, too: the last file gives the same output as alone.
    let right = file("right.txt", good.replace('\n', " \r\n").as_bytes());
    let arguments: Vec<&str> = paths.iter().chain([&right]).map(|path| path.to_str().expect("UTF-8")).collect();
    for language in LANGUAGES {
        let output = run(language, "gmm", None, &arguments);
        assert_eq!(output.status.code(), Some(1), "{language}: {}", text(&output.stderr));
        let messages = text(&output.stderr);
        assert_eq!(messages.lines().count(), paths.len(), "{language}: {messages}");
        for ((path, why), message) in paths.iter().zip(&expected).zip(messages.lines()) {
            let wanted = format!("{}{why}", path.display());
            assert!(message.starts_with(&wanted), "{language}: {message}\nexpected: {wanted}");
        }
        assert!(text(&output.stdout).contains("d = 2, k = 1, n = 2: "), "{language}: {}", text(&output.stdout));
    }
}

/// A gradient that is not that of the function, and a call that fails.
#[test]
fn a_wrong_gradient_and_a_failed_call_are_noticed() {
    let program = include_str!("../../demos/gmm.ks");
    let wrong = program.replace("(exp (sub v largest))", "(exp (sub v (stop_gradient largest)))");
    assert_ne!(wrong, program);
    let wrong = file("wrong-gmm.ks", wrong.as_bytes());
    let fails = program.replace("(let (d (size v))\n", "(let (d (assert (lt (index 0 v) 0.0) (size v)))\n");
    assert_ne!(fails, program);
    let fails = file("fails-gmm.ks", fails.as_bytes());
    for language in LANGUAGES {
        let output = run(language, "gmm", Some(&wrong), &[]);
        let messages = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{language}: {messages}");
        assert!(messages.contains("gmm.txt: the gradient disagrees"), "{language}: {messages}");
        let output = run(language, "gmm", Some(&fails), &[]);
        let messages = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{language}: {messages}");
        assert!(messages.contains("gmm.txt: status 1, ") && messages.contains("assertion failed"), "{messages}");
    }
}

/// The C host frees all its memory, whether the data are right or wrong.
#[test]
fn the_c_host_leaks_nothing() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts-valgrind");
    std::fs::create_dir_all(&directory).expect("the directory is made");
    let succeed = |command: &mut Command| {
        let output = command.current_dir(&directory).output().expect("starts");
        assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    };
    // valgrind does not know the newest instructions.
    let options = ["--target-cpu", "x86-64-v2", "--emit", "a,header", "-o", "gmm.a"];
    let program = format!("{TOP}/demos/gmm.ks");
    succeed(Command::new(env!("CARGO_BIN_EXE_lmc")).args(["compile", "--rev", "--fun", "gmm", &program]).args(options));
    let source = format!("{TOP}/demos/c/gmm.c");
    succeed(Command::new("cc").args(["-std=c11", "-g", "-I.", &source, "gmm.a", "-lm", "-o", "gmm"]));
    let data = format!("{TOP}/demos/data/gmm.txt");
    let valgrind = ["-q", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=all", "./gmm", "--all", &data];
    succeed(Command::new("valgrind").args(valgrind));
    let short = file("short.txt", b"2 1 2\n0.5\n1 2\n0 0 0\n1 2\n");
    let output = Command::new("valgrind").args(valgrind).arg(short).current_dir(&directory).output().expect("starts");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
}
