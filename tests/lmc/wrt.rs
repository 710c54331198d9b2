//! Derivatives with respect to some of the parameters: `[wrt$1$3.2 f]`, and `--wrt`.

use lm::interp::Interpreter;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{self, Report};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use std::path::PathBuf;

const PROGRAM: &str = "
(def g Float ((a : Float) (v : Vec Float) (b : Tuple Float Float))
  (mul (mul (sin a) (sum v)) (add (get$1$2 b) (exp (get$2$2 b)))))

(def f Float ((x : Float) (v : Vec Float) (n : Integer) (t : Tuple Float (Tuple Float Float)))
  (add (g x v (get$2$2 t)) (mul (get$1$2 t) (g (get$1$2 t) (map (lam (y : Float) (mul y x)) v) (tuple x 1.0)))))

(def hand Float ((x : Float) (y : Float)) (mul x (mul y y)))
(def [rev hand] (Tuple Float Float) ((s : Tuple Float Float) (dr : Float))
  (let ((x y) s) (tuple (mul 7.0 dr) (mul (mul 2.0 (mul x y)) dr))))
(def [fwd hand] Float ((s : Tuple Float Float) (ds : Tuple Float Float))
  (let (((x y) s) ((dx dy) ds)) (add (mul 7.0 dx) (mul (mul 2.0 (mul x y)) dy))))
(def halved Float ((x : Float) (y : Float)) (mul x y))
(def [suffwdpass halved] (Tuple Float Float) ((x : Float) (y : Float)) (tuple (mul x y) 5.0))
(def [sufrevpass halved] (Tuple Float Float) ((dr : Float) (r : Float)) (tuple (mul r dr) dr))
(def calls_halved Float (x : Float) (mul 2.0 (halved x 3.0)))
(def calls Float ((x : Float) (y : Float)) (hand (mul x 3.0) (stop_gradient y)))
";

fn with_pipeline<T: Send>(work: impl FnOnce(&mut Pipeline) -> T + Send) -> T {
    with_large_stack(|| {
        let source = Source::new("wrt.ks", PROGRAM);
        let mut pipeline = Pipeline::new(front::load(&source).unwrap_or_else(|errors| panic!("{errors:?}")));
        work(&mut pipeline)
    })
}

fn restricted(f: &str, paths: &[&[usize]]) -> FunName {
    FunName::base(f).restricted(&paths.iter().map(|path| path.to_vec()).collect::<Vec<_>>())
}

#[test]
fn parts_of_the_argument_vary() {
    let all: [&[&[usize]]; 6] = [&[&[1]], &[&[2]], &[&[1], &[2]], &[&[4, 1]], &[&[1], &[4, 2, 1]], &[&[4]]];
    for paths in all {
        let report: Report = with_pipeline(|p| {
            let f = restricted("f", paths);
            gradcheck::prepare(p, &f).unwrap_or_else(|error| panic!("{error}"));
            gradcheck::check(p, None, &f, 10, 1)
        });
        assert!(report.agrees(), "{paths:?}: {report:?}");
    }
}

/// Counts the work of `[rev f]` and its restrictions at one point.
fn work(f: &FunName) -> u64 {
    with_pipeline(|p| {
        let rev = f.derived(Derivative::Rev);
        p.require(&rev).unwrap_or_else(|error| panic!("{error}"));
        let v = Value::vector((0..100).map(|i| Value::Float(f64::from(i))).collect());
        let pair = |a, b| Value::Tuple(vec![a, b]);
        let t = pair(Value::Float(0.5), pair(Value::Float(0.25), Value::Float(2.0)));
        let s = Value::Tuple(vec![Value::Float(1.5), v, Value::Integer(3), t]);
        let mut interpreter = Interpreter::new(p.program());
        interpreter.call(&rev, &[s, Value::Float(1.0)]).expect("a gradient");
        interpreter.counts.arithmetic() + interpreter.counts.moves
    })
}

#[test]
fn nothing_is_computed_for_the_rest() {
    let whole = work(&FunName::base("f"));
    let scalar = work(&restricted("f", &[&[4, 2, 1]]));
    assert!(scalar * 2 < whole, "{scalar} against {whole}");
    assert!(scalar < 110, "one sum of the vector, and a few products: {scalar}");
}

fn value(call: &str) -> String {
    let text = format!("{PROGRAM}\n(def main Integer () (print {call}))");
    with_large_stack(|| {
        let checked = front::load(&Source::new("wrt.ks", &text)).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        pipeline.complete().unwrap_or_else(|error| panic!("{error}"));
        let mut printed = Vec::new();
        let mut interpreter = Interpreter::with_output(pipeline.program(), &mut printed);
        interpreter.call(&FunName::base("main"), &[]).expect("main runs");
        drop(interpreter);
        String::from_utf8(printed).expect("text")
    })
}

