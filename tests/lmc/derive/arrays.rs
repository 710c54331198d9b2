//! The laws of arrays on derivatives along each direction: exact costs at two sizes, and the forms that are left.

use common::cost;
use lm::effect::Effects;
use lm::interp::Interpreter;
use lm::notation::infix;
use lm::rewriter::Rewriter;
use lm::rewrites::Rewrites;
use lm::strategy::Strategy;
use lm::term::{Derivative, FunName, Path};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::passes::arrays::arrays;
use lmc::derive::schedule::{Strategies, strategy};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;

const PROGRAM: &str = "
(def dot Float ((v : Vec Float) (w : Vec Float))
  (sumbuild (size v) (lam (i : Integer) (mul (index i v) (index i w)))))
(def dott Float ((v : Vec Float) (w : Vec Float)) (ts_dot v w))
(def dot2 Float ((v : Vec Float) (w : Vec Float))
  (sum (map2 (lam (t : Tuple Float Float) (mul (get$1$2 t) (get$2$2 t))) v w)))
(def total Float (v : Vec Float) (sum v))
(def norm Float (v : Vec Float) (sqrt (ts_dot v v)))
(def lse Float (v : Vec Float) (log (sum (map (lam (x : Float) (exp x)) v))))
(def uMv Float ((u : Vec Float) (m : Tensor 2 Float) (v : Vec Float))
  (sum (build (size u) (lam (i : Integer)
    (mul (index i u) (sum (build (size v) (lam (j : Integer) (mul (index (tuple i j) m) (index j v))))))))))
(def trace Float (m : Tensor 2 Float)
  (let ((n k) (size m)) (sumbuild n (lam (i : Integer) (index (tuple i i) m)))))
(def trace_of_product Float ((m : Tensor 2 Float) (a : Tensor 2 Float))
  (let ((n k) (size m))
    (sumbuild n (lam (i : Integer) (sumbuild k (lam (j : Integer) (mul (index (tuple i j) m) (index (tuple j i) a))))))))
(def quadratic Float ((m : Tensor 2 Float) (v : Vec Float))
  (sumbuild (size v) (lam (i : Integer) (sumbuild (size v) (lam (j : Integer)
    (mul (mul (index i v) (index (tuple i j) m)) (index j v)))))))
(def softmax (Vec Float) (v : Vec Float)
  (let ((e (map (lam (x : Float) (exp x)) v)) (s (sum e))) (map (lam (x : Float) (div x s)) e)))
(def prod Float (v : Vec Float)
  (fold (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p))) 1.0 v))
(def alternate Float (v : Vec Float)
  (fold (lam (p : Tuple Float Float) (sub (get$2$2 p) (get$1$2 p))) 0.0 v))
(def negate Float (v : Vec Float)
  (fold (lam (p : Tuple Float Float) (neg (add (get$1$2 p) (get$2$2 p)))) 0.0 v))
(def flip Float (v : Vec Float) (fold (lam (p : Tuple Float Float) (neg (get$1$2 p))) (index 0 v) v))
(def largest Float (v : Vec Float)
  (fold (lam (p : Tuple Float Float) (if (gt (get$2$2 p) (get$1$2 p)) (get$2$2 p) (get$1$2 p))) (index 0 v) v))
(def horner Float ((a : Vec Float) (b : Vec Float))
  (fold (lam (p : Tuple Float Integer) (let ((s i) p) (add (mul (index i a) s) (index i b))))
        0.0 (build (size a) (lam (i : Integer) i))))
(def relu Float ((a : Vec Float) (b : Vec Float))
  (fold (lam (p : Tuple Float Integer)
          (let (((s i) p) (t (add (mul (index i a) s) (index i b)))) (if (gt t 0.0) t 0.0)))
        0.0 (build (size a) (lam (i : Integer) i))))
(def smooth Float ((v : Vec Float) (x : Float))
  (fold (lam (p : Tuple Float Float) (let ((s y) p) (add (mul x s) (mul (sub 1.0 x) (sin y))))) 0.0 v))
(def gather Float ((v : Vec Float) (ix : Vec Integer))
  (sumbuild (size ix) (lam (i : Integer) (let (y (index (index i ix) v)) (mul y y)))))
(def nnmf Float ((u : Vec Float) (v : Vec Float) (a : Tensor 2 Float))
  (sumbuild (size u) (lam (i : Integer) (sumbuild (size v) (lam (k : Integer)
    (let (w (mul (index i u) (index k v))) (add (log w) (div (index (tuple i k) a) w))))))))
