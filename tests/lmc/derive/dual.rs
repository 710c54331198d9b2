//! Gradients by dual numbers: the forms that are left, and their costs as polynomials, which the interpreter's counts
//! do not exceed.

use common::cost;
use lm::interp::{Counts, Interpreter};
use lm::notation::infix;
use lm::tensor::Tensor;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::cost::{Comparison, Cost};
use lmc::derive::pipeline::Stage;
use lmc::with_large_stack;
use std::io::Write;
use std::process::{Command, Stdio};

const PROGRAM: &str = "
(def vsum Float (v : Vec Float) (sum v))
(def dot Float ((v : Vec Float) (w : Vec Float))
  (sumbuild (size v) (lam (i : Integer) (mul (index i v) (index i w)))))
(def norm Float (v : Vec Float) (sqrt (dot v v)))
(def vadd (Vec Float) ((v : Vec Float) (w : Vec Float)) (add v w))
(def smul (Vec Float) ((v : Vec Float) (s : Float)) (map (lam (x : Float) (mul x s)) v))
(def lse Float (x : Vec Float) (log (sum (map (lam (y : Float) (exp y)) x))))
(def uMv Float ((u : Vec Float) (m : Tensor 2 Float) (v : Vec Float))
  (sumbuild (size u) (lam (i : Integer)
    (mul (index i u) (sumbuild (size v) (lam (k : Integer) (mul (index (tuple i k) m) (index k v))))))))
(def tr Float (m : Tensor 2 Float)
  (sumbuild (get$1$2 (size m)) (lam (i : Integer) (index (tuple i i) m))))
(def trma Float ((m : Tensor 2 Float) (a : Tensor 2 Float))
  (sumbuild (get$1$2 (size m)) (lam (i : Integer)
    (sumbuild (get$2$2 (size m)) (lam (k : Integer) (mul (index (tuple i k) m) (index (tuple k i) a)))))))
(def llsq Float ((m : Tensor 2 Float) (x : Vec Float) (b : Vec Float))
  (sumbuild (size b) (lam (i : Integer)
    (let (r (sub (sumbuild (size x) (lam (k : Integer) (mul (index (tuple i k) m) (index k x)))) (index i b)))
      (mul r r)))))
(def strided Float ((v : Vec Float) (w : Vec Float))
  (sumbuild (size w) (lam (i : Integer) (mul (index i w) (index (div (mul i i) (size w)) v)))))
(def steps Float ((x : Vec Float) (n : Integer))
  (sum (fold (lam (p : Tuple (Vec Float) Integer) (map (lam (y : Float) (sin (mul y (index 0 (get$1$2 p))))) (get$1$2 p)))
             x (build n (lam (i : Integer) i)))))
";

/// The argument of a function, for sizes n.
enum Argument {
    Vector,
    Matrix,
    Number,
}

use Argument::{Matrix, Number, Vector};

impl Argument {
    fn of_size(&self, n: usize) -> Value {
        let numbers = |many: usize| (0..many).map(|i| Value::Float(0.5 + 0.25 * i as f64)).collect::<Vec<_>>();
        match self {
            Vector => Value::vector(numbers(n)),
            Matrix => Value::Tensor(Tensor::new(vec![n, n], numbers(n * n)).into()),
            Number => Value::Float(1.5),
        }
    }
}

/// A function, the parameter that varies, its arguments, and the operations of the value and of its gradient.
type Row = (&'static str, usize, &'static [Argument], &'static str, &'static str);

#[rustfmt::skip]
const COSTS: &[Row] = &[
    ("vsum",  1, &[Vector],                 "size(v)",                           "0"),
    ("dot",   1, &[Vector, Vector],         "2 size(v)",                         "0"),
    ("dot",   2, &[Vector, Vector],         "2 size(v)",                         "0"),
    ("norm",  1, &[Vector],                 "2 size(v) + 1",                     "3 size(v) + 3"),
    ("vadd",  1, &[Vector, Vector],         "size(v)",                           "0"),
    ("smul",  2, &[Vector, Number],         "size(v)",                           "0"),
    ("lse",   1, &[Vector],                 "2 size(x) + 1",                     "3 size(x) + 1"),
    ("uMv",   2, &[Vector, Matrix, Vector], "2 size(u) size(v) + 2 size(u)",     "size(m).1 size(m).2"),
    ("uMv",   1, &[Vector, Matrix, Vector], "2 size(u) size(v) + 2 size(u)",     "2 size(u) size(v)"),
    ("tr",    1, &[Matrix],                 "size(m).1",                         "0"),
    ("trma",  1, &[Matrix, Matrix],         "2 size(m).1 size(m).2 + size(m).1", "0"),
    ("strided", 1, &[Vector, Vector],       "2 size(w)",                         "size(w)"),
    ("llsq",  2, &[Matrix, Vector, Vector], "2 size(b) size(x) + 3 size(b)",     "5 size(b) size(x) + size(x)"),
];

