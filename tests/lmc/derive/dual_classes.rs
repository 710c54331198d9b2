//! What gradients by dual numbers cost: exact counts of operations at two sizes, for each class of tangents; and what they
//! cost by the laws of the figure alone, and by none.

use common::cost::{self, pipeline};
use lm::strategy::VARIANTS;
use lm::tensor::Tensor;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::schedule::Strategies;
use lmc::ks::front::Choices;
use lmc::with_large_stack;

const PROGRAM: &str = "
(def total Float (v : Vec Float) (sum v))
(def dot Float ((v : Vec Float) (w : Vec Float))
  (sumbuild (size v) (lam (i : Integer) (mul (index i v) (index i w)))))
(def norm Float (v : Vec Float) (sqrt (dot v v)))
(def lse Float (v : Vec Float) (log (sum (map (lam (x : Float) (exp x)) v))))
(def shifted Float (v : Vec Float)
  (let (m (fold (lam (p : Tuple Float Float) (max (get$1$2 p) (get$2$2 p))) (index 0 v) v))
    (add m (log (sumbuild (size v) (lam (i : Integer) (exp (sub (index i v) m))))))))
(def variance Float (v : Vec Float)
  (let ((n (to_float (size v))) (mean (div (sum v) n)))
    (div (sumbuild (size v) (lam (i : Integer) (let (d (sub (index i v) mean)) (mul d d)))) n)))
(def uMv Float ((u : Vec Float) (m : Tensor 2 Float) (v : Vec Float))
  (let ((r c) (size m)) (sumbuild r (lam (i : Integer)
    (mul (index i u) (sumbuild c (lam (k : Integer) (mul (index (tuple i k) m) (index k v)))))))))
(def trace Float (m : Tensor 2 Float)
  (let ((r c) (size m)) (sumbuild r (lam (i : Integer) (index (tuple i i) m)))))
(def trace_of_product Float ((m : Tensor 2 Float) (a : Tensor 2 Float))
  (let ((r c) (size m)) (sumbuild r (lam (i : Integer) (sumbuild c (lam (k : Integer)
    (mul (index (tuple i k) m) (index (tuple k i) a))))))))
(def nnmf Float ((u : Vec Float) (v : Vec Float) (a : Tensor 2 Float))
  (sumbuild (size u) (lam (i : Integer) (sumbuild (size v) (lam (k : Integer)
    (let (w (mul (index i u) (index k v))) (add (log w) (div (index (tuple i k) a) w))))))))
(def llsq Float ((m : Tensor 2 Float) (x : Vec Float) (b : Vec Float))
  (sumbuild (size b) (lam (i : Integer)
    (let (r (sub (sumbuild (size x) (lam (k : Integer) (mul (index (tuple i k) m) (index k x)))) (index i b)))
      (mul r r)))))
(def gather Float ((v : Vec Float) (ix : Vec Integer))
  (sumbuild (size ix) (lam (i : Integer) (let (y (index (index i ix) v)) (mul y y)))))
(def two_layers Float ((w : Tensor 2 Float) (m : Tensor 2 Float) (x : Vec Float))
  (let (h (build (get$1$2 (size m)) (lam (q : Integer)
          (exp (sumbuild (size x) (lam (k : Integer) (mul (index (tuple q k) m) (index k x))))))))
    (sumbuild (get$1$2 (size w)) (lam (p : Integer)
      (let (y (sumbuild (size h) (lam (q : Integer) (mul (index (tuple p q) w) (index q h)))))
        (mul y y))))))
(def outer (Tensor 2 Float) ((u : Vec Float) (v : Vec Float))
  (build (tuple (size u) (size v)) (lam (ij : Tuple Integer Integer) (let ((i j) ij) (mul (index i u) (index j v))))))
(def nnmf_of_arrays Float ((u : Vec Float) (v : Vec Float) (a : Tensor 2 Float))
  (sum (map2 (lam (p : Tuple Float Float) (let ((x y) p) (add (log x) (div y x)))) (outer u v) a)))
(def cube Float ((x : Vec Float) (y : Vec Float) (z : Vec Float))
  (sum (build (tuple (size x) (size y) (size z)) (lam (h : Tuple Integer Integer Integer)
    (let ((i j k) h) (sin (mul (index i x) (mul (index j y) (index k z)))))))))
(def both Float (x : Vec Float)
  (sum (build (tuple (size x) (size x)) (lam (h : Tuple Integer Integer)
    (let ((i j) h) (mul (index i x) (index j x)))))))
