//! The cheap-gradient bound: see `docs/bound.md`.
//!
//! ```text
//! work of [vjp f], of [rev f]  <=  4 · levels · max(work of f + Floats of argument and result, 4)
//! ```
//!
//! for random programs and programs that grow. `cost` has the demos.

use super::each::{self, alone};
use common::cost::{call, pipeline};
use common::families::{families, stays};
use common::generate_scaled::program;
use common::random::{cases, seed};
use common::shrink::smallest;
use common::table::{SEED, is_dear, measured_program};
use libtest_mimic::Trial;
use lm::term::FunName;
use lm::value::Value;
use lmc::cost::Measured;
use lmc::derive::Derivation;
use lmc::derive::call_order;
use lmc::with_large_stack;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = Vec::new();
    for family in families() {
        let (name, is_long) = (family.name.clone(), family.grows == "data");
        // Of data, the two largest sizes; the campaign looks at them.
        let sizes = if is_long { &family.sizes[family.sizes.len() - 2..] } else { family.sizes };
        let row = each::row("bound::ratios_stay_as_programs_grow", &name, move || stays(&family, sizes));
        tests.push(row.with_ignored_flag(is_long));
    }
    tests.extend(alone!(
        "bound": gradients_of_random_programs_are_cheap, random_programs_have_what_they_promise,
        counts_are_those_of_the_cost_model, arguments_without_effect_cost_nothing,
        sums_of_cotangents_have_one_destination, sums_of_one_hot_vectors_add_one_number_each,
    ));
    tests
}

/// One of this many programs may be above the bound: see `docs/bound.md`, "Random programs".
const ONE_OF: usize = 400;

/// No program does more than this for each level.
const MOST: f64 = 6.0;

fn gradients_of_random_programs_are_cheap() {
    let (seed, count) = (seed(), u64::from(cases(150)));
    println!("LMC_SEED={seed} LMC_CASES={count}");
    let mut dear = Vec::new();
    for number in 0..count {
        let text = program(seed, number);
        let all = measured_program(&text, Derivation::default()).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let ratio = per_level(&all);
        assert!(ratio <= MOST, "program {number}: {ratio}\n{}\n{text}", smallest(&text, is_above_all));
        if !all.iter().all(Measured::is_cheap) {
            dear.push((ratio, text));
        }
    }
    if let Some((ratio, text)) = dear.iter().min_by_key(|(_, text)| text.len())
        && dear.len() * ONE_OF > count as usize + ONE_OF - 1
    {
        panic!("{} of {count} programs are above the bound, one with {ratio}:\n{}", dear.len(), shrunk(text));
    }
}

/// Calls whose results depend on no number of a vector: its size counts, and how deep a recursion goes.
const WITHOUT_EFFECT: &str = "
(def mean_weight Float ((v : Vec Float) (w : Float)) (div w (to_float (size v))))
(def depth Float ((n : Integer) (u : Vec Float) (v : Vec Float))
  (if (lte n 1) 1.0 (add 1.0 (depth (div n 2) v u))))
(def scaled Float ((v : Vec Float) (w : Float))
  (let ((a (mean_weight v w)) (b (mean_weight v (mul a w))) (c (mean_weight v (mul b w)))
        (d (mul (depth (size v) v v) (depth (size v) v v))))
    (mul c (mul d (depth 4 v v)))))
(def f Float ((v : Vec Float) (w : Float)) (mul (index 0 v) (add (scaled v w) (scaled v (index 1 v)))))
(def point (Tuple (Vec Float) Float) (n : Integer)
  (tuple (build n (lam (i : Integer) (add 0.5 ($ranhashdoub i)))) 0.75))";

/// A function that calls itself on a vector that it is given twice, called several times: few numbers are read.
const SUMS: &str = "
(def probe Float ((to : Integer) (u : Vec Float) (v : Vec Float))
  (if (lte to 1) (index 1 u) (probe (div to 2) v u)))
(def twice Float (v : Vec Float) (add (sin (probe (size v) v v)) (mul (probe 1 v v) (probe 3 v v))))
(def passed Float (v : Vec Float) (mul 2.0 (twice v)))
(def f (Tuple Float Float) (v : Vec Float) (tuple (passed v) 1.0))
(def point (Vec Float) (n : Integer) (build n (lam (i : Integer) (add 0.5 ($ranhashdoub i)))))";

/// A histogram: a sum of vectors that are zero but for one element, and one of matrices.
const ONE_HOTS: &str = "
(def histogram (Vec Float) ((v : Vec Float) (n : Integer))
  (sumbuild (size v) (lam (i : Integer) (deltaVec n (to_integer (mul 3.0 (abs (index i v)))) (index i v)))))
(def counted (Tensor 2 Float) ((v : Vec Float) (n : Integer))
  (sumbuild (size v) (lam (i : Integer) (deltaVec (tuple n n) (tuple i (sub (size v) i)) (sin (index i v))))))
