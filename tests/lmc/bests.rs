//! Loops that carry a largest or smallest element, its place, and what is chosen with it: the interpreter's bits, in
//! lanes of every width, in chunks and without, whichever of equals counts, with NaN, infinities and zeros of both
//! signs.

use lm::interp::Interpreter;
use lm::random::SplitMix;
use lm::tensor::Tensor;
use lm::term::FunName;
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::same_bits;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, Lanes, Math, SourceInfo};
use std::sync::Arc;

/// A fold over v, from `start`, of what `better` says of the best so far, b, and the element, x.
fn fold(better: &str, start: &str) -> String {
    format!(
        "(def f Float (v : Vec Float)
           (fold (lam (t : Tuple Float Float) (let ((b x) t) {better})) {start} v))"
    )
}

/// A fold that carries the place, too, and something that goes with it.
fn placed(condition: &str) -> String {
    format!(
        "(def f (Tuple Float Integer Float Bool) (v : Vec Float)
           (fold (lam (t : Tuple (Tuple Float Integer Float Bool) Integer)
                   (let ((so_far i) t)
                     (let ((b p q r) so_far)
                       (let (x (index i v))
                         (if {condition} (tuple x i (mul x x) (gt x 0.0)) (tuple b p q r))))))
                 (tuple (index 0 v) -7 0.5 false)
                 (build (size v) (lam (k : Integer) k))))"
    )
}

/// The same, that keeps if the condition holds.
fn kept(condition: &str) -> String {
    placed(condition)
        .replace("(tuple x i (mul x x) (gt x 0.0)) (tuple b p q r)", "(tuple b p q r) (tuple x i (mul x x) (gt x 0.0))")
}

/// Functions of a vector, and how many bests they carry in lanes at least.
fn programs() -> Vec<String> {
    let mut programs = vec![
        "(def f (Tuple Float Integer) (v : Vec Float) (tuple (max v) (imax v)))".to_string(),
        "(def f Integer (v : Vec Float)
           (imax (build (size v) (lam (k : Integer)
             (neg (sumbuild 3 (lam (j : Integer) (let (d (sub (index k v) (to_float j))) (mul d d)))))))))"
            .to_string(),
        "(def f (Tuple Integer Integer) (v : Vec Float)
           (fold (lam (t : Tuple (Tuple Integer Integer) Integer)
                   (let ((so_far i) t)
                     (let ((b p) so_far)
                       (let (x (if (gt (index i v) 0.0) (mul 3 i) (sub 0 i)))
                         (if (lte b x) (tuple x i) (tuple b p))))))
                 (tuple -3 0)
                 (build (size v) (lam (k : Integer) k))))"
            .to_string(),
        "(def f (Tuple Float Float) (v : Vec Float)
           (fold (lam (t : Tuple (Tuple Float Float) Float)
                   (let ((so_far x) t) (let ((low high) so_far) (tuple (min low x) (max x high)))))
                 (tuple (index 0 v) -1.5) v))"
            .to_string(),
        // Two elements, of which only one may be NaN.
        "(def f (Tuple Float Float) (v : Vec Float)
           (fold (lam (t : Tuple (Tuple Float Float) Integer)
                   (let ((so_far i) t) (let ((low high) so_far)
                     (tuple (min low (index i v)) (max high (index (sub (sub (size v) 1) i) v))))))
                 (tuple 1.0 -1.5) (build (size v) (lam (k : Integer) k))))"
            .to_string(),
    ];
    for better in ["(max b x)", "(max x b)", "(min b x)", "(min x b)", "(if (gt (mul x 2.0) b) (mul x 2.0) b)"] {
        programs.extend(["(index 0 v)", "-1.25", "(div 0.0 0.0)"].map(|start| fold(better, start)));
    }
    for comparison in ["gt", "gte", "lt", "lte"] {
        for operands in ["x b", "b x"] {
            programs.push(placed(&format!("({comparison} {operands})")));
            programs.push(kept(&format!("({comparison} {operands})")));
            programs.push(placed(&format!("(not ({comparison} {operands}))")));
        }
    }
    programs
}

