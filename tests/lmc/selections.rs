//! Derivatives of programs that use one element of each tensor that they build go over no tensor: they read back no
//! `$delta_at`, and take no more operations for a longer vector than the value does.

use common::random::{cases, seed};
use common::selections::{SIZE, selection};
use common::{agreement, cost};
use lm::interp::{Counts, Interpreter};
use lm::notation::ks;
use lm::prim::Prim;
use lm::random::SplitMix;
use lm::term::{Derivative, Expr, FunName, Kind, Op, Pattern};
use lm::value::Value;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use lmc::with_large_stack;
use std::collections::HashSet;

/// Returns an element of a one-hot tensor that is read, through names.
fn read_back(e: &Expr, one_hot: &mut HashSet<u32>) -> Option<Expr> {
    let is_one_hot = |e: &Expr, known: &HashSet<u32>| {
        e.args_of_prim(Prim::DeltaAt).is_some() || e.as_var().is_some_and(|x| known.contains(&x.id()))
    };
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => None,
        Kind::Lam(_, body) => read_back(body, one_hot),
        Kind::Let(bindings, body) => {
            for b in bindings {
                if let Some(found) = read_back(&b.rhs, one_hot) {
                    return Some(found);
                }
                if let Pattern::Var(x) = &b.pattern
                    && is_one_hot(&b.rhs, one_hot)
                {
                    one_hot.insert(x.id());
                }
            }
            read_back(body, one_hot)
        }
        Kind::App(Op::Prim(Prim::Index), args) if is_one_hot(&args[1], one_hot) => Some(e.clone()),
        Kind::App(_, args) => args.iter().find_map(|a| read_back(a, one_hot)),
    }
}

fn point(n: i64) -> Vec<Value> {
    let elements = (0..n).map(|i| Value::Float(0.1 + (i as f64 * 0.7).sin())).collect();
    vec![Value::vector(elements), Value::Integer(2), Value::Float(0.8)]
}

fn call(p: &Pipeline, name: &FunName, args: &[Value]) -> (Value, Counts) {
    let mut interpreter = Interpreter::new(p.program());
    let value = interpreter.call(name, args).unwrap_or_else(|error| panic!("{name}: {error}"));
    (value, interpreter.counts)
}

#[test]
fn derivatives_of_random_selections_read_no_one_hot_tensor() {
    let (seed, cases) = (seed(), cases(150));
    println!("LMC_SEED={seed} LMC_CASES={cases}");
    let f = FunName::base("f");
    let rev = f.derived(Derivative::Rev);
    with_large_stack(|| {
        for case in 0..u64::from(cases) {
            let text = selection(&mut SplitMix::new(seed.wrapping_mul(1_000_003).wrapping_add(case)));
            let mut results = Vec::new();
            for derivation in [Derivation::Jacobian, Derivation::Tupled, Derivation::Polymorphic] {
                let mut p = cost::pipeline(&text, derivation).unwrap_or_else(|why| panic!("{why}\n{text}"));
                p.require(&rev).unwrap_or_else(|why| panic!("{why}\n{text}"));
                let def = &p.program().defs[&rev];
                if let Some(found) = read_back(&def.body, &mut HashSet::new()) {
                    let (found, def) = (ks::expr(&found, 100), ks::def(def, 100));
                    panic!("{found} by {} in\n{def}\nof\n{text}", derivation.name());
                }
                let at = |n: i64| call(&p, &rev, &[Value::Tuple(point(n)), Value::Float(1.0)]);
                let ((value, few), (_, many)) = (at(SIZE), at(2 * SIZE));
                // The interpreter finds a value by building the tensors. `tupled` keeps what it finds.
                if derivation != Derivation::Tupled {
                    let growth = many.arithmetic() - few.arithmetic();
                    let [few, many] = [SIZE, 2 * SIZE].map(|n| call(&p, &f, &point(n)).1.arithmetic());
                    assert!(growth <= many - few, "{growth} by {} for {many} - {few} of\n{text}", derivation.name());
                }
                results.push(value);
            }
            assert!(results.iter().all(|other| agreement::is_close(&results[0], other)), "{results:?} of\n{text}");
        }
    });
}
