//! Tests the memory use of native code: the arena's peak does not grow with the number of iterations and
//! calls, and where it does not suffice the program stops with an error.

use super::each::{self, Outcome, alone};
use common::cost::{arguments, point_of_demo};
use common::files;
use common::native::unoptimised;
use libtest_mimic::Trial;
use lm::interp::{ErrorKind, Interpreter};
use lm::term::{Derivative, FunName};
use lm::timing::Timings;
use lm::value::Value;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::Random;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::{LARGE_STACK, with_large_stack};
use loops::analyses::counts::Work;
use loops::{PASSES, Selection};
use native::{Jit, Lanes, Options, SourceInfo};
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let reuse = "native_memory::buffers_take_the_place_of_others_that_are_done";
    let tape = "native_memory::reverse_mode_keeps_so_much_for_each_number";
    let mut tests = each::demo(reuse, buffers_take_the_place_of_others);
    tests.extend(each::program(tape, "tests/cases/cost", reverse_mode_keeps_so_much_for_each_number));
    tests.extend(alone!(
        "native_memory": iterations_give_back_what_they_take, iterations_give_back_jagged_and_nested_tensors,
        derivatives_give_back_jagged_tensors, forward_derivatives_of_folds_keep_no_states, rows_are_packed, calls_give_back_what_they_take,
        the_derivative_of_indexing_is_cheap, memory_that_is_exhausted_is_an_error,
    ));
    tests
}

fn f() -> FunName {
    FunName::base("f")
}

fn jit(text: &str, entries: &[FunName]) -> Jit {
    jit_with(text, entries, &unoptimised())
}

fn jit_with(text: &str, entries: &[FunName], options: &Options) -> Jit {
    jit_by(text, entries, Derivation::default(), options)
}

fn jit_by(text: &str, entries: &[FunName], derivation: Derivation, options: &Options) -> Jit {
    let checked = front::load_for(&Source::new("case.ks", text), derivation, &Timings::default());
    let checked = checked.unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
    let mut pipeline = Pipeline::new(checked);
    for name in entries {
        pipeline.require(name).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let info = SourceInfo::new("case.ks", text);
    Jit::new(pipeline.program(), entries, &info, options).unwrap_or_else(|error| panic!("{error}"))
}

fn vector(n: usize) -> Value {
    Value::vector((0..n).map(|i| Value::Float(i as f64)).collect())
}

/// The peak of a call, in bytes.
fn peak(jit: &Jit, name: &FunName, args: &[Value]) -> u64 {
    jit.call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"));
    jit.peak()
}

/// The bytes of n Floats, in the arena's units.
fn floats(n: u64) -> u64 {
    (8 * n).next_multiple_of(16)
}

fn iterations_give_back_what_they_take() {
    let programs = [
        // A state of 100 Floats, the next one, and one on the way.
        (
            "(def f (Vec Float) ((v : Vec Float) (w : Vec Float))
           (fold (lam (t : Tuple (Vec Float) Float) (ts_add (get$1$2 t) (ts_scale (get$2$2 t) (get$1$2 t)))) v w))",
            3,
        ),
        // Two states that change places.
        (
            "(def f (Tuple (Vec Float) (Vec Float)) ((v : Vec Float) (w : Vec Float))
           (fold (lam (t : Tuple (Tuple (Vec Float) (Vec Float)) Float)
                   (let ((a b) (get$1$2 t)) (tuple b (ts_scale (get$2$2 t) a)))) (tuple v v) w))",
            7,
        ),
        // Terms of a sum, each by a call.
        (
            "(def g (Vec Float) ((v : Vec Float) (x : Float)) (ts_scale x (ts_add v v)))
          (def f (Vec Float) ((v : Vec Float) (w : Vec Float))
           (sumbuild (size w) (lam (i : Integer) (g v (index i w)))))",
            4,
        ),
        // Numbers from vectors on the way.
        (
            "(def f Float ((v : Vec Float) (w : Vec Float))
           (sumbuild (size w) (lam (i : Integer) (sum (ts_add v (constVec (size v) (index i w)))))))",
            3,
        ),
        (
            "(def f (Vec (Vec Float)) ((v : Vec Float) (w : Vec Float))
           (fold (lam (t : Tuple (Vec (Vec Float)) Float)
                   (build 2 (lam (i : Integer) (ts_scale (get$2$2 t) (index (sub 1 i) (get$1$2 t))))))
                 (Vec_init v v) w))",
            9,
        ),
    ];
    for (text, vectors) in programs {
        with_large_stack(|| {
            let jit = jit(text, &[f()]);
            let peaks = [3, 1_000].map(|n| peak(&jit, &f(), &[vector(100), vector(n)]));
            assert_eq!(peaks[0], peaks[1], "{text}");
            assert!(peaks[0] <= vectors * floats(100) + 512, "{}: {text}", peaks[0]);
        });
    }
}

