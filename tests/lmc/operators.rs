//! The rows of operators say what is true: which functions the C library computes, what a derivative computes twice,
//! and what may fail.

use lm::interp::{ErrorKind, Interpreter};
use lm::libm;
use lm::notation::ks;
use lm::prim::{self, Cost, Effect, Prim};
use lm::term::{Def, Derivative, Expr, FunName, Op, Program, Supply};
use lm::types::Type;
use lm::value::Value;
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Kind, Options, SourceInfo};

/// A function that applies a primitive, for each of its typings on scalars.
fn calls(p: Prim) -> Vec<Def> {
    let scalars = [Type::Float, Type::Integer, Type::Bool];
    let one = scalars.iter().map(|a| vec![a.clone()]);
    let two = scalars.iter().flat_map(|a| scalars.iter().map(move |b| vec![a.clone(), b.clone()]));
    let call = |types: Vec<Type>| {
        let mut supply = Supply::default();
        let params: Vec<_> = types.into_iter().map(|ty| supply.fresh("x", ty)).collect();
        let body = Expr::try_app(Op::Prim(p), params.iter().map(Expr::var).collect(), Default::default())?;
        let is_data = !matches!(body.ty(), Type::LM(..) | Type::Tensor(..));
        is_data.then(|| Def::new(FunName::base("f"), params, body))
    };
    one.chain(two).filter_map(call).collect()
}

fn program(def: &Def) -> Program {
    let mut program = Program::default();
    program.defs.insert(def.fun.name.clone(), def.clone());
    program
}

/// Native code calls a function of the C library for those primitives that say so, and for no other.
#[test]
fn every_function_of_libm_has_a_row() {
    with_large_stack(|| {
        for &p in prim::ALL.iter().filter(|p| **p != Prim::Bench) {
            for def in calls(p) {
                let module = native::compile(
                    &program(&def),
                    std::slice::from_ref(&def.fun.name),
                    &SourceInfo::new("f.ks", ""),
                    &Options { opt_level: 0, ..Options::exact() },
                );
                let Ok(module) = module else { continue };
                let ir = module.output(Kind::LlvmIr).expect("it compiles");
                let ir = String::from_utf8_lossy(&ir);
                let is_libm = |line: &str| line.starts_with("declare double @") && !line.contains("@llvm.");
                let called: Vec<&str> = ir.lines().filter(|line| is_libm(line)).collect();
                assert_eq!(!called.is_empty(), p.cost() == Cost::Call, "{}: {called:?}\n{ir}", p.name());
                let is_named = |line: &&str| libm::ALL.iter().any(|f| line.contains(&format!("@{}", f.name())));
                assert!(called.iter().all(is_named), "{}: {called:?}", p.name());
            }
        }
    });
}

/// On numbers, only primitives marked `Fails` fail.
#[test]
fn what_may_fail_says_so() {
    let numbers = |ty: &Type| match ty {
        Type::Float => [0.0, -1.5, f64::NAN].map(Value::Float).to_vec(),
        Type::Integer => [0, -1, i64::MIN].map(Value::Integer).to_vec(),
        _ => [false, true].map(Value::Bool).to_vec(),
    };
    let mut failing = vec![];
    for &p in prim::ALL.iter().filter(|p| **p != Prim::Bench) {
        for def in calls(p) {
            let choices = def.params.iter().map(|x| numbers(x.ty()));
            let all = choices.fold(vec![vec![]], |all: Vec<Vec<Value>>, values| {
                all.iter()
                    .flat_map(|some| values.iter().map(|v| [some.as_slice(), std::slice::from_ref(v)].concat()))
                    .collect()
            });
            for args in all {
                let outcome = Interpreter::new(&program(&def)).call(&def.fun.name, &args);
                if let Err(error) = outcome {
                    assert_eq!(p.effect(), Effect::Fails, "{} at {args:?}: {error}", p.name());
                    failing.push(error.kind);
                }
            }
        }
    }
    assert!(failing.iter().any(|kind| matches!(kind, ErrorKind::DivisionByZero(_))), "{failing:?}");
}

fn derived(text: &str, derivative: Derivative) -> String {
    with_large_stack(|| {
        let checked = front::load(&Source::new("f.ks", text)).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut pipeline = Pipeline::new(checked);
        let name = FunName::base("f").derived(derivative);
        pipeline.require(&name).unwrap_or_else(|error| panic!("{error}"));
        ks::def(&pipeline.program().defs[&name], 100)
    })
}

/// A power costs as much with an Integer exponent as with a Float one: value and derivative are one sum.
#[test]
fn powers_are_computed_in_one_sum() {
    for exponent in ["3", "3.0"] {
        let text = format!(
            "(def f Float ((v : Vec Float) (w : Vec Float))
               (sumbuild (size v) (lam (i : Integer) (mul (pow (index i v) {exponent}) (index i w)))))"
        );
        let shown = derived(&text, Derivative::Jvp);
        assert_eq!(shown.matches("(sumbuild").count() + shown.matches("(sum ").count(), 1, "{exponent}: {shown}");
    }
}