/// The one written by hand says 7 where the truth is y * y, and the halves 5 where it is y, so one sees which is used.
#[test]
fn a_derivative_by_hand_is_used_whatever_varies() {
    assert_eq!(value("([rev [wrt$1 hand]] (tuple 2.0 3.0) 1.0)"), "7");
    assert_eq!(value("([rev [wrt$2 hand]] (tuple 2.0 3.0) 1.0)"), "12");
    assert_eq!(value("([fwd [wrt$1 hand]] (tuple 2.0 3.0) 1.0)"), "7");
    assert_eq!(value("([rev [wrt$1 calls]] (tuple 2.0 3.0) 1.0)"), "21");
    assert_eq!(value("([rev calls] (tuple 2.0 3.0) 1.0)"), "21,0");
    assert_eq!(value("([rev [wrt$1 halved]] (tuple 2.0 3.0) 1.0)"), "5");
    assert_eq!(value("([rev [wrt$2 halved]] (tuple 2.0 3.0) 1.0)"), "1");
    assert_eq!(value("([rev calls_halved] 2.0 1.0)"), "10");
}

#[test]
fn the_command_line_names_parameters() {
    let command = |wrt: &str| {
        let file = std::env::temp_dir().join(format!("lmc-wrt-{}.ks", std::process::id()));
        std::fs::write(&file, PROGRAM).expect("the file can be written");
        let args = ["gradcheck", "--interpret", "--fun", "f", "--points", "3", "--wrt", wrt];
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_lmc")).args(args).arg(&file).output();
        let output = output.expect("lmc runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(command("x,t.2.1").0, Some(0));
    let (status, message) = command("y");
    assert_eq!(status, Some(1));
    assert!(message.contains("`f` has no parameter called `y`; its parameters are x, v, n, t"), "{message}");
    let (_, message) = command("n");
    assert!(message.contains("nothing that can vary called `n`"), "{message}");
    let (_, message) = command("t,t.1");
    assert!(message.contains("a part of `t` and the whole of it"), "{message}");
}

#[test]
fn headers_keep_the_names_of_parameters() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("wrt-names");
    std::fs::create_dir_all(&folder).expect("the directory for tests can be written to");
    std::fs::write(folder.join("p.ks"), "(def f Float ((w : Vec Float) (b : Float)) (mul b (sum w)))")
        .expect("written");
    let header = |options: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lmc"));
        command.args(["compile", "p.ks", "--emit", "header=-"]).args(options).current_dir(&folder);
        String::from_utf8(command.output().expect("lmc runs").stdout).expect("text")
    };
    let all = header(&["--fwd", "--rev", "--jvp", "--vjp"]);
    let point = "const lmc_tensor_f64_1 *w, double b";
    for declared in [
        format!("rev_f(lmc_context *ctx, {point}, double dr, lmc_tensor_f64_1 *d_w, double *d_b)"),
        format!("vjp_f(lmc_context *ctx, {point}, double dr, double *out, lmc_tensor_f64_1 *d_w, double *d_b)"),
        format!("fwd_f(lmc_context *ctx, {point}, const lmc_tensor_f64_1 *d_w, double d_b, double *d_out)"),
        format!(
            "jvp_f(lmc_context *ctx, {point}, const lmc_tensor_f64_1 *d_w, double d_b, double *out, double *d_out)"
        ),
    ] {
        assert!(all.contains(&declared), "{declared}: {all}");
    }
    let restricted = header(&["--rev", "--wrt", "b"]);
    assert!(restricted.contains("double dr, double *d_b)") && !restricted.contains("d_w"), "{restricted}");
}

#[test]
fn nothing_is_passed_for_what_cannot_vary() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("wrt-labels");
    std::fs::create_dir_all(&folder).expect("the directory for tests can be written to");
    let program = "(def f Float ((w : Vec Float) (labels : Vec Integer) (p : Tuple Float (Vec Bool)))
  (mul (get$1$2 p) (sumbuild (size labels) (lam (i : Integer) (mul (index i w) (to_float (index i labels)))))))
(gdef hvp [f (Tuple (Vec Float) (Vec Integer) (Tuple Float (Vec Bool)))])
(gdef jac [f (Tuple (Vec Float) (Vec Integer) (Tuple Float (Vec Bool)))])";
    std::fs::write(folder.join("p.ks"), program).expect("written");
    let printed = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lmc"));
        let output = command.args(args).current_dir(&folder).output().expect("lmc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let header = printed(&["compile", "p.ks", "--fwd", "--vjp", "--emit", "header=-"]);
    let (vector, out) = ("const lmc_tensor_f64_1 *", "lmc_tensor_f64_1 *");
    let p = "double p_1, const lmc_tensor_bool_1 *p_2";
    let point = format!("lmc_context *ctx, {vector}w, const lmc_tensor_i64_1 *labels, {p}");
    for declared in [
        format!("fwd_f({point}, {vector}d_w, double d_p_1, double *d_out);"),
        format!("vjp_f({point}, double dr, double *out, {out}d_w, double *d_p_1);"),
        format!("hvp_f({point}, {vector}d_w, double d_p_1, {out}d_d_w, double *d_d_p_1);"),
        format!("jac_f({point}, {out}d_out_w, double *d_out_p_1);"),
    ] {
        assert!(header.contains(&declared), "{declared}: {header}");
    }
    let stages = printed(&["demo", "p.ks", "--fun", "f"]);
    assert!(stages.contains("it gives (d_w, _, d_p)\nfun f`(s, dr)"), "{stages}");
    assert!(stages.contains("let { (d_w, d_labels, d_p) = ds }"), "{stages}");
    let halves = printed(&["demo", "p.ks", "--fun", "f", "--derivation", "split"]);
    assert!(halves.contains("suffwdpass$f(w, labels, p)"), "{halves}");
}
