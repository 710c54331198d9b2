//! Loops on threads: values and errors are the same, to the bit, with any number of threads, in any order of chunks,
//! and without.

use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::term::FunName;
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck::{distance, same_bits};
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, Lanes, SourceInfo, abi};
use std::ffi::c_void;
use std::path::Path;
use std::process::Command;

/// On both sides of what chunks are aligned to.
const SIZES: [i64; 8] = [0, 1, 7, 63, 64, 65, 1000, 1009];

/// Sums on the way differ by rounding from those of the interpreter.
const ROUNDING: f64 = 1e-11;

/// Functions of a size that make work of about n m units.
const PROGRAM: &str = "
(def at Float ((i : Integer) (j : Integer)) (sub ($ranhashdoub (add (mul 1000 i) j)) 0.5))

(def row (Vec Float) ((i : Integer) (n : Integer)) (build n (lam (j : Integer) (at i j))))

(def rows (Vec (Vec Float)) ((k : Integer) (n : Integer)) (build k (lam (i : Integer) (row i n))))

; Much work for each element.
(def hard Float ((x : Float) (w : Vec Float)) (sum (map (lam (a : Float) (sin (mul a x))) w)))

; An element for each iteration.
(def elements (Vec Float) ((v : Vec Float) (w : Vec Float))
  (build (size v) (lam (i : Integer) (hard (index i v) w))))

(def matrix (Tensor 2 Float) ((v : Vec Float) (w : Vec Float))
  (build (tuple (size v) 5) (lam (ij : Tuple Integer Integer)
    (let ((i j) ij) (mul (hard (index i v) w) j)))))

; A sum of numbers, and of Integers.
(def total (Tuple Float Integer) ((v : Vec Float) (w : Vec Float))
  (tuple (sumbuild (size v) (lam (i : Integer) (hard (index i v) w)))
         (sumbuild (size v) (lam (i : Integer) (to_integer (mul 100.0 (hard (index i v) w)))))))

; A loss of points, each near one of the rows, and a gradient for all rows, and for the points themselves.
(def loss Float ((points : Vec (Vec Float)) (centres : Vec (Vec Float)) (w : Vec Float))
  (sum (map (lam (p : Vec Float)
              (sum (map (lam (c : Vec Float)
                          (let (x (ts_dot p c)) (hard x w)))
                        centres)))
            points)))

; Loops in loops, and calls of what is divided where it is called alone.
(def nested Float ((v : Vec Float) (w : Vec Float))
  (sumbuild (size v) (lam (i : Integer)
    (mul (index i v) (sum (elements (row i 9) w))))))

(def run_elements (Vec Float) ((n : Integer) (m : Integer)) (elements (row 1 n) (row 2 m)))
(def run_matrix (Tensor 2 Float) ((n : Integer) (m : Integer)) (matrix (row 1 n) (row 2 m)))
(def run_total (Tuple Float Integer) ((n : Integer) (m : Integer)) (total (row 1 n) (row 2 m)))
(def run_nested Float ((n : Integer) (m : Integer)) (nested (row 1 n) (row 2 m)))
(def run_loss Float ((n : Integer) (m : Integer)) (loss (rows n 3) (rows 4 3) (row 2 m)))
(def run_gradient (Tuple (Vec (Vec Float)) (Vec (Vec Float)) (Vec Float)) ((n : Integer) (m : Integer))
  ([grad loss] (rows n 3) (rows 4 3) (row 2 m)))
(def scalar Float ((n : Integer) (m : Integer)) (sum (run_elements n m)))

; Hardly any work for an element.
(def little Float ((n : Integer) (m : Integer)) (ts_dot (build n (lam (i : Integer) (to_float (add i m)))) (row m n)))
(def added (Vec Float) ((v : Vec Float) (w : Vec Float)) (add v w))
(def run_added (Vec Float) ((n : Integer) (m : Integer)) (added (row 1 n) (row m n)))
(def main Integer () 0)
";

struct Case {
    pipeline: Pipeline,
    source: SourceInfo,
}

impl Case {
    fn new(text: &str) -> Case {
        let checked = front::load(&Source::new("case.ks", text)).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        Case { pipeline: Pipeline::new(checked), source: SourceInfo::new("case.ks", text) }
    }

