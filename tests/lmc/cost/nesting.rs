//! The nesting of array operations: `src/cost/nesting.rs`.

use common::cost::pipeline;
use lm::term::FunName;
use lmc::cost::nesting;
use lmc::derive::Derivation;

const PROGRAM: &str = "\
(def number Float (x : Float) (mul x (sin x)))
(def map Float (v : Vec Float) (sum (build (size v) (lam (i : Integer) (mul 2.0 (index i v))))))
(def whole (Vec Float) ((v : Vec Float) (w : Vec Float)) (add v w))
(def index_only Float (v : Vec Float) (index 0 v))
(def whole_in_loop (Vec Float) (v : Vec (Vec Float)) (map (lam (row : Vec Float) (sum row)) v))
(def beside Float (v : Vec Float) (add (map v) (map v)))
(def called (Vec Float) (v : Vec (Vec Float)) (build (size v) (lam (i : Integer) (map (index i v)))))
(def three (Vec Float) (v : Vec (Vec Float)) (build 3 (lam (i : Integer) (sum (called v)))))
(def recursive Float ((n : Integer) (x : Float)) (if (lt n 1) x (recursive (sub n 1) (mul x x))))
(def recursive_loop Float ((n : Integer) (v : Vec Float)) (if (lt n 1) (map v) (recursive_loop (sub n 1) v)))
(def calls_whole Float (v : Vec Float) (sum (whole v v)))
";

/// Without a loop, an operation on whole tensors is a level; in a loop it is none.
#[test]
fn nesting_counts_loops_calls_and_recursion() {
    let p = pipeline(PROGRAM, Derivation::default()).expect("the program is right");
    for (name, depth) in [
        ("number", 0),
        ("map", 1),
        ("whole", 1),
        ("index_only", 0),
        ("whole_in_loop", 1),
        ("beside", 1),
        ("called", 2),
        ("three", 3),
        ("recursive", 1),
        ("recursive_loop", 2),
        ("calls_whole", 1),
    ] {
        assert_eq!(nesting(p.program(), &FunName::base(name)), depth, "{name}");
    }
}
