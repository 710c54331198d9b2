//! Primitives on arrays that have an expansion: as they are written and expanded, all evaluators give the same values.
//! Derivatives exist at arrays without elements, too.

use lm::eval::Evaluator;
use lm::interp::Interpreter;
use lm::notation::ks;
use lm::term::{Derivative, Expr, FunName, Kind, Op, Program};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, Options, SourceInfo};
use std::io::Write;
use std::process::{Command, Stdio};

/// Each takes a vector and a number that functions capture.
const PROGRAM: &str = "
(def products (Vec Float) ((v : Vec Float) (x : Float))
  (map2 (lam (p : Tuple Float Float) (mul x (mul (get$1$2 p) (get$2$2 p)))) v (add v v)))
(def ranks (Tensor 2 Float) ((v : Vec Float) (x : Float))
  (let (t (build (tuple (size v) 2) (lam (i : Tuple Integer Integer) (let ((r c) i) (mul x (index r v))))))
    (map2 (lam (p : Tuple Float Float) (let ((a b) p) (sub a (mul b x)))) t t)))
(def rows (Vec (Vec Float)) ((v : Vec Float) (x : Float))
  (let (t (build (size v) (lam (r : Integer) (build r (lam (c : Integer) (mul x (index c v)))))))
    (map2 (lam (p : Tuple (Vec Float) (Vec Float)) (add (get$1$2 p) (get$2$2 p))) t t)))
(def pairs (Vec (Tuple Float (Tuple Float Float))) ((v : Vec Float) (x : Float))
  (map2 (lam (p : Tuple (Tuple Float Float) Float)
          (let ((t b) p) (let ((c d) t) (tuple (mul c b) (tuple d x)))))
        (map (lam (y : Float) (tuple y (mul x y))) v)
        v))
(def total Float ((v : Vec Float) (x : Float))
  (reduce (lam (p : Tuple Float Float) (sub (add (get$1$2 p) (get$2$2 p)) x)) x v))
(def matrices (Tuple (Tuple Float Float) (Tuple Float Float)) ((v : Vec Float) (x : Float))
  (reduce (lam (p : Tuple (Tuple (Tuple Float Float) (Tuple Float Float)) (Tuple (Tuple Float Float) (Tuple Float Float)))
            (let ((m n) p)
              (let ((r s) m)
                (let ((t u) n)
                  (let ((a b) r)
                    (let ((c d) s)
                      (let ((e f) t)
                        (let ((g h) u)
                          (tuple (tuple (add (mul a e) (mul b g)) (add (mul a f) (mul b h)))
                                 (tuple (add (mul c e) (mul d g)) (add (mul c f) (mul d h))))))))))))
          (tuple (tuple 1.0 0.0) (tuple 0.0 1.0))
          (map (lam (y : Float) (tuple (tuple y x) (tuple 0.0 1.0))) v)))
(def from_right (Vec Float) ((v : Vec Float) (x : Float))
  (scanr (lam (p : Tuple Float Float) (sub (mul x (get$1$2 p)) (get$2$2 p))) x v))
(def vectors_from_right (Vec (Vec Float)) ((v : Vec Float) (x : Float))
  (scanr (lam (p : Tuple (Vec Float) Float) (let ((s y) p) (map (lam (z : Float) (add (mul x z) y)) s))) v v))
(def left (Vec Float) ((v : Vec Float) (x : Float)) (mul x (shift1L v)))
(def right (Vec (Vec Float)) ((v : Vec Float) (x : Float))
  (shift1R (build (size v) (lam (r : Integer) (mul x (shift1L v))))))
(def differences (Vec Float) ((v : Vec Float) (x : Float)) (sub (shift1L v) (mul x (shift1R v))))
(def of_scans (Vec Float) ((v : Vec Float) (x : Float))
  (map2 (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p)))
        (shift1R (scanl (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p))) x v))
        (shift1L (scanr (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p))) x v))))
(def sums (Vec Float) ((v : Vec Float) (x : Float))
  (let (rows (build (size v) (lam (r : Integer) (constVec 2 x))))
    (sum (map2 (lam (p : Tuple (Vec Float) (Vec Float)) (add (get$1$2 p) (get$2$2 p))) rows rows))))