(def f (Tuple (Vec Float) (Tensor 2 Float)) (v : Vec Float)
  (tuple (histogram v (mul (size v) (size v))) (counted v (size v))))
(def point (Vec Float) (n : Integer) (build n (lam (i : Integer) (add 0.5 ($ranhashdoub i)))))";

fn arguments_without_effect_cost_nothing() {
    costs_at_most(2.0, WITHOUT_EFFECT, &Derivation::BOUNDED);
}

fn sums_of_cotangents_have_one_destination() {
    costs_at_most(2.0, SUMS, &Derivation::BOUNDED);
}

fn sums_of_one_hot_vectors_add_one_number_each() {
    // The others record the vectors: see `docs/bound.md`.
    costs_at_most(2.0, ONE_HOTS, &[Derivation::Jacobian, Derivation::Polymorphic]);
}

/// Value and gradient, by derivations, for each level.
fn costs_at_most(most: f64, text: &str, derivations: &[Derivation]) {
    for derivation in derivations {
        let all = measured_program(text, *derivation).unwrap_or_else(|why| panic!("{why}\n{text}"));
        assert!(per_level(&all) <= most, "{}: {} for each level\n{text}", derivation.name(), per_level(&all));
    }
}

fn per_level(all: &[Measured]) -> f64 {
    all.iter().map(Measured::per_level).fold(0.0, f64::max)
}

fn is_above_all(text: &str) -> bool {
    measured_program(text, Derivation::default()).is_ok_and(|all| per_level(&all) > MOST)
}

fn shrunk(text: &str) -> String {
    smallest(text, |text| is_dear(text, Derivation::default()))
}

/// The programs test enough: each construct is in many of them, and calls go deep.
fn random_programs_have_what_they_promise() {
    let texts: Vec<String> = (0..400).map(|number| program(SEED, number)).collect();
    for construct in [
        "(let",
        "(if ",
        "(build ",
        "(sumbuild ",
        "(fold ",
        "(scan",
        "(tuple ",
        "(Vec (Vec ",
        "(gte i (size v))",
        "(div (add from to) 2)",
    ] {
        let many = texts.iter().filter(|text| text.contains(construct)).count();
        assert!(many >= 20, "{construct} is in {many} of {}", texts.len());
    }
    let deep = |text: &String| with_large_stack(|| depth_of_calls(text)) >= 6;
    let many = texts.iter().filter(|text| deep(text)).count();
    assert!(many >= 10, "calls are six deep in {many} programs");
}

/// Returns the depth of nested calls of different functions.
fn depth_of_calls(text: &str) -> usize {
    let p = pipeline(text, Derivation::default()).expect("programs are right");
    fn below(p: &lmc::derive::pipeline::Pipeline, name: &FunName) -> usize {
        let mut called = Vec::new();
        call_order::calls(&p.program().defs[name].body, &mut called);
        called.retain(|callee| callee != name);
        called.iter().map(|callee| 1 + below(p, callee)).max().unwrap_or(0)
    }
    below(&p, &FunName::base("f"))
}

/// MOVES, ADDS, MULTS and NLOPS of Fig. 11, by hand.
fn counts_are_those_of_the_cost_model() {
    let cost = |params: &str, body: &str, args: &[Value]| {
        let p = pipeline(&format!("(def f Float ({params}) {body})"), Derivation::default()).expect("it is right");
        let c = call(&p, &FunName::base("f"), args).expect("it has a value").1;
        // The call itself is a let for each parameter.
        [c.accesses - args.len() as u64, c.additions, c.multiplications, c.nonlinear]
    };
    let (x, y) = (Value::Float(2.0), Value::Float(3.0));
    let (one, pair) = ([x.clone()], [x.clone(), y.clone()]);
    assert_eq!(cost("(x : Float)", "x", &one), [1, 0, 0, 0]);
    assert_eq!(cost("(x : Float)", "1.5", &one), [1, 0, 0, 0]);
    assert_eq!(cost("(x : Float) (y : Float)", "(mul x y)", &pair), [5, 0, 1, 0]);
    assert_eq!(cost("(x : Float) (y : Float)", "(add x (sin y))", &pair), [3 + 1 + 2 + 1, 1, 0, 1]);
    assert_eq!(cost("(x : Float)", "(let (z (mul x x)) (add z z))", &one), [1 + 5 + 5, 1, 1, 0]);
    assert_eq!(cost("(x : Float)", "(get$1$2 (tuple x 1.0))", &one), [1 + 1 + 1, 0, 0, 0]);
    let v = Value::vector(vec![x.clone(), y, x]);
    // A step of a fold: 2, and a let for the pair that it takes, two projections, a multiplication.
    let product = "(fold (lam (p : (Tuple Float Float)) (mul (get$1$2 p) (get$2$2 p))) 1.0 v)";
    assert_eq!(cost("(v : Vec Float)", product, &[v]), [3 * (2 + 3 + 2 * 2) + 1 + 1, 0, 3, 0]);
}
