//! Costs of gradients by dual numbers where sizes are elements, differences, or those of states: what is printed, which
//! loops are named, and what the interpreter counts.

use common::cost;
use lm::interp::Interpreter;
use lm::tensor::Tensor;
use lm::term::FunName;
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::cost::{Comparison, amount};
use lmc::derive::pipeline::Pipeline;
use lmc::with_large_stack;
use std::io::Write;
use std::process::{Command, Stdio};

const PROGRAM: &str = "
(def cube Float (t : Float) (mul t (mul t t)))
; A call of a recursive function is not inlined: so laws leave the loops.
(def odd Float (t : Float) (if (lt t 0.0) (neg (odd (neg t))) (mul t t)))
(def window Float ((off : Vec Integer) (v : Vec Float))
  (sumbuild (sub (index 1 off) (index 0 off)) (lam (k : Integer) (odd (index k v)))))
(def ragged Float ((g : Vec (Vec Float)) (v : Vec Float))
  (sumbuild (sub (size (index 1 g)) (size (index 0 g))) (lam (k : Integer) (odd (index k v)))))
(def corner Float ((m : Tensor 2 Integer) (v : Vec Float))
  (sumbuild (sub (index (tuple 0 1) m) (index (tuple 0 0) m)) (lam (k : Integer) (odd (index k v)))))
(def pairs Float ((ns : Vec (Tuple Integer Integer)) (v : Vec Float))
  (let ((a b) (index 0 ns)) (sumbuild (sub b a) (lam (k : Integer) (odd (index k v))))))
(def segments Float ((off : Vec Integer) (v : Vec Float))
  (sumbuild (sub (size off) 1) (lam (i : Integer)
    (let (s (sumbuild (sub (index (add i 1) off) (index i off)) (lam (k : Integer) (cube (index (add k (index i off)) v)))))
      (mul s s)))))
(def biquad (Vec Float) ((c : Vec Float) (x : Vec Float))
  (map (lam (p : Tuple Float Float) (get$1$2 p)) (scanl (lam (s : Tuple (Tuple Float Float) Float)
    (let ((p e) s) (let ((y z) p)
      (tuple (add (mul (index 0 c) y) (add (mul (index 1 c) z) (mul (index 2 c) e))) y)))) (tuple 0.0 0.0) x)))
(def filter Float ((c : Vec Float) (x : Vec Float))
  (let (y (biquad c x)) (sumbuild (size x) (lam (i : Integer) (mul (index i y) (index i y))))))
(def scatter (Vec Float) ((x : Vec Float))
  (buildFromSparse (size x) (size x) (lam (k : Integer) (tuple k (index k x)))))
(def choice (Vec 3 Float) ((c : Vec 3 Float) (t : Float))
  (if (gt t 0.0) (mul (index 0 c) (Vec_init 0.9 0.5 0.2)) (constVec 3 0.1)))
(def gram (Tensor (c c) Float) (m : Tensor (r c) Float)
  (build (tuple (get$2$2 (size m)) (get$2$2 (size m))) (lam (ij : Tuple Integer Integer)
    (sumbuild (get$1$2 (size m)) (lam (k : Integer)
      (mul (index (tuple k (get$1$2 ij)) m) (index (tuple k (get$2$2 ij)) m)))))))
(def frobenius Float (m : Tensor (r c) Float) (sum (gram m)))
(def triangle Float (v : Vec Float)
  (sumbuild (size v) (lam (i : Integer)
    (let (s (sumbuild i (lam (k : Integer) (index k v)))) (mul s s)))))
(def correlation (Vec Float) (v : Vec Float)
  (build (size v) (lam (l : Integer)
    (sumbuild (sub (size v) l) (lam (k : Integer) (mul (index k v) (index (add k l) v)))))))
(def paths Float ((th : Vec Float) (n : Integer) (t : Integer))
  (sumbuild n (lam (p : Integer)
    (let (z (build t (lam (k : Integer) (sin (to_float (add p k))))))
    (let (s (sumbuild t (lam (k : Integer) (mul (index k z) (cube (index k th))))))
      (mul s s))))))
(def deep Float (v : Vec Float) (grow v 3))
(def grow Float ((v : Vec Float) (n : Integer))
  (if (eq n 0) (sum v) (grow (map (lam (x : Float) (sin x)) v) (div n 2))))
(def powers Float ((m : Tensor 2 Float) (v : Vec Float))
  (index (tuple 0 0)
         (fold (lam (p : Tuple (Tensor 2 Float) Float)
                 (let ((s x) p)
                   (build (size s) (lam (ij : Tuple Integer Integer)
                     (let ((i j) ij) (mul x (index (tuple (sub (sub (get$1$2 (size s)) 1) i) j) s)))))))
               m v)))
