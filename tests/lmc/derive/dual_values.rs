//! Gradients by dual numbers at arguments that random points seldom have: they are those of reverse mode.

use common::cost;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::with_large_stack;

const PROGRAM: &str = "
; Integers have no product with a Float.
(def doubled Float (v : Vec Float)
  (sumbuild (size v) (lam (i : Integer) (mul (index i v) (to_float (add i i))))))
(def bounded Float (v : Vec Float)
  (sumbuild (size v) (lam (i : Integer) (mul (index i v) (if (lt (add (add i i) 1) (size v)) 3.0 4.0)))))
(def counted Float (v : Vec Float)
  (sumbuild (size v) (lam (i : Integer)
    (mul (index i v) (to_float (fold (lam (p : Tuple Integer Integer) (add (get$1$2 p) (get$1$2 p))) 1
                                     (build i (lam (j : Integer) j))))))))
; Rows of several sizes.
(def ragged Float (v : Vec Float)
  (let (rows (build (size v) (lam (i : Integer) (build (add i 1) (lam (j : Integer) (mul (index j v) (index i v)))))))
    (first rows)))
(def first Float (rows : Vec (Vec Float))
  (let (r (index 0 rows)) (sumbuild (size r) (lam (j : Integer) (mul (index j r) (sin (index j r)))))))
; What may fail leaves the loop over directions, which has no step, with its condition.
(def scaled Float (v : Vec Float)
  (let (m (build (tuple 0 2) (lam (p : Tuple Integer Integer) 1.0)))
    (of_matrix v 0.5 m)))
(def of_matrix Float ((v : Vec Float) (a : Float) (m : Tensor 2 Float))
  (fold (lam (sx : Tuple Float Float)
          (let ((s x) sx)
            (mul s (add a (sumbuild (get$1$2 (size m)) (lam (q : Integer) (mul x (index (tuple q q) m))))))))
        a v))
; A branch that limits the index: the loop in it is one for all directions.
(def limited Float ((v : Vec Float) (n : Integer))
  (sumbuild (size v) (lam (i : Integer)
    (if (lt i n) (mul (index i v) (sumbuild (size v) (lam (j : Integer) (div 1.0 (to_float (sub n j)))))) 0.0))))
; The other branch is no number.
(def apart Float (v : Vec Float)
  (sumbuild (size v) (lam (i : Integer) (sumbuild (size v) (lam (j : Integer)
    (if (eq i j) 0.0 (div 1.0 (sub (index i v) (index j v)))))))))
";

fn vector(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Float(0.5 + (i * i) as f64)).collect())
}

fn rows(n: usize) -> Value {
    Value::vector((0..n).map(|i| vector(n - i)).collect())
}

fn matrix(rows: usize, columns: usize) -> Value {
    let numbers = (0..rows * columns).map(|i| Value::Float(1.0 + i as f64)).collect();
    Value::Tensor(lm::tensor::Tensor::new(vec![rows, columns], numbers).into())
}

/// A function, and an argument for each size.
type Row = (&'static str, fn(usize) -> Value);

const ROWS: &[Row] = &[
    ("doubled", vector),
    ("bounded", vector),
    ("counted", vector),
    ("ragged", vector),
    ("first", rows),
    ("scaled", vector),
    ("of_matrix", |n| Value::Tuple(vec![vector(n), Value::Float(0.5), matrix(0, 2)])),
    ("of_matrix", |n| Value::Tuple(vec![vector(n), Value::Float(0.5), matrix(n, n + 1)])),
    ("limited", |n| Value::Tuple(vec![vector(n), Value::Integer(0)])),
    ("limited", |n| Value::Tuple(vec![vector(n), Value::Integer(9)])),
    ("apart", vector),
];

#[test]
fn gradients_are_those_of_reverse_mode() {
    with_large_stack(|| {
        let mut wrong = Vec::new();
        for (fun, argument) in ROWS {
            let name = FunName::base(fun);
            let by = |derivation: Derivation, n: usize| {
                let mut p = cost::pipeline(PROGRAM, derivation).expect("the program is right");
                let [rev, fwd] = [Derivative::Rev, Derivative::JacFwd].map(|d| name.derived(d));
                p.require(&rev).unwrap_or_else(|error| panic!("{rev}: {error}"));
                p.require(&fwd).unwrap_or_else(|error| panic!("{fwd}: {error}"));
                let point = argument(n);
                let parts = match &point {
                    Value::Tuple(parts) => parts.clone(),
                    one => vec![one.clone()],
                };
                let value = cost::call(&p, &name, &parts).ok()?;
                let reverse = cost::call(&p, &rev, &[point, Value::Float(1.0)]).map(|(v, _)| v.floats());
                let columns = cost::call(&p, &fwd, &parts).map(|(v, _)| v.floats());
                Some((value.0, reverse, columns))
            };
            for n in [0, 1, 2, 5] {
                let Some((_, Ok(expected), _)) = by(Derivation::Jacobian, n) else { continue };
                let near = |found: &[f64]| {
                    let is_near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-12 * (1.0 + y.abs());
                    found.len() == expected.len() && found.iter().zip(&expected).all(is_near)
                };
                let found = by(Derivation::Dual, n).expect("the value does not depend on the derivation");
                let columns = by(Derivation::Jacobian, n).expect("the value is there").2;
                for (how, found) in [("dual", found.1), ("jacfwd by dual", found.2), ("jacfwd", columns)] {
                    if !found.as_ref().is_ok_and(|found| near(found)) {
                        wrong.push(format!("{fun} at {n} by {how}: {found:?}, not {expected:?}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
