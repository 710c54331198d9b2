//! Folds in segments: derivatives that keep few states are those that keep all of them. Their memory and their steps
//! are as the schedule says, to the byte and to the step.

use common::native::unoptimised;
use lm::interp::Interpreter;
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::derive::{Checkpoint, Derivation};
use lmc::gradcheck::{Random, distance};
use lmc::ks::front::{self, Choices};
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, SourceInfo};

/// Functions of a vector, a Float and a number of steps, with folds of all shapes.
const SHAPES: &str = "
(def range (Vec Integer) (n : Integer) (build n (lam (k : Integer) k)))
(def matrix (Tensor 2 Float) ((v : Vec Float) (w : Float))
  (build (tuple (size v) (size v)) (lam (ij : Tuple Integer Integer)
    (let ((i j) ij) (mul w (mul (index i v) (index j v)))))))

(def scalar Float ((v : Vec Float) (w : Float) (n : Integer))
  (fold (lam (t : Tuple Float Integer) (let ((s k) t) (sin (add (mul s w) (index 0 v))))) w (range n)))
(def of_elements Float ((v : Vec Float) (w : Float) (n : Integer))
  (fold (lam (t : Tuple Float Float) (let ((s x) t) (sin (add (mul s w) x)))) w v))
(def of_vectors Float ((v : Vec Float) (w : Float) (n : Integer))
  (sum (fold (lam (t : Tuple (Vec Float) Integer)
               (let ((s k) t) (map (lam (x : Float) (sin (mul w (add x (to_float k))))) s))) v (range n))))
(def of_matrices Float ((v : Vec Float) (w : Float) (n : Integer))
  (let (m (fold (lam (t : Tuple (Tensor 2 Float) Integer)
                  (let ((a k) t)
                    (build (size a) (lam (ij : Tuple Integer Integer)
                      (let ((i j) ij) (cos (mul (index (tuple i j) a) (index (tuple j i) a))))))))
                (matrix v w) (range n)))
    (ts_dot m m)))
(def of_pairs Float ((v : Vec Float) (w : Float) (n : Integer))
  (let ((x u) (fold (lam (t : Tuple (Tuple Float (Vec Float)) Integer)
                      (let (((p k) t) ((x u) p))
                        (tuple (sin (add x (sum u))) (map (lam (y : Float) (mul w (cos (add x y)))) u))))
                    (tuple w v) (range n)))
    (add x (sum u))))
(def of_jagged Float ((v : Vec Float) (w : Float) (n : Integer))
  (let (rows (fold (lam (t : Tuple (Vec (Vec Float)) Integer)
                     (let ((rows k) t)
                       (build (size rows) (lam (i : Integer)
                         (map (lam (x : Float) (sin (mul w x))) (index (sub (sub (size rows) 1) i) rows))))))
                   (build 3 (lam (i : Integer) (build (add i 1) (lam (j : Integer) (index 0 v))))) (range n)))
    (sum (map (lam (r : Vec Float) (sum r)) rows))))
(def growing Float ((v : Vec Float) (w : Float) (n : Integer))
  (sum (fold (lam (t : Tuple (Vec Float) Integer)
               (let ((s k) t)
                 (build (add (size s) 1) (lam (i : Integer)
                   (if (eq i (size s)) (sin (sum s)) (mul w (index i s)))))))
             v (range n))))
(def nested Float ((v : Vec Float) (w : Float) (n : Integer))
  (sum (fold (lam (t : Tuple (Vec Float) Integer)
               (let ((s k) t)
                 (fold (lam (q : Tuple (Vec Float) Integer)
                         (map (lam (x : Float) (sin (mul w x))) (get$1$2 q)))
                       s (range k))))
             v (range n))))
(def in_build Float ((v : Vec Float) (w : Float) (n : Integer))
  (sum (build n (lam (i : Integer)
    (fold (lam (t : Tuple Float Integer) (sin (add (mul (get$1$2 t) w) (index 0 v)))) (to_float i) (range i))))))
(def in_recursion Float ((v : Vec Float) (w : Float) (n : Integer))
  (if (lt n 1)
      (sum v)
      (mul (in_recursion v (mul 0.5 w) (div n 2))
           (fold (lam (t : Tuple Float Integer) (sin (add (mul (get$1$2 t) w) (index 0 v)))) w (range n)))))
(def in_branch Float ((v : Vec Float) (w : Float) (n : Integer))
  (if (gt n 3)
      (let (y (of_vectors v w n)) (mul y y))
      (fold (lam (t : Tuple Float Float) (if (gt (get$2$2 t) w) (mul w (get$1$2 t)) (get$2$2 t))) w v)))
(def of_value Float ((v : Vec Float) (w : Float) (n : Integer))
  (let ((y (scalar v w n)) (z (of_vectors (ts_scale y v) w n)))
    (mul (exp y) z)))
