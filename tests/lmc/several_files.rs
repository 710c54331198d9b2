//! Programs in several files: `lmc run a.ks b.ks` takes them for one, and messages name the right file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LIBRARY: &str = "; the end of this file is a comment, without a line feed
(def square Float (x : Float) (mul x x))
(def at Float ((i : Integer) (v : Vec Float))
  (index i v)) ; here";

const MAIN: &str = "(edef square Float (Float))
(def f Float (x : Float) (square (sin x)))
(def main Integer () (print ([rev f] 0.0 1.0) \" \" (square 3.0)))
";

/// A directory of its own with some files.
fn directory(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    // It is there when the test ran before.
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the directory for tests can be written to");
    files.iter().for_each(|(name, text)| fs::write(path.join(name), text).expect("files can be written"));
    path
}

fn lmc(directory: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let Output { status, stdout, stderr } = command.args(args).current_dir(directory).output().expect("lmc starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("lmc writes UTF-8");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn commands_take_several_files_for_one_program() {
    let directory = directory("several_files", &[("a.ks", LIBRARY), ("b.ks", MAIN)]);
    for args in [&["run", "a.ks", "b.ks"][..], &["run", "b.ks", "a.ks", "--interpret"]] {
        assert_eq!(lmc(&directory, args), (Some(0), "0 9".into(), "".into()));
    }
    assert_eq!(lmc(&directory, &["check", "--together", "a.ks", "b.ks"]), (Some(0), "".into(), "".into()));
    let (status, out, _) = lmc(&directory, &["gradcheck", "b.ks", "a.ks", "--fun", "f", "--interpret"]);
    assert!(status == Some(0) && out.lines().count() == 2, "{out}");
    let (status, out, _) = lmc(&directory, &["demo", "b.ks", "a.ks", "--fun", "f"]);
    assert!(status == Some(0) && out.contains("square(sin(x))"), "{out}");
    let (status, out, _) = lmc(&directory, &["compile", "b.ks", "a.ks", "--rev", "--emit", "header", "-o", "-"]);
    assert!(status == Some(0) && out.contains("b.ks, a.ks") && out.contains("rev_f("), "{out}");
    assert_eq!(lmc(&directory, &["compile", "b.ks", "a.ks", "-o", "a.ks"]).0, Some(2));
    let bench = ["bench", "b.ks", "a.ks", "--fun", "f", "--input", "0.5", "--samples", "1", "--time", "0"];
    let (status, out, errors) = lmc(&directory, &bench);
    assert!(status == Some(0) && out.contains("vjp") && errors.is_empty(), "{out} {errors}");
    let plot = ["--input", "to_float n", "--sizes", "1,2", "--plot", "a.ks"];
    assert_eq!(lmc(&directory, &[&bench[..5], &plot[..]].concat()).0, Some(2));
}

#[test]
fn errors_are_in_the_right_file() {
    let wrong = "(def g Float (x : Float) (sin x y))\n(def at Float ((i : Integer) (v : Vec Float)) 1.0)\n";
    let unclosed = "(def h Float (x : Float) \"no end";
    let files = [("a.ks", LIBRARY), ("b.ks", wrong), ("c.ks", MAIN), ("d.ks", unclosed)];
    let directory = directory("errors_of_several_files", &files);
    let (status, _, errors) = lmc(&directory, &["run", "a.ks", "b.ks", "c.ks"]);
    let expected = "error[E209]: `at` is defined twice on the argument type `(Tuple Integer (Vec Float))`
 --> b.ks:2:6
  |
2 | (def at Float ((i : Integer) (v : Vec Float)) 1.0)
  |      ^^ defined again here
  |
 ::: a.ks:3:6
  |
3 | (def at Float ((i : Integer) (v : Vec Float))
  |      -- first defined here
  |
  = help: rename one of them, or give it another argument type
";
    assert!(status == Some(1) && errors.contains(" --> b.ks:1:33\n") && errors.ends_with(expected), "{errors}");
    let (_, _, errors) = lmc(&directory, &["run", "a.ks", "d.ks", "c.ks", "--error-format", "short"]);
    assert_eq!(errors, "d.ks:1:26: this string is never closed\n");
    let (_, _, errors) = lmc(&directory, &["run", "a.ks", "b.ks", "c.ks", "--error-format", "json"]);
    let lines: Vec<serde_json::Value> = errors.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (last, start) = (&lines[lines.len() - 1], &wrong[..wrong.find("at Float").expect("it is there")]);
    assert_eq!((&last["file"], &last["line"], &last["start"]), (&"b.ks".into(), &2.into(), &start.len().into()));
    assert_eq!((&last["notes"][1]["file"], &last["notes"][1]["line"]), (&"a.ks".into(), &3.into()));
}

#[test]
fn run_time_errors_are_in_the_right_file() {
    let main = "(def main Integer () (print (at 2 (Vec_init 1.0))))";
    let directory = directory("run_time_errors_of_several_files", &[("a.ks", LIBRARY), ("b.ks", main)]);
    for args in [&["run", "b.ks", "a.ks"][..], &["run", "b.ks", "a.ks", "--interpret"]] {
        let (status, _, error) = lmc(&directory, args);
        assert!(status == Some(1) && error.starts_with("a.ks:4:3: "), "{error}");
    }
    // Lines may end with carriage returns.
    let old = "(def f Float (v : Vec Float)\r  (index 5 v))\r(def main Integer () (print (f (Vec_init 1.0))))";
    fs::write(directory.join("c.ks"), old).expect("the file can be written");
    for args in [&["run", "c.ks"][..], &["run", "c.ks", "--interpret"]] {
        let (status, _, error) = lmc(&directory, args);
        assert!(status == Some(1) && error.starts_with("c.ks:2:3: "), "{error}");
    }
    let (_, code, _) = lmc(&directory, &["compile", "b.ks", "a.ks", "--emit", "llvm-ir", "-o", "-"]);
    assert!(code.contains("a.ks\\00"), "the library does not name the file");
}
