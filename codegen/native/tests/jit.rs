//! Programs of scalars and tuples, called in memory at every level of optimisation.

mod common;

use common::{Build, at_every_level, call, float, integer, tuple};
use lm::interp::{ErrorKind, Interpreter, RuntimeError};
use lm::libm::Libm;
use lm::prim::Prim;
use lm::term::{Constant, Expr, FunName, Op, Span};
use lm::types::Type;
use lm::value::Value;
use native::{Error, Jit, Options, SourceInfo};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn prim(p: Prim, args: &[&Expr]) -> Expr {
    Expr::prim(p, args.iter().map(|a| (*a).clone()))
}

fn text(s: &str) -> Expr {
    Expr::constant(Constant::String(s.into()))
}

fn name(f: &str) -> FunName {
    FunName::base(f)
}

#[test]
fn a_function_of_two_floats() {
    // f(x, y) = let p = 7 * x; r = 1 / y; v = p * r in v * p
    let mut b = Build::default();
    b.def("f", &[("x", float()), ("y", float())], |b, xs| {
        let p = b.bind("p", prim(Prim::Mul, &[&Expr::float(7.0), &xs[0]]));
        let r = b.bind("r", prim(Prim::Div, &[&Expr::float(1.0), &xs[1]]));
        let v = b.bind("v", prim(Prim::Mul, &[&p, &r]));
        prim(Prim::Mul, &[&v, &p])
    });
    at_every_level(&b.program, &[name("f")], |jit| {
        let result = jit.call(&name("f"), &[Value::Float(2.0), Value::Float(4.0)]);
        assert_eq!(result, Ok(Value::Float(49.0)));
    });
}

#[test]
fn tuples_unit_and_patterns() {
    // g(t : ((Float, Bool), (), Integer)) = let (p, u, n) = t; (x, c) = p in ((n, x), u, if c then (x, n) else (-x, n))
    let mut b = Build::default();
    let t = tuple(&[tuple(&[float(), Type::Bool]), Type::unit(), integer()]);
    b.def("g", &[("t", t)], |b, xs| {
        let parts = b.bind_tuple(&["p", "u", "n"], xs[0].clone());
        let pair = b.bind_tuple(&["x", "c"], parts[0].clone());
        let then = Expr::tuple([pair[0].clone(), parts[2].clone()]);
        let other = Expr::tuple([prim(Prim::Neg, &[&pair[0]]), Expr::get(3, xs[0].clone())]);
        let choice = Expr::conditional(pair[1].clone(), then, other);
        Expr::tuple([Expr::tuple([parts[2].clone(), pair[0].clone()]), parts[1].clone(), choice])
    });
    let (unit, n) = (Value::Tuple(vec![]), Value::Integer(-3));
    at_every_level(&b.program, &[name("g")], |jit| {
        for (c, x) in [(true, 1.5), (false, -1.5)] {
            let pair = Value::Tuple(vec![Value::Float(1.5), Value::Bool(c)]);
            let arg = Value::Tuple(vec![pair, unit.clone(), n.clone()]);
            let first = Value::Tuple(vec![n.clone(), Value::Float(1.5)]);
            let last = Value::Tuple(vec![Value::Float(x), n.clone()]);
            let expected = Value::Tuple(vec![first, unit.clone(), last]);
            assert_eq!(jit.call(&name("g"), &[arg]), Ok(expected));
        }
    });
}

#[test]
fn only_the_chosen_branch_runs() {
    let mut b = Build::default();
    b.def("guarded", &[("n", integer())], |_, xs| {
        let zero = prim(Prim::Eq, &[&xs[0], &Expr::integer(0)]);
        Expr::conditional(zero, Expr::integer(-1), prim(Prim::Div, &[&Expr::integer(100), &xs[0]]))
    });
    at_every_level(&b.program, &[name("guarded")], |jit| {
        assert_eq!(jit.call(&name("guarded"), &[Value::Integer(0)]), Ok(Value::Integer(-1)));
        assert_eq!(jit.call(&name("guarded"), &[Value::Integer(7)]), Ok(Value::Integer(14)));
    });
}

/// even(n) = if n == 0 then true else odd(n - 1), and odd likewise.
fn parity() -> Build {
    let mut b = Build::default();
    for (f, g, end) in [("even", "odd", true), ("odd", "even", false)] {
        b.def(f, &[("n", integer())], |_, xs| {
            let zero = prim(Prim::Eq, &[&xs[0], &Expr::integer(0)]);
            let before = prim(Prim::Sub, &[&xs[0], &Expr::integer(1)]);
            Expr::conditional(zero, Expr::constant(Constant::Bool(end)), call(g, Type::Bool, vec![before]))
        });
    }
    // sum(n) = if n == 0 then 0 else 1/n + sum(n - 1): no tail call.
    b.def("sum", &[("n", integer())], |_, xs| {
        let zero = prim(Prim::Eq, &[&xs[0], &Expr::integer(0)]);
        let before = call("sum", float(), vec![prim(Prim::Sub, &[&xs[0], &Expr::integer(1)])]);
        let term = prim(Prim::Div, &[&Expr::float(1.0), &prim(Prim::ToFloat, &[&xs[0]])]);
        Expr::conditional(zero, Expr::float(0.0), prim(Prim::Add, &[&term, &before]))
    });
    b
}