/// Derivatives: what is chosen with the best is its tangent, or its place.
const DERIVATIVES: [&str; 4] = [
    "(def g Float (v : Vec Float) (max v))
     (def f (Tuple Float (Vec Float)) (v : Vec Float) (tuple ([fwd g] v v) ([rev g] v 2.0)))",
    "(def g Float (v : Vec Float)
       (fold (lam (t : Tuple Float Float) (let ((b x) t) (max b (mul x x)))) -1.0 v))
     (def f (Tuple Float (Vec Float)) (v : Vec Float) (tuple ([fwd g] v v) ([rev g] v 2.0)))",
    "(def g Float (v : Vec Float)
       (fold (lam (t : Tuple Float Float) (let ((b x) t) (if (lte (sin x) b) (sin x) b))) 1.0 v))
     (def f (Tuple Float (Vec Float)) (v : Vec Float) (tuple ([fwd g] v v) ([rev g] v 2.0)))",
    "(def g Float (v : Vec Float)
       (fold (lam (t : Tuple Float Float) (let ((b x) t) (mul b (add x 1.0)))) 1.0 v))
     (def f (Tuple Float (Vec Float)) (v : Vec Float) (tuple ([fwd g] v v) ([rev g] v 2.0)))",
];

#[test]
fn derivatives_of_bests() {
    with_large_stack(|| {
        for text in DERIVATIVES {
            let case = Case::new(text);
            let mut random = SplitMix::new(13);
            for n in [0, 1, 2, 7, 8, 9, 16, 17, 40] {
                (0..6).for_each(|kind| case.agrees(text, &numbers(&mut random, n, kind)));
            }
        }
    });
}

/// Loops that look like a search for a best and are none, or whose other states depend on the best.
const OTHERS: [&str; 4] = [
    // The second largest.
    "(def f (Tuple Float Float) (v : Vec Float)
       (fold (lam (t : Tuple (Tuple Float Float) Float)
               (let ((so_far x) t) (let ((b second) so_far)
                 (if (gt x b) (tuple x b) (tuple b (max second x))))))
             (tuple -9.0 -9.0) v))",
    // The number of new bests, and the sum of all bests.
    "(def f (Tuple Float Integer Float) (v : Vec Float)
       (fold (lam (t : Tuple (Tuple Float Integer Float) Float)
               (let ((so_far x) t) (let ((b n total) so_far)
                 (if (gt x b) (tuple x (add n 1) (add total x)) (tuple b n (add total b))))))
             (tuple -9.0 0 0.0) v))",
    // The one before the largest.
    "(def f (Tuple Float Float Float) (v : Vec Float)
       (fold (lam (t : Tuple (Tuple Float Float Float) Float)
               (let ((so_far x) t) (let ((b before last) so_far)
                 (if (gt x b) (tuple x last x) (tuple b before x)))))
             (tuple -9.0 0.0 0.0) v))",
    // The largest is compared with something else than what is taken.
    "(def f Float (v : Vec Float)
       (fold (lam (t : Tuple Float Float) (let ((b x) t) (if (gt x b) (add x 1.0) b))) -9.0 v))",
];

struct Case {
    pipeline: Pipeline,
    ways: Vec<(String, Jit)>,
}

impl Case {
    fn new(text: &str) -> Case {
        let checked = front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        pipeline.require(&FunName::base("f")).unwrap_or_else(|error| panic!("{text}: {error}"));
        let lanes = [Lanes::Off, Lanes::Width(2), Lanes::Width(4), Lanes::Width(8), Lanes::Width(16), Lanes::Auto];
        let way = |lanes| {
            let options = native::Options { lanes, math: Math::Exact, opt_level: 0, ..native::Options::default() };
            let info = SourceInfo::new("case.ks", text);
            let jit = Jit::new(pipeline.program(), &[FunName::base("f")], &info, &options);
            (format!("{lanes:?}"), jit.unwrap_or_else(|e| panic!("{text}: {e}")))
        };
        let ways = lanes.into_iter().map(way).collect();
        Case { pipeline, ways }
    }

    fn loops_in_lanes(&self) -> usize {
        self.ways.iter().map(|(_, jit)| jit.module().loops().to_string().matches(" lanes ").count()).sum()
    }

