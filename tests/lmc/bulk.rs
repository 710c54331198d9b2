//! Programs on whole arrays: what is refused, by `lmc compile`, and what the texts look like.

use super::directory::with_program;
use std::path::Path;
use std::process::{Command, Output};

fn compile(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.current_dir(directory).args(["compile", "p.ks"]).args(args).output().expect("lmc runs")
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

#[test]
fn what_has_no_form_on_whole_arrays_is_refused_with_its_code() {
    let refused = [
        (
            "E310",
            "numpy",
            "(def f (Vec (Vec Integer)) (n : Integer) (build n (lam (i : Integer) (build i (lam (j : Integer) j)))))",
        ),
        ("E311", "numpy", "(def f Float ((n : Integer) (x : Float)) (if (lte n 0) x (mul x (f (div n 2) x))))"),
        ("E312", "numpy", "(edef g Float (Float))\n(def f Float (x : Float) (g x))"),
        ("E313", "numpy", "(def f Integer (x : Float) (print x))"),
        ("E314", "numpy", "(def f (LM Float Float) (x : Float) (lmScale 1.0 x))"),
        ("E315", "numpy", "(def f String (x : Float) \"text\")"),
        ("E316", "jax", "(def f (Vec Float) (v : Vec Float) (build (to_integer (sum v)) (lam (i : Integer) 1.0)))"),
        ("E316", "stablehlo", "(def f Float (v : Vec Float) (sum v))"),
    ];
    for (code, kind, program) in refused {
        let directory = with_program("what_has_no_form_on_whole_arrays_is_refused_with_its_code", program);
        let output = compile(&directory, &["--fun", "f", "--emit", &format!("{kind}=out.x")]);
        let error = text(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(&format!("error[{code}]")), "{program}: {error}");
        assert!(error.contains(" --> p.ks:") && error.contains("= help: "), "{program}: {error}");
        assert!(!directory.join("out.x").exists(), "{program}: nothing is written");
    }
}

/// The loops of a product are one product, forwards and backwards.
#[test]
fn products_are_products() {
    let program = "(def f (Vec Float) ((w : Tensor 2 Float) (x : Vec Float))
  (let ((n m) (size w))
    (build n (lam (i : Integer) (sumbuild m (lam (j : Integer) (mul (index (tuple i j) w) (index j x))))))))";
    let directory = with_program("products_are_products", program);
    let output = compile(&directory, &["--vjp", "--emit", "numpy=-"]);
    let python = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(python.matches(" @ ").count(), 3, "value twice, and the gradient of x:\n{python}");
    let functions = &python[python.find("def f(").expect("the function is there")..];
    assert!(!functions.contains("for ") && !functions.contains("np.sum"), "no loop, no array of products:\n{python}");
}

/// A branch that is not taken makes no NaN.
#[test]
fn what_a_condition_guards_is_selected() {
    let program = "(def f Float (v : Vec Float)
  (sumbuild (size v) (lam (i : Integer) (if (gt (index i v) 0.0) (sqrt (index i v)) 0.0))))";
    let directory = with_program("what_a_condition_guards_is_selected", program);
    let output = compile(&directory, &["--vjp", "--emit", "numpy=-"]);
    let python = text(&output.stdout);
    assert!(output.status.success() && python.contains("np.where(v > 0.0, np.sqrt(v), 0.0)"), "{python}");
}

/// Of a branch that is known not to be taken, nothing is read: no condition, no part of a tuple or of a record.
#[test]
fn what_is_never_read_has_a_form() {
    let programs = [
        (
            "unary",
            "f",
            "(def f Float (v : Vec Float) (sum (fold (lam (p : Tuple (Vec Float) (Vec Float)) (let ((y w) p)
               (if (gt 1.0 2.0) (if (gt 1.0 2.0) w y) w))) v (constVec 1 v))))",
        ),
        (
            "jacobian",
            "f",
            "(def one Float (v : Vec Float) 1.0)
             (def f Float ((n : Integer) (s : Tuple Float (Vec Float))) (if (lte n 1) 1.0 (g s)))
             (def g Float (s : Tuple Float (Vec Float)) (if (lte 1 1) (one (constVec 1 1.0)) (get$1$2 s)))",
        ),
        (
            "tupled",
            "h",
            "(def f Float ((n : Integer) (s : Tuple Float (Vec Float))) (if (lte n 1) 1.0 (g s)))
             (def g Float (s : Tuple Float (Vec Float))
               (let (unused (f 1 s)) (fold (lam (p : Tuple Float Float) 1.0) 1.0 (get$2$2 s))))
             (def h (Tuple (Tuple) (Tuple Float (Vec Float))) ((n : Integer) (s : Tuple Float (Vec Float)))
               ([sufrev f] (tuple n s) 1.0))",
        ),
    ];
    for (derivation, fun, program) in programs {
        let directory = with_program("what_is_never_read_has_a_form", program);
        let args = ["--fun", fun, "--vjp", "--derivation", derivation, "--emit", "numpy=out.py"];
        let output = compile(&directory, &args);
        assert!(output.status.success(), "{program}: {}", text(&output.stderr));
    }
}