(def said Float ((v : Vec Float) (w : Float) (n : Integer))
  (checkpoint (add 1 (div n 3))
    (fold (lam (t : Tuple Float Integer) (let ((s k) t) (sin (add (mul s w) (index 0 v))))) w (range n))))
";

const NAMES: [&str; 14] = [
    "scalar",
    "of_elements",
    "of_vectors",
    "of_matrices",
    "of_pairs",
    "of_jagged",
    "growing",
    "nested",
    "in_build",
    "in_recursion",
    "in_branch",
    "of_value",
    "said",
    "matrix",
];

const OPTIONS: [Checkpoint; 4] =
    [Checkpoint::Sqrt, Checkpoint::States(1), Checkpoint::States(3), Checkpoint::States(100)];

fn pipeline(text: &str, choices: Choices) -> Pipeline {
    let checked = front::load_for(&Source::new("case.ks", text), choices, &Timings::default());
    Pipeline::new(checked.unwrap_or_else(|errors| panic!("{text}: {errors:?}")))
}

fn f(name: &str) -> FunName {
    FunName::base(name)
}

/// The derivatives that are compared.
const DERIVATIVES: [Derivative; 4] = [Derivative::Fwd, Derivative::Jvp, Derivative::Rev, Derivative::Vjp];

/// A program with all derivatives of its functions.
struct Case {
    pipeline: Pipeline,
    jit: Option<Jit>,
}

impl Case {
    fn new(choices: Choices, natively: bool) -> Case {
        let mut pipeline = pipeline(SHAPES, choices);
        let mut entries = Vec::new();
        for name in functions() {
            entries.extend(DERIVATIVES.map(|derivative| f(name).derived(derivative)));
        }
        entries.iter().for_each(|name| pipeline.require(name).unwrap_or_else(|error| panic!("{name}: {error}")));
        let info = SourceInfo::new("case.ks", SHAPES);
        let jit = natively.then(|| Jit::asking(pipeline.program(), &entries, &info, &unoptimised()));
        Case { pipeline, jit: jit.map(|jit| jit.unwrap_or_else(|error| panic!("{error}"))) }
    }

    /// The values of the derivatives of a function.
    fn interpreted(&self, name: &str, n: i64) -> Vec<Value> {
        self.calls(name, n, |name, args| {
            let value = Interpreter::new(self.pipeline.program()).call(name, args);
            value.unwrap_or_else(|error| panic!("{name}: {error}"))
        })
    }

    /// The same in native code; compares the workspace with the peak.
    fn native(&self, name: &str, n: i64) -> Vec<Value> {
        let jit = self.jit.as_ref().expect("it was compiled");
        self.calls(name, n, |name, args| {
            let told = jit.workspace(name, args).expect("it has a slice");
            let value = jit.call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(told, Ok(jit.peak()), "{name} at {n}");
            value
        })
    }

    fn calls(&self, name: &str, n: i64, mut call: impl FnMut(&FunName, &[Value]) -> Value) -> Vec<Value> {
        let v = Value::vector([0.3, -0.7, 1.1].map(Value::Float).to_vec());
        let point = Value::Tuple(vec![v, Value::Float(0.8), Value::Integer(n)]);
        let tangent = Random::new(7).direction(&point);
        let directions = [tangent.clone(), tangent, Value::Float(1.0), Value::Float(1.0)];
        let calls = DERIVATIVES.into_iter().zip(directions);
        calls.map(|(derivative, at)| call(&f(name).derived(derivative), &[point.clone(), at])).collect()
    }
}

fn functions() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().filter(|name| *name != "matrix")
}

/// Compares with the run that keeps all states, by each derivation, with the interpreter, and some natively.
#[test]
fn derivatives_do_not_depend_on_the_states_that_are_kept() {
    with_large_stack(|| {
        for derivation in Derivation::ALL {
            let whole = Case::new(derivation.into(), false);
            for (number, checkpoint) in OPTIONS.into_iter().enumerate() {
                let natively = number % 2 == derivation as usize % 2;
                let case = Case::new(Choices { derivation, checkpoint }, natively);
                for (name, n) in functions().flat_map(|name| [0, 1, 2, 5, 17].map(|n| (name, n))) {
                    let wanted = whole.interpreted(name, n);
                    let agree = |found: &[Value]| {
                        for (wanted, found) in wanted.iter().zip(found) {
                            let apart = distance(wanted, found);
                            let place = format!("{name}, {n} steps, {derivation:?}, {checkpoint}");
                            assert!(apart <= 1e-12, "{place}: {apart:e}\n{wanted:?}\n{found:?}");
                        }
                    };
                    agree(&case.interpreted(name, n));
                    if natively {
                        agree(&case.native(name, n));
                    }
                }
            }
        }
    });
}