#[test]
fn recursion() {
    let b = parity();
    at_every_level(&b.program, &[name("even"), name("odd"), name("sum")], |jit| {
        assert_eq!(jit.call(&name("even"), &[Value::Integer(1000)]), Ok(Value::Bool(true)));
        assert_eq!(jit.call(&name("odd"), &[Value::Integer(1000)]), Ok(Value::Bool(false)));
        let interpreted = Interpreter::new(&b.program).call(&name("sum"), &[Value::Integer(50)]);
        assert_eq!(jit.call(&name("sum"), &[Value::Integer(50)]), interpreted);
    });
}

#[test]
fn endless_recursion_is_an_error() {
    let b = parity();
    at_every_level(&b.program, &[name("sum")], |jit| {
        let error = jit.call(&name("sum"), &[Value::Integer(-1)]).expect_err("endless");
        assert!(matches!(error.kind, ErrorKind::RecursionTooDeep(depth) if depth > 1000), "{error}");
    });
}

#[test]
fn errors_have_places() {
    let mut b = Build::default();
    let at = Span { start: 7, end: 11 };
    b.def("half", &[("n", integer())], |_, xs| {
        let even = prim(Prim::Gt, &[&xs[0], &Expr::integer(0)]);
        Expr::app(Op::Assert, vec![even, prim(Prim::Div, &[&Expr::integer(7), &Expr::integer(2)])]).at(at)
    });
    b.def("div", &[("a", integer()), ("b", integer())], |_, xs| prim(Prim::Div, &[&xs[0], &xs[1]]).at(at));
    b.def("outer", &[("a", integer())], |_, xs| call("div", integer(), vec![xs[0].clone(), Expr::integer(0)]));
    at_every_level(&b.program, &[name("half"), name("outer")], |jit| {
        let failed = jit.call(&name("half"), &[Value::Integer(0)]);
        assert_eq!(failed, Err(RuntimeError { kind: ErrorKind::AssertFailed, span: at }));
        assert_eq!(jit.call(&name("half"), &[Value::Integer(1)]), Ok(Value::Integer(3)));
        let failed = jit.call(&name("outer"), &[Value::Integer(i64::MIN)]);
        assert_eq!(failed, Err(RuntimeError { kind: ErrorKind::DivisionByZero(i64::MIN), span: at }));
        let undefined = jit.call(&name("div"), &[]).expect_err("no entry");
        assert_eq!(undefined.kind, ErrorKind::Undefined("div".into()));
    });
}

#[test]
fn print_and_trace() {
    let mut b = Build::default();
    b.def("show", &[("x", float()), ("s", Type::String)], |b, xs| {
        let inner = Expr::tuple([Expr::constant(Constant::Bool(true)), xs[0].clone()]);
        let pair = Expr::tuple([Expr::integer(-4), inner, xs[1].clone()]);
        let count = b.bind("count", prim(Prim::Print, &[&text("x = "), &xs[0], &text("; "), &pair, &text("\n")]));
        let traced = b.bind("traced", prim(Prim::Trace, &[&Expr::tuple([xs[0].clone(), Expr::float(0.1)])]));
        Expr::tuple([count, Expr::get(2, traced), xs[1].clone()])
    });
    let args = [Value::Float(1.0), Value::String("λ".into())];
    let mut wanted = Vec::new();
    let result = Interpreter::with_output(&b.program, &mut wanted).call(&name("show"), &args);
    assert_eq!(String::from_utf8_lossy(&wanted), "x = 1; -4,(true, 1),λ\n1,0.1");
    at_every_level(&b.program, &[name("show")], |jit| {
        let mut found = Vec::new();
        assert_eq!(jit.call_with_output(&name("show"), &args, &mut found), result);
        assert_eq!(found, wanted);
    });
}

#[test]
fn texts_are_compared() {
    let mut b = Build::default();
    b.def("same", &[("s", Type::String), ("t", Type::String)], |_, xs| prim(Prim::Eq, &[&xs[0], &xs[1]]));
    at_every_level(&b.program, &[name("same")], |jit| {
        for (s, t) in [("", ""), ("a", "a"), ("a", "ab"), ("λ", "μ")] {
            let args = [s, t].map(|s| Value::String(s.into()));
            assert_eq!(jit.call(&name("same"), &args), Ok(Value::Bool(s == t)));
        }
    });
}