(def mse Float ((x : Vec Float) (w : Tensor 2 Float) (y : Vec Float))
  (let (r (sub (build (size y) (lam (i : Integer)
          (sumbuild (size x) (lam (j : Integer) (mul (index (tuple i j) w) (index j x)))))) y))
    (div (ts_dot r r) (to_float (size y)))))
(def rows Float ((a : Tensor 2 Float) (x : Vec Float))
  (let ((n m) (size a))
    (sum (map (lam (row : Vec Float) (exp (ts_dot row x)))
              (build n (lam (i : Integer) (build m (lam (j : Integer) (index (tuple i j) a)))))))))
(def softmax_at Float ((x : Vec Float) (k : Integer))
  (let ((e (map exp x)) (p (ts_scale (div 1.0 (sum e)) e))) (neg (log (index k p)))))
(def pairs Float (v : Vec (Tuple Float Float))
  (sum (map (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p))) v)))
(def named Float ((a : Vec Float) (x : Vec Float))
  (let (v (map exp a)) (sumbuild (size v) (lam (k : Integer) (sin (mul (index k v) (index k x)))))))
(def relu Float (v : Vec Float) (sum (map (lam (x : Float) (if (gt x 0.0) x 0.0)) v)))
(def nested Float (a : Tensor 2 Float)
  (let ((r c) (size a))
    (sumbuild r (lam (i : Integer) (sumbuild c (lam (j : Integer) (sin (index (tuple i j) a))))))))
(def rowwise Float (a : Tensor 2 Float)
  (let ((r c) (size a))
    (sumbuild r (lam (i : Integer) (log (sumbuild c (lam (j : Integer) (exp (index (tuple i j) a)))))))))
(def twice Float (v : Vec Float) (let (u (map sin (add v v))) (sum (map sin (add u v)))))
(def steps Float (v : Vec Float)
  (sumbuild (sub (size v) 1) (lam (i : Integer) (sin (sub (index (add i 1) v) (index i v))))))
(def layer (Vec Float) (v : Vec Float) (map (lam (x : Float) (if (gt x 5.0) (mul x x) (sin x))) v))
(def layers Float (v : Vec Float) (sum (layer (layer (layer (layer v))))))
(def prod Float (v : Vec Float) (fold (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p))) 1.0 v))
(def last Float (v : Vec Float)
  (index (size v) (scanl (lam (p : Tuple Float Float) (mul (get$1$2 p) (get$2$2 p))) 1.0 v)))
(def horner Float ((a : Vec Float) (b : Vec Float))
  (fold (lam (p : Tuple Float Integer) (let ((s i) p) (add (mul (index i a) s) (index i b))))
        0.0 (build (size a) (lam (i : Integer) i))))
(def decay Float (v : Vec Float)
  (fold (lam (p : Tuple Float Float) (add (mul 0.5 (get$1$2 p)) (get$2$2 p))) (index 0 v) v))
(def largest Float (v : Vec Float)
  (fold (lam (p : Tuple Float Float) (if (gt (get$2$2 p) (get$1$2 p)) (get$2$2 p) (get$1$2 p))) (index 0 v) v))
(def start Float ((v : Vec Float) (w : Vec Float))
  (fold (lam (p : Tuple Float Float) (mul 0.5 (get$1$2 p)))
        (sumbuild (size w) (lam (i : Integer) (mul (index i v) (index i w)))) v))
(def square Float (x : Float) (mul x x))
(def softplus Float (x : Float) (log (add 1.0 (exp x))))
(def called Float (v : Vec Float) (sum (map softplus v)))
(def triples Float (v : Vec (Tuple Float Float Float))
  (sum (map (lam (p : Tuple Float Float Float) (mul (get$1$3 p) (sin (get$3$3 p)))) v)))
(def energy Float (v : Vec Float)
  (sumbuild (size v) (lam (i : Integer) (sumbuild (size v) (lam (j : Integer)
    (sin (sub (index i v) (index j v))))))))
(def repulsion Float (v : Vec Float)
  (sumbuild (size v) (lam (i : Integer) (sumbuild (size v) (lam (j : Integer)
    (if (eq i j) 0.0 (let (d (sub (index i v) (index j v))) (div 1.0 (sqrt (mul d d))))))))))
(def stretch Float ((v : Vec Float) (w : Vec Float) (from : Vec Integer) (to : Vec Integer))
  (sumbuild (size w) (lam (k : Integer)
    (mul (index k w) (square (sub (index (index k from) v) (index (index k to) v)))))))