(def nested (Vec Float) ((v : Vec Float) (x : Float))
  (map2 (lam (p : Tuple Float Float)
          (reduce (lam (q : Tuple Float Float) (mul (get$1$2 q) (get$2$2 q))) (get$1$2 p)
                  (map2 (lam (q : Tuple Float Float) (add (get$2$2 p) (get$1$2 q))) v (mul x v))))
        v
        v))
";

/// The sizes of the vector.
const SIZES: [usize; 4] = [0, 1, 2, 5];

fn pipeline(text: &str, derivation: Derivation) -> (Pipeline, Vec<FunName>) {
    let checked = front::load_for(&Source::new("arrays.ks", text), derivation, &Default::default());
    let checked = checked.unwrap_or_else(|errors| panic!("{errors:?}"));
    let names = checked.places.keys().cloned().collect();
    (Pipeline::new(checked), names)
}

fn args(n: usize) -> Vec<Value> {
    // Small numbers: sums and products are exact.
    let v = (0..n).map(|k| Value::Float([2.0, -1.0, 3.0, 0.5, 4.0][k])).collect();
    vec![Value::vector(v), Value::Float(0.5)]
}

fn has_arrays(program: &Program) -> bool {
    let is_one = |e: &Expr| matches!(e.kind(), Kind::App(Op::Prim(p), _) if p.is_expanded());
    program.defs.values().any(|def| def.body.any(is_one))
}

#[test]
fn evaluators_agree_on_both_forms() {
    with_large_stack(|| {
        let (mut pipeline, names) = pipeline(PROGRAM, Derivation::Jacobian);
        names.iter().for_each(|name| pipeline.require(name).expect("it is a function"));
        let (written, expanded) = (pipeline.program_as_written(), pipeline.program());
        assert!(has_arrays(&written) && !has_arrays(expanded));
        let jit = Jit::new(expanded, &names, &SourceInfo::new("arrays.ks", PROGRAM), &Options::exact());
        let jit = jit.unwrap_or_else(|error| panic!("{error}"));
        for name in &names {
            for n in SIZES {
                let args = args(n);
                let wanted = Interpreter::new(expanded).call(name, &args);
                assert!(wanted.is_ok(), "{name} at size {n}: {wanted:?}");
                assert_eq!(Interpreter::new(&written).call(name, &args), wanted, "{name} at size {n}, interpreted");
                assert_eq!(Evaluator::new(&written, std::io::sink()).call(name, &args), wanted, "{name}, naively");
                assert_eq!(jit.call(name, &args), wanted, "{name} at size {n}, natively");
            }
        }
    });
}

/// Native code and each derivation at vectors of 0, 1, 2 and 5 elements.
#[test]
fn derivatives_exist_at_all_sizes() {
    with_large_stack(|| {
        for derivation in Derivation::OF_ALL_PROGRAMS {
            let (mut pipeline, names) = pipeline(PROGRAM, derivation);
            for f in &names {
                gradcheck::prepare(&mut pipeline, f).unwrap_or_else(|error| panic!("{f}: {error}"));
                let points: Vec<Value> = SIZES.iter().map(|&n| Value::Tuple(args(n))).collect();
                let report = gradcheck::check_at(&pipeline, None, f, &points, 1);
                assert!(report.faults().is_empty(), "{f} by {derivation:?}: {report:?}");
                assert_eq!(report.points, points.len(), "{f} by {derivation:?}: {report:?}");
            }
        }
    });
}

/// `lmc demo` and `--emit ks` show what the user wrote, and it reads back.
#[test]
fn functions_are_shown_as_they_are_written() {
    with_large_stack(|| {
        let (mut pipeline, names) = pipeline(PROGRAM, Derivation::Jacobian);
        for name in &names {
            let stages = pipeline.stages(name, false).unwrap_or_else(|error| panic!("{name}: {error}"));
            let text = ks::def(&stages[0].def, 100);
            let words = ["map2", "reduce", "scanr", "shift1L", "shift1R"];
            assert!(words.iter().any(|word| text.contains(word)), "{text}");
            assert!(words.iter().all(|word| !ks::def(&stages[1].def, 100).contains(word)), "{name}");
            let again = front::load_stage(&Source::new("again.ks", &text)).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
            assert!(lm::alpha::defs(&again.program.defs[name], &stages[0].def), "{text}");
        }
    });
}