/// Rows of sizes 1, 2, 3, ..
fn triangle(n: usize) -> Value {
    Value::vector((0..n).map(|i| vector(i + 1)).collect())
}

/// Jagged and nested tensors on the way, in loops and folds, and those of derivatives: the bytes are the same for any
/// number of iterations.
fn iterations_give_back_jagged_and_nested_tensors() {
    let programs = [
        // Jagged rows on the way to a number.
        "(def f Float ((rows : Vec (Vec Float)) (n : Integer))
           (sumbuild n (lam (i : Integer)
             (let (scaled (map (lam (r : Vec Float) (ts_scale (to_float i) (ts_add r r))) rows))
               (sum (map (lam (r : Vec Float) (sum r)) scaled))))))",
        // Of rank 3, jagged in each dimension.
        "(def f Float ((rows : Vec (Vec Float)) (n : Integer))
           (sumbuild n (lam (i : Integer)
             (let (deep (map (lam (r : Vec Float)
                          (map (lam (x : Float) (build (size r) (lam (j : Integer) \
                          (mul x (to_float (add i j)))))) r)) rows))
               (sum (map (lam (m : Vec (Vec Float)) (sum (map (lam (r : Vec Float) (sum r)) m))) deep))))))",
        // A jagged state.
        "(def f Float ((rows : Vec (Vec Float)) (n : Integer))
           (let (last (fold (lam (t : Tuple (Vec (Vec Float)) Integer)
                              (map (lam (r : Vec Float) (ts_scale 0.5 (ts_add r r))) (get$1$2 t)))
                            rows (build n (lam (i : Integer) i))))
             (sum (map (lam (r : Vec Float) (sum r)) last))))",
        // A state of jagged rows and a vector, which change their sizes and come back to them.
        "(def turned (Vec (Vec Float)) (rows : Vec (Vec Float))
           (build (size rows) (lam (i : Integer) (index (sub (sub (size rows) i) 1) rows))))
         (def f Float ((rows : Vec (Vec Float)) (n : Integer))
           (let ((last v) (fold (lam (t : Tuple (Tuple (Vec (Vec Float)) (Vec Float)) Integer)
                              (let ((a b) (get$1$2 t))
                                (tuple (turned a) (map (lam (r : Vec Float) (add (sum r) (index 0 b))) a))))
                            (tuple rows (map (lam (r : Vec Float) (sum r)) rows)) (build n (lam (i : Integer) i))))
             (add (sum v) (sum (map (lam (r : Vec Float) (sum r)) last)))))",
        // By calls, and where a conditional makes one or the other.
        "(def g (Vec (Vec Float)) ((rows : Vec (Vec Float)) (i : Integer))
           (if (gt (sub i (mul 2 (div i 2))) 0)
             (map (lam (r : Vec Float) (ts_scale 2.0 r)) rows)
             (build 3 (lam (j : Integer) (ts_add (index j rows) (index j rows))))))
         (def f Float ((rows : Vec (Vec Float)) (n : Integer))
           (sumbuild n (lam (i : Integer) (sum (map (lam (r : Vec Float) (sum r)) (g rows i))))))",
    ];
    // The results of a loop's chunks are kept until all have run: one number for each chunk. This test avoids them.
    let passes = PASSES.iter().map(|pass| pass.name.to_string()).filter(|name| name != "parallelize");
    let passes = Selection::Only(passes.collect());
    let lanes = |lanes| Options { lanes, passes: passes.clone(), opt_level: 0, ..Options::default() };
    for text in programs {
        // All even: an odd one ends in the other of two states. All fill the lanes, of which there are up to 64.
        let (few, many) = ([16, 64, 1_024], [64, 256, 1_024]);
        for (options, counts) in [(unoptimised(), few), (lanes(Lanes::Auto), many), (lanes(Lanes::Width(4)), few)] {
            with_large_stack(|| {
                let jit = jit_with(text, &[f()], &options);
                let peaks = counts.map(|n| peak(&jit, &f(), &[triangle(5), Value::Integer(n)]));
                // The steps of a fold may lie in a vector.
                let bytes = counts.map(|n| floats(n as u64));
                let steps = if peaks[0] == peaks[1] { [0; 2] } else { [bytes[1] - bytes[0], bytes[2] - bytes[1]] };
                let grown = [peaks[1] - peaks[0], peaks[2] - peaks[1]];
                assert!(grown == steps, "{peaks:?} {:?}: {text}", options.lanes);
                assert!(grown[0] == 0 || text.contains("(build n (lam (i : Integer) i))"), "{peaks:?}: {text}");
            });
        }
    }
}