(def regular Float ((v : Vec Float) (ix : Vec Integer))
  (add (dot v v) (sumbuild (size ix) (lam (k : Integer) (square (index (index k ix) v))))))
(def curvature Float (v : Vec Float)
  (let ((n (size v)) (d (build (sub n 1) (lam (i : Integer) (mul (index i v) (index (add i 1) v))))))
    (sumbuild (sub n 2) (lam (i : Integer) (sin (sub (index (add i 1) d) (index i d)))))))
(def dense (Vec r Float) ((m : Tensor (r c) Float) (x : Vec c Float))
  (build r (lam (i : Fin r) (exp (sumbuild c (lam (j : Fin c) (mul (index (tuple i j) m) (index j x))))))))
(def three_layers Float ((a : Tensor 2 Float) (b : Tensor 2 Float) (c : Tensor 2 Float) (x : Vec Float))
  (sum (dense c (dense b (dense a x)))))
(def normalised Float (v : Vec Float)
  (let ((e (map exp v)) (p (ts_scale (div 1.0 (sum e)) v))) (mul (sum p) (sum p))))
";

fn vector(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Float(0.5 + i as f64)).collect())
}

fn places(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Integer((i * i % n) as i64)).collect())
}

fn pairs(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Tuple(vec![Value::Float(0.5 + i as f64), Value::Float(1.5)])).collect())
}

fn triples(n: usize) -> Value {
    let triple = |i: usize| Value::Tuple([0.5 + i as f64, 1.5, 0.25].map(Value::Float).to_vec());
    Value::vector((0..n).map(triple).collect())
}

fn matrix(n: usize) -> Value {
    let numbers = (0..n * n).map(|i| Value::Float(0.25 + 0.125 * i as f64)).collect();
    Value::Tensor(Tensor::new(vec![n, n], numbers).into())
}

/// The class of a tangent: what its loop has to lose.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Class {
    /// A loop, in which one step counts.
    Own,
    /// A loop that reads what depends on no direction.
    Early,
    /// A loop over places of the argument.
    Gather,
    /// A sum of sums.
    Chain,
    /// A linear recurrence.
    Recurrence,
    /// A choice of one step.
    Choice,
}

use Class::{Chain, Choice, Early, Gather, Own, Recurrence};

