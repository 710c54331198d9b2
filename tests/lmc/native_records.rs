//! Native reverse derivatives of recursive functions: the interpreter's values, memory linear in the depth,
//! and records that outlive the scopes that made them, but not those that used them.

use common::native::unoptimised;
use lm::interp::{ErrorKind, Interpreter};
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{NATIVE, NATIVE_FAST, distance, same_bits};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::{LARGE_STACK, with_large_stack};
use native::{Jit, SourceInfo};
use std::fs;
use std::path::Path;

/// A program with `f`, its reverse derivative in native code, and `point`, which gives an argument of a size.
struct Case {
    name: String,
    pipeline: Pipeline,
    jit: Jit,
}

fn rev() -> FunName {
    FunName::base("f").derived(Derivative::Rev)
}

impl Case {
    fn new(name: &str, text: &str) -> Case {
        Case::compiled(name, text, &unoptimised())
    }

    fn compiled(name: &str, text: &str, options: &native::Options) -> Case {
        let checked = front::load(&Source::new(name, text)).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        pipeline.require(&rev()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let info = SourceInfo::new(name, text);
        let mut jit = Jit::new(pipeline.program(), &[rev()], &info, options).unwrap_or_else(|e| panic!("{name}: {e}"));
        jit.set_stack(LARGE_STACK as u64 / 2);
        Case { name: name.to_string(), pipeline, jit }
    }

    fn of_file(name: &str) -> Case {
        Case::new(name, &text_of(name))
    }

    fn args(&self, n: i64) -> [Value; 2] {
        let point = Interpreter::new(self.pipeline.program()).call(&FunName::base("point"), &[Value::Integer(n)]);
        [point.unwrap_or_else(|error| panic!("{}: {error}", self.name)), Value::Float(1.0)]
    }

    /// The gradient at the point of a size, and the peak of the arena.
    fn run(&self, n: i64) -> (Value, u64) {
        let gradient = self.jit.call(&rev(), &self.args(n)).unwrap_or_else(|error| panic!("{}: {error}", self.name));
        (gradient, self.jit.peak())
    }

    fn interpreted(&self, n: i64) -> Value {
        let gradient = Interpreter::new(self.pipeline.program()).call(&rev(), &self.args(n));
        gradient.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/cost").join(name);
    fs::read_to_string(path).expect("the program can be read")
}

/// The depth of a program's calls at size n is n, n / 4, or the logarithm of n.
const FILES: [&str; 4] = ["product_by_two.ks", "loop_by_two.ks", "mutual.ks", "halving.ks"];

#[test]
fn fast_native_code_gives_what_the_interpreter_gives() {
    with_large_stack(|| {
        for name in FILES {
            let case = Case::compiled(name, &text_of(name), &native::Options::default());
            for n in [4, 8, 333, 10_000] {
                let apart = distance(&case.interpreted(n), &case.run(n).0);
                assert!(apart <= NATIVE_FAST, "{name} at {n}: {apart}");
            }
        }
    });
}

#[test]
fn native_code_gives_what_the_interpreter_gives() {
    with_large_stack(|| {
        for case in FILES.map(Case::of_file) {
            for n in [4, 8, 333, 10_000] {
                assert!(same_bits(&case.interpreted(n), &case.run(n).0), "{} at {n}", case.name);
            }
        }
    });
}

#[test]
fn memory_is_linear_in_the_depth() {
    with_large_stack(|| {
        for name in FILES {
            let case = Case::of_file(name);
            let [small, large] = [10_000, 100_000].map(|n| case.run(n).1 as f64);
            assert!((8.0..=12.0).contains(&(large / small)), "{name}: {small} bytes, then {large}");
        }
    });
}

const POWER: &str = "(def power Float ((n : Integer) (x : Float) (v : Vec Float))
  (if (eq n 0)
      (sum v)
      (if (gt x 0.5)
          (mul x (power (sub n 1) (sin x) (ts_scale x v)))
          (let (w (ts_add v v)) (add (index 0 w) (power (sub n 1) (cos x) w))))))
(def point (Vec Float) (n : Integer) (build n (lam (i : Integer) (add 0.25 ($ranhashdoub i)))))
";

/// Programs with `f` from vectors to Floats that call `power`.
const USES: &[&str] = &[
    // In a loop: each iteration uses up its records.
    "(def f Float (v : Vec Float) (sumbuild (size v) (lam (i : Integer) (power 5 (index i v) (Vec_init 1.0 2.0)))))",
    // In the states of a fold.
    "(def f Float (v : Vec Float) (fold (lam (t : Tuple Float Float) (power 3 (get$1$2 t) \
     (Vec_init (get$2$2 t)))) 0.1 v))",
    // In a vector, all of whose elements are used later: a vector of records.
    "(def f Float (v : Vec Float)
       (let (w (build (size v) (lam (i : Integer) (power 4 (index i v) (Vec_init (index i v) 1.0)))))
         (sum (map (lam (x : Float) (mul x x)) w))))",
    // In a vector of vectors.
    "(def f Float (v : Vec Float)
       (let (w (build (size v) (lam (i : Integer) (build i (lam (k : Integer) \
       (power k (index i v) (Vec_init 0.5 1.0)))))))
         (sumbuild (size v) (lam (i : Integer) (if (gt i 0) (index 0 (index i w)) 2.0)))))",
    // In one branch, with a vector for the other result.
    "(def g (Tuple Float (Vec Float)) ((x : Float) (v : Vec Float))
       (if (gt x 0.6) (tuple (power 6 x v) (ts_scale x v)) (tuple x (ts_add v v))))
     (def f Float (v : Vec Float)
       (let ((y w) (g (index 0 v) v)) (sumbuild (size v) (lam (i : Integer) \
       (let ((z u) (g (index i w) v)) (mul y (add z (index i u))))))))",
    // A recursive function whose calls have loops of recursive calls.
    "(def tree Float ((n : Integer) (v : Vec Float))
       (if (eq n 0) (sum v) (sumbuild 3 (lam (i : Integer) (tree (sub n 1) (ts_scale (power i (index 0 v) v) v))))))
     (def f Float (v : Vec Float) (tree 3 v))",
];

#[test]
fn records_under_loops_and_conditionals() {
    with_large_stack(|| {
        for text in USES {
            let case = Case::new(text, &format!("{POWER}{text}"));
            for n in [1, 2, 9, 40] {
                let apart = distance(&case.interpreted(n), &case.run(n).0);
                assert!(apart <= NATIVE, "{apart} at {n}: {text}");
            }
        }
    });
}

#[test]
fn a_loop_takes_back_the_records_of_an_iteration() {
    with_large_stack(|| {
        let case = Case::new(USES[0], &format!("{POWER}{}", USES[0]));
        let [small, large] = [100, 10_000].map(|n| case.run(n).1);
        // Only the gradient grows.
        assert!(large - small <= 8 * 9_900 + 16, "{small} bytes, then {large}");
    });
}

#[test]
fn depth_beyond_the_stack_is_an_error() {
    with_large_stack(|| {
        let mut case = Case::of_file("product_by_two.ks");
        case.jit.set_stack(1 << 16);
        let error = case.jit.call(&rev(), &case.args(10_000)).expect_err("64 KiB do not suffice");
        assert!(matches!(error.kind, ErrorKind::RecursionTooDeep(_)), "{error}");
    });
}