/// The reverse derivative of a loop over jagged rows keeps a gradient, and what one iteration needs.
fn derivatives_give_back_jagged_tensors() {
    let text = "(def f Float ((rows : Vec (Vec Float)) (n : Integer))
      (sumbuild n (lam (i : Integer)
        (let (scaled (map (lam (r : Vec Float) (ts_scale (to_float i) (map (lam (x : Float) (exp x)) r))) rows))
          (sum (map (lam (r : Vec Float) (mul (sum r) (sum r))) scaled))))))";
    with_large_stack(|| {
        let rev = f().derived(Derivative::Rev);
        for options in [unoptimised(), Options { opt_level: 0, ..Options::default() }] {
            let jit = jit_with(text, std::slice::from_ref(&rev), &options);
            let point = |n| Value::Tuple(vec![triangle(5), Value::Integer(n)]);
            let peaks = [16, 64, 160].map(|n| peak(&jit, &rev, &[point(n), Value::Float(1.0)]));
            assert!(peaks[0] == peaks[1] && peaks[1] == peaks[2], "{peaks:?}");
        }
    });
}

/// Demos that have buffers which take the place of others.
const REUSING: &[&str] = &["cnn", "det", "gmm", "lstm", "ode"];

/// Compares the peaks of memory of a demo and of its derivatives without `buffer_reuse` and with it.
fn buffers_take_the_place_of_others(demo: &Demo) -> Outcome {
    let mut fell = false;
    let mut pipeline = Pipeline::new(front::load(&Source::new("demo.ks", demo.text)).expect("a right program"));
    let base = FunName::base(demo.fun);
    let entries = [base.clone(), base.derived(Derivative::Fwd), base.derived(Derivative::Rev)];
    entries.iter().for_each(|name| pipeline.require(name).unwrap_or_else(|error| panic!("{name}: {error}")));
    let point = point_of_demo(&pipeline, &base);
    let args = arguments(&pipeline, &base, &point);
    let others = PASSES.iter().map(|pass| pass.name).filter(|name| *name != "buffer_reuse").map(str::to_string);
    let jits = [Selection::Only(others.collect()), Selection::All].map(|passes| {
        let options = Options { passes, opt_level: 0, ..Options::default() };
        let mut jit = jit_with(demo.text, &entries, &options);
        jit.set_stack(LARGE_STACK as u64 / 2);
        jit.set_threads(1).expect("there is a thread");
        jit
    });
    let y = jits[0].call(&base, &args).unwrap_or_else(|error| panic!("{base}: {error}"));
    let directions = [&point, &y].map(|at| Random::new(7).direction(at));
    let both = directions.map(|direction| vec![point.clone(), direction]);
    let calls = entries.into_iter().zip([vec![args], both.to_vec()].concat());
    for (name, args) in calls {
        let values = [0, 1].map(|i| jits[i].call(&name, &args).unwrap_or_else(|error| panic!("{name}: {error}")));
        assert_eq!(values[0], values[1], "{name}");
        let [before, after] = [0, 1].map(|i| peak(&jits[i], &name, &args));
        println!("{name}: {before}, then {after}");
        assert!(after <= before, "{name}: {before}, then {after}");
        fell |= after < before;
    }
    assert_eq!(fell, REUSING.contains(&demo.name), "whether buffers are reused");
    Ok(())
}

