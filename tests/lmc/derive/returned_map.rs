//! Reverse mode by the map that `[polymorphicR f]` gives (sec. 5.4): its cost, against that of the derivations.

use common::cost;
use lm::interp::Interpreter;
use lm::term::{Derivative, FunName};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::with_large_stack;

const HEADING: &str = "Value and reverse derivative, by that map (optimised)";

/// Arithmetic of value and reverse derivative of f at 0.75: by the map, and as it is compiled.
fn by_map_and_compiled(text: &str, point: Value) -> (u64, u64) {
    with_large_stack(|| {
        let mut p = cost::pipeline(text, Derivation::Polymorphic).unwrap_or_else(|why| panic!("{why}\n{text}"));
        let f = FunName::base("f");
        let vjp = f.derived(Derivative::Vjp);
        p.require(&vjp).expect("f derives");
        let stages = p.stages(&f, false).expect("f derives");
        let by_map = stages.into_iter().find(|stage| &*stage.heading == HEADING).expect("the stage is shown").def;
        let mut program = p.program().clone();
        program.defs.insert(vjp.clone(), by_map);
        let cost = |program| {
            let mut interpreter = Interpreter::new(program);
            let value = interpreter.call(&vjp, &[point.clone(), Value::Float(1.0)]).expect("a value");
            (value, interpreter.counts.arithmetic())
        };
        let ((a, by_map), (b, compiled)) = (cost(&program), cost(p.program()));
        assert!(lmc::gradcheck::distance(&a, &b) < 1e-12, "{a} and {b}");
        (by_map, compiled)
    })
}

/// x after n steps.
fn chain(n: usize) -> String {
    common::families::sines(n)
}

/// Two numbers that both depend on both, n steps.
fn braid(n: usize) -> String {
    let steps: String =
        (0..n).map(|k| format!("(a{} (mul (sin a{k}) b{k})) (b{} (add (cos b{k}) a{k}))\n", k + 1, k + 1)).collect();
    format!("(def f Float ((x : Float) (y : Float)) (let ((a0 x) (b0 y)\n{steps}) (mul a{n} b{n})))")
}

/// Of a chain, each map is used once.
#[test]
fn a_map_that_is_used_once_is_applied_once() {
    for n in [1, 4, 16] {
        let (by_map, compiled) = by_map_and_compiled(&chain(n), Value::Float(0.75));
        assert_eq!((by_map, compiled), (6 * n as u64, 6 * n as u64), "{n} steps");
    }
}

/// The maps of a braid are used twice each, so that of the last step is 2^n applications. The derivations add up what
/// reaches a variable first. `docs/derivations.md` has these numbers.
#[test]
fn a_map_that_is_used_twice_is_applied_twice() {
    for n in [2, 4, 8] {
        let point = Value::Tuple(vec![Value::Float(0.75), Value::Float(0.5)]);
        let (by_map, compiled) = by_map_and_compiled(&braid(n), point);
        assert_eq!((by_map, compiled), (5 * (1 << n) + 8 * n as u64 - 2, 13 * n as u64 + 3), "{n} steps");
    }
}
