//! Tests `lmc compile` on output files that exist already, and on programs with nothing to compile.

use crate::directory;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = "(def f Float (x : Float) (mul x x))\n(def g Float (x : Float) ([rev f] x 1.0))
(def main Integer () (print (g 2.0)))\n";

/// A directory of its own with the program `p.ks`.
fn directory(test: &str) -> PathBuf {
    directory::with_program(test, PROGRAM)
}

fn lmc(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(args).current_dir(directory).output().expect("lmc starts")
}

#[test]
fn the_program_is_not_overwritten() {
    let directory = directory("the_program_is_not_overwritten");
    for args in [["compile", "p.ks", "-o", "./p.ks"], ["compile", "p.ks", "--emit", "so=x.so,header=p.ks"]] {
        assert_eq!(lmc(&directory, &args).status.code(), Some(2));
    }
    assert_eq!(fs::read_to_string(directory.join("p.ks")).unwrap(), PROGRAM);
}

#[test]
fn a_device_stays_a_device() {
    let directory = directory("a_device_stays_a_device");
    let pipe = directory.join("pipe");
    // A pipe is used instead of a device, since only root could replace a device by a file.
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe)
    });
    assert_eq!(lmc(&directory, &["compile", "p.ks", "--emit", "header", "-o", "pipe"]).status.code(), Some(0));
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(reader.join().unwrap().unwrap().contains("p.ks"));
}

#[test]
fn nothing_is_written_when_one_output_cannot_be_made() {
    let directory = directory("nothing_is_written_when_one_output_cannot_be_made");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(["compile", "p.ks", "--emit", "obj,so", "-o", "p.o"]).current_dir(&directory);
    let output = command.env("PATH", "/nonexistent").output().expect("lmc starts");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
}