    fn agrees(&self, text: &str, v: &[f64]) {
        let elements = v.iter().map(|x| Value::Float(*x)).collect();
        let args = [Value::Tensor(Arc::new(Tensor::new(vec![v.len()], elements)))];
        let wanted = Interpreter::new(self.pipeline.program()).call(&FunName::base("f"), &args);
        for (way, jit) in &self.ways {
            let found = jit.call(&FunName::base("f"), &args);
            let same = match (&wanted, &found) {
                (Ok(wanted), Ok(found)) => same_bits(wanted, found),
                (wanted, found) => wanted.is_err() && found.is_err(),
            };
            let some = &v[..v.len().min(40)];
            let loops = jit.module().loops();
            assert!(same, "{text}\n{way}, {} of {some:?}:\n{wanted:?}\n{found:?}\n{loops}", v.len());
        }
    }
}

/// Numbers among which many are equal, or none, with some that are not ordered, or not told apart by comparisons.
fn numbers(random: &mut SplitMix, n: usize, kind: usize) -> Vec<f64> {
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0];
    let mut pick = |k: u64| (random.draw() % k) as usize;
    let number = |_| match kind {
        0 => pick(3) as f64 - 1.0,
        1 => pick(1_000_000) as f64 / 1e6 - 0.5,
        2 => [0.0, -0.0, -1.0][pick(3)],
        3 => special[pick(5)],
        4 if pick(10) == 0 => f64::NAN,
        _ => pick(5) as f64 - 2.0,
    };
    (0..n).map(number).collect()
}

#[test]
fn bests_are_the_interpreters_to_the_bit() {
    with_large_stack(|| {
        for text in programs() {
            let case = Case::new(&text);
            assert!(case.loops_in_lanes() >= 4, "nothing runs in lanes: {text}");
            let mut random = SplitMix::new(3);
            for n in [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 37, 101] {
                (0..6).for_each(|kind| case.agrees(&text, &numbers(&mut random, n, kind)));
            }
        }
    });
}

#[test]
fn what_is_no_best_is_as_it_was() {
    with_large_stack(|| {
        for text in OTHERS {
            let case = Case::new(text);
            let mut random = SplitMix::new(5);
            for n in [0, 1, 8, 9, 17, 40] {
                (0..6).for_each(|kind| case.agrees(text, &numbers(&mut random, n, kind)));
            }
        }
    });
}

/// Enough for several chunks.
#[test]
fn bests_of_chunks() {
    with_large_stack(|| {
        // The last ones of equals and the first ones, with NaN and without.
        for text in [placed("(gt x b)"), placed("(gte x b)"), kept("(gte b x)"), kept("(gt b x)"), placed("(lte x b)")]
        {
            // Enough work for each element.
            let text = text.replace("(mul x x)", "(tan (tan (sin (tan x))))");
            let case = Case::new(&text);
            let divided = case.ways.iter().filter(|(_, jit)| jit.module().loops().to_string().contains("on threads"));
            assert_eq!(divided.count(), case.ways.len(), "not all are divided: {text}");
            let mut random = SplitMix::new(7);
            for kind in [0, 3] {
                let mut v = numbers(&mut random, 60_003, kind);
                case.agrees(&text, &v);
                // In a chunk in the middle, and at the first element of all.
                v[30_001] = f64::NAN;
                case.agrees(&text, &v);
                v[0] = f64::NAN;
                case.agrees(&text, &v);
            }
        }
    });
}

#[test]
fn largest_of_rows() {
    let text = "(def f (Tuple Float Float) (v : Vec Float)
                  (let (rows (build (size v) (lam (i : Integer) (build 5 (lam (j : Integer)
                               (mul (index i v) (to_float (sub j 2))))))))
                    (tuple (fold (lam (t : Tuple Float (Vec Float)) (max (get$1$2 t) (max (get$2$2 t)))) -1.0 rows)
                           (fold (lam (t : Tuple Float (Vec Float)) (min (max (get$2$2 t)) (get$1$2 t))) 7.0 rows))))";
    with_large_stack(|| {
        let case = Case::new(text);
        let mut random = SplitMix::new(11);
        for n in [0, 1, 7, 8, 9, 17, 40] {
            (0..6).for_each(|kind| case.agrees(text, &numbers(&mut random, n, kind)));
        }
    });
}
