//! Programs in C call functions on arrays: `c_interface/arrays.c` and `c_interface/deep.c` functions of their own,
//! `c_interface/gmm.c` the gradient of `demos/gmm.ks`; also under valgrind; without it these tests are ignored.

use super::each::{self, Outcome, alone};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = alone!("c_interface": loops_run_on_threads);
    for of in PROGRAMS {
        let row = |test: &str, check: fn(Host) -> Outcome| each::row(test, of.0, move || check(of));
        tests.push(row("c_interface::calls_from_c_do_what_the_header_says", calls_do_what_the_header_says));
        tests.push(row("c_interface::memory_does_not_grow_with_calls", memory_does_not_grow));
        tests.push(each::in_valgrind(row("c_interface::no_access_goes_astray", no_access_goes_astray)));
    }
    let of_threads = each::row("c_interface", "no_access_of_a_thread_goes_astray", no_access_of_a_thread_goes_astray);
    tests.push(each::in_valgrind(of_threads));
    tests
}

const TOP: &str = env!("CARGO_MANIFEST_DIR");
const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow"];

/// A program, and the functions that it calls: a file, and what of it is compiled.
type Host = (&'static str, &'static [&'static str]);

/// The programs.
const PROGRAMS: [Host; 3] = [
    ("arrays", &["tests/c_interface/arrays.ks"]),
    ("deep", &["tests/c_interface/deep.ks"]),
    ("gmm", &["demos/gmm.ks", "--fun", "gmm"]),
];

/// The standard output of a command that goes well.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A program, linked with the functions compiled at a level of optimisation.
fn program(test: &str, (name, functions): Host, level: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c_interface-{test}-{name}{level}"));
    std::fs::create_dir_all(&directory).expect("the directory is made");
    let library = directory.join(format!("{name}.a"));
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    // valgrind does not know the newest instructions.
    let options = ["--rev", level, "--target-cpu", "x86-64-v2", "--emit", "a,header", "-o"];
    run(lmc.current_dir(TOP).arg("compile").args(functions).args(options).arg(&library));
    let program = directory.join(name);
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-g", "-I."]).args(WARNINGS).arg(format!("{TOP}/tests/c_interface/{name}.c"));
    run(cc.arg(&library).args(["-lm", "-o"]).arg(&program).current_dir(&directory));
    program
}

fn calls_do_what_the_header_says(of: Host) -> Outcome {
    for level in ["-O0", "-O2"] {
        run(&mut Command::new(program("calls", of, level)));
    }
    Ok(())
}

fn memory_does_not_grow(of: Host) -> Outcome {
    let many = run(Command::new(program("many", of, "-O3")).arg("1000000"));
    let pages: i64 = many.trim().parse().expect("a number");
    // Linux counts pages in batches of up to 64 for each processor; a leak would be one for each call.
    if pages <= 256 { Ok(()) } else { Err(format!("{pages} pages more")) }
}

fn no_access_goes_astray(of: Host) -> Outcome {
    let valgrind = ["-q", "--error-exitcode=1", "--leak-check=full", "--show-leak-kinds=all"];
    let program = program("valgrind", of, "-O2");
    run(Command::new("valgrind").args(valgrind).arg(&program));
    run(Command::new("valgrind").args(valgrind).arg(&program).arg("1000"));
    Ok(())
}

/// The library of `codegen/pool`, which is built with the tests.
fn pool() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    test.with_file_name("liblmc_pool.a")
}

/// `c_interface/threads.c`, with the pool.
fn with_threads(test: &str, level: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c_interface-{test}-threads{level}"));
    std::fs::create_dir_all(&directory).expect("the directory is made");
    let library = directory.join("threads.a");
    let options = ["tests/c_interface/threads.ks", "--rev", level, "--target-cpu", "x86-64-v2", "--emit", "a,header"];
    run(Command::new(env!("CARGO_BIN_EXE_lmc")).current_dir(TOP).arg("compile").args(options).arg("-o").arg(&library));
    let program = directory.join("threads");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-g", "-I.", "-pthread"]).args(WARNINGS).arg(format!("-I{TOP}/codegen/pool/include"));
    cc.arg(format!("{TOP}/tests/c_interface/threads.c")).args([library, pool()]);
    run(cc.args(["-lm", "-ldl", "-o"]).arg(&program).current_dir(&directory));
    program
}

fn loops_run_on_threads() {
    for level in ["-O0", "-O2"] {
        run(&mut Command::new(with_threads("calls", level)));
    }
}

fn no_access_of_a_thread_goes_astray() -> Outcome {
    let program = with_threads("valgrind", "-O2");
    run(Command::new("valgrind").args(["-q", "--error-exitcode=1", "--leak-check=full"]).args([&program]).arg("own"));
    Ok(())
}