    fn jit(&mut self, entries: &[FunName], options: &native::Options) -> Jit {
        for name in entries {
            self.pipeline.require(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        Jit::new(self.pipeline.program(), entries, &self.source, options).unwrap_or_else(|error| panic!("{error}"))
    }

    fn interpret(&self, name: &FunName, args: &[Value]) -> Result<Value, RuntimeError> {
        Interpreter::new(self.pipeline.program()).call(name, args)
    }
}

fn base(name: &str) -> FunName {
    FunName::base(name)
}

fn integers(numbers: &[i64]) -> Vec<Value> {
    numbers.iter().map(|n| Value::Integer(*n)).collect()
}

/// Native code without threads, and with 1 to 4.
fn ways(case: &mut Case, entries: &[FunName], options: &native::Options) -> Vec<Jit> {
    let alone = case.jit(entries, options);
    let with = |threads| {
        let mut jit = case.jit(entries, options);
        jit.set_threads(threads).expect("there are threads");
        jit
    };
    let threads: Vec<Jit> = (1..5).map(with).collect();
    std::iter::once(alone).chain(threads).collect()
}

#[test]
fn values_do_not_depend_on_threads() {
    with_large_stack(|| {
        let mut case = Case::new(PROGRAM);
        let names = ["run_elements", "run_matrix", "run_total", "run_nested", "run_loss", "run_gradient"].map(base);
        // A function called in loops is divided, too, if it is also called from outside.
        let entries: Vec<FunName> = names.iter().cloned().chain([base("elements")]).collect();
        let ways = ways(&mut case, &entries, &native::Options::default());
        for name in &names {
            for n in SIZES {
                let args = integers(&[n, 60_000 / n.max(20)]);
                let alone = ways[0].call(name, &args).unwrap_or_else(|error| panic!("{name}({n}): {error}"));
                for (threads, jit) in ways.iter().enumerate().skip(1) {
                    let found = jit.call(name, &args).unwrap_or_else(|error| panic!("{name}({n}): {error}"));
                    assert!(same_bits(&found, &alone), "{name}({n}) on {threads} threads");
                }
                if n < 100 {
                    let wanted = case.interpret(name, &args).expect("it has a value");
                    let off = distance(&alone, &wanted);
                    assert!(off <= ROUNDING, "{name}({n}) is off by {off}");
                }
            }
        }
    });
}

#[test]
fn exact_values_are_the_interpreter_s() {
    with_large_stack(|| {
        let mut case = Case::new(PROGRAM);
        let names = ["run_elements", "run_matrix", "run_total", "run_gradient"].map(base);
        let ways = ways(&mut case, &names, &native::Options::exact());
        for name in &names {
            let args = integers(&[65, 2000]);
            let wanted = case.interpret(name, &args).expect("it has a value");
            for jit in &ways {
                assert!(same_bits(&jit.call(name, &args).expect("it has a value"), &wanted), "{name}");
            }
        }
    });
}

/// The requests that a test's own `parallel_for` received.
#[derive(Default)]
struct Asked {
    chunks: Vec<i64>,
    workers: i64,
}

/// Runs chunks on one thread, the last one first, as if by several workers.
unsafe extern "C" fn backwards(asked: *mut c_void, body: lmc_pool::Body, env: *mut c_void, chunks: i64) {
    // SAFETY: the test passes it.
    let asked = unsafe { &mut *asked.cast::<Asked>() };
    asked.chunks.push(chunks);
    for chunk in (0..chunks).rev() {
        // SAFETY: generated code passes the two, and nothing else runs.
        unsafe { body(env, chunk, chunk % asked.workers) };
    }
}

/// The value of a function of two Integers, or the status of the call, and what was asked for.
fn scalar(jit: &Jit, name: &str, [n, m]: [i64; 2], workers: i64) -> (Result<f64, i32>, Asked) {
    type Scalar = unsafe extern "C" fn(*mut abi::Context, i64, i64, *mut f64) -> i32;
    let address = jit.address(&base(name)).expect("it is an entry");
    // SAFETY: that is its interface in C.
    let scalar = unsafe { std::mem::transmute::<usize, Scalar>(address) };
    let mut asked = Asked { chunks: vec![], workers };
    let mut ctx = abi::Context::new();
    ctx.threads = abi::Threads { parallel_for: Some(backwards), pool: (&raw mut asked).cast(), workers };
    let mut result = 0.0;
    // SAFETY: the pointers are good for the call.
    let status = unsafe { scalar(&mut ctx, n, m, &mut result) };
    (if status == 0 { Ok(result) } else { Err(status) }, asked)
}

#[test]
fn chunks_depend_on_the_work_alone() {
    // (n, m), how many chunks the loop of n has: none is asked for where one is enough.
    let wanted = [
        ((1000, 2000), vec![63]),
        ((2000, 2000), vec![32]),
        ((100, 3000), vec![50]),
        ((10, 10), vec![]),
        ((0, 9), vec![]),
    ];
    chunks_are("scalar", Lanes::Off, &wanted);
}

#[test]
fn little_work_is_divided_where_there_are_many_elements() {
    // However little an iteration does, it is a unit; and not a hundred.
    let wanted = [((1000, 2), vec![]), ((1_000_000, 2), vec![64]), ((0, 2), vec![])];
    for lanes in [Lanes::Off, Lanes::default()] {
        chunks_are("little", lanes, &wanted);
    }
}

#[test]
fn elements_that_are_only_moved_are_the_same() {
    let mut case = Case::new(PROGRAM);
    let name = base("run_added");
    let ways = ways(&mut case, std::slice::from_ref(&name), &native::Options::default());
    for n in [0, 1, 1000, 30_000, 200_003] {
        let args = integers(&[n, 3]);
        let wanted = case.interpret(&name, &args).expect("it has a value");
        for jit in &ways {
            assert!(same_bits(&jit.call(&name, &args).expect("it has a value"), &wanted), "{n}");
        }
    }
}

#[test]
fn chunks_fill_the_lanes() {
    let wanted = [
        ((1000, 2000), vec![32]),
        ((2000, 2000), vec![32]),
        ((100, 3000), vec![4]),
        ((10, 10), vec![]),
        ((0, 9), vec![]),
    ];
    chunks_are("scalar", Lanes::Width(32), &wanted);
}

fn chunks_are(name: &str, lanes: Lanes, wanted: &[((i64, i64), Vec<i64>)]) {
    let mut case = Case::new(PROGRAM);
    let jit = case.jit(&[base(name)], &native::Options { lanes, ..native::Options::default() });
    for ((n, m), chunks) in wanted {
        let (n, m) = (*n, *m);
        let [two, five] = [2, 5].map(|workers| scalar(&jit, name, [n, m], workers));
        assert_eq!(two.1.chunks, *chunks, "{n} {m}");
        assert_eq!(five.1.chunks, *chunks, "{n} {m}");
        let alone = jit.call(&base(name), &integers(&[n, m])).expect("it has a value");
        for found in [two, five] {
            assert!(same_bits(&Value::Float(found.0.expect("it has a value")), &alone), "{n} {m}");
        }
        // One worker needs no other threads.
        assert!(scalar(&jit, name, [n, m], 1).1.chunks.is_empty());
    }
}

#[test]
fn the_first_error_counts() {
    with_large_stack(|| {
        // Iterations fail at multiples of `bad`, each with other numbers; the first in one chunk, most in others.
        let text = "(def f Float ((n : Integer) (bad : Integer) (m : Integer))
          (let (w (build m (lam (j : Integer) (to_float j))))
            (sumbuild n (lam (i : Integer)
              (sum (map (lam (a : Float) (sin (mul a (index (if (eq (sub i (mul bad (div i bad))) (sub bad 1)) \
              (add i m) 0) w))))
                        w))))))";
        let mut case = Case::new(text);
        let name = base("f");
        let ways = ways(&mut case, std::slice::from_ref(&name), &native::Options::default());
        for bad in [1, 2, 63, 64, 65, 500, 999, 1000] {
            let args = integers(&[1000, bad, 300]);
            let wanted = case.interpret(&name, &args).expect_err("an iteration fails");
            assert!(matches!(wanted.kind, ErrorKind::IndexOutOfRange { .. }), "{wanted}");
            for jit in &ways {
                for _ in 0..5 {
                    assert_eq!(jit.call(&name, &args).expect_err("an iteration fails"), wanted, "{bad}");
                }
            }
        }
    });
}

#[test]
fn memory_may_be_exhausted_in_a_chunk() {
    // The last iterations need the most; in lanes, each lane has memory of its own.
    let text = "(def f Float ((n : Integer) (m : Integer))
      (sumbuild n (lam (i : Integer)
        (let (v (build (mul i m) (lam (j : Integer) (sin (to_float j)))))
          (sumbuild (size v) (lam (j : Integer) (mul (index j v) (index (sub (sub (size v) j) 1) v))))))))";
    let mut case = Case::new(text);
    let name = base("f");
    let alone = native::Options { lanes: Lanes::Off, ..native::Options::default() };
    let lanes = native::Options::default();
    for (options, bytes, enough) in
        [(&alone, 1 << 22, true), (&alone, 10_000, false), (&lanes, 1 << 26, true), (&lanes, 10_000, false)]
    {
        for mut jit in ways(&mut case, std::slice::from_ref(&name), options) {
            jit.set_arena(bytes);
            match jit.call(&name, &integers(&[200, 300])) {
                Ok(_) => assert!(enough, "{bytes}"),
                Err(error) => {
                    assert!(!enough && matches!(error.kind, ErrorKind::OutOfMemory { .. }), "{bytes}: {error}");
                }
            }
        }
    }
}

#[test]
fn run_takes_a_number_of_threads() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("threads-run.ks");
    let main = "(def main Integer () (print (run_total 1009 59) \" \" (run_elements 65 923) \"\\n\"))";
    std::fs::write(&file, PROGRAM.replace("(def main Integer () 0)", main)).expect("the file is written");
    let run = |options: &[&str]| {
        let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
        lmc.arg("run").args(options).arg(&file).output().expect("lmc runs")
    };
    let alone = run(&[]);
    assert!(alone.status.success() && alone.stdout.len() > 1000, "{}", String::from_utf8_lossy(&alone.stderr));
    for threads in ["0", "1", "2", "5"] {
        assert_eq!(run(&["--threads", threads]).stdout, alone.stdout, "{threads}");
    }
    assert_eq!(run(&["--threads", "2", "--interpret"]).status.code(), Some(2));
}
