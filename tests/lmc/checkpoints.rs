//! Folds in segments: derivatives that keep few states are those that keep all of them. Their memory and their steps
//! are as the schedule says, to the byte and to the step.

use common::native::unoptimised;
use lm::interp::Interpreter;
use lm::prim::Prim;
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::value::Value;
use lmc::demos::DEMOS;
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
(def of_appends Float ((v : Vec Float) (w : Float) (n : Integer))
  (sum (fold (lam (t : Tuple (Vec Float) Integer)
               (let ((s k) t)
                 (build (add (size s) 1) (lam (i : Integer)
                   (if (lt i (size s)) (mul w (index i s)) (mul (to_float k) (sin w)))))))
             (build 0 (lam (i : Integer) w)) (range n))))
(def of_shifts Float ((v : Vec Float) (w : Float) (n : Integer))
  (sum (fold (lam (t : Tuple (Vec Float) Integer)
               (let ((s k) t) (mul (sin (index 0 s)) (shift1L s))))
             (build (add n 1) (lam (i : Integer) (mul w (to_float (add i 1))))) (range n))))
(def of_pairs_with_appends Float ((v : Vec Float) (w : Float) (n : Integer))
  (let ((l u) (fold (lam (t : Tuple (Tuple (Vec Float) (Vec Float)) Integer)
                      (let (((p k) t) ((l u) p) (m (size l)))
                        (tuple (build (add m 1) (lam (i : Integer) (if (lt i m) (sin (index i l)) (sum u))))
                               (map (lam (x : Float) (mul w (cos x))) u))))
                    (tuple (build 0 (lam (i : Integer) w)) v) (range n)))
    (add (sum l) (ts_dot u u))))
(def of_triangles Float ((v : Vec Float) (w : Float) (n : Integer))
  (let (rows (fold (lam (t : Tuple (Vec (Vec Float)) Integer)
                     (let ((l k) t)
                       (build (add (size l) 1) (lam (i : Integer)
                         (build (add i 1) (lam (j : Integer)
                           (if (and (lt i (size l)) (lt j i)) (mul w (index j (index i l))) (sin (mul w (to_float j))))))))))
                   (build 0 (lam (i : Integer) v)) (range n)))
    (sum (map (lam (r : Vec Float) (ts_dot r r)) rows))))
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

const NAMES: [&str; 18] = [
    "scalar",
    "of_elements",
    "of_vectors",
    "of_matrices",
    "of_pairs",
    "of_jagged",
    "growing",
    "of_appends",
    "of_shifts",
    "of_pairs_with_appends",
    "of_triangles",
    "nested",
    "in_build",
    "in_recursion",
    "in_branch",
    "of_value",
    "said",
    "matrix",
];

