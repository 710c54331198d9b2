//! Reverse mode is cheap: exact operation counts, sizes, and their growth.

mod nesting;

use common::cost;
use common::families::{calls, calls_of_tuples, calls_under_conditionals, doublings, nested_conditionals, sines};
use lm::interp::{Counts, Interpreter};
use lm::term::{Derivative, Expr, FunName, Kind, Op};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::with_large_stack;

fn pipeline(text: &str) -> Pipeline {
    cost::pipeline(text, Derivation::default()).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// The operations of a call.
fn cost(p: &mut Pipeline, name: &FunName, args: &[Value]) -> Counts {
    p.require(name).expect("the function has derivatives");
    let mut interpreter = Interpreter::new(p.program());
    interpreter.call(name, args).expect("the call succeeds");
    interpreter.counts
}

/// Arithmetic of `rev$f` and of `f` at a point of one Float.
fn reverse_and_primal(text: &str) -> (u64, u64) {
    with_large_stack(|| {
        let mut p = pipeline(text);
        let f = FunName::base("f");
        let x = Value::Float(0.75);
        let primal = cost(&mut p, &f, std::slice::from_ref(&x)).arithmetic();
        let reverse = cost(&mut p, &f.derived(Derivative::Rev), &[x, Value::Float(1.0)]).arithmetic();
        (reverse, primal)
    })
}

#[test]
fn a_chain_of_doublings_is_one_multiplication() {
    let (reverse, primal) = reverse_and_primal(&doublings(60));
    assert_eq!((reverse, primal), (1, 60));
}

#[test]
fn a_nonlinear_chain_costs_a_constant_per_link() {
    let (r60, p60) = reverse_and_primal(&sines(60));
    let (r600, p600) = reverse_and_primal(&sines(600));
    assert_eq!(p60 * 10, p600);
    assert!(r60 <= 4 * p60, "{r60} against {p60}");
    assert!(r600 * 20 <= 10 * r60 * 21, "{r600} against {r60}");
}

/// An element of a tensor that is built for it, of a multiple of one, and of a sum; the sum of a tensor with one
/// element: the derivative does not go over the tensor.
#[test]
fn the_derivative_of_an_element_takes_no_more_operations_for_a_longer_tensor() {
    let text = "
(def built Float ((n : Integer) (x : Float)) (index 2 (build n (lam (i : Integer) (sin (mul x (to_float i)))))))
(def named Float ((n : Integer) (x : Float))
  (let ((v (build n (lam (i : Integer) (let (t (mul x (to_float i))) (exp (mul t (sin t)))))))
        (last (sub n 1)))
    (index last v)))
(def scaled Float ((n : Integer) (x : Float)) (index 1 (ts_scale 3.0 (build n (lam (i : Integer) (mul x x))))))
(def added Float ((n : Integer) (x : Float))
  (index 3 (ts_add (build n (lam (i : Integer) (mul x x))) (build n (lam (i : Integer) (cos x))))))
(def nested Float ((n : Integer) (x : Float))
  (index (tuple 1 2) (build (tuple n n) (lam (ij : Tuple Integer Integer) (mul x (to_float (get$1$2 ij)))))))
(def delta Float ((n : Integer) (x : Float)) (sum (deltaVec n 3 (sin x))))
(def one_hot Float ((n : Integer) (x : Float))
  (let ((last (sub n 1)) (v (build n (lam (i : Integer) (if (ne last i) 0.0 (mul x (sin x)))))) (y (sum v))) y))
(def corner Float ((n : Integer) (x : Float)) (sum (deltaVec (tuple n n) (tuple 1 2) (mul x x))))
";
    with_large_stack(|| {
        let mut p = pipeline(text);
        let built = [("built", 10), ("named", 14), ("scaled", 10), ("added", 10), ("nested", 10)];
        let one_hot = [("delta", 10), ("one_hot", 10), ("corner", 10)];
        for ((f, most), derivative) in built.into_iter().map(|row| (row, Derivative::Rev)).chain(
            one_hot.into_iter().flat_map(|row| [Derivative::Rev, Derivative::Vjp].map(|derivative| (row, derivative))),
        ) {
            let name = FunName::base(f).derived(derivative);
            let mut operations = |n: i64| {
                let point = Value::Tuple(vec![Value::Integer(n), Value::Float(0.75)]);
                cost(&mut p, &name, &[point, Value::Float(1.0)])
            };
            let [few, many] = [5, 100_000].map(&mut operations);
            assert_eq!(few, many, "{name}");
            assert!(many.arithmetic() <= most, "{name}: {many:?}");
        }
    });
}

/// The caller's text decides whether the callee's value or its derivative comes first.
#[test]
fn a_chain_of_calls_costs_a_constant_per_call() {
    chain_of_calls(|below| format!("(let (y {below}) (mul y (sin y)))"));
    chain_of_calls(|below| format!("(mul x (sin {below}))"));
    chain_of_calls(|below| format!("(mul (sin {below}) x)"));
    chain_of_calls(|below| format!("(mul {below} (sin x))"));
}

fn chain_of_calls(body: impl Fn(&str) -> String) {
    let (r60, p60) = reverse_and_primal(&calls(60, &body));
    let (r240, p240) = reverse_and_primal(&calls(240, &body));
    assert!(r60 <= 4 * p60, "{r60} against {p60}");
    assert!(r240 * p60 <= r60 * p240 + p60 * 8, "{r240}/{p240} against {r60}/{p60}");
}

/// All definitions that the derivative of a chain of calls needs, together.
#[test]
fn the_derivative_of_a_chain_of_calls_is_as_long_as_the_chain() {
    let nodes = |n: usize| {
        let text = calls(n, |below| format!("(let (y {below}) (mul y (sin y)))"));
        with_large_stack(|| {
            let mut p = pipeline(&text);
            p.require(&FunName::base("f").derived(Derivative::Rev)).expect("f derives");
            p.program().defs.values().map(|def| def.body.size()).sum::<usize>()
        })
    };
    let (small, large) = (nodes(60), nodes(240));
    assert!(large <= 4 * small + 4 * 60, "{small} nodes for 60 calls, {large} for 240");
}

#[test]
fn a_chain_of_calls_that_give_tuples_costs_a_constant_per_call() {
    let (r10, p10) = reverse_and_primal(&calls_of_tuples(10));
    let (r40, p40) = reverse_and_primal(&calls_of_tuples(40));
    assert!(r40 <= 4 * p40, "{r40} against {p40}");
    assert!(r40 * p10 <= r10 * p40 + 8 * p10, "{r40}/{p40} against {r10}/{p10}");
}

#[test]
fn calls_under_conditionals_are_not_run_again_at_each_level() {
    let (r10, p10) = reverse_and_primal(&calls_under_conditionals(10));
    let (r40, p40) = reverse_and_primal(&calls_under_conditionals(40));
    assert!(r40 <= 4 * p40, "{r40} against {p40}");
    assert!(r40 * p10 <= r10 * p40 + 8 * p10, "{r40}/{p40} against {r10}/{p10}");
}

#[test]
fn nested_conditionals_are_computed_once() {
    // More than twelve levels are differentiated with records.
    for (few, many) in [(5, 12), (15, 40)] {
        let (r1, p1) = reverse_and_primal(&nested_conditionals(few));
        let (r2, p2) = reverse_and_primal(&nested_conditionals(many));
        assert!(r2 <= 4 * p2, "{r2} against {p2}");
        assert!(r2 * p1 <= r1 * p2 + 8 * p1, "{r2}/{p2} against {r1}/{p1}");
    }
}

/// The notes print `(t1 * t2 + t1 * t2) * dx` with `t1 = x + x * x`, `t2 = x + x` as the derivative of
/// f2: seven operations, and wrong. Ours has seven, and is right.
#[test]
fn ex2_has_seven_operations_and_the_right_value() {
    let text = include_str!("../../demos/ex2.ks");
    let mut p = pipeline(text);
    let f = FunName::base("f2");
    for derivation in [Derivative::Fwd, Derivative::Rev] {
        let name = f.derived(derivation);
        let counts = cost(&mut p, &name, &[Value::Float(1.0), Value::Float(1.0)]);
        assert_eq!(counts.arithmetic(), 7);
        let value = Interpreter::new(p.program()).call(&name, &[Value::Float(1.0), Value::Float(1.0)]);
        assert_eq!(value.unwrap(), Value::Float(7.0));
    }
    let (t1, t2) = (1.0 + 1.0 * 1.0, 1.0 + 1.0);
    assert_eq!((t1 * t2 + t1 * t2) * 1.0, 8.0, "the value of the notes' expression at 1");
}

/// The headings of the notes, sec. 9.
const HEADINGS: [&str; 12] = [
    "Original definition",
    "Anf-ised original definition",
    "The full Jacobian (unoptimised)",
    "The full Jacobian (optimised)",
    "Forward derivative (unoptimised)",
    "Forward-mode derivative (optimised)",
    "Forward-mode derivative (CSE'd)",
    "Transposed Jacobian",
    "Optimised transposed Jacobian",
    "Reverse-mode derivative (unoptimised)",
    "Reverse-mode derivative (optimised)",
    "Reverse-mode derivative (CSE'd)",
];

#[test]
fn stages_carry_the_headings_of_the_notes_and_stay_linear_in_size() {
    with_large_stack(|| {
        let sizes = |n: usize| {
            let mut p = pipeline(&sines(n));
            let stages = p.stages(&FunName::base("f"), false).expect("the chain derives");
            assert_eq!(stages.iter().map(|s| &*s.heading).collect::<Vec<_>>(), HEADINGS);
            stages.iter().map(|s| s.def.body.size()).collect::<Vec<_>>()
        };
        let (small, large) = (sizes(50), sizes(500));
        for ((a, b), heading) in small.iter().zip(&large).zip(HEADINGS) {
            assert!(*b <= 11 * a + 100, "{heading}: {a} nodes at 50 links, {b} at 500");
        }
    });
}

/// A one-hot tuple, and an addition of zero, have no place in a finished derivative.
#[test]
fn finished_derivatives_add_no_zeros() {
    let text = "(def f Float ((a : Float) (b : Float) (c : Float)) (add (mul a (sin b)) (mul b (add c a))))";
    let mut p = pipeline(text);
    let name = FunName::base("f").derived(Derivative::Rev);
    p.require(&name).expect("f derives");
    assert!(!adds_zero(&p.program().defs[&name].body));
}

fn adds_zero(e: &Expr) -> bool {
    let is_zero = |e: &Expr| *e == Expr::float(0.0);
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => false,
        Kind::App(Op::Prim(lm::prim::Prim::Add), args) if args.iter().any(is_zero) => true,
        Kind::App(_, args) => args.iter().any(adds_zero),
        Kind::Let(bindings, body) => bindings.iter().any(|b| adds_zero(&b.rhs)) || adds_zero(body),
        Kind::Lam(_, body) => adds_zero(body),
    }
}
