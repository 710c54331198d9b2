//! `--error-format`: errors of every kind, in each form.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of its own with programs that fail in different ways.
fn directory(test: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    // It is there when the test ran before.
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the directory for tests can be written to");
    let write = |name: &str, text: &str| fs::write(path.join(name), text).expect("the program is written");
    write("wrong.ks", "(def f Float (x : Float)\n  (tuple \"\\q\" y))\n(def f Float (x : Float) x)\n");
    write("external.ks", "(edef e Float Float)\n(def f Float (x : Float) (e x))\n");
    write("stops.ks", "(def main Integer ()\n  (div 1 (sub 1 1)))\n");
    write("doubtful.ks", "(def f Integer (n : Integer)\n  (div n 0))\n(def g Float (v : Vec Float) (index -1 v))\n");
    write("good.ks", "(def f Float (x : Float)\n  x)\n");
    path
}

fn lmc(directory: &Path, args: &[&str], form: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(args).args(["--error-format", form]).current_dir(directory).output().expect("lmc starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The objects on standard error; each has the keys that all have.
fn objects(output: &Output) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let objects: Vec<Value> = said(output).lines().map(parse).collect();
    for object in &objects {
        for key in ["severity", "code", "message", "file", "line", "column", "notes"] {
            assert!(object.get(key).is_some(), "no {key} in {object}");
        }
        assert!(object["notes"].as_array().is_some_and(|notes| notes.iter().all(|note| note["message"].is_string())));
    }
    objects
}

#[test]
fn json_has_every_kind_of_error() {
    let directory = directory("json_has_every_kind_of_error");
    let cases: [(&[&str], i32, Value, Value); 8] = [
        (&["check", "missing.ks"], 1, "E001".into(), Value::Null),
        (&["check", "external.ks", "wrong.ks"], 1, "E105".into(), 2.into()),
        (&["compile", "--rev", "external.ks", "-o", "x.so"], 1, "E306".into(), 1.into()),
        (&["run", "stops.ks"], 1, Value::Null, 2.into()),
        (&["run", "good.ks"], 1, Value::Null, Value::Null),
        (&["compile", "good.ks", "--fun", "g", "-o", "x.so"], 1, Value::Null, Value::Null),
        (&["compile", "good.ks"], 2, Value::Null, Value::Null),
        (&["fmt", "wrong.ks"], 1, "E105".into(), 2.into()),
    ];
    for (args, status, code, line) in cases {
        let output = lmc(&directory, args, "json");
        assert_eq!(output.status.code(), Some(status), "{args:?}: {}", said(&output));
        let objects = objects(&output);
        let first = objects.first().unwrap_or_else(|| panic!("{args:?} says nothing"));
        assert_eq!((&first["severity"], &first["code"], &first["line"]), (&"error".into(), &code, &line), "{args:?}");
    }
}

#[test]
fn warnings_are_no_errors() {
    let directory = directory("warnings_are_no_errors");
    let output = lmc(&directory, &["check", "doubtful.ks"], "json");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let objects = objects(&output);
    let found: Vec<_> = objects.iter().map(|o| (&o["severity"], &o["code"], &o["line"], &o["column"])).collect();
    let warning = Value::from("warning");
    let (division, index) = (Value::from("W403"), Value::from("W402"));
    let places: [Value; 4] = [2, 10, 3, 37].map(Value::from);
    let expected = [(&warning, &division, &places[0], &places[1]), (&warning, &index, &places[2], &places[3])];
    assert_eq!(found, expected);
}

#[test]
fn notes_have_places_and_help() {
    let directory = directory("notes_have_places_and_help");
    let objects = objects(&lmc(&directory, &["check", "wrong.ks"], "json"));
    let codes: Vec<&str> = objects.iter().filter_map(|object| object["code"].as_str()).collect();
    assert_eq!(codes, ["E105", "E201", "E209"]);
    assert_eq!(objects[0]["notes"][0]["kind"], "help");
    let twice = objects[2]["notes"].as_array().expect("notes");
    let related = twice.iter().find(|note| note["kind"] == "related").expect("the first definition is shown");
    assert_eq!((related["line"].as_u64(), related["column"].as_u64()), (Some(1), Some(6)));
}

#[test]
fn short_is_one_line_per_error() {
    let directory = directory("short_is_one_line_per_error");
    let wrong = said(&lmc(&directory, &["check", "wrong.ks"], "short"));
    let lines: Vec<&str> = wrong.lines().collect();
    assert_eq!(lines[0], "wrong.ks:2:11: unknown escape `\\q` in a string");
    assert_eq!(lines.len(), 3);
    let stopped = said(&lmc(&directory, &["run", "stops.ks"], "short"));
    assert!(stopped.starts_with("stops.ks:2:3: ") && stopped.lines().count() == 1, "{stopped}");
}
