//! A slice (`codegen/loops/src/analyses/slices`) tells exactly, to the byte, how much of the arena a call takes.
//! Tests demos, their derivatives and random programs, in lanes and on threads.

use super::each::{self, Outcome, alone};
use common::cost::{arguments, point_of_demo};
use common::draw;
use libtest_mimic::Trial;
use lm::interp::ErrorKind;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::Random;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::{LARGE_STACK, with_large_stack};
use loops::Checks;
use native::{Jit, Lanes, SourceInfo};

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::demo("workspace::of_demos", of_demo);
    tests.extend(alone!(
        "workspace": of_random_programs, on_threads, of_sizes_that_depend_on_data, errors_of_sizes_are_told,
        of_more_than_the_machine_has,
    ));
    tests
}

/// Lanes of several widths and none; little of LLVM, which changes no number.
fn ways() -> Vec<native::Options> {
    let way = |lanes, checks| native::Options { lanes, checks, opt_level: 0, ..native::Options::default() };
    vec![way(Lanes::Off, Checks::Full), way(Lanes::Auto, Checks::Hoisted), way(Lanes::Width(4), Checks::Hoisted)]
}

/// A program with a function and its derivatives.
struct Case {
    pipeline: Pipeline,
    source: SourceInfo,
    f: FunName,
    entries: Vec<FunName>,
}

impl Case {
    fn new(text: &str, f: &str) -> Case {
        let checked = front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        let f = FunName::base(f);
        pipeline.require(&f).unwrap_or_else(|error| panic!("{text}: {error}"));
        let fun = &pipeline.program().defs[&f].fun;
        let varies = fun.argument().is_differentiable() && fun.result.is_differentiable();
        let derivatives = [Derivative::Fwd, Derivative::Rev].map(|derivation| f.derived(derivation)).into_iter();
        let derivatives = derivatives.filter(|name| varies && pipeline.require(name).is_ok()).collect();
        let entries = [vec![f.clone()], derivatives].concat();
        Case { pipeline, source: SourceInfo::new("case.ks", text), f, entries }
    }

    fn jit(&self, options: &native::Options, threads: usize) -> Jit {
        let jit = Jit::asking(self.pipeline.program(), &self.entries, &self.source, options);
        let mut jit = jit.unwrap_or_else(|error| panic!("{error}"));
        jit.set_stack(LARGE_STACK as u64 / 2);
        if threads > 0 {
            jit.set_threads(threads).expect("there are threads");
        }
        jit
    }

    /// Compares what slices tell at a point with what calls take; gives how many calls took anything.
    fn agrees(&self, jit: &Jit, args: &[Value]) -> usize {
        let Some(y) = agrees(jit, &self.f, args) else { return 0 };
        let mut taken = usize::from(jit.peak() > 0);
        let point = if let [one] = args { one.clone() } else { Value::Tuple(args.to_vec()) };
        for name in &self.entries[1..] {
            let at = if *name == self.f.derived(Derivative::Fwd) { &point } else { &y };
            agrees(jit, name, &[point.clone(), Random::new(7).direction(at)]);
            taken += usize::from(jit.peak() > 0);
        }
        taken
    }
}

/// Compares what the slice tells with what the call takes; gives the value. A call that fails has no peak to tell.
fn agrees(jit: &Jit, name: &FunName, args: &[Value]) -> Option<Value> {
    let told = jit.workspace(name, args).unwrap_or_else(|| panic!("{name} has no slice"));
    let value = jit.call(name, args).ok()?;
    let loops = || jit.module().loops().to_string();
    assert_eq!(told, Ok(jit.peak()), "{name} at {args:?}:\n{}", loops());
    Some(value)
}

fn of_demo(demo: &Demo) -> Outcome {
    let case = Case::new(demo.text, demo.fun);
    let point = point_of_demo(&case.pipeline, &case.f);
    let args = arguments(&case.pipeline, &case.f, &point);
    let taken = ways().iter().map(|way| case.agrees(&case.jit(way, 0), &args)).sum::<usize>();
    let is_of_numbers = demo.name.starts_with("ex") || demo.name == "paper004";
    assert_eq!(taken > 0, !is_of_numbers, "{taken} calls take memory");
    Ok(())
}