/// Rules are applied to terms without these primitives: as if the program said what they stand for.
#[test]
fn rules_see_what_they_stand_for() {
    with_large_stack(|| {
        let text = "(rule \"sum\" ((v : Vec Float))
          (reduce (lam (p : Tuple Float Float) (add (get$1$2 p) (get$2$2 p))) 0.0 v)
          (sum v))
(def f Float (v : Vec Float) (fold (lam (p : Tuple Float Float) (add (get$1$2 p) (get$2$2 p))) 0.0 v))
(def g Float (v : Vec Float) (reduce (lam (p : Tuple Float Float) (add (get$1$2 p) (get$2$2 p))) 0.0 v))";
        let (pipeline, names) = pipeline(text, Derivation::Jacobian);
        for name in &names {
            assert!(ks::def(&pipeline.program().defs[name], 100).contains("(sum "), "{name}");
        }
    });
}

const GROUPINGS: &str =
    "(def right Float (v : Vec Float) (reduce (lam (p : Tuple Float Float) (add (get$1$2 p) (get$2$2 p))) 0.0 v))
(def wrong Float (v : Vec Float)
  (reduce (lam (p : Tuple Float Float) (sub (get$1$2 p) (get$2$2 p))) 0.0 v))
(def no_unit Float (v : Vec Float) (reduce (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p))) 2.0 v))
(def below Float (v : Vec Float) (wrong (mul 2.0 v)))
(def largest Float (v : Vec Float)
  (reduce (lam (p : Tuple Float Float) (max (get$1$2 p) (get$2$2 p))) (div -1.0 0.0) v))
";

#[test]
fn gradcheck_finds_what_depends_on_the_grouping() {
    with_large_stack(|| {
        let (mut pipeline, names) = pipeline(GROUPINGS, Derivation::Jacobian);
        for f in &names {
            gradcheck::prepare(&mut pipeline, f).unwrap_or_else(|error| panic!("{f}: {error}"));
            let report = gradcheck::check(&pipeline, None, f, 10, 1);
            let is_wrong = ["wrong", "no_unit", "below"].contains(&&*f.base);
            assert_eq!(report.regrouped.is_some(), is_wrong, "{f}: {:?}", report.regrouped);
            assert!(report.faults().is_empty(), "{f}: a warning is no fault");
        }
    });
}

#[test]
fn what_depends_on_the_grouping_is_a_warning() {
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    lmc.args(["gradcheck", "-", "--fun", "below", "--interpret"]);
    let mut lmc = lmc.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("lmc starts");
    lmc.stdin.take().expect("a pipe").write_all(GROUPINGS.as_bytes()).expect("lmc reads");
    let output = lmc.wait_with_output().expect("lmc ends");
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{warning}");
    assert!(warning.starts_with("warning[W408]: the value of this `reduce` depends on the grouping: "), "{warning}");
    assert!(warning.contains("<stdin>:3:3"), "{warning}");
}

/// The reverse derivative of a shift of nothing is nothing.
#[test]
fn cotangents_of_nothing() {
    with_large_stack(|| {
        let (mut pipeline, _) = pipeline(PROGRAM, Derivation::Jacobian);
        let rev = FunName::base("left").derived(Derivative::Rev);
        pipeline.require(&rev).expect("it has a derivative");
        let nothing = Value::vector(vec![]);
        let s = Value::Tuple(vec![nothing.clone(), Value::Float(2.0)]);
        let value = Interpreter::new(pipeline.program()).call(&rev, &[s, nothing.clone()]);
        assert_eq!(value, Ok(Value::Tuple(vec![nothing, Value::Float(0.0)])));
    });
}