/// `main` calls `g`, which calls `[rev f]`.
#[test]
fn run_makes_the_derivatives_that_callees_call() {
    let directory = directory("run_makes_the_derivatives_that_callees_call");
    for args in [&["run", "p.ks"][..], &["run", "--interpret", "p.ks"]] {
        let output = lmc(&directory, args);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "4", "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// `main` gets no symbol and no derivatives unless it is named; the message says so.
#[test]
fn a_file_with_main_alone_is_told_from_an_empty_one() {
    let directory = directory("a_file_with_main_alone_is_told_from_an_empty_one");
    fs::write(directory.join("main.ks"), "(def main Integer () (print 1))\n").unwrap();
    fs::write(directory.join("empty.ks"), "; nothing\n").unwrap();
    let said = |file: &str| {
        let output = lmc(&directory, &["compile", "--rev", "-o", "x.so", file]);
        assert_eq!(output.status.code(), Some(1), "{file}");
        String::from_utf8(output.stderr).expect("messages are text")
    };
    assert_eq!(said("empty.ks"), "error: `empty.ks` defines no function\n");
    assert!(said("main.ks").starts_with("error: `main.ks` defines no function but `main`, which"));
    let named = lmc(&directory, &["compile", "-o", "x.so", "--fun", "main", "main.ks"]);
    assert!(named.status.success() && directory.join("x.so").exists());
}

/// The exit status of a command, and what it writes.
fn told(directory: &Path, args: &str) -> (Option<i32>, String, String) {
    let output = lmc(directory, &args.split(' ').collect::<Vec<_>>());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn derivatives_that_do_not_exist_are_left_out() {
    let directory = directory("derivatives_that_do_not_exist_are_left_out");
    let power = "(def p Float ((x : Float) (n : Integer)) (if (lt n 1) 1.0 (mul x (p x (div n 2)))))\n";
    let halves = "(def u Float (x : Float)
  (get$1$2 ([sufrevpass p] 1.0 (get$2$2 ([suffwdpass p] (tuple x 3))))))\n";
    fs::write(directory.join("q.ks"), format!("{power}{halves}")).unwrap();
    let run = |args: &str| told(&directory, args);
    let (status, header, warning) = run("compile q.ks --rev --emit header -o -");
    let expected = "warning[W406]: `[rev u]` is left out (E301): `u` cannot be differentiated: ";
    assert!(status == Some(0) && warning.starts_with(expected) && warning.contains("\n --> q.ks:2:6\n"), "{warning}");
    assert!(header.contains(" rev_p(") && header.contains(" u(") && !header.contains("rev_u"), "{header}");
    // Where it is asked for, that is an error.
    fs::write(directory.join("r.ks"), format!("{power}{halves}(gdef rev u)\n")).unwrap();
    for args in ["q.ks --rev --fun u", "r.ks", "r.ks --rev"] {
        let (status, _, error) = run(&format!("compile {args} -o q.so"));
        assert!(status == Some(1) && error.starts_with("error[E301]: `u` cannot be differentiated"), "{error}");
        assert!(!directory.join("q.so").exists());
    }
}

/// The derivative of `inner` is left out with it; `outer` calls `inner`.
#[test]
fn functions_without_a_form_in_c_are_left_out() {
    let directory = directory("functions_without_a_form_in_c_are_left_out");
    let inner = "(def inner (Tensor 2 (Vec Float)) (x : Float)
  (constVec (tuple 1 1) (constVec 1 x)))\n";
    let outer = "(def outer Float (x : Float) (index 0 (index (tuple 0 0) (inner x))))\n";
    fs::write(directory.join("q.ks"), format!("{outer}(gdef vjp inner)\n(gdef jac inner)\n{inner}")).unwrap();
    fs::write(directory.join("r.ks"), inner).unwrap();
    let run = |args: &str| told(&directory, args);
    let (status, header, warning) = run("compile q.ks --rev --emit header -o -");
    let expected = "warning[W405]: `inner` is left out: `(Tensor 2 (Vec Float))` has no form in C\n --> q.ks:4:6\n";
    assert!(status == Some(0) && warning.starts_with(expected) && warning.matches("W405").count() == 1, "{warning}");
    assert!(header.contains(" rev_outer(") && !header.contains("inner("), "{header}");
    // Outputs that C does not read have all functions.
    let (status, loops, warning) = run("compile q.ks --emit loops -o -");
    assert!(status == Some(0) && loops.contains("inner") && warning.is_empty(), "{warning}");
    let refused = "`inner` cannot be called from C: `(Tensor 2 (Vec Float))` has no form there";
    for (args, place) in [("q.ks --fun inner", "q.ks:4:6"), ("r.ks", "r.ks:1:6")] {
        let (status, _, error) = run(&format!("compile {args} -o x.so"));
        assert!(status == Some(1) && error.starts_with(&format!("{place}: {refused}")), "{error}");
    }
    let maps = "(def f Float (v : Vec (LM Float Float)) (lmApply (index 0 v) 1.0))\n";
    fs::write(directory.join("m.ks"), maps).unwrap();
    let (status, _, error) = run("compile m.ks -o x.so");
    assert!(status == Some(1) && error.contains("`f` cannot be called from C: `(Vec (LM Float Float))`"), "{error}");
}

#[test]
fn what_has_no_native_code_has_a_code_and_a_remedy() {
    let directory = directory("what_has_no_native_code_has_a_code_and_a_remedy");
    fs::write(directory.join("q.ks"), "(def f Float ((t : Tensor 8 Float) (x : Float)) x)\n").unwrap();
    for args in [["compile", "q.ks", "-o", "x.so"], ["compile", "q.ks", "--emit", "loops=-"]] {
        let output = lmc(&directory, &args);
        let error = String::from_utf8(output.stderr).unwrap();
        let message =
            "error[E309]: native code for a value of type (Tensor 8 Float) is not supported (in `f`)\n --> q.ks:1:";
        assert!(output.status.code() == Some(1) && error.starts_with(message), "{error}");
        assert!(error.contains("1 | (def f Float") && error.contains("= help: `lmc explain E309` says"), "{error}");
    }
}

#[test]
fn functions_that_want_one_name_in_c_are_refused() {
    let directory = directory("functions_that_want_one_name_in_c_are_refused");
    let text = "(def a.b Float (x : Float) x)\n(def a_b Float (x : Float) (sin x))
(def f Float (x : Float) x)\n(def rev_f Float ((x : Float) (dr : Float)) 2.0)\n";
    fs::write(directory.join("p.ks"), text).expect("the directory for tests can be written to");
    let compile = |args: &[&str]| {
        let output = lmc(&directory, &[&["compile", "p.ks", "--rev", "--emit", "so=p.so,header=p.h"], args].concat());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, message) = compile(&["--fun", "a.b", "--fun", "a_b"]);
    assert_eq!(status, Some(1));
    assert!(message.contains("`a.b` and `a_b`"), "{message}");
    let (status, message) = compile(&["--fun", "f", "--fun", "rev_f"]);
    assert_eq!(status, Some(1));
    assert!(message.contains("`[rev f]` and `rev_f` have one name in C, `rev_f`"), "{message}");
    assert!(!directory.join("p.so").exists());
    assert_eq!(compile(&["--fun", "a.b", "--fun", "f"]), (Some(0), String::new()));
}

/// The linker of this test waits until a signal ends it.
#[test]
fn an_interrupted_compile_leaves_no_temporary_files() {
    let directory = directory("an_interrupted_compile_leaves_no_temporary_files");
    let temporary = directory.join("tmp");
    fs::create_dir(&temporary).expect("the directory for tests can be written to");
    let linker = directory.join("cc");
    fs::write(&linker, "#!/bin/sh\ntouch started\nexec sleep 600\n").expect("the directory can be written to");
    fs::set_permissions(&linker, fs::Permissions::from_mode(0o755)).expect("the file is there");
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let path = format!("{}:/usr/bin:/bin", directory.display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
        command.args(["compile", "p.ks", "-o", "p.so"]).current_dir(&directory);
        let mut child = command.env("PATH", path).env("TMPDIR", &temporary).spawn().expect("lmc starts");
        while !directory.join("started").exists() {
            assert_eq!(child.try_wait().expect("it is a child"), None, "lmc ends before the linker starts");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
        let kill = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
        assert!(kill.expect("kill starts").success());
        assert_eq!(child.wait().expect("it is a child").signal(), Some(number));
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
        fs::remove_file(directory.join("started")).expect("the linker made it");
    }
    assert!(!directory.join("p.so").exists());
}

#[test]
fn a_version_that_cannot_be_written_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").expect("the system has it");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let output = command.arg("--version").stdout(full).stderr(std::process::Stdio::piped()).output();
    assert_eq!(output.expect("lmc starts").status.code(), Some(1));
}

#[test]
fn devices_without_an_end_are_too_large() {
    let directory = directory("endless");
    for command in [&["check", "/dev/zero"], &["fmt", "/dev/zero"]] {
        let output = lmc(&directory, command);
        assert_eq!(output.status.code(), Some(1));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("E005") && message.contains("268435456"), "{message}");
    }
}

#[test]
fn parameters_to_vary_need_a_derivative() {
    let directory = directory("wrt_alone");
    let output = lmc(&directory, &["compile", "--wrt", "x", "f.ks", "-o", "f.so"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--rev"));
}