fn of_random_programs() {
    let (cases, taken) = draw::programs(40, |generated, random| {
        let last = generated.functions.last().expect("there is a function");
        let case = Case::new(&generated.text, &last.name);
        let jits: Vec<Jit> = ways().iter().map(|way| case.jit(way, 0)).collect();
        let mut taken = 0;
        for sizes in [[0, 2], [1, 1], [2, 3], [9, 1], [17, 2]] {
            let args: Option<Vec<Value>> = last.params.iter().map(|ty| ty.value(sizes, random)).collect();
            if let Some(args) = args {
                taken += jits.iter().map(|jit| case.agrees(jit, &args)).sum::<usize>();
            }
        }
        taken
    });
    assert!(taken > 2 * cases as usize || cases < 10, "{taken}");
}

/// Functions of n and m whose loops are long enough to be divided, with memory in their iterations.
const THREADS: &str = "
(def at Float ((i : Integer) (j : Integer)) (sub ($ranhashdoub (add (mul 1000 i) j)) 0.5))
(def row (Vec Float) ((i : Integer) (n : Integer)) (build n (lam (j : Integer) (at i j))))
(def hard Float ((x : Float) (w : Vec Float)) (sum (map (lam (a : Float) (sin (mul a x))) w)))
(def loss Float ((points : Vec (Vec Float)) (centres : Vec (Vec Float)) (w : Vec Float))
  (sum (map (lam (p : Vec Float)
              (let (v (map (lam (c : Vec Float) (hard (ts_dot p c) w)) centres))
                (div (sum v) (add 1.0 (max v)))))
            points)))
(def rows (Vec (Vec Float)) ((k : Integer) (n : Integer)) (build k (lam (i : Integer) (row i n))))
(def value Float ((n : Integer) (m : Integer)) (loss (rows n 3) (rows 4 3) (row 2 m)))
(def gradient (Tuple (Vec (Vec Float)) (Vec (Vec Float)) (Vec Float)) ((n : Integer) (m : Integer))
  ([grad loss] (rows n 3) (rows 4 3) (row 2 m)))
; The last iterations take the most.
(def triangle Float ((n : Integer) (m : Integer))
  (sumbuild n (lam (i : Integer)
    (let (v (build (mul i m) (lam (j : Integer) (sin (to_float j)))))
      (sumbuild (size v) (lam (j : Integer) (mul (index j v) (index (sub (sub (size v) j) 1) v))))))))";

fn on_threads() {
    with_large_stack(|| {
        let mut case = Case::new(THREADS, "value");
        let names = ["value", "gradient", "triangle"].map(FunName::base);
        case.entries = names.to_vec();
        case.entries.iter().for_each(|name| case.pipeline.require(name).expect("a right function"));
        let mut peaks = vec![];
        for threads in 0..4 {
            for way in ways() {
                let jit = case.jit(&way, threads);
                for name in &names {
                    for (n, m) in [(0, 5), (1, 1), (65, 500), (200, 300)] {
                        agrees(&jit, name, &[Value::Integer(n), Value::Integer(m)]).expect("it has a value");
                        peaks.push((threads, jit.peak()));
                    }
                }
            }
        }
        let sum = |threads| peaks.iter().filter(|(t, _)| *t == threads).map(|(_, peak)| peak).sum::<u64>();
        assert!(sum(3) > sum(0), "each worker has an arena of its own: {peaks:?}");
    });
}

