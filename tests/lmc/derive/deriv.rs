//! Derivatives of terms, `(deriv e x)`, and of functions of the library: exact costs at two sizes.

use common::cost;
use lm::interp::Interpreter;
use lm::tensor::Tensor;
use lm::term::FunName;
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::with_large_stack;

const PROGRAM: &str = "
(def dot Float ((v : Vec Float) (w : Vec Float)) (vectorDot v w))
(def norm Float (v : Vec Float) (vectorNorm v))
(def uMv Float ((u : Vec Float) (m : Tensor 2 Float) (v : Vec Float))
  (index (tuple 0 0) (matrixMult (vectorToMatrix u) (matrixMult m (matrixTranspose (vectorToMatrix v))))))
(def trace Float (m : Tensor 2 Float) (matrixTrace m))
(def trace_of_product Float ((m : Tensor 2 Float) (a : Tensor 2 Float)) (matrixTrace (matrixMul m a)))

(def dot_by_v (Vec Float) ((v : Vec Float) (w : Vec Float)) (vectorMap (deriv (vectorDot v w) v) snd))
(def dot_by_w (Vec Float) ((v : Vec Float) (w : Vec Float)) (vectorMap (deriv (vectorDot v w) w) snd))
(def norm_by_v (Vec Float) (v : Vec Float) (vectorMap (grad vectorNorm v) snd))
(def uMv_by_m (Tensor 2 Float) ((u : Vec Float) (m : Tensor 2 Float) (v : Vec Float))
  (matrixMap (deriv (uMv u m v) m) snd))
(def uMv_by_u (Vec Float) ((u : Vec Float) (m : Tensor 2 Float) (v : Vec Float))
  (vectorMap (deriv (uMv u m v) u) snd))
(def trace_by_m (Tensor 2 Float) (m : Tensor 2 Float) (matrixMap (deriv (matrixTrace m) m) snd))
(def trace_of_product_by_m (Tensor 2 Float) ((m : Tensor 2 Float) (a : Tensor 2 Float))
  (matrixMap (deriv (trace_of_product m a) m) snd))
";

fn vector(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Float(0.5 + i as f64)).collect())
}

fn matrix(n: usize) -> Value {
    let numbers = (0..n * n).map(|i| Value::Float(0.25 * i as f64)).collect();
    Value::Tensor(Tensor::new(vec![n, n], numbers).into())
}

/// A function, the derivatives of it by one parameter, its arguments of size n, and the arithmetic of the derivatives
/// beyond that of the value. `docs/linalg.md` has these numbers.
type Row = (&'static str, &'static str, fn(usize) -> Vec<Value>, fn(u64) -> u64);

/// A function, and its arithmetic for arguments of size n.
type OfValue = (&'static str, fn(u64) -> u64);

const VALUES: &[OfValue] = &[
    ("dot", |n| 2 * n - 1),
    ("norm", |n| 2 * n),
    ("uMv", |n| 2 * n * n + n - 1),
    ("trace", |n| n - 1),
    ("trace_of_product", |n| 2 * n * n * n - n * n + n - 1),
];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("dot",              "dot_by_v",              |n| vec![vector(n), vector(n)],            |_| 0),
    ("dot",              "dot_by_w",              |n| vec![vector(n), vector(n)],            |_| 0),
    ("norm",             "norm_by_v",             |n| vec![vector(n)],                       |n| 4 * n + 1),
    ("uMv",              "uMv_by_m",              |n| vec![vector(n), matrix(n), vector(n)], |n| n * n),
    ("uMv",              "uMv_by_u",              |n| vec![vector(n), matrix(n), vector(n)], |n| 2 * n * n - n),
    ("trace",            "trace_by_m",            |n| vec![matrix(n)],                       |_| 0),
    ("trace_of_product", "trace_of_product_by_m", |n| vec![matrix(n), matrix(n)],            |_| 0),
];

/// Arithmetic of a function, for arguments of size n.
fn arithmetic(name: &str, arguments: &[Value], derivation: Derivation) -> u64 {
    let name = FunName::base(name);
    let mut p = cost::pipeline(PROGRAM, derivation).expect("the program is right");
    p.require(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut interpreter = Interpreter::new(p.program());
    interpreter.call(&name, arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
    interpreter.counts.arithmetic()
}

/// What dual numbers do with less: a factor that all elements share is made once.
const FEWER_BY_DUAL: (&str, fn(u64) -> u64) = ("norm_by_v", |n| 3 * n + 2);

#[test]
fn derivatives_of_terms_have_no_loop_over_the_zeros_of_a_direction() {
    with_large_stack(|| {
        let mut wrong = Vec::new();
        for derivation in [Derivation::default(), Derivation::Dual] {
            for (of, by, arguments, expected) in ROWS {
                let is_less = derivation == Derivation::Dual && *by == FEWER_BY_DUAL.0;
                let expected = if is_less { FEWER_BY_DUAL.1 } else { *expected };
                let (_, value) = VALUES.iter().find(|(name, _)| name == of).expect("a row");
                for n in [4, 9] {
                    let (found, size) = (arithmetic(by, &arguments(n), derivation), n as u64);
                    let (value, derivative) = (value(size), expected(size));
                    if found != value + derivative {
                        wrong.push(format!("{by} by {derivation:?} at {n}: {found}, not {value} + {derivative}"));
                    }
                }
            }
        }
        for (fun, expected) in VALUES {
            let (_, _, arguments, _) = ROWS.iter().find(|(name, ..)| name == fun).expect("a row");
            let found = arithmetic(fun, &arguments(9), Derivation::default());
            if found != expected(9) {
                wrong.push(format!("{fun}: {found} operations, not {}", expected(9)));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