(def named Float ((steps : Integer) (v : Vec Float))
  (sumbuild steps (lam (k : Integer) (odd (index k v)))))
";

/// A function, the parameter that varies, the operations of the value and of its gradient, and the loops named.
type Row = (&'static str, usize, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const COSTS: &[Row] = &[
    ("window", 2, "cost(odd) off[1] - cost(odd) off[0] + 3 off[1] - 3 off[0] flop",
     "cost([fwd odd]) size(v) off[1] - cost([fwd odd]) size(v) off[0] + 4 size(v) off[1] - 4 size(v) off[0] flop",
     "`[fwd odd]`, cost([fwd odd]) size(v) off[1] - cost([fwd odd]) size(v) off[0] steps"),
    ("ragged", 2, "cost(odd) size(g[1]) - cost(odd) size(g[0]) + 3 size(g[1]) - 3 size(g[0]) flop",
     "cost([fwd odd]) size(g[1]) size(v) - cost([fwd odd]) size(g[0]) size(v) \
      + 4 size(g[1]) size(v) - 4 size(g[0]) size(v) flop",
     "`[fwd odd]`, cost([fwd odd]) size(g[1]) size(v) - cost([fwd odd]) size(g[0]) size(v) steps"),
    ("corner", 2, "cost(odd) m[0, 1] - cost(odd) m[0, 0] + 3 m[0, 1] - 3 m[0, 0] flop",
     "cost([fwd odd]) size(v) m[0, 1] - cost([fwd odd]) size(v) m[0, 0] + 4 size(v) m[0, 1] - 4 size(v) m[0, 0] flop",
     "`[fwd odd]`, cost([fwd odd]) size(v) m[0, 1] - cost([fwd odd]) size(v) m[0, 0] steps"),
    ("pairs", 2, "cost(odd) ns[0].2 - cost(odd) ns[0].1 + 3 ns[0].2 - 3 ns[0].1 flop",
     "cost([fwd odd]) size(v) ns[0].2 - cost([fwd odd]) size(v) ns[0].1 + 4 size(v) ns[0].2 - 4 size(v) ns[0].1 flop",
     "`[fwd odd]`, cost([fwd odd]) size(v) ns[0].2 - cost([fwd odd]) size(v) ns[0].1 steps"),
    ("named", 2, "`steps` cost(odd) + 3 `steps` flop",
     "`steps` cost([fwd odd]) size(v) + 4 `steps` size(v) flop",
     "`[fwd odd]`, `steps` cost([fwd odd]) size(v) steps"),
    ("segments", 2, "flop not known", "flop not known",
     "`sumbuild`, size(off) size(v) - size(v) steps; `sumbuild`, steps not known"),
    ("filter", 1, "7 size(x) flop", "10 size(c) size(x) + size(c) + 5 size(x) flop", "`$loop`, size(c) size(x) steps"),
    ("scatter", 1, "size(x) flop", "2 size(x) size(x) + size(x) flop", ""),
    ("choice", 1, "3 flop", "3 flop", ""),
    ("frobenius", 1, "2 size(m).1 size(m).2 size(m).2 + size(m).2 size(m).2 flop", "2 size(m).1 size(m).2 flop", ""),
    ("triangle", 1, "at most size(v) size(v) + size(v) flop", "at most 3 size(v) size(v) - size(v) flop", ""),
    ("correlation", 1, "at most 2 size(v) size(v) flop", "at most 2 size(v) size(v) size(v) flop",
     "`sumbuild`, at most size(v) size(v) size(v) steps"),
    ("paths", 1, "5 n t + 2 n flop", "3 n size(th) + 5 n t + 6 size(th) flop", "`sumbuild`, n size(th) steps"),
    ("deep", 1, "cost(grow) + size(v) flop", "cost([fwd grow]) size(v) + 3 size(v) size(v) flop",
     "`sum`, size(v) size(v) steps; `[fwd grow]`, cost([fwd grow]) size(v) steps"),
    ("powers", 1, "size(m).1 size(m).2 size(v) flop",
     "size(m).1 size(m).1 size(m).2 size(m).2 size(v) + size(m).1 size(m).2 size(v) flop",
     "`build`, size(m).1 size(m).1 size(m).2 size(m).2 size(v) steps"),
];