fn rows_are_packed() {
    let text = "(def f (Vec (Vec Float)) ((v : Vec Float) (n : Integer))
      (build n (lam (i : Integer) (ts_add (ts_scale 2.0 v) (ts_scale 3.0 v)))))";
    let jit = jit(text, &[f()]);
    let most = 50 * (floats(100) + 16) + 2 * floats(100);
    assert!(peak(&jit, &f(), &[vector(100), Value::Integer(50)]) <= most);
}

fn calls_give_back_what_they_take() {
    let text = "(def down Float ((v : Vec Float) (n : Integer))
        (if (eq n 0) 0.0 (add (sum (ts_scale 2.0 v)) (down v (sub n 1)))))
      (def f Float (v : Vec Float) (add (down v 3) (sumbuild 1000 (lam (i : Integer) (down v 3)))))";
    let jit = jit(text, &[f()]);
    assert!(peak(&jit, &f(), &[vector(100)]) <= 4 * floats(100));
}

/// Folds of all kinds, over w; v has four numbers.
const FOLDS: &[&str] = &[
    // Over numbers.
    "(fold (lam (t : Tuple Float Float) (sin (mul (get$1$2 t) (add (get$2$2 t) (index 0 v))))) (index 1 v) w)",
    // Over vectors.
    "(sum (fold (lam (t : Tuple (Vec Float) Float)
        (let ((s x) t) (build (size s) (lam (k : Integer) (sin (add (index k s) (mul x (index 0 s)))))))) v w))",
    // Over pairs; tangents read one of them only.
    "(let ((a b) (fold (lam (t : Tuple (Tuple Float (Vec Float)) Float)
        (let ((s x) t) (let ((a b) s) (tuple (add a x) (ts_scale a b))))) (tuple 1.0 v) w)) (add a (sum b)))",
    // In a fold.
    "(fold (lam (t : Tuple Float Float)
        (let ((s x) t) (cos (fold (lam (u : Tuple Float Float) (sin (mul (get$1$2 u) (get$2$2 u)))) (mul s x) w))))
      1.0 w)",
    // In a loop, a conditional, a callee.
    "(sumbuild 3 (lam (i : Integer)
        (fold (lam (t : Tuple Float Float) (exp (mul (get$1$2 t) (get$2$2 t)))) (index i v) w)))",
    "(if (gt (index 0 v) 0.5)
         (fold (lam (t : Tuple Float Float) (exp (mul (get$1$2 t) (get$2$2 t)))) (index 1 v) w)
         (fold (lam (t : Tuple Float Float) (sin (mul (get$1$2 t) (get$2$2 t)))) (index 1 v) w))",
    "(add (g (index 0 v) w) (mul 2.0 (g (index 1 v) w)))",
    // The value of one fold in the next.
    "(let (a (g (index 0 v) w)) (fold (lam (t : Tuple Float Float) (sin (mul (get$1$2 t) (get$2$2 t)))) (sin a) w))",
    // With a choice of checkpoints.
    "(checkpoint 3 (fold (lam (t : Tuple Float Float) (sin (mul (get$1$2 t) (get$2$2 t)))) (index 1 v) w))",
];

/// Returns the bytes that a derivative of a fold takes for so many steps.
fn bytes_of_fold(jit: &Jit, name: &FunName, steps: usize) -> u64 {
    let s = Value::Tuple(vec![vector(4), vector(steps)]);
    let is_first = name.derivations.len() == 1;
    let (s, ds) = if is_first {
        (s.clone(), s)
    } else {
        (Value::Tuple(vec![s.clone(), s.clone()]), Value::Tuple(vec![s.clone(), s]))
    };
    peak(jit, name, &[s, ds])
}

