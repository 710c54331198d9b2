//! Programs in C and Rust call the derivatives that lmc compiled: `demos/run.sh`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HOSTS: [&str; 2] = ["c", "rust"];

/// Runs a host on the program of a test, or on `demos/ex2.ks`.
fn run(host: &str, program: Option<&PathBuf>) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/demos/run.sh");
    let mut command = Command::new(script);
    command.arg(host).args(program).env("LMC", env!("CARGO_BIN_EXE_lmc")).env("CARGO", env!("CARGO"));
    command.output().expect("demos/run.sh runs")
}

/// A program, in a file of its own.
fn program(test: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hosts-{test}.ks"));
    std::fs::write(&path, text).expect("the program is written");
    path
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_derivative_agrees_with_differences() {
    let [c, rust] = HOSTS.map(|host| run(host, None));
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
    let wrong = program(
        "wrong",
        "(def f2 Float (x : Float) (let ((y (mul x x)) (z (add x y))) (mul y z)))
         (def [rev f2] Float ((x : Float) (dr : Float))
           (let ((t1 (add x (mul x x)))
                 (t2 (add x x)))
             (mul (add (mul t1 t2) (mul t1 t2)) dr)))",
    );
    for host in HOSTS {
        let output = run(host, Some(&wrong));
        assert_eq!(output.status.code(), Some(1), "{host}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("the derivative disagrees"), "{host}: {}", text(&output.stderr));
        let at_one = "  1.00       2.000000       8.000000       7.000000";
        assert!(text(&output.stdout).contains(at_one), "{host}: {}", text(&output.stdout));
    }
}

#[test]
fn a_failed_call_says_where() {
    let fails = program("fails", "(def f2 Float (x : Float)\n  (assert (lt x 1.0) (mul x x)))");
    for host in HOSTS {
        let output = run(host, Some(&fails));
        assert_eq!(output.status.code(), Some(1), "{host}: {}", text(&output.stderr));
        let place = format!("at 1: status 1, {}:2:3: assertion failed", fails.display());
        assert!(text(&output.stderr).contains(&place), "{host}: {}", text(&output.stderr));
    }
}

/// Without the library's path, or with a wrong one, the build of the Rust host says what to do.
#[test]
fn the_rust_host_needs_the_library() {
    let build = |library: Option<&str>| {
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/demos/rust/Cargo.toml");
        let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/hosts-target");
        let mut command = Command::new(env!("CARGO"));
        command.args(["build", "--locked", "--offline", "--manifest-path", manifest, "--target-dir", target]);
        command.env_remove("EX2_LIBRARY").envs(library.map(|path| ("EX2_LIBRARY", path)));
        let output = command.output().expect("cargo runs");
        assert!(!output.status.success());
        text(&output.stderr)
    };
    let unset = build(None);
    assert!(unset.contains("set EX2_LIBRARY to the path of ex2.so"), "{unset}");
    let missing = build(Some("/there/is/none.so"));
    assert!(missing.contains("EX2_LIBRARY is `/there/is/none.so`: No such file"), "{missing}");
}
