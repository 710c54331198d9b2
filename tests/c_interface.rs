//! A program in C calls functions on arrays: `c_interface/arrays.c`, also under valgrind where there is one.

use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c_interface");
const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow"];

/// The standard output of a command that goes well.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The program, linked with the functions compiled at a level of optimisation.
fn program(test: &str, level: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c_interface-{test}{level}"));
    std::fs::create_dir_all(&directory).expect("the directory is made");
    let library = directory.join("arrays.a");
    let source = format!("{FOLDER}/arrays.ks");
    // valgrind does not know the newest instructions.
    let options = ["compile", "--rev", &source, level, "--target-cpu", "x86-64-v2", "--emit", "a,header", "-o"];
    run(Command::new(env!("CARGO_BIN_EXE_lmc")).args(options).arg(&library));
    let program = directory.join("arrays");
    let cc = ["-std=c11", "-g", "-I."].into_iter().chain(WARNINGS);
    let source = format!("{FOLDER}/arrays.c");
    run(Command::new("cc")
        .args(cc)
        .arg(source)
        .arg(&library)
        .args(["-lm", "-o"])
        .arg(&program)
        .current_dir(&directory));
    program
}

#[test]
fn calls_from_c_do_what_the_header_says() {
    for level in ["-O0", "-O2"] {
        run(&mut Command::new(program("calls", level)));
    }
}

#[test]
fn the_header_is_cpp_too() {
    let program = program("header", "-O1");
    let directory = program.parent().expect("it is in a directory");
    std::fs::write(directory.join("use.cc"), "#include \"arrays.h\"\n#include \"arrays.h\"\n").expect("is written");
    let flags = ["-std=c++17", "-fsyntax-only", "use.cc"];
    run(Command::new("c++").args(flags).args(WARNINGS).current_dir(directory));
}

#[test]
fn memory_does_not_grow_with_calls() {
    let pages: i64 = run(Command::new(program("many", "-O3")).arg("1000000")).trim().parse().expect("a number");
    // Linux counts pages in batches of up to 64 for each processor; a leak would be one for each call.
    assert!(pages <= 256, "{pages} pages more");
}

#[test]
fn no_access_goes_astray() {
    let valgrind = ["-q", "--error-exitcode=1", "--leak-check=full"];
    if Command::new("valgrind").arg("--version").output().is_ok() {
        run(Command::new("valgrind").args(valgrind).arg(program("valgrind", "-O2")));
    }
}
