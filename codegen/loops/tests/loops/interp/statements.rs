//! What statements mean: values, text and failures of small functions.

use loops::interp::{Machine, Options, Stop, Word, expanded};
use loops::ir::parse::parse;
use loops::ir::{FunId, Scalar};

/// The results of a call or its failure, and the printed text.
type Ran = (Result<Vec<Word>, String>, String);

/// Calls the first function of a text with buffers of Floats.
fn run(text: &str, buffers: &[&[f64]], options: Options) -> Ran {
    let module = parse(text);
    let functions = expanded(&module);
    let mut machine = Machine::new(&module, &functions, options);
    let cells = |floats: &&[f64]| floats.iter().copied().map(Word::Float).collect();
    let args: Vec<Word> =
        buffers.iter().map(|floats| machine.space.argument(Scalar::Float.ty(), cells(floats), true)).collect();
    let results = machine.run(FunId(0), &args);
    let results = results.map_err(|stop| match stop {
        Stop::Failed(_) => stop.to_string(),
        Stop::Fault(_) => panic!("{stop}"),
    });
    (results, machine.output)
}

fn gives(body: &str, results: &str, wanted: &[Word]) {
    let text = format!("fun f() -> ({results}) {{\n{body}\n}}\n");
    let (found, _) = run(&text, &[], Options::default());
    let found = found.unwrap_or_else(|failure| panic!("{failure} of {text}"));
    assert!(found.iter().zip(wanted).all(|(a, b)| a.same(*b)), "{found:?} instead of {wanted:?}, of {text}");
}

#[test]
fn operations_wrap_and_saturate() {
    let least = i64::MIN;
    gives(
        &format!("%0 = div.i {least}, -1\n%1 = count {}, 3\n%2 = abs.i {least}\nyield %0, %1, %2", i64::MAX / 2),
        "integer, integer, integer",
        &[Word::Integer(least), Word::Integer(i64::MAX), Word::Integer(least)],
    );
    gives(
        "%0 = to_integer NaN\n%1 = to_integer 1e300\n%2 = below -1, 5\nyield %0, %1, %2",
        "integer, integer, bool",
        &[Word::Integer(0), Word::Integer(i64::MAX), Word::Bool(false)],
    );
    // The second where one is NaN.
    gives(
        "%0 = min.f NaN, 1.0\n%1 = max.f 1.0, NaN\n%2 = min.f 0.0, -0.0\nyield %0, %1, %2",
        "float, float, float",
        &[Word::Float(1.0), Word::Float(f64::NAN), Word::Float(0.0)],
    );
}

#[test]
fn what_was_released_can_be_moved_down() {
    gives(
        "%0 = mark\n%1 = alloc [float] 3\n%2 = alloc [float] 2\nzero %2[0..2]\nstore %2[1] = 7.0\n%3 = %2 above %0\n\
         release %0\n%4 = alloc [float] 2\nmove %4[0..2] <- %2[0..2]\n%5 = load %4[1]\nyield %5, %3",
        "float, bool",
        &[Word::Float(7.0), Word::Bool(true)],
    );
}

#[test]
fn pieces_slide_with_all_that_lies_in_them() {
    gives(
        "%0 = mark\n%1 = alloc [float] 8\n%2 = mark\n%3 = alloc [[float]] 1\n%4 = alloc [float] 1\nstore %4[0] = 5.0\n\
         store %3[0] = %4\n%5 = slide %2 to %0\n%6 = %3 after slide %2 by %5\n%7 = load %6[0]\n\
         %8 = %7 after slide %2 by %5\nstore %6[0] = %8\n%9 = load %6[0]\n%10 = load %9[0]\n%11 = %6 before %3\n\
         yield %10, %5, %11",
        "float, integer, bool",
        &[Word::Float(5.0), Word::Integer(64), Word::Bool(true)],
    );
}

/// The sum of a loop in lanes: of each lane, then of halves, then with the initial value.
#[test]
fn sums_in_lanes_are_added_up_by_halves() {
    let text = "fun f(x%0: [float]) -> (float) {\n%4 = for %1 in 0..11 lanes 4 carrying (%2 = 0.1) {\n%3 = load x%0[%1]\n\
                %5 = add.f %2, %3\nyield %5\n}\nyield %4\n}\n";
    let x: Vec<f64> = (0..11).map(|i| 1.0 / (3.0 + f64::from(i))).collect();
    let lane = |l: usize| x.iter().skip(l).step_by(4).fold(-0.0, |sum, x| sum + x);
    let wanted = 0.1 + ((lane(0) + lane(2)) + (lane(1) + lane(3)));
    let (found, _) = run(text, &[&x], Options::default());
    assert_eq!(found, Ok(vec![Word::Float(wanted)]));
    assert_ne!(wanted, x.iter().fold(0.1, |sum, x| sum + x), "the order matters");
}

#[test]
fn lanes_part_and_meet() {
    let text = "fun f(x%0: [float]) -> () {\nfor %1 in 0..6 lanes 4 {\n%2 = lt.i %1, 2\n%3 = if %2 {\nyield 10.0\n\
                } else {\n%4 = for %5 in 0..%1 carrying (%6 = 0.0) {\n%7 = add.f %6, 1.0\nyield %7\n}\nyield %4\n}\n\
                %8 = alloc [float] 1\nstore %8[0] = %3\n%9 = load %8[0]\nstore x%0[%1] = %9\nyield\n}\nyield\n}\n";
    let module = parse(text);
    let functions = expanded(&module);
    let mut machine = Machine::new(&module, &functions, Options::default());
    let x = machine.space.argument(Scalar::Float.ty(), vec![Word::Unset; 6], true);
    machine.run(FunId(0), &[x]).expect("it runs");
    let floats = [10.0, 10.0, 2.0, 3.0, 4.0, 5.0].map(Word::Float);
    assert_eq!(machine.space.rest(x), Ok(&floats[..]));
}

#[test]
fn iterations_at_once_read_before_one_writes() {
    // Each iteration reads what the one before writes: one after the other it would be 1 throughout.
    let text = |lanes: &str| {
        format!(
            "fun f(x%0: [float]) -> (float) {{\nfor %1 in 0..3{lanes} {{\n%2 = load x%0[%1]\n%3 = add.i %1, 1\n\
             store x%0[%3] = %2\nyield\n}}\n%4 = load x%0[3]\nyield %4\n}}\n"
        )
    };
    let x = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(run(&text(""), &[&x], Options::default()).0, Ok(vec![Word::Float(1.0)]));
    assert_eq!(run(&text(" lanes 4"), &[&x], Options::default()).0, Ok(vec![Word::Float(3.0)]));
}

#[test]
fn the_first_chunk_that_fails_counts() {
    let text = "fun f() -> () {\nwrite \"on\"\nfor %0 in 0..9 on threads {\n%1 = lt.i %0, 4\n\
                check %1 else NegativeSize(%0)\nyield\n}\nyield\n}\n";
    for last_chunk_first in [false, true] {
        let ran = run(text, &[], Options { last_chunk_first, ..Options::default() });
        assert_eq!(ran, (Err("NegativeSize [4]".into()), "on".into()));
    }
}

#[test]
fn memory_and_stack_are_exhausted() {
    let text = "recursive fun f() -> () {\n%0 = alloc [float] 100\ncall f()\nyield\n}\n";
    let arena = Options { arena: 2000, ..Options::default() };
    assert_eq!(run(text, &[], arena).0, Err("OutOfMemory [800, 400]".into()));
    let shallow = Options { depth: 5, ..Options::default() };
    assert_eq!(run(text, &[], shallow).0, Err("RecursionTooDeep [6]".into()));
}