#[test]
fn what_is_missing_is_named() {
    let mut b = Build::default();
    let deep = Type::Tensor(8, Arc::new(float()));
    b.def("size", &[("v", deep)], |_, xs| prim(Prim::Eq, &[&xs[0], &xs[0]]));
    b.def("lost", &[], |_, _| call("nowhere", float(), vec![]));
    let error = |f: &str, options: &Options| {
        let jit = Jit::new(&b.program, &[name(f)], &SourceInfo::default(), options);
        jit.expect_err("does not compile").to_string()
    };
    let o = Options::default();
    assert_eq!(error("size", &o), "native code for a value of type (Tensor 8 Float) is not supported (in `size`)");
    assert_eq!(error("lost", &o), loops::Error::Undefined("nowhere".into()).to_string());
    assert_eq!(error("lost", &Options { opt_level: 4, ..o.clone() }), Error::UnknownLevel(4).to_string());
    let cpu = Options { target_cpu: Some("z80".into()), ..o };
    assert_eq!(error("lost", &cpu), Error::UnknownCpu("z80".into()).to_string());
}

/// A chain of n bindings, each of which uses the two before it; one in eight calls libm.
fn long_block(n: usize) -> Build {
    let mut b = Build::default();
    b.def("long", &[("x", float())], |b, xs| {
        let mut last = [xs[0].clone(), xs[0].clone()];
        for i in 0..n {
            let [x, y] = &last;
            let rhs = match i % 8 {
                0 => prim(Prim::Libm(Libm::Sin), &[x]),
                1 | 3 | 5 => prim(Prim::Mul, &[x, y]),
                _ => prim(Prim::Sub, &[y, &prim(Prim::Mul, &[&Expr::float(i as f64), x])]),
            };
            last = [last[1].clone(), b.bind("x", rhs)];
        }
        prim(Prim::Add, &[&last[0], &last[1]])
    });
    b
}

#[test]
fn time_to_compile_is_nearly_linear() {
    let options = Options { opt_level: 1, ..Options::default() };
    let time = |n: usize| {
        let b = long_block(n);
        let run = || {
            let start = Instant::now();
            let jit = Jit::new(&b.program, &[name("long")], &SourceInfo::default(), &options).expect("compiles");
            let time = start.elapsed();
            let wanted = Interpreter::new(&b.program).call(&name("long"), &[Value::Float(0.5)]).expect("no errors");
            let found = jit.call(&name("long"), &[Value::Float(0.5)]).expect("no errors");
            assert!(common::same(&wanted, &found));
            time
        };
        (0..3).map(|_| run()).min().unwrap_or(Duration::ZERO)
    };
    let (small, large) = (time(1_000), time(10_000));
    assert!(large < small * 30, "1,000 bindings: {small:?}, 10,000: {large:?}");
    println!("1,000 bindings: {small:?}, 10,000: {large:?}");
}

#[test]
fn wide_tuples_go_through_memory() {
    // step(t, b) = each component times the next; apply(t, n) = n steps, by recursion.
    let n = 200;
    let mut b = Build::default();
    let mut parts = vec![float(); n];
    parts.push(Type::Bool);
    let ty = tuple(&parts);
    b.def("step", &[("t", ty.clone())], |_, xs| {
        let at = |i: usize| Expr::get(1 + i % n, xs[0].clone());
        let products = (0..n).map(|i| prim(Prim::Mul, &[&at(i), &at(i + 1)]));
        Expr::tuple(products.chain([prim(Prim::Not, &[&Expr::get(n + 1, xs[0].clone())])]))
    });
    b.def("apply", &[("t", ty.clone()), ("n", integer())], |b, xs| {
        let once = b.bind("once", call("step", ty.clone(), vec![xs[0].clone()]));
        let done = prim(Prim::Eq, &[&xs[1], &Expr::integer(0)]);
        let rest = call("apply", ty.clone(), vec![once, prim(Prim::Sub, &[&xs[1], &Expr::integer(1)])]);
        Expr::conditional(done, xs[0].clone(), rest)
    });
    let floats = (0..n).map(|i| Value::Float(1.0 + i as f64 / 1000.0));
    let args = [Value::Tuple(floats.chain([Value::Bool(true)]).collect()), Value::Integer(5)];
    let wanted = Interpreter::new(&b.program).call(&name("apply"), &args).expect("no errors");
    at_every_level(&b.program, &[name("apply")], |jit| {
        assert_eq!(jit.call(&name("apply"), &args).as_ref(), Ok(&wanted));
    });
}

#[test]
fn threads_share_nothing() {
    let b = parity();
    let jit = Jit::new(&b.program, &[name("sum")], &SourceInfo::default(), &Options::default()).expect("compiles");
    let address = jit.address(&name("sum")).expect("is an entry");
    std::thread::scope(|scope| {
        for n in 1..=4 {
            scope.spawn(move || {
                // SAFETY: the type is that of `sum`, and the code outlives the scope.
                let sum: unsafe extern "C" fn(*mut native::abi::Context, i64, *mut f64) -> i32 =
                    unsafe { std::mem::transmute(address) };
                let mut ctx = native::abi::Context::new();
                for _ in 0..100 {
                    let mut out = 0.0;
                    // SAFETY: as above.
                    let status = unsafe { (sum(&mut ctx, n, &mut out), sum(&mut ctx, -1, &mut 0.0)) };
                    assert_eq!((status, ctx.error.code), ((0, 3), 3));
                    assert_eq!(out, (1..=n).rev().map(|i| 1.0 / i as f64).rev().fold(0.0, |sum, x| x + sum));
                }
            });
        }
    });
}