const OPTIONS: [Checkpoint; 5] =
    [Checkpoint::Auto, Checkpoint::Sqrt, Checkpoint::States(1), Checkpoint::States(3), Checkpoint::States(100)];

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
        for derivation in Derivation::OF_ALL_PROGRAMS {
            let whole = Case::new(derivation.into(), false);
            let calls: Vec<(&str, i64)> = functions().flat_map(|name| [0, 1, 5, 17].map(|n| (name, n))).collect();
            let wanted: Vec<Vec<Value>> = calls.iter().map(|(name, n)| whole.interpreted(name, *n)).collect();
            for (number, checkpoint) in OPTIONS.into_iter().enumerate() {
                let natively = number % 4 == derivation as usize;
                let case = Case::new(Choices { derivation, checkpoint, ..Choices::default() }, natively);
                for ((name, n), wanted) in calls.iter().copied().zip(&wanted) {
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

/// A fold of a vector of m elements, each of which goes through one sine in a step.
/// The first element is read, so that no element goes by itself: then there would be no states to keep.
const SINES: &str = "
(def f (Vec Float) ((v : Vec Float) (n : Integer))
  (fold (lam (t : Tuple (Vec Float) Integer)
          (let ((s _) t)
            (build (size s) (lam (i : Integer) (sin (add (index i s) (mul 0.0 (index 0 s))))))))
        v (build n (lam (k : Integer) k))))
(def g Float ((v : Vec Float) (n : Integer)) (let (y (f v n)) (ts_dot y y)))
";

/// The binomial coefficient of s + t over t; 0 for negative t.
fn reach(s: i64, t: i64) -> i64 {
    if t < 0 { 0 } else { (1..=t).fold(1, |b, i| b * (s + i) / i) }
}

/// The least t for which n steps can be reversed with s states.
fn repeats(n: i64, s: i64) -> i64 {
    (0..).find(|t| reach(s, *t) >= n).expect("some t is large enough")
}

/// The steps that the binomial schedule computes again, for n steps and s states.
///
/// Source: Griewank and Walther, Revolve (2000), proposition 1.
fn again(n: i64, s: i64) -> i64 {
    let t = repeats(n, s);
    t * n - reach(s + 1, t - 1)
}

/// The fewest steps, by trying all places for the next state.
fn fewest(most: usize, s: usize) -> Vec<Vec<i64>> {
    let mut best = vec![vec![i64::MAX / 4; most + 1]; s + 1];
    for s in 0..=s {
        best[s][0] = 0;
        best[s][1] = 0;
        for n in 2..=most {
            let right = |m: usize| if s == 0 { i64::MAX / 4 } else { best[s - 1][n - m] };
            best[s][n] = (1..n).map(|m| m as i64 + best[s][m] + right(m)).min().expect("there is a place");
        }
    }
    best
}

/// The strides and states of a schedule: the steps of a segment, and the states that are kept within it.
fn schedule(n: i64, checkpoint: Checkpoint) -> (i64, i64) {
    match checkpoint {
        Checkpoint::None | Checkpoint::Auto => (1, 0),
        Checkpoint::Sqrt => {
            let stride = (1..).find(|l| l * l >= n).expect("a root");
            (stride, stride - 1)
        }
        Checkpoint::States(k) if i64::from(k) >= n => (1, 0),
        Checkpoint::States(k) => {
            let k = i64::from(k);
            let fits = |t: i64| (0..=k).find(|s| (k - s + 1) * reach(*s, t) >= n);
            let s = (1..).find_map(fits).expect("some t is large enough");
            ((n + k - s) / (k - s + 1), s)
        }
    }
}

/// The lengths of segments.
fn segments(n: i64, stride: i64) -> Vec<i64> {
    (0..n).step_by(stride as usize).map(|first| stride.min(n - first)).collect()
}

#[test]
fn the_schedule_is_the_best_one() {
    let best = fewest(60, 6);
    for (s, n) in (1..=6).flat_map(|s| (1..=60).map(move |n| (s, n))) {
        assert_eq!(again(n, s), best[s as usize][n as usize], "{n} steps, {s} states");
    }
}

/// Counts the sines that a gradient computes in the interpreter.
#[test]
fn steps_are_computed_again_as_often_as_the_schedule_says() {
    with_large_stack(|| {
        let sines = |checkpoint, n: i64| {
            let mut pipeline = pipeline(SINES, Choices { checkpoint, ..Choices::default() });
            let rev = f("f").derived(Derivative::Rev);
            pipeline.require(&rev).expect("it derives");
            let mut interpreter = Interpreter::new(pipeline.program());
            let v = Value::vector(vec![Value::Float(0.5)]);
            let point = Value::Tuple(vec![v.clone(), Value::Integer(n)]);
            interpreter.call(&rev, &[point, v]).expect("it has a value");
            interpreter.counts.nonlinear as i64
        };
        let options = [Checkpoint::Sqrt].into_iter().chain([1, 2, 3, 5, 9, 20, 100].map(Checkpoint::States));
        for (checkpoint, n) in options.flat_map(|option| [1, 2, 7, 30, 95].map(|n| (option, n))) {
            let (stride, s) = schedule(n, checkpoint);
            let more = segments(n, stride).into_iter().map(|m| if m < 2 { 0 } else { again(m, s) }).sum::<i64>();
            // The schedule itself takes a root, or none.
            let found = sines(checkpoint, n) - sines(Checkpoint::None, n);
            assert!(found == more || found == more + 1, "{n} steps, {checkpoint}: {found}, not {more}");
        }
    });
}

/// The elements of a state.
const M: i64 = 4_096;

/// The gradient of a sum of squares after n steps.
fn gradient(checkpoint: Checkpoint, n: i64) -> (Jit, FunName, [Value; 2]) {
    let mut pipeline = pipeline(SINES, Choices { checkpoint, ..Choices::default() });
    let rev = f("g").derived(Derivative::Rev);
    pipeline.require(&rev).expect("it derives");
    let info = SourceInfo::new("case.ks", SINES);
    let jit = Jit::asking(pipeline.program(), std::slice::from_ref(&rev), &info, &unoptimised());
    let v = Value::vector((0..M).map(|i| Value::Float(i as f64)).collect());
    let args = [Value::Tuple(vec![v, Value::Integer(n)]), Value::Float(1.0)];
    (jit.expect("it compiles"), rev, args)
}

/// A fold keeps all its states up to 256 MB, and two square roots of them beyond.
#[test]
fn large_folds_checkpoint_by_themselves() {
    with_large_stack(|| {
        let states = |n| {
            let (jit, rev, args) = gradient(Checkpoint::Auto, n);
            let told = jit.workspace(&rev, &args).expect("it has a slice").expect("there are addresses");
            told as i64 / (8 * M)
        };
        let most = (1 << 28) / (8 * M);
        // The numbers of all steps take some room, too.
        assert!((most + 3..most + 8).contains(&states(most)));
        let root = (1..).find(|l| l * l > most).expect("a root");
        assert!(states(most + 1) < 2 * root + 5);
    });
}

/// A value with its derivative goes through the states of a fold once, as it does without checkpoints.
#[test]
fn a_value_and_its_derivative_share_the_states() {
    with_large_stack(|| {
        let demo = DEMOS.iter().find(|demo| demo.name == "det").expect("a demo");
        let mut pipeline = pipeline(demo.text, Choices { checkpoint: Checkpoint::Auto, ..Choices::default() });
        let vjp = f("det").derived(Derivative::Vjp);
        pipeline.require(&vjp).unwrap_or_else(|error| panic!("{error}"));
        let mut states = 0;
        pipeline.program().defs[&vjp].body.visit(|e| states += usize::from(e.args_of_prim(Prim::States).is_some()));
        assert_eq!(states, 1);
    });
}

/// Counts the states that native code has at a time, beside a few of them.
#[test]
fn so_many_states_are_kept_at_a_time() {
    with_large_stack(|| {
        let peak = |checkpoint, n: i64| {
            let (jit, rev, args) = gradient(checkpoint, n);
            jit.call(&rev, &args).expect("it has a value");
            assert_eq!(jit.workspace(&rev, &args), Some(Ok(jit.peak())), "{checkpoint}, {n} steps");
            jit.peak() as i64
        };
        for (checkpoint, n, beside) in [
            (Checkpoint::None, 40, 3),
            (Checkpoint::Auto, 40, 3),
            (Checkpoint::Sqrt, 40, 4),
            (Checkpoint::Sqrt, 100, 4),
            (Checkpoint::States(1), 40, 3),
            (Checkpoint::States(3), 40, 5),
            (Checkpoint::States(6), 100, 5),
            (Checkpoint::States(12), 40, 3),
            (Checkpoint::States(30), 40, 3),
            (Checkpoint::States(500), 40, 3),
        ] {
            let (stride, s) = schedule(n, checkpoint);
            let lengths = segments(n, stride);
            let within = lengths.iter().map(|m| s.min(m - 1)).max().expect("there is a segment");
            let kept = lengths.len() as i64 + within;
            // The gradient, the cotangents beside it, and where steps are done again, what these take.
            let found = (peak(checkpoint, n) / (8 * M)) - kept;
            assert_eq!(found, beside, "{n} steps, {checkpoint}: {kept} states");
        }
    });
}

/// A step that prints, and one that fails.
const SHOWING: &str = "
(def f Float ((v : Vec Float) (n : Integer))
  (checkpoint 1 (fold (lam (t : Tuple Float Integer) (mul ($trace (get$1$2 t)) (index 0 v)))
                      1.5 (build n (lam (k : Integer) k)))))
(def g Float ((v : Vec Float) (n : Integer))
  (checkpoint 1 (fold (lam (t : Tuple Float Integer) (mul (get$1$2 t) (index (get$2$2 t) v)))
                      1.5 (build n (lam (k : Integer) k)))))
(def plain Float ((v : Vec Float) (n : Integer))
  (fold (lam (t : Tuple Float Integer) (mul (get$1$2 t) (index (get$2$2 t) v)))
        1.5 (build n (lam (k : Integer) k))))
(def said Float ((v : Vec Float) (n : Integer))
  (fold (lam (t : Tuple Float Integer) (mul ($trace (get$1$2 t)) (index 0 v))) 1.5 (build n (lam (k : Integer) k))))
";

/// The text that a call prints, and its error.
fn shown(pipeline: &mut Pipeline, name: &FunName) -> (String, Option<String>) {
    pipeline.require(name).expect("it derives");
    let v = Value::vector([2.0, 3.0, 4.0, 5.0].map(Value::Float).to_vec());
    let args = [Value::Tuple(vec![v, Value::Integer(9)]), Value::Float(1.0)];
    let mut texts = [Vec::new(), Vec::new()];
    let [interpreted, native] = &mut texts;
    let wanted = Interpreter::with_output(pipeline.program(), interpreted).call(name, &args);
    let info = SourceInfo::new("case.ks", SHOWING);
    let jit = Jit::new(pipeline.program(), std::slice::from_ref(name), &info, &unoptimised()).expect("it compiles");
    let found = jit.call_with_output(name, &args, native);
    assert_eq!(wanted.as_ref().err(), found.as_ref().err(), "{name}");
    assert_eq!(texts[0], texts[1], "{name}");
    let [text, _] = texts.map(|text| String::from_utf8(text).expect("it is text"));
    (text, wanted.err().map(|error| error.to_string()))
}

#[test]
fn steps_print_once_and_fail_as_without_checkpoints() {
    with_large_stack(|| {
        let mut pipeline = pipeline(SHOWING, Choices::default());
        for derivative in [Derivative::Rev, Derivative::Vjp] {
            let [f, said, g, plain] =
                ["f", "said", "g", "plain"].map(|name| shown(&mut pipeline, &f(name).derived(derivative.clone())));
            assert_eq!(f, said);
            assert!(f.1.is_none() && g.1.is_some(), "{f:?}, {g:?}");
            assert_eq!(g, plain);
        }
    });
}