/// Sizes that depend on what lies in memory, on Floats, on the depth of calls and on addresses.
fn of_sizes_that_depend_on_data() {
    let row = |n: usize| Value::vector((0..n).map(|i| Value::Float(i as f64 / 2.0)).collect());
    let rows = |sizes: &[usize]| Value::vector(sizes.iter().map(|n| row(*n)).collect());
    let integers = |numbers: &[i64]| Value::vector(numbers.iter().map(|n| Value::Integer(*n)).collect());
    let equals = Value::vector((0..40).map(|i| Value::Float(f64::from(i % 3 % 2))).collect());
    let cases = [
        (
            "(def f Float ((v : Vec Float))
            (sum (build (to_integer (sum v)) (lam (i : Integer) (index 0 (ts_scale (to_float i) v))))))",
            vec![row(9)],
        ),
        (
            "(def f Float ((rows : Vec (Vec Float)))
            (sum (map (lam (r : Vec Float) (let (s (ts_add r r)) (div (sum s) (max s)))) rows)))",
            vec![rows(&[3, 1, 20, 2])],
        ),
        (
            "(def f (Vec (Vec Float)) ((v : Vec Float) (m : Vec Integer))
            (build (size m) (lam (i : Integer)
              (build (index i m) (lam (j : Integer) (if (eq j 1) (index i v) (to_float (mul i j))))))))",
            vec![row(4), integers(&[3, 0, 7, 2])],
        ),
        (
            "(def f (Vec Float) ((v : Vec Float) (n : Integer))
            (if (lte n 0) v (ts_add (f (ts_scale 0.5 v) (sub n 1)) v)))",
            vec![row(10), Value::Integer(20)],
        ),
        (
            "(def f (Tuple (Vec Float) (Vec Float)) ((v : Vec Float) (w : Vec Float))
            (fold (lam (t : Tuple (Tuple (Vec Float) (Vec Float)) Float)
                    (let ((a b) (get$1$2 t)) (if (gt (get$2$2 t) 1.0) (tuple b (ts_scale (get$2$2 t) a)) (tuple a b))))
                  (tuple v v) w))",
            vec![row(10), row(7)],
        ),
        // Of equals the first counts, for the size that goes with it, too.
        (
            "(def f (Vec Float) ((v : Vec Float) (sizes : Vec Integer))
            (let ((best size)
                  (fold (lam (t : Tuple (Tuple Float Integer) Integer)
                          (let ((so_far i) t)
                            (if (gt (index i v) (get$1$2 so_far)) (tuple (index i v) (index i sizes)) so_far)))
                        (tuple -1.0 0)
                        (build (size v) (lam (k : Integer) k))))
              (build size (lam (j : Integer) (mul best (to_float j))))))",
            vec![equals, integers(&(0..40).map(|i| 10 * i).collect::<Vec<i64>>())],
        ),
        (
            "(def f (Vec (Vec (Vec Float))) ((rows : Vec (Vec Float)) (n : Integer))
            (build n (lam (i : Integer) (map (lam (r : Vec Float) (build i (lam (j : Integer) (sum r)))) rows))))",
            vec![rows(&[2, 5]), Value::Integer(6)],
        ),
    ];
    for (text, args) in cases {
        with_large_stack(|| {
            let case = Case::new(text, "f");
            for way in ways() {
                assert!(case.agrees(&case.jit(&way, 0), &args) > 0, "{text}");
            }
        });
    }
}

/// An error that follows from sizes is told; one that depends on Floats need not be.
fn errors_of_sizes_are_told() {
    let text = "(def f (Vec Float) ((v : Vec Float) (w : Vec Float)) (ts_add (ts_scale 2.0 v) w))";
    let case = Case::new(text, "f");
    let row = |n: usize| Value::vector((0..n).map(|i| Value::Float(i as f64)).collect());
    let jit = case.jit(&native::Options::default(), 0);
    let told = jit.workspace(&case.f, &[row(3), row(4)]).expect("it has a slice");
    let wanted = jit.call(&case.f, &[row(3), row(4)]).expect_err("the sizes differ");
    assert!(matches!(wanted.kind, ErrorKind::SizeMismatch { .. }));
    assert_eq!(told, Err(wanted));
}

/// A function of a vector of m elements, which n steps change.
const STEPS: &str = "
(def f Float ((a : Float) (m : Integer) (n : Integer))
  (sum (fold (lam (t : Tuple (Vec Float) Integer) (let (s (get$1$2 t)) (map (lam (x : Float) (sin (add x (index 0 s)))) s)))
             (constVec m a)
             (build n (lam (i : Integer) i)))))";

/// Asks about 16 TB. The bytes grow with the number of steps as they do for short vectors.
fn of_more_than_the_machine_has() {
    let case = Case::new(STEPS, "f");
    let rev = case.f.derived(Derivative::Rev);
    let jit = case.jit(&native::Options::default(), 0);
    let args = |m, n| [Value::Tuple(vec![Value::Float(0.5), Value::Integer(m), Value::Integer(n)]), Value::Float(1.0)];
    agrees(&jit, &rev, &args(100, 20)).expect("it has a value");
    let told = |n| jit.workspace(&rev, &args(20_000_000, n)).expect("it has a slice").expect("there are addresses");
    let (few, more, most) = (told(1_000), told(2_000), told(100_000));
    assert!(most > 8 * 20_000_000 * 100_000, "{most}");
    assert_eq!(most - few, 99 * (more - few));
}