fn forward_derivatives_of_folds_keep_no_states() {
    let fwd = f().derived(Derivative::Fwd);
    for (derivation, body) in
        Derivation::OF_ALL_PROGRAMS.into_iter().flat_map(|d| FOLDS.iter().map(move |body| (d, body)))
    {
        let text = format!(
            "(def g Float ((a : Float) (w : Vec Float))
               (fold (lam (t : Tuple Float Float) (sin (mul (get$1$2 t) (get$2$2 t)))) a w))
             (def f Float ((v : Vec Float) (w : Vec Float)) {body})"
        );
        let mut names = vec![fwd.clone(), f().derived(Derivative::Jvp)];
        // A limit of `dual`: it takes the loop of pairs apart again, and keeps its states.
        names.extend((derivation != Derivation::Dual).then(|| fwd.derived(Derivative::Fwd)));
        with_large_stack(|| {
            let jit = jit_by(&text, &names, derivation, &unoptimised());
            for name in &names {
                let [few, many] = [3, 1_000].map(|steps| bytes_of_fold(&jit, name, steps));
                assert_eq!(few, many, "{name}, {}: {text}", derivation.name());
            }
        });
    }
}

/// No vector of zeros for each index: the peak would not show it, but the work would.
fn the_derivative_of_indexing_is_cheap() {
    let text = "(def f Float ((v : Vec Float) (n : Integer))
      (sumbuild n (lam (i : Integer) (let (x (index i v)) (if (gt x 0.5) (mul x x) (mul 2.0 x))))))";
    let (rev, n) = (f().derived(Derivative::Rev), 3_000);
    let mut pipeline = Pipeline::new(front::load(&Source::new("case.ks", text)).expect("a right program"));
    pipeline.require(&rev).expect("it derives");
    let entries = std::slice::from_ref(&rev);
    let jit = Jit::counting(pipeline.program(), entries, &SourceInfo::new("case.ks", text), &unoptimised());
    let jit = jit.expect("it compiles");
    let args = [Value::Tuple(vec![vector(n), Value::Integer(n as i64)]), Value::Float(1.0)];
    let counts = jit.prepare(&rev, &args).counts().expect("it goes well");
    // With zeros it would be millions.
    assert!(counts[Work::Stored] <= 8 * 4 * n as u64, "{counts:?}");
    assert!(peak(&jit, &rev, &args) <= 2 * floats(n as u64));
}

fn memory_that_is_exhausted_is_an_error() {
    let text = "(def f (Tuple (Vec Float) (Vec Float)) (n : Integer)
      (let (v (build n (lam (i : Integer) 1.0))) (tuple v (ts_scale 2.0 v))))";
    let mut jit = jit(text, &[f()]);
    jit.set_arena(1 << 16);
    assert!(jit.call(&f(), &[Value::Integer(4_000)]).is_ok());
    let error = jit.call(&f(), &[Value::Integer(5_000)]).expect_err("two vectors are too much");
    assert_eq!(error.kind, ErrorKind::OutOfMemory { asked: 40_000, free: (1 << 16) - 40_000 });
    assert_eq!(&text[error.span.start as usize..][..9], "(ts_scale");
    let error = jit.call(&f(), &[Value::Integer(1 << 39)]).expect_err("too much");
    assert_eq!(error.kind, ErrorKind::OutOfMemory { asked: 8 << 39, free: 1 << 16 });
    assert!(jit.call(&f(), &[Value::Integer(10)]).is_ok());
}

/// Returns the peak of memory of `rev$f` beyond the peak of `f`, the arguments and the gradient, in bytes.
fn tape(path: &Path, n: i64) -> f64 {
    let text = files::text(path);
    let rev = f().derived(Derivative::Rev);
    let mut pipeline = Pipeline::new(front::load(&Source::new("case.ks", &text)).expect("a right program"));
    pipeline.require(&rev).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let point = Interpreter::new(pipeline.program()).call(&FunName::base("point"), &[Value::Integer(n)]);
    let point = point.unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let args = match &point {
        Value::Tuple(parts) if pipeline.program().defs[&f()].fun.params.len() > 1 => parts.clone(),
        _ => vec![point.clone()],
    };
    let mut jit = jit(&text, &[f(), rev.clone()]);
    jit.set_stack(LARGE_STACK as u64 / 2);
    let input = 8 * point.floats().len() as u64;
    let primal = peak(&jit, &f(), &args) + 2 * input;
    peak(&jit, &rev, &[point, Value::Float(1.0)]) as f64 / primal as f64
}

fn reverse_mode_keeps_so_much_for_each_number(path: &Path) -> Outcome {
    let [small, large] = [1_000, 16_000].map(|n| tape(path, n));
    println!("{small:.3}, then {large:.3}");
    if large <= 1.05 * small { Ok(()) } else { Err(format!("{small}, then {large}")) }
}
