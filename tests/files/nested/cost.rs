//! Measures the cost of second derivatives.

use super::*;
use common::files;
use std::path::Path;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let factor = "nested::second_derivatives_cost_a_constant_factor";
    let mut tests = each::program(factor, "tests/cases/cost", second_derivatives_cost_a_constant_factor);
    tests.extend(alone!(
        "nested": second_derivatives_of_a_chain_of_calls_cost_a_constant_per_call,
        forward_derivatives_of_recursive_functions_cost_a_constant_per_level,
    ));
    tests
}

/// Each level of the recursion makes cotangents of what all levels share: a known limit (docs/design.md).
const GROWS: [&str; 1] = ["loop_by_two"];

/// The cost of second derivatives per operation of the function does not grow with data or depth.
fn second_derivatives_cost_a_constant_factor(path: &Path) -> Outcome {
    const SIZES: [i64; 2] = [100, 800];
    let mut p = pipeline(&files::text(path));
    let f = FunName::base("f");
    let ratios = SIZES.map(|n| {
        let s = call(&mut p, &FunName::base("point"), &[Value::Integer(n)]);
        let args = arguments(&p, &f, &s);
        let primal = work(&mut p, &f, &args);
        let at = Value::Tuple(vec![s.clone(), Value::Float(1.0)]);
        let ds = Random::new(1).direction(&s);
        let both = Value::Tuple(vec![ds.clone(), Value::Float(1.0)]);
        let forward = work(&mut p, &f.derived(Derivative::Rev).derived(Derivative::Fwd), &[at.clone(), both]);
        let reverse = work(&mut p, &f.derived(Derivative::Rev).derived(Derivative::Rev), &[at, ds]);
        [forward / primal, reverse / primal]
    });
    println!("{ratios:.2?}");
    for (small, large) in ratios[0].iter().zip(ratios[1]) {
        assert!(large <= 1.1 * small || GROWS.contains(&&*files::name(path)), "{ratios:?}");
    }
    Ok(())
}

fn second_derivatives_of_a_chain_of_calls_cost_a_constant_per_call() {
    with_large_stack(|| {
        let chain = |n: usize| {
            let mut text = String::from("(def g0 Float (x : Float) (sin x))\n");
            for i in 1..n {
                text += &format!("(def g{i} Float (x : Float) (let (y (g{} x)) (mul y (sin (mul x y)))))\n", i - 1);
            }
            text + &format!("(def f Float (x : Float) (g{} x))", n - 1)
        };
        let cost = |n: usize, name: &FunName, args: &[Value]| work(&mut pipeline(&chain(n)), name, args);
        let (x, one) = (Value::Float(0.7), Value::Float(1.0));
        agreement_of_orders(&mut pipeline(&chain(4)), &FunName::base("f"), &x).expect("they agree");
        let at = Value::Tuple(vec![x, one.clone()]);
        let along = Value::Tuple(vec![one.clone(), one.clone()]);
        let ways = [
            (Derivative::Fwd, Derivative::Fwd, &along),
            (Derivative::Fwd, Derivative::Rev, &along),
            (Derivative::Rev, Derivative::Fwd, &one),
            (Derivative::Rev, Derivative::Rev, &one),
        ];
        for (outer, inner, vector) in ways {
            let name = FunName::base("f").derived(inner).derived(outer);
            let [small, large] = [10, 40].map(|n| cost(n, &name, &[at.clone(), vector.clone()]));
            assert!(large <= 4.4 * small, "{name}: {small}, then {large}");
        }
    });
}

/// The value of a recursive function comes with its tangent, not once more at each level.
fn forward_derivatives_of_recursive_functions_cost_a_constant_per_level() {
    with_large_stack(|| {
        let (_, text) = RECURSIVE[1];
        let mut p = pipeline(text);
        let f = FunName::base("f");
        let [small, large] = [20, 80].map(|n| {
            let v = (0..n).map(|i| Value::Float(f64::from(i) / 100.0)).collect();
            let v = Value::Tensor(lm::tensor::Tensor::new(vec![n as usize], v).into());
            work(&mut p, &f.derived(Derivative::Jvp), &[v.clone(), v])
        });
        assert!(large <= 4.2 * small, "{small}, then {large}");
    });
}
