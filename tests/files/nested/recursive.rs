//! Recursive functions: third derivatives, and native code of second ones.

use super::*;

/// The tests.
pub fn tests() -> Vec<Trial> {
    alone!("nested": recursive_functions_have_derivatives_of_third_order, native_code_agrees_with_the_interpreter)
}

fn recursive_functions_have_derivatives_of_third_order() {
    with_large_stack(|| {
        for (name, text) in RECURSIVE {
            let (mut p, f) = (pipeline(text), FunName::base(name));
            let argument = p.program().defs[&f].fun.argument();
            let numbers =
                Value::Tensor(lm::tensor::Tensor::new(vec![3], [0.9, 0.7, 1.1].map(Value::Float).to_vec()).into());
            let point = if argument.mentions_array() { numbers } else { Value::Float(0.9) };
            second(&mut p, &f, &point).unwrap_or_else(|why| panic!("{why}\n{text}"));
            let mut random = Random::new(4);
            for (outer, inner) in [
                (Derivative::Fwd, Derivative::Fwd),
                (Derivative::Fwd, Derivative::Rev),
                (Derivative::Rev, Derivative::Fwd),
                (Derivative::Rev, Derivative::Rev),
            ] {
                let first = f.derived(inner.clone());
                let at = below(&mut p, &f, &inner, &point, &mut random);
                let at = below(&mut p, &first, &outer, &at, &mut random);
                check(&mut p, None, &first.derived(outer.clone()), at).unwrap_or_else(|why| panic!("{why}\n{text}"));
            }
        }
    });
}

/// Tests second derivatives, by all orders of fwd and rev, of recursive functions and small demos.
fn native_code_agrees_with_the_interpreter() {
    with_large_stack(|| {
        let small = lmc::demos::DEMOS.iter().filter(|demo| ["ex5", "ex8", "lse", "black_scholes"].contains(&demo.name));
        let demos = small.map(|demo| (demo.fun, demo.text));
        for (name, text) in RECURSIVE.into_iter().chain(demos) {
            let (mut p, f) = (pipeline(text), FunName::base(name));
            let argument = p.program().defs[&f].fun.argument();
            let example = FunName::base("example");
            let point = match p.program().defs.contains_key(&example) {
                true => call(&mut p, &example, &[]),
                false => Random::new(2).point(&argument),
            };
            let entries = [Derivative::Fwd, Derivative::Rev]
                .map(|d| f.derived(d))
                .iter()
                .flat_map(gradcheck::names)
                .collect::<Vec<_>>();
            let jits = natively(&mut p, &entries);
            let mut random = Random::new(6);
            for derivation in [Derivative::Fwd, Derivative::Rev] {
                // Some points are outside of the domain.
                let value = Interpreter::new(p.program()).call(&f, &arguments(&p, &f, &point));
                if value.is_ok() {
                    let at = below(&mut p, &f, &derivation, &point, &mut random);
                    for jit in &jits {
                        let agrees = check(&mut p, Some(jit), &f.derived(derivation.clone()), at.clone());
                        agrees.unwrap_or_else(|why| panic!("{why}\n{text}"));
                    }
                }
            }
        }
    });
}
