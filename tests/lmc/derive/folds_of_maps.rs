//! Folds whose steps go element by element become folds for each element, and others do not. Both forms give the same
//! values, and the new one fails only where the old one does.

use lm::eval::Evaluator;
use lm::interp::Interpreter;
use lm::prim::Prim;
use lm::term::{Def, FunName};
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;

/// Programs of all shapes, which `gradcheck` has looked at.
const PROGRAM: &str = include_str!("../../cases/gradcheck/folds_of_maps.ks");

/// The functions whose folds stay as they are.
const STAY: [&str; 5] = ["first", "normalised", "one_element", "annealed", "asserted"];

/// Steps where something that is common to all elements may fail, or is not common at all. Each takes a vector and the
/// number of steps.
const FAILING: &str = "
(def of_data (Vec Float) ((s : Vec Float) (n : Integer))
  (fold (lam (p : Tuple (Vec Float) Integer)
          (let (((s i) p) (c (index i (Vec_init 1.0 2.0))))
            (map (lam (y : Float) (mul c y)) s)))
        s (build n (lam (i : Integer) i))))
(def of_nothing (Vec Float) ((s : Vec Float) (n : Integer))
  (fold (lam (p : Tuple (Vec Float) Integer)
          (let (((s i) p) (c (index n (Vec_init 1.0 2.0 3.0))))
            (map (lam (y : Float) (mul c y)) s)))
        s (build n (lam (i : Integer) i))))
(def of_a_sum (Vec Float) ((s : Vec Float) (n : Integer))
  (fold (lam (p : Tuple (Vec Float) Integer)
          (let (((s i) p) (c (sumbuild n (lam (j : Integer) (index j (Vec_init 1.0 2.0))))))
            (map (lam (y : Float) (mul c y)) s)))
        s (build n (lam (i : Integer) i))))
(def on_condition (Vec Float) ((s : Vec Float) (n : Integer))
  (fold (lam (p : Tuple (Vec Float) Integer)
          (let ((s i) p)
            (map (lam (y : Float) (if (gt y 2.0) (exp (index i (Vec_init 1.0))) (mul 0.5 y))) s)))
        s (build n (lam (i : Integer) i))))
(def division (Vec Integer) ((s : Vec Float) (n : Integer))
  (fold (lam (p : Tuple (Vec Integer) Integer)
          (let ((s i) p) (map (lam (y : Integer) (add y (div 6 (sub 2 i)))) s)))
        (build (size s) (lam (k : Integer) k)) (build n (lam (i : Integer) i))))
(def two_ways (Vec Float) ((s : Vec Float) (n : Integer))
  (fold (lam (p : Tuple (Vec Float) Integer)
          (let ((s i) p)
            (map (lam (y : Float) (assert (lt y 9.0) (assert (lt i 2) (mul 2.0 y)))) s)))
        s (build n (lam (i : Integer) i))))
(def by_state (Vec Integer) ((s : Vec Float) (n : Integer))
  (fold (lam (p : Tuple (Vec Integer) Integer)
          (let ((s i) p) (map (lam (y : Integer) (add (index (sub 4 y) (Vec_init 1 2 0 1 1)) y)) s)))
        (build (size s) (lam (k : Integer) k)) (build n (lam (i : Integer) i))))
(def other_size (Vec Float) ((s : Vec Float) (n : Integer))
  (fold (lam (p : Tuple (Vec Float) Integer)
          (let ((s i) p) (build (add (size s) 1) (lam (k : Integer) (if (lt k (size s)) (index k s) 1.0)))))
        s (build n (lam (i : Integer) i))))
(def beside (Vec Float) ((s : Vec Float) (n : Integer))
  (fold (lam (p : Tuple (Vec Float) Integer)
          (let ((s i) p) (build (size s) (lam (k : Integer) (mul (index k s) (index k (Vec_init 1.0 2.0)))))))
        s (build n (lam (i : Integer) i))))
";

/// Returns a program as it is checked, and as derivatives are made from it.
fn both(text: &str) -> (Vec<FunName>, lm::term::Program, Pipeline) {
    let load = || {
        let checked = front::load(&Source::new("folds.ks", text));
        checked.unwrap_or_else(|errors| panic!("{errors:?}"))
    };
    let checked = load();
    let names = checked.places.keys().cloned().collect();
    (names, checked.program, Pipeline::new(load()))
}

fn folds_arrays(def: &Def) -> bool {
    def.body.any(|e| e.args_of_prim(Prim::Fold).is_some() && e.ty().mentions_array())
}

#[test]
fn steps_that_go_element_by_element_are_maps() {
    with_large_stack(|| {
        let (names, written, pipeline) = both(PROGRAM);
        let folding = names.iter().filter(|name| folds_arrays(&written.defs[*name]));
        let stay: Vec<&str> =
            folding.filter(|name| folds_arrays(&pipeline.program().defs[*name])).map(|name| &*name.base).collect();
        assert_eq!(stay, STAY);
    });
}

/// Where elements come from, errors too: a program that has a value has the same one.
#[test]
fn both_forms_fail_alike() {
    with_large_stack(|| {
        let (names, written, pipeline) = both(FAILING);
        let mut fewer = Vec::new();
        for name in &names {
            for (size, steps) in [0, 1, 2, 3].iter().flat_map(|size| [0, 1, 2, 3, 4].map(|steps| (*size, steps))) {
                let s = (0..size).map(|k| Value::Float([0.5, 2.0, 3.0][k])).collect();
                let args = [Value::vector(s), Value::Integer(steps)];
                let before = Evaluator::new(&written, std::io::sink()).call(name, &args);
                let after = Interpreter::new(pipeline.program()).call(name, &args);
                match (&before, &after) {
                    // What is common to no element is not computed.
                    (Err(_), Ok(value)) if size == 0 => fewer.push((&*name.base, steps, value.clone())),
                    _ => assert_eq!(before, after, "{name} of {size} elements, {steps} steps"),
                }
            }
        }
        let expected = ["of_data", "of_nothing"].into_iter().flat_map(|name| [3, 4].map(|steps| (name, steps)));
        let expected: Vec<_> = expected.map(|(name, steps)| (name, steps, Value::vector(vec![]))).collect();
        assert_eq!(fewer, expected);
    });
}