/// A class, a function, the parameter that varies, its arguments of size n, and the operations of value and gradient.
type Row = (Class, &'static str, usize, fn(usize) -> Vec<Value>, fn(u64) -> u64, fn(u64) -> u64);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    (Own,        "total",            1, |n| vec![vector(n)],                       |n| n - 1,             |_| 0),
    (Own,        "dot",              1, |n| vec![vector(n), vector(n)],            |n| 2 * n - 1,         |_| 0),
    (Own,        "norm",             1, |n| vec![vector(n)],                       |n| 2 * n,             |n| 3 * n + 2),
    (Own,        "lse",              1, |n| vec![vector(n)],                       |n| 2 * n,             |n| 3 * n),
    (Own,        "uMv",              1, |n| vec![vector(n), matrix(n), vector(n)], |n| 2 * n * n + n - 1, |n| 2 * n * n - n),
    (Own,        "uMv",              2, |n| vec![vector(n), matrix(n), vector(n)], |n| 2 * n * n + n - 1, |n| n * n),
    (Own,        "uMv",              3, |n| vec![vector(n), matrix(n), vector(n)], |n| 2 * n * n + n - 1, |n| 2 * n * n),
    (Own,        "trace",            1, |n| vec![matrix(n)],                       |n| n - 1,             |_| 0),
    (Own,        "trace_of_product", 1, |n| vec![matrix(n), matrix(n)],            |n| 2 * n * n - 1,     |_| 0),
    (Own,        "nnmf",             1, |n| vec![vector(n), vector(n), matrix(n)], |n| 5 * n * n - 1,     |n| 9 * n * n),
    (Own,        "variance",         1, |n| vec![vector(n)],                       |n| 4 * n,             |n| 9 * n + 2),
    (Own,        "nnmf_of_arrays",   2, |n| vec![vector(n), vector(n), matrix(n)], |n| 5 * n * n - 1, |n| 9 * n * n),
    (Own,        "cube",             2, |n| vec![vector(n), vector(n), vector(n)], |n| 4 * n * n * n - 1, |n| 5 * n * n * n + 2 * n * n),
    (Own,        "both",             1, |n| vec![vector(n)],                       |n| 2 * n * n - 1, |n| n + 1),
    (Own,        "rows",             1, |n| vec![matrix(n), vector(n)],            |n| 2 * n * n + n - 1, |n| 3 * n * n),
    (Own,        "rows",             2, |n| vec![matrix(n), vector(n)],            |n| 2 * n * n + n - 1, |n| 4 * n * n),
    (Own,        "softmax_at",       1, |n| vec![vector(n), Value::Integer(1)],    |n| 3 * n + 2, |n| 8 * n + 4),
    (Own,        "pairs",            1, |n| vec![pairs(n)],                        |n| 2 * n - 1, |_| 0),
    (Own,        "named",            1, |n| vec![vector(n), vector(n)],            |n| 4 * n - 1, |n| 5 * n),
    (Own,        "relu",             1, |n| vec![vector(n)],                       |n| n - 1, |_| 0),
    (Own,        "nested",           1, |n| vec![matrix(n)],                       |n| 2 * n * n - 1, |n| n * n),
    (Own,        "rowwise",          1, |n| vec![matrix(n)],                       |n| 2 * n * n + n - 1, |n| 5 * n * n - n),
    (Own,        "twice",            1, |n| vec![vector(n)],                       |n| 5 * n - 1, |n| 8 * n),
    (Own,        "steps",            1, |n| vec![vector(n)],                       |n| 3 * n - 4, |n| 4 * n - 3),
    (Own,        "layers",           1, |n| vec![vector(n)],                       |n| 5 * n - 1, |n| 10 * n),
    (Early,      "mse",              1, |n| vec![vector(n), matrix(n), vector(n)], |n| 2 * n * n + 2 * n, |n| 4 * n * n + n + 2),
    (Early,      "mse",              2, |n| vec![vector(n), matrix(n), vector(n)], |n| 2 * n * n + 2 * n, |n| 4 * n * n + 2),
    (Early,      "llsq",             2, |n| vec![matrix(n), vector(n), vector(n)], |n| 2 * n * n + 2 * n - 1, |n| 5 * n * n),
    (Gather,     "gather",           1, |n| vec![vector(n), places(n)],            |n| 2 * n - 1,         |n| 2 * n),
    (Chain,      "two_layers",       1, |n| vec![matrix(n), matrix(n), vector(n)], |n| 4 * n * n + n - 1, |n| 6 * n * n - n),
    (Chain,      "two_layers",       2, |n| vec![matrix(n), matrix(n), vector(n)], |n| 4 * n * n + n - 1, |n| 9 * n * n - n),
    (Chain,      "two_layers",       3, |n| vec![matrix(n), matrix(n), vector(n)], |n| 4 * n * n + n - 1, |n| 10 * n * n - 2 * n),
    (Own,        "called",           1, |n| vec![vector(n)],                       |n| 4 * n - 1, |n| 4 * n),
    (Own,        "triples",          1, |n| vec![triples(n)],                      |n| 3 * n - 1, |n| 3 * n),
    (Own,        "energy",           1, |n| vec![vector(n)],                       |n| 3 * n * n - 1, |n| 6 * n * n + 2 * n),
    (Own,        "repulsion",        1, |n| vec![vector(n)],                       |n| 5 * n * n - 4 * n - 1, |n| 22 * n * n - 18 * n),
    (Own,        "curvature",        1, |n| vec![vector(n)],                       |n| 4 * n - 8, |n| 16 * n - 26),
    (Own,        "normalised",       1, |n| vec![vector(n)],                       |n| 5 * n - 1, |n| 11 * n),
    (Gather,     "stretch",          1, |n| vec![vector(n), vector(n), places(n), places(n)], |n| 4 * n - 1, |n| 10 * n),
    (Gather,     "regular",          1, |n| vec![vector(n), places(n)],            |n| 4 * n - 1, |n| 4 * n),
    (Chain,      "three_layers",     1, |n| vec![matrix(n), matrix(n), matrix(n), vector(n)], |n| 6 * n * n + n - 1, |n| 13 * n * n - n),
    (Chain,      "three_layers",     2, |n| vec![matrix(n), matrix(n), matrix(n), vector(n)], |n| 6 * n * n + n - 1, |n| 10 * n * n),
    (Chain,      "three_layers",     4, |n| vec![matrix(n), matrix(n), matrix(n), vector(n)], |n| 6 * n * n + n - 1, |n| 14 * n * n - 2 * n),
    (Chain,      "shifted",          1, |n| vec![vector(n)],                       |n| 3 * n + 1,         |n| 9 * n - 1),
    (Recurrence, "prod",             1, |n| vec![vector(n)],                       |n| n,                 |n| 3 * n),
    (Recurrence, "last",             1, |n| vec![vector(n)],                       |n| n,                 |n| 3 * n),
    (Recurrence, "horner",           1, |n| vec![vector(n), vector(n)],            |n| 2 * n,             |n| 4 * n),
    (Recurrence, "decay",            1, |n| vec![vector(n)],                       |n| 2 * n,             |n| 2 * n),
    (Recurrence, "start",            1, |n| vec![vector(n), vector(n)],            |n| 3 * n - 1,         |n| 2 * n),
    (Choice,     "largest",          1, |n| vec![vector(n)],                       |_| 0,                 |_| 0),
];

