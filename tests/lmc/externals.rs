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

/// Labels cannot vary: C gets and gives nothing for their tangents.
const LABELLED: &str = "
(edef picked (Tuple Float (Vec Integer)) ((Vec Float) (Vec Integer)))
(edef [fwd picked] (Tuple Float (Vec (Tuple)))
      ((Tuple (Vec Float) (Vec Integer)) (Tuple (Vec Float) (Vec (Tuple)))))
(edef [rev picked] (Tuple (Vec Float) (Vec (Tuple))) ((Tuple (Vec Float) (Vec Integer)) (Tuple Float (Vec (Tuple)))))
(def g Float ((v : Vec Float) (labels : Vec Integer))
  (let ((x again) (picked v labels)) (mul 2.0 x)))
(def main Integer ()
  (let ((v (Vec_init 1.0 2.0 3.0)) (labels (Vec_init 0 2 2)))
    (print (g v labels) \" \" ([rev g] (tuple v labels) 1.0))))
";

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
typedef struct { int64_t *data; int64_t size[1]; } integers;
int32_t picked(void *ctx, const vector *v, const integers *labels, double *out, integers *again) {
  *out = 0;
  for (int64_t i = 0; i < labels->size[0]; i++) *out += v->data[labels->data[i]];
  *again = *labels;
  return 0;
}
int32_t rev_picked(void *ctx, const vector *v, const integers *labels, double dr, vector *d_v) {
  static double sums[3];
  for (int64_t i = 0; i < 3; i++) sums[i] = 0;
  for (int64_t i = 0; i < labels->size[0]; i++) sums[labels->data[i]] += dr;
  d_v->data = sums;
  d_v->size[0] = v->size[0];
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
        for (file, text) in [("p.ks", PROGRAM), ("failing.ks", FAILING), ("labelled.ks", LABELLED), ("c.c", C)] {
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
fn they_get_nothing_that_cannot_vary() {
    let folder = Folder::new("labelled");
    let expected = (Some(0), "14 [2, 0, 4],[(), (), ()]".to_string());
    assert_eq!(folder.lmc(&["run", "labelled.ks", "--link", "libc1.so"]), expected);
    let (_, header) = folder.lmc(&["compile", "labelled.ks", "--emit", "header=-"]);
    let point = "const lmc_tensor_f64_1 *x_1, const lmc_tensor_i64_1 *x_2";
    let declared = format!("rev_picked(lmc_context *ctx, {point}, double dr_1, lmc_tensor_f64_1 *d_x_1);");
    assert!(header.contains(&declared), "{header}");
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
fn what_is_missing_is_an_error_of_the_compile() {
    let folder = Folder::new("missing-so");
    let (status, message) = folder.lmc(&["compile", "p.ks", "-o", "p.so"]);
    assert_eq!(status, Some(1), "{message}");
    assert!(message.contains("the external function `") && message.contains("--link"), "{message}");
    assert_eq!(folder.lmc(&["compile", "p.ks", "-o", "p.so", "--link", "c.o"]), (Some(0), String::new()));
}

/// The header has what a C file needs to define them; the compiler compares the types.
#[test]
fn headers_declare_them() {
    let folder = Folder::new("header");
    let args = ["compile", "p.ks", "--fun", "f", "-o", "p.h", "--emit", "header"];
    assert_eq!(folder.lmc(&args), (Some(0), String::new()));
    let header = fs::read_to_string(folder.0.join("p.h")).expect("the header is there");
    for declared in [
        "int32_t cube(lmc_context *ctx, double x, double *out);",
        "int32_t rev_cube(lmc_context *ctx, double x, double dr, double *d_x);",
        "int32_t dotc(lmc_context *ctx, const lmc_tensor_f64_1 *x_1, const lmc_tensor_f64_1 *x_2, double *out);",
        "int32_t divmod(lmc_context *ctx, int64_t x_1, int64_t x_2, int64_t *out_1, uint8_t *out_2);",
    ] {
        assert!(header.contains(declared), "{declared}: {header}");
    }
    let defined =
        "#include \"p.h\"\nint32_t cube(lmc_context *ctx, double x, double *out) { (void)ctx; *out = x; return 0; }";
    fs::write(folder.0.join("d.c"), defined).expect("the file can be written");
    let made = folder.run("cc", &["-Wall", "-Wextra", "-Werror", "-c", "d.c"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// A program whose library others link.
const LIBRARY: &str = "(def scaled (Vec Float) ((k : Float) (v : Vec Float)) (ts_scale (mul k k) v))
(def turned (Vec (Tuple Float Float)) (v : Vec (Tuple Float Float)) (map \
(lam (t : Tuple Float Float) (tuple (neg (get$2$2 t)) (get$1$2 t))) v))
";

const USER: &str = r#"
(edef scaled (Vec Float) (Float (Vec Float)))
(edef [rev scaled] (Tuple Float (Vec Float)) ((Tuple Float (Vec Float)) (Vec Float)))
(edef turned (Vec (Tuple Float Float)) (Vec (Tuple Float Float)))
(edef doubled (Vec Float) (Vec Float))
(edef constant (Vec Float) Integer)
(def f Float ((k : Float) (v : Vec Float))
  (fold (lam (t : Tuple Float Float) (add (get$1$2 t) (sum (scaled (get$2$2 t) v)))) 0.0 (scaled k v)))
(def main Integer ()
  (let ((v (Vec_init 1.0 2.0))
        (w (build 1000 (lam (i : Integer) (sum (doubled v)))))
        (both (tuple (scaled 3.0 v) (doubled v))))
    (print (f 2.0 v) " " ([rev f] (tuple 2.0 v) 1.0) " " (turned (Vec_init (tuple 1.0 2.0) (tuple 3.0 4.0))) " "
           (sum w) " " both " " (build 2 (lam (i : Integer) (constant i))) "\n")))
"#;

const WITH_TENSORS: &str = r#"
#include "k.h"
int32_t doubled(lmc_context *ctx, const lmc_tensor_f64_1 *v, lmc_tensor_f64_1 *out) {
  uint64_t bytes = 8 * (uint64_t)v->size[0];
  if (bytes > ctx->arena.bytes) return LMC_OUT_OF_MEMORY;
  out->data = ctx->arena.base;
  out->size[0] = v->size[0];
  ctx->arena.peak = bytes;
  for (int64_t i = 0; i < v->size[0]; i++) out->data[i] = 2 * v->data[i];
  return LMC_OK;
}
static double numbers[] = {0.5, 0.25};
int32_t constant(lmc_context *ctx, int64_t size, lmc_tensor_f64_1 *out) {
  out->data = numbers;
  out->size[0] = size;
  return size <= 2 ? LMC_OK : 1;
}
"#;

#[test]
fn a_program_links_the_library_of_another() {
    let folder = Folder::new("tensors");
    for (file, text) in [("k.ks", LIBRARY), ("user.ks", USER), ("t.c", WITH_TENSORS)] {
        fs::write(folder.0.join(file), text).expect("the file can be written");
    }
    let args = ["compile", "--rev", "k.ks", "-o", "libk.so", "--emit", "so,header=k.h,a=k.a"];
    assert_eq!(folder.lmc(&args), (Some(0), String::new()));
    let made = folder.run("cc", &["-Wall", "-Werror", "-fPIC", "-shared", "t.c", "-o", "libt.so"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // f(k, v) = k^4 (v1^2 + v2^2) (v1 + v2).
    let expected = "240 480,[176, 272] [(-2, 1), (-4, 3)] 6000 [9, 18],[2, 4] [[], [0.5]]\n".to_string();
    assert_eq!(folder.lmc(&["run", "user.ks", "--link", "libk.so", "--link", "./libt.so"]), (Some(0), expected));
    // An archive among what is linked, and calls from C.
    let args = ["compile", "--rev", "--fun", "f", "user.ks", "--link", "k.a", "-o", "user.so", "--emit", "so,header"];
    assert_eq!(folder.lmc(&args), (Some(0), String::new()));
    let main = r#"
#include "user.h"
#include <stdio.h>
int main(void) {
  double data[2] = {1, 2}, back[2], k;
  lmc_tensor_f64_1 v = {data, {2}}, dv = {back, {2}};
  int32_t status = rev_f(0, 2, &v, 1, &k, &dv);
  printf("%d %g %g %g\n", status, k, back[0], back[1]);
  return 0;
}
"#;
    fs::write(folder.0.join("main.c"), main).expect("the file can be written");
    let made = folder.run("cc", &["main.c", "./user.so", "-o", "main"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(folder.run("./main", &[]).stdout, b"0 480 176 272\n");
}

#[test]
fn what_has_no_form_in_c_is_refused() {
    let folder = Folder::new("refused");
    let text = "(edef rows (Vec (Vec Float)) Integer)\n(def main Integer () (size (rows 3)))\n";
    fs::write(folder.0.join("rows.ks"), text).expect("the file can be written");
    let (status, message) = folder.lmc(&["run", "rows.ks", "--link", "libc1.so"]);
    assert_eq!(status, Some(1));
    let expected = "a tensor of (Vec Float) as the result of the external function `rows` is not supported";
    assert!(message.contains(expected) && message.contains("rows.ks:2:"), "{message}");
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
