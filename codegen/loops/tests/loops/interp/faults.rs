//! What native code leaves undefined is a fault, and told.

use loops::interp::{Machine, Options, Stop, Word, expanded};
use loops::ir::FunId;
use loops::ir::parse::parse;

/// The body of a function without parameters that gives a Float, and what is told.
const FAULTS: &[(&str, &str)] = &[
    (
        "%0 = alloc [float] 4\n%1 = load %0[2]\nyield %1",
        "element 2 is read before it is written, in f: %1 = load %0[2]",
    ),
    (
        "%0 = alloc [float] 4\nzero %0[0..4]\n%1 = load %0[4]\nyield %1",
        "element 4 of a buffer of 4, from 0 on, is outside of it",
    ),
    (
        "%0 = alloc [float] 4\nzero %0[0..4]\n%1 = %0[3..]\n%2 = load %1[-4]\nyield %2",
        "element -4 of a buffer of 4, from 3 on, is outside of it",
    ),
    ("%0 = alloc [float] 4\n%1 = %0[5..]\nyield 1.0", "a view from element 5 on begins outside of its buffer"),
    (
        "%0 = mark\n%1 = alloc [float] 4\nrelease %0\nstore %1[0] = 1.0\nyield 1.0",
        "memory that was given back is written",
    ),
    (
        "%0 = mark\n%1 = alloc [float] 4\nzero %1[0..4]\nrelease %0\n%2 = alloc [float] 1\nstore %2[0] = 1.0\n\
         %3 = load %1[0]\nyield %3",
        "memory that was given back is read after something else was written there",
    ),
    (
        "%0 = mark\n%1 = alloc [float] 4\nzero %1[0..4]\nrelease %0\n%2 = mark\n%3 = alloc [float] 1\nrelease %2\n\
         %4 = load %1[3]\nyield %4",
        "memory is read that was given back and used again",
    ),
    (
        "%0 = mark\n%1 = alloc [float] 4\n%2 = mark\n%3 = alloc [float] 4\nzero %3[0..4]\n%4 = slide %2 to %0\n\
         %5 = load %3[0]\nyield %5",
        "memory is read that slid elsewhere",
    ),
    (
        "%0 = alloc [integer] 1\nstore %0[0] = 1\n%1 = %0 as [[float]]\n%2 = load %1[0]\nyield 1.0",
        "element 0 is read as [float], but is Integer(1)",
    ),
    ("%0 = div.i 1, 0\nyield 1.0", "a division by 0"),
    ("#0 = sub.i 0, 1\nyield 1.0", "#0 is a size, but is set to -1"),
    ("%0 = alloc [float] -1\nyield 1.0", "-1 elements"),
    (
        "%0 = mark\n%1 = alloc [float] 2\n%2 = mark\nrelease %0\nrelease %2\nyield 1.0",
        "a mark lies above the top of the arena",
    ),
    (
        "%0 = alloc [float] 2\nmove %0[0..2] <- %0[0..2]\n%1 = load %0[0]\nyield %1",
        "element 0 is read before it is written",
    ),
    ("for %0 in 0..4 lanes 4 {\nwrite %0\nyield\n}\nyield 1.0", "a statement that does not run in lanes"),
    ("for %0 in 0..4 on threads {\nwrite %0\nyield\n}\nyield 1.0", "a statement that does not run in a chunk"),
    (
        "%0 = alloc [[float]] 2\nfor %1 in 0..2 on threads {\n%2 = alloc [float] 1\nzero %2[0..1]\nstore %0[%1] = %2\n\
         yield\n}\n%3 = load %0[1]\n%4 = load %3[0]\nyield %4",
        "memory is read that was given back and used again",
    ),
    (
        "%0 = call g()\n%1 = load %0[0]\nyield %1\n}\n\nfun g() -> ([float]) {\n%0 = stack [float] 1\nzero %0[0..1]\n\
         yield %0",
        "memory is read that was given back and used again, in f: %1 = load %0[0]",
    ),
    ("%0 = for %1 in 0..2 lanes 2 carrying (%2 = 1.0) {\n%3 = mul.f %2, %2\nyield %3\n}\nyield %0", "is carried"),
];

#[test]
fn faults_are_told() {
    for (body, told) in FAULTS {
        let module = parse(&format!("fun f() -> (float) {{\n{body}\n}}\n"));
        let functions = expanded(&module);
        let mut machine = Machine::new(&module, &functions, Options::default());
        let result = machine.run(FunId(0), &[]);
        let Err(stop @ Stop::Fault(_)) = &result else { panic!("{result:?} of\n{module}") };
        assert!(stop.to_string().contains(told), "{stop}, of\n{module}");
    }
}

#[test]
fn arguments_are_not_written() {
    let module = parse("fun f(x%0: [float]) -> () {\nstore x%0[0] = 1.0\nyield\n}\n");
    let functions = expanded(&module);
    for is_writable in [true, false] {
        let mut machine = Machine::new(&module, &functions, Options::default());
        let ty = functions[0].ty(&functions[0].params[0].into()).element().expect("a buffer");
        let x = machine.space.argument(ty, vec![Word::Float(0.0)], is_writable);
        assert_eq!(machine.run(FunId(0), &[x]).is_ok(), is_writable);
    }
}

#[test]
fn what_takes_too_long_ends() {
    let module = parse("fun f() -> () {\nfor %0 in 0..1000000000 {\n%1 = add.i %0, 1\nyield\n}\nyield\n}\n");
    let functions = expanded(&module);
    let mut machine = Machine::new(&module, &functions, Options { steps: 1000, ..Options::default() });
    let stop = machine.run(FunId(0), &[]).expect_err("it takes long");
    assert_eq!(stop.to_string(), "too many statements run, in f: %1 = add.i %0, 1");
}
