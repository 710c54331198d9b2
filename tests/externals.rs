//! External functions: declared by `edef`, written in C, linked with `--link`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = r#"
(edef cube Float (Float))
(edef [rev cube] Float (Tuple Float Float))
(edef dotc Float ((Vec Float) (Vec Float)))
(edef divmod (Tuple Integer Bool) (Integer Integer))
(def f Float ((x : Float) (v : Vec Float))
  (mul (cube x) (sumbuild (size v) (lam (i : Integer) (cube (index i v))))))
(def main Integer ()
  (let ((v (Vec_init 1.0 2.0 3.0)) ((q even) (divmod 17 5)))
    (print (f 2.0 v) " " ([rev f] (tuple 2.0 v) 1.0) " " (dotc v v) " " q " " even "\n")))
"#;

const FAILING: &str = "(edef divmod (Tuple Integer Bool) (Integer Integer))
(def main Integer () (let ((q even) (divmod 17 0)) (print q)))";

const C: &str = r#"
#include <stdint.h>
typedef struct { double *data; int64_t size[1]; } vector;
int32_t cube(void *ctx, double x, double *out) { *out = x * x * x; return 0; }
int32_t rev_cube(void *ctx, double x, double dr, double *out) { *out = 3 * x * x * dr; return 0; }
int32_t dotc(void *ctx, const vector *a, const vector *b, double *out) {
  double sum = 0;
  for (int64_t i = 0; i < a->size[0]; i++) sum += a->data[i] * b->data[i];
  *out = sum;
  return 0;
}
int32_t divmod(void *ctx, int64_t a, int64_t b, int64_t *q, uint8_t *even) {
  if (b == 0) return 7;
  *q = a / b;
  *even = (a % b) % 2 == 0;
  return 0;
}
"#;

/// A folder of its own, with the programs, the object and the library; it goes in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = Folder(std::env::temp_dir().join(format!("lmc-externals-{name}-{}", std::process::id())));
        fs::create_dir_all(&folder.0).expect("the folder can be made");
        for (file, text) in [("p.ks", PROGRAM), ("failing.ks", FAILING), ("c.c", C)] {
            fs::write(folder.0.join(file), text).expect("the file can be written");
        }
        folder.run("cc", &["-fPIC", "-c", "c.c", "-o", "c.o"]);
        folder.run("cc", &["-shared", "c.o", "-o", "libc1.so"]);
        folder
    }

    fn run(&self, program: &str, args: &[&str]) -> Output {
        Command::new(program).args(args).current_dir(&self.0).output().expect("the program runs")
    }

    fn lmc(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = self.run(env!("CARGO_BIN_EXE_lmc"), args);
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&text).into_owned())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn they_are_called_and_differentiated_by_what_is_given() {
    let folder = Folder::new("run");
    let expected = (Some(0), "288 432,[24, 96, 216] 14 3 true\n".to_string());
    assert_eq!(folder.lmc(&["run", "p.ks", "--link", "libc1.so"]), expected);
}

#[test]
fn their_errors_have_the_place_of_the_call() {
    let folder = Folder::new("failing");
    let expected = "failing.ks:2:37: an external function failed with status 7\n".to_string();
    assert_eq!(folder.lmc(&["run", "failing.ks", "--link", "libc1.so"]), (Some(1), expected));
}

#[test]
fn what_is_missing_is_named() {
    let folder = Folder::new("missing");
    let (status, message) = folder.lmc(&["run", "p.ks"]);
    assert_eq!(status, Some(1));
    assert!(message.contains("is nowhere") && message.contains("the external function `"), "{message}");
    assert!(message.contains("--link"), "{message}");
    let (status, message) = folder.lmc(&["run", "p.ks", "--link", "c.c"]);
    assert_eq!(status, Some(1));
    assert!(message.contains("cannot load `c.c`"), "{message}");
}

#[test]
fn libraries_are_linked_with_objects() {
    let folder = Folder::new("linked");
    let args = ["compile", "--rev", "--fun", "f", "p.ks", "--link", "c.o", "-o", "p.so"];
    assert_eq!(folder.lmc(&args), (Some(0), String::new()));
    assert!(Path::new(&folder.0.join("p.so")).exists());
    let symbols = folder.run("nm", &["-D", "--defined-only", "p.so"]);
    let symbols = String::from_utf8_lossy(&symbols.stdout).into_owned();
    assert!(symbols.contains(" rev$f") && symbols.contains(" cube"), "{symbols}");
}