fn by(strategy: Option<&str>) -> Choices {
    let file = strategy.map(|name| VARIANTS.iter().find(|(variant, _)| *variant == name).expect("it comes with lmc"));
    let strategies = file.map(|(name, text)| Strategies::with(name, text).expect("it is right"));
    Choices { derivation: Derivation::Dual, strategies: strategies.unwrap_or_default(), ..Choices::default() }
}

/// The gradient of a row, and its operations, with or without steps of loops, at sizes.
fn counts((_, fun, varying, arguments, ..): &Row, choices: Choices, sizes: [usize; 2], with_steps: bool) -> [u64; 2] {
    let mut p = pipeline(PROGRAM, choices).expect("the program is right");
    let f = FunName::base(fun);
    let whole = p.program().defs[&f].params.len() == 1;
    let name = if whole { f } else { f.restricted(&[vec![*varying]]) }.derived(Derivative::Grad);
    p.require(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
    sizes.map(|n| {
        let (_, counts) = cost::call(&p, &name, &arguments(n)).unwrap_or_else(|error| panic!("{name}: {error}"));
        counts.arithmetic() + if with_steps { counts.steps } else { 0 }
    })
}

const SIZES: [usize; 2] = [5, 12];

#[test]
fn gradients_take_a_multiple_of_the_operations_of_the_value() {
    with_large_stack(|| {
        let mut wrong = Vec::new();
        for row in ROWS {
            let (class, fun, varying, arguments, value, gradient) = row;
            let found = counts(row, by(None), SIZES, false);
            let expected = SIZES.map(|n| gradient(n as u64));
            let p = pipeline(PROGRAM, by(None)).expect("the program is right");
            let of_value = SIZES
                .map(|n| cost::call(&p, &FunName::base(fun), &arguments(n)).expect("it has a value").1.arithmetic());
            if found != expected || of_value != SIZES.map(|n| value(n as u64)) {
                wrong.push(format!(
                    "{class:?} {fun} by {varying}: value {of_value:?}, gradient {found:?}, not {expected:?}"
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

/// The work at the larger size for that at the smaller one, relative to how the formula of the value and its result grow.
fn growth(row: &Row, strategy: &str) -> f64 {
    let sizes = [16, 32];
    let [small, large] = counts(row, by(Some(strategy)), sizes, true);
    // The value of n numbers takes n steps, that of a matrix n².
    let entries = (row.3)(2).iter().any(|argument| matches!(argument, Value::Tensor(t) if t.size().len() == 2));
    large as f64 / small as f64 / if entries { 4.0 } else { 2.0 }
}

/// So that the test above can fail: as they are made, gradients have a loop for each direction.
#[test]
fn without_laws_each_direction_has_a_loop() {
    with_large_stack(|| {
        let some = ["dot", "nnmf", "llsq", "gather", "shifted", "prod"];
        for row in ROWS.iter().filter(|row| some.contains(&row.1)) {
            let growth = growth(row, "none");
            assert!(growth >= 1.8, "{}: {growth}", row.1);
        }
    });
}

/// The laws of the figure reach the first class, and neither recurrences nor choices: the tangent reads the value.
#[test]
fn the_laws_of_the_figure_leave_recurrences_and_choices() {
    with_large_stack(|| {
        for row in ROWS.iter().filter(|row| matches!(row.0, Recurrence | Choice) && row.1 != "start") {
            let growth = growth(row, "paper");
            assert!(growth >= 1.8, "{}: {growth}", row.1);
        }
        for row in ROWS.iter().filter(|row| ["total", "dot", "norm", "lse", "nnmf"].contains(&row.1)) {
            let growth = growth(row, "paper");
            assert!(growth <= 1.05, "{}: {growth}", row.1);
        }
    });
}