/// Returns the costs of a function with respect to one parameter, and the name of the derivative.
fn comparison(p: &mut Pipeline, fun: &str, varying: usize) -> (Comparison, FunName) {
    let name = FunName::base(fun).restricted(&[vec![varying]]);
    let stages = p.stages(&name, false).unwrap_or_else(|error| panic!("{name}: {error}"));
    let derived = stages.last().expect("there are stages").def.fun.name.clone();
    p.require(&derived).unwrap_or_else(|error| panic!("{derived}: {error}"));
    p.require(&FunName::base(fun)).unwrap_or_else(|error| panic!("{fun}: {error}"));
    (stages.into_iter().find_map(|stage| stage.cost).expect("a stage has the cost"), derived)
}

fn pipeline() -> Pipeline {
    cost::pipeline(PROGRAM, Derivation::Dual).expect("the program is right")
}

fn late(cost: &Comparison) -> String {
    cost.late_loops().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn elements_differences_and_states_have_sizes_of_their_own() {
    with_large_stack(|| {
        let mut wrong = Vec::new();
        for (fun, varying, value, derivative, named) in COSTS {
            let (cost, _) = comparison(&mut pipeline(), fun, *varying);
            let shown = [amount(&cost.value.flop, "flop"), amount(&cost.derivative.flop, "flop"), late(&cost)];
            if shown != [*value, *derivative, *named] {
                wrong.push(format!("{fun}: {shown:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

fn numbers(n: usize) -> Vec<Value> {
    (0..n).map(|i| Value::Float(0.5 + 0.25 * i as f64)).collect()
}

fn vector(n: usize) -> Value {
    Value::vector(numbers(n))
}

fn matrix(n: usize) -> Value {
    Value::Tensor(Tensor::new(vec![n, n], numbers(n * n)).into())
}

/// The argument of a function for sizes n, and the sums of the value that start with their first term: each has one
/// addition less than terms.
type Counted = (&'static str, fn(usize) -> Vec<Value>, fn(usize) -> u64);

const COUNTED: [Counted; 4] = [
    ("filter", |n| vec![vector(n), vector(n)], |_| 1),
    ("scatter", |n| vec![vector(n)], |_| 0),
    ("frobenius", |n| vec![matrix(n)], |n| (n * n + 1) as u64),
    ("powers", |n| vec![matrix(n), vector(n)], |_| 0),
];

/// Operations are what the interpreter counts, to the number: sums in place cost what they add.
#[test]
fn sums_in_place_are_counted_as_they_run() {
    with_large_stack(|| {
        let mut wrong = Vec::new();
        for (fun, args, sums) in COUNTED {
            let mut p = pipeline();
            let (cost, derived) = comparison(&mut p, fun, 1);
            for n in [3, 8] {
                for (name, cost, sums) in [(&FunName::base(fun), &cost.value, sums(n)), (&derived, &cost.derivative, 0)]
                {
                    let mut interpreter = Interpreter::new(p.program());
                    interpreter.call(name, &args(n)).unwrap_or_else(|error| panic!("{name}: {error}"));
                    let counts = interpreter.counts;
                    let [flop, moves, steps] = [&cost.flop, &cost.moves, &cost.steps].map(|of| of.at(n as i64) as u64);
                    if counts.arithmetic() + sums != flop || counts.moves > moves || counts.steps > steps {
                        wrong.push(format!("{name} at {n}: {counts:?} differs from {flop}, {moves}, {steps}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

/// A call keeps laws from a loop over zeros, if the function is too large to be inlined: the remedy names it, unless the
/// function is recursive.
#[test]
fn the_remedy_names_a_call_that_can_be_inlined() {
    let term = |k: usize| format!("(mul {k}.5 (sin (mul x {k}.25)))");
    let drift = (1..400).map(term).reduce(|sum, term| format!("(add {term}\n {sum})")).expect("there are terms");
    let program = format!(
        "{PROGRAM}(def drift Float (x : Float)\n {drift})\n\
         (def drifts Float (v : Vec Float) (sumbuild (size v) (lam (i : Integer) (drift (index i v)))))"
    );
    for (fun, wrt, is_named) in [("drifts", "v", true), ("deep", "v", false)] {
        let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
        lmc.args(["demo", "-", "--fun", fun, "--derivation", "dual", "--wrt", wrt, "--stage", "cost"]);
        let mut lmc =
            lmc.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        lmc.stdin.take().expect("a pipe").write_all(program.as_bytes()).expect("lmc reads");
        let output = lmc.wait_with_output().expect("lmc ends");
        let warning = String::from_utf8_lossy(&output.stderr);
        assert!(warning.starts_with("warning[W407]"), "{warning}");
        assert_eq!(warning.contains("help: write `($inline (drift ..))` for the call"), is_named, "{warning}");
        assert!(warning.contains("take `--derivation jacobian`"), "{warning}");
    }
}