(def two_layers Float ((w : Tensor 2 Float) (m : Tensor 2 Float) (x : Vec Float))
  (let (h (build (get$1$2 (size m)) (lam (q : Integer)
          (exp (sumbuild (size x) (lam (k : Integer) (mul (index (tuple q k) m) (index k x))))))))
    (sumbuild (get$1$2 (size w)) (lam (p : Integer)
      (let (y (sumbuild (size h) (lam (q : Integer) (mul (index (tuple p q) w) (index q h)))))
        (mul y y))))))
(def times (Vec Float) ((m : Tensor 2 Float) (v : Vec Float))
  (build (size v) (lam (i : Integer) (sumbuild (size v) (lam (j : Integer) (mul (index (tuple i j) m) (index j v)))))))
";

fn vector(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Float(0.5 + i as f64)).collect())
}

/// Places in a vector of n numbers, some of them several times.
fn places(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Integer((i * i % n) as i64)).collect())
}

fn matrix(n: usize) -> Value {
    let numbers = (0..n * n).map(|i| Value::Float(0.25 * i as f64)).collect();
    Value::Tensor(lm::tensor::Tensor::new(vec![n, n], numbers).into())
}

/// Arithmetic of a derivative, for arguments of size n.
fn arithmetic(name: &FunName, arguments: &dyn Fn(usize) -> Vec<Value>, n: usize) -> u64 {
    let mut p = cost::pipeline(PROGRAM, Derivation::default()).expect("the program is right");
    p.require(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut interpreter = Interpreter::new(p.program());
    interpreter.call(name, &arguments(n)).unwrap_or_else(|error| panic!("{name}: {error}"));
    interpreter.counts.arithmetic()
}

/// A function, the parameters that vary, its arguments of size n, and the arithmetic of all its columns. Those of
/// `times` are read from m; the value is computed for its size. `docs/arrays.md` has these numbers.
type Row = (&'static str, &'static [usize], fn(usize) -> Vec<Value>, fn(u64) -> u64);

/// A function, and its arithmetic for arguments of size n.
type OfValue = (&'static str, fn(u64) -> u64);

#[rustfmt::skip]
const VALUES: &[OfValue] = &[
    ("dot", |n| 2 * n - 1), ("lse", |n| 2 * n), ("norm", |n| 2 * n), ("uMv", |n| 2 * n * n + n - 1), ("trace", |n| n - 1),
    ("trace_of_product", |n| 2 * n * n - 1), ("quadratic", |n| 3 * n * n - 1), ("softmax", |n| 3 * n - 1),
    ("prod", |n| n), ("alternate", |n| n), ("negate", |n| 2 * n), ("flip", |n| n),
    ("largest", |_| 0), ("horner", |n| 2 * n), ("smooth", |n| 5 * n), ("relu", |n| 2 * n), ("gather", |n| 2 * n - 1),
    ("nnmf", |n| 5 * n * n - 1), ("two_layers", |n| 4 * n * n + n - 1),
];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("dot",              &[1], |n| vec![vector(n), vector(n)],            |_| 0),
    ("dot2",             &[1], |n| vec![vector(n), vector(n)],            |_| 0),
    ("dott",             &[1], |n| vec![vector(n), vector(n)],            |_| 0),
    ("dott",             &[2], |n| vec![vector(n), vector(n)],            |_| 0),
    ("total",            &[1], |n| vec![vector(n)],                       |_| 0),
    ("norm",             &[1], |n| vec![vector(n)],                       |n| 4 * n + 1),
    ("lse",              &[1], |n| vec![vector(n)],                       |n| 3 * n),
    ("uMv",              &[1], |n| vec![vector(n), matrix(n), vector(n)], |n| 2 * n * n),
    ("uMv",              &[2], |n| vec![vector(n), matrix(n), vector(n)], |n| n * n),
    ("uMv",              &[3], |n| vec![vector(n), matrix(n), vector(n)], |n| 2 * n * n),
    ("trace",            &[1], |n| vec![matrix(n)],                       |_| 0),
    ("trace_of_product", &[1], |n| vec![matrix(n), matrix(n)],            |_| 0),
    ("quadratic",        &[2], |n| vec![matrix(n), vector(n)],            |n| 4 * n * n + n),
    ("softmax",          &[1], |n| vec![vector(n)],                       |n| 5 * n * n + 4 * n - 1),
    ("times",            &[2], |n| vec![matrix(n), vector(n)],            |_| 0),
    ("prod",             &[1], |n| vec![vector(n)],                       |n| 3 * n),
    ("alternate",        &[1], |n| vec![vector(n)],                       |n| n),
    ("negate",           &[1], |n| vec![vector(n)],                       |n| 2 * n),
    ("flip",             &[1], |n| vec![vector(n)],                       |n| n),
    ("largest",          &[1], |n| vec![vector(n)],                       |_| 0),
    ("horner",           &[1], |n| vec![vector(n), vector(n)],            |n| 4 * n),
    ("horner",           &[2], |n| vec![vector(n), vector(n)],            |n| n),
    ("relu",             &[1], |n| vec![vector(n), vector(n)],            |n| 8 * n),
    ("smooth",           &[1], |n| vec![vector(n), Value::Float(0.5)],    |n| 5 * n),
    ("gather",           &[1], |n| vec![vector(n), places(n)],            |n| 2 * n),
    ("nnmf",             &[1], |n| vec![vector(n), vector(n), matrix(n)], |n| 8 * n * n),
    ("two_layers",       &[3], |n| vec![matrix(n), matrix(n), vector(n)], |n| 10 * n * n - 2 * n),
];

#[test]
fn columns_have_no_loop_over_the_zeros_of_a_direction() {
    with_large_stack(|| {
        let mut wrong = Vec::new();
        for (fun, varying, arguments, expected) in ROWS {
            let paths: Vec<Path> = varying.iter().map(|i| vec![*i]).collect();
            let whole = arguments(2).len() == varying.len();
            let f = FunName::base(fun);
            let name = if whole { f } else { f.restricted(&paths) }.derived(Derivative::JacFwd);
            for n in [5, 20] {
                let (found, expected) = (arithmetic(&name, arguments, n), expected(n as u64));
                if found != expected {
                    wrong.push(format!("{name} at {n}: {found} operations, not {expected}"));
                }
            }
        }
        for (fun, expected) in VALUES {
            let (_, _, arguments, _) = ROWS.iter().find(|(name, ..)| name == fun).expect("a row");
            let found = arithmetic(&FunName::base(fun), arguments, 20);
            if found != expected(20) {
                wrong.push(format!("{fun}: {found} operations, not {}", expected(20)));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[rustfmt::skip]
const FORMS: &[(&str, &[usize], &str)] = &[
    ("dot",              &[1], "build(size(v), \\i. w[i])"),
    ("dott",             &[1], "build(size(v), \\i. w[i])"),
    ("dott",             &[2], "build(size(w), \\i. v[i])"),
    ("total",            &[1], "build(size(v), \\i. 1.0)"),
    ("trace",            &[1], "build(size(m), \\i. if i.1 == i.2 then 1.0 else 0.0)"),
    ("trace_of_product", &[1], "build(size(m), \\i. a[i.2, i.1])"),
];

#[test]
fn gradients_by_columns_have_their_closed_forms() {
    with_large_stack(|| {
        for (fun, varying, expected) in FORMS {
            let mut p = cost::pipeline(PROGRAM, Derivation::default()).expect("the program is right");
            let f = FunName::base(fun);
            let params = p.program().defs[&f].params.len();
            let paths: Vec<Path> = varying.iter().map(|i| vec![*i]).collect();
            let name = if params == paths.len() { f } else { f.restricted(&paths) }.derived(Derivative::JacFwd);
            p.require(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
            let text = infix::definition(&p.program().defs[&name], infix::Format::Plain, 200);
            let (_, body) = text.split_once('=').expect("a definition");
            assert_eq!(body.trim(), *expected, "{name}");
        }
    });
}

/// A definition, and its arguments of size n.
type Before = (&'static str, fn(usize) -> Vec<Value>);

/// Derivatives along each direction as they are before the laws of arrays, and their arguments of size n.
#[rustfmt::skip]
const BEFORE: &[Before] = &[
    ("(def f (Vec Float) (v : Vec Float)
        (let (s (scanl (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p))) 1.0 v))
          (build (size v) (lam (j : Integer)
            (get$1$2 ($loop (size v)
              (lam (p : Tuple Integer Float) (let ((i ds) p)
                (tuple (add (mul (index i v) ds) (mul (index i s) (index i ($delta_at v j 1.0)))) (tuple))))
              0.0 ($dummy (Tuple))))))))", |n| vec![vector(n)]),
    ("(def f (Vec Float) ((v : Vec Float) (ix : Vec Integer))
        (build (size v) (lam (j : Integer)
          (sumbuild 1.0 (size ix) (lam (i : Integer) (mul 2.0 (index (index i ix) ($delta_at v j 1.0))))))))",
     |n| vec![vector(n), places(n)]),
    ("(def f (Vec Float) ((m : Tensor 2 Float) (v : Vec Float))
        (build (size v) (lam (j : Integer)
          (sumbuild 1.0 (size v) (lam (p : Integer) (mul (index p v)
            (sumbuild 1.0 (size v) (lam (q : Integer) (mul (index (tuple p q) m) (index (tuple q j) m))))))))))",
     |n| vec![matrix(n), vector(n)]),
];

/// Arithmetic and reads, after the laws of a strategy.
fn work_after(text: &str, laws: &Strategy, arguments: &dyn Fn(usize) -> Vec<Value>, n: usize) -> f64 {
    let checked = front::load_stage(&Source::new("stage.ks", text)).unwrap_or_else(|e| panic!("{e:?}"));
    let (name, def) = checked.program.defs.last().expect("a definition");
    let (mut supply, mut rewrites) = (checked.program.supply.clone(), Rewrites::all());
    let cx = &mut Rewriter::new(&mut supply, &mut rewrites, 10_000);
    let def = arrays(def, None, laws, &Effects::default(), cx).expect("the laws end");
    let mut program = checked.program.clone();
    program.defs.insert(name.clone(), def);
    let mut interpreter = Interpreter::new(&program);
    interpreter.call(name, &arguments(n)).unwrap_or_else(|error| panic!("{error}"));
    (interpreter.counts.arithmetic() + interpreter.counts.accesses) as f64
}

#[test]
fn without_the_laws_of_loops_each_direction_has_a_loop() {
    with_large_stack(|| {
        let text = "strategy directions \"no laws of loops\" =\n    laws(arrays, vectors)\n";
        let of_figure = Strategies::with("figure.strategy", text).expect("the text is right");
        let of_figure = of_figure.strategy("directions");
        for (k, (text, arguments)) in BEFORE.iter().enumerate() {
            let growth = |laws: &Strategy| {
                let work = |n| work_after(text, laws, arguments, n);
                work(64) / work(32)
            };
            // The value of the third takes time in the square of n.
            let value = if k == 2 { 4.0 } else { 2.0 };
            let (with, without) = (growth(strategy("directions")), growth(of_figure));
            assert!(with <= 1.05 * value, "{text}\ngrows by {with}");
            assert!(without >= 1.8 * value, "{text}\ngrows by {without} without the laws of loops");
        }
    });
}

#[test]
fn rows_of_softmax_have_no_sum_over_the_zeros_of_a_direction() {
    with_large_stack(|| {
        let name = FunName::base("softmax").derived(Derivative::JacRev);
        for n in [5, 20] {
            let (found, size) = (arithmetic(&name, &|n| vec![vector(n)], n), n as u64);
            assert_eq!(found, 2 * size * size + 6 * size - 1, "at {n}");
        }
    });
}

fn numbers(v: &Value, out: &mut Vec<f64>) {
    match v {
        Value::Float(x) => out.push(*x),
        Value::Tuple(parts) => parts.iter().for_each(|part| numbers(part, out)),
        Value::Tensor(t) => t.elements().iter().for_each(|element| numbers(element, out)),
        other => panic!("{other:?} is no gradient"),
    }
}

/// Sizes 0 and 1 have loops of no step and of one.
#[test]
fn gradients_by_columns_are_those_of_reverse_mode() {
    with_large_stack(|| {
        let mut compared = 0;
        let of_floats = ROWS.iter().filter(|(fun, ..)| !["softmax", "times"].contains(fun));
        for (fun, varying, arguments, _) in of_floats {
            let paths: Vec<Path> = varying.iter().map(|i| vec![*i]).collect();
            let whole = arguments(2).len() == varying.len();
            let f = FunName::base(fun);
            let of = if whole { f.clone() } else { f.restricted(&paths) };
            let [columns, reverse] = [Derivative::JacFwd, Derivative::Rev].map(|d| of.derived(d));
            let mut p = cost::pipeline(PROGRAM, Derivation::default()).expect("the program is right");
            for name in [&columns, &reverse] {
                p.require(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            for n in [0, 1, 2, 7] {
                let args = arguments(n);
                if cost::call(&p, &f, &args).is_err() {
                    continue;
                }
                let point = if let [one] = args.as_slice() { one.clone() } else { Value::Tuple(args.clone()) };
                let [mut found, mut expected] = [Vec::new(), Vec::new()];
                numbers(&cost::call(&p, &columns, &args).expect("the value has one").0, &mut found);
                let by_reverse = cost::call(&p, &reverse, &[point, Value::Float(1.0)]).expect("the value has one");
                numbers(&by_reverse.0, &mut expected);
                let is_near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-12 * (1.0 + y.abs());
                assert_eq!(found.len(), expected.len(), "{columns} at {n}");
                assert!(found.iter().zip(&expected).all(is_near), "{columns} at {n}: {found:?}, not {expected:?}");
                compared += found.len();
            }
        }
        assert!(compared > 300, "{compared} numbers");
    });
}