/// The stages of a function with respect to one parameter.
fn stages(fun: &str, varying: usize) -> (Vec<Stage>, lm::term::Program) {
    let mut p = cost::pipeline(PROGRAM, Derivation::Dual).expect("the program is right");
    let f = FunName::base(fun);
    let name = f.restricted(&[vec![varying]]);
    let stages = p.stages(&name, false).unwrap_or_else(|error| panic!("{name}: {error}"));
    let derived = stages.last().expect("there are stages").def.fun.name.clone();
    p.require(&derived).unwrap_or_else(|error| panic!("{derived}: {error}"));
    p.require(&f).unwrap_or_else(|error| panic!("{f}: {error}"));
    (stages, p.into_program())
}

fn comparison(stages: &[Stage]) -> &Comparison {
    stages.iter().find_map(|stage| stage.cost.as_ref()).expect("a stage has the cost")
}

fn is_limit(cost: &Cost, counts: &Counts, n: usize) -> bool {
    let at = |polynomial: &lmc::derive::cost::Polynomial| polynomial.at(n as i64) as u64;
    counts.arithmetic() <= at(&cost.flop) && counts.moves <= at(&cost.moves) && counts.steps <= at(&cost.steps)
}

#[test]
fn costs_are_polynomials_that_counts_do_not_exceed() {
    with_large_stack(|| {
        let mut wrong = Vec::new();
        for (fun, varying, arguments, value, derivative) in COSTS {
            let (stages, program) = stages(fun, *varying);
            let cost = comparison(&stages);
            let shown = [cost.value.flop.to_string(), cost.derivative.flop.to_string()];
            if shown != [*value, *derivative] || !cost.late_loops().is_empty() {
                wrong.push(format!("{fun} by {varying}: {cost}"));
            }
            let derived = &stages.last().expect("there are stages").def.fun.name;
            for (name, cost) in [(&FunName::base(fun), &cost.value), (derived, &cost.derivative)] {
                for n in [3, 8] {
                    let arguments: Vec<Value> = arguments.iter().map(|a| a.of_size(n)).collect();
                    let mut interpreter = Interpreter::new(&program);
                    interpreter.call(name, &arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
                    if !is_limit(cost, &interpreter.counts, n) {
                        wrong.push(format!("{name} at {n}: {:?} exceeds {cost:?}", interpreter.counts));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[rustfmt::skip]
const FORMS: &[(&str, usize, &str)] = &[
    ("vsum", 1, "build(size(v), \\i. 1.0)"),
    ("dot",  1, "build(size(v), \\i. w[i])"),
    ("smul", 2, "v"),
    ("tr",   1, "build(size(m), \\i. if i.1 == i.2 then 1.0 else 0.0)"),
    ("trma", 1, "build(size(m), \\i. a[i.2, i.1])"),
];

#[test]
fn gradients_have_their_closed_forms() {
    with_large_stack(|| {
        for (fun, varying, expected) in FORMS {
            let (stages, program) = stages(fun, *varying);
            let derived = &stages.last().expect("there are stages").def.fun.name;
            let text = infix::definition(&program.defs[derived], infix::Format::Plain, 200);
            let (_, body) = text.split_once('=').expect("a definition");
            assert_eq!(body.trim(), *expected, "{derived}");
        }
    });
}

/// A state that is a vector: no law removes its loop.
#[test]
fn a_loop_that_depends_on_the_direction_is_a_warning() {
    with_large_stack(|| {
        let (stages, _) = stages("steps", 1);
        assert!(!comparison(&stages).late_loops().is_empty(), "{}", comparison(&stages));
    });
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    lmc.args(["demo", "-", "--fun", "steps", "--derivation", "dual", "--wrt", "x", "--stage", "cost"]);
    let mut lmc = lmc.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("lmc starts");
    lmc.stdin.take().expect("a pipe").write_all(PROGRAM.as_bytes()).expect("lmc reads");
    let output = lmc.wait_with_output().expect("lmc ends");
    let [text, warning] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(0), "{warning}");
    assert!(warning.starts_with("warning[W407]: `dual` leaves a loop that depends on the direction"), "{warning}");
    assert!(text.contains("\nCost\n") && text.contains("loops that depend on the direction"), "{text}");
}

/// A function of linear maps has no dual numbers; one that only computes with maps has.
#[test]
fn what_has_no_dual_is_refused_by_name() {
    let text = "(def slope (LM Float Float) (x : Float) (lmScale 1.0 x))
        (def f Float (x : Float) (lmApply (slope x) x))";
    let mut p = cost::pipeline(text, Derivation::Dual).expect("the program is right");
    let name = FunName::base("slope").derived(Derivative::Dual);
    let error = p.require(&name).expect_err("maps have no dual numbers");
    assert_eq!((error.code(), error.function()), ("E301", Some(&FunName::base("slope"))), "{error}");
    p.require(&FunName::base("f").derived(Derivative::Dual)).expect("f is between numbers");
}
