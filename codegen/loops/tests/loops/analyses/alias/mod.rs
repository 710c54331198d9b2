//! Tests which buffers may share memory, and how often functions are looked at.

mod contents;

use loops::analyses::alias::summary::{settled, summary};
use loops::analyses::alias::{Aliases, Summary};
use loops::analyses::cache::summaries;
use loops::analyses::verify::verify;
use loops::ir::parse::parse;
use loops::ir::{Local, Module};
use std::collections::BTreeSet;

/// Returns whether two locals of a function may share memory: in a loop that carries the state s%2, at first p%1.
fn share(body: &str, next: u32, x: u32, y: u32) -> bool {
    let module = parse(&format!(
        "fun f(n%0: integer, p%1: [float]) -> ([float]) {{\n%9 = for %8 in 0..n%0 carrying (s%2 = p%1) {{\n{body}\n\
         yield %{next}\n}}\nyield %9\n}}\n"
    ));
    verify(&module).expect("the text keeps the rules");
    Aliases::of(&module.functions[0], &[Summary::default()]).may_share(Local(x), Local(y))
}

const CHUNKS: &str = "%10 = alloc [float] n%0\n%11 = alloc [[float]] 2\nfor %12 in 0..2 {\n%13 = eq.i %12, 0\n\
                      %15 = if %13 {\nyield %10\n} else {\n%14 = alloc [float] n%0\nyield %14\n}\n\
                      store %11[%12] = %15\nyield\n}\n%16 = load %11[1]";

#[test]
fn what_lies_in_a_new_table_is_new() {
    // The state is what the table held the iteration before.
    assert!(!share(CHUNKS, 16, 16, 2));
    assert!(share(CHUNKS, 16, 16, 10));
    assert!(share(CHUNKS, 16, 16, 14));
    let state_stored = format!("{CHUNKS}\nstore %11[0] = s%2");
    assert!(share(&state_stored, 16, 16, 2));
    let any_stored = CHUNKS.replace("%14 = alloc [float] n%0\nyield %14", "yield s%2");
    assert!(share(&any_stored, 16, 16, 2));
}

#[test]
fn what_lies_in_a_new_table_of_tables_is_new() {
    let body = "%10 = alloc [[[float]]] 1\n%11 = alloc [[float]] 1\n%12 = alloc [float] n%0\nstore %10[0] = %11\n\
                store %11[0] = %12\n%13 = load %10[0]\n%14 = load %13[0]\n%15 = alloc [[float]] 1\n\
                move %15[0..1] <- %11[0..1]\n%16 = load %15[0]";
    assert!(!share(body, 14, 14, 2) && !share(body, 14, 16, 2));
    assert!(share(body, 14, 14, 12) && share(body, 14, 16, 12));
    let moved = format!("{body}\n%20 = alloc [[float]] 1\nstore %20[0] = s%2\nmove %11[0..1] <- %20[0..1]");
    assert!(share(&moved, 14, 14, 2));
}

#[test]
fn what_was_stored_by_another_iteration_may_be_met() {
    // The table is older than the loop in which it is stored to: what was loaded before may be what is made after.
    let body = "%10 = alloc [[float]] n%0\n%11 = alloc [float] n%0\nfor %12 in 0..n%0 {\nstore %10[%12] = %11\nyield\n}\n\
                for %13 in 0..n%0 {\n%14 = load %10[0]\n%15 = alloc [float] n%0\nstore %10[%13] = %15\n%16 = load %10[1]\n\
                yield\n}";
    assert!(share(body, 11, 16, 14));
    assert!(!share(body, 11, 16, 2));
}

#[test]
fn what_a_conditional_chooses_is_one_of_the_two() {
    // The new state is made of the old one, or of what lies in another buffer: not of itself.
    let chosen = "%10 = alloc [float] n%0\n%11 = alloc [float] n%0\n%12 = eq.i %8, 0\n\
                  %13 = if %12 {\nyield s%2\n} else {\nyield %11\n}";
    assert!(!share(chosen, 10, 13, 10) && !share(chosen, 10, 10, 13));
    assert!(share(chosen, 10, 13, 2) && share(chosen, 10, 11, 13) && share(chosen, 10, 13, 13));
    let twice = format!("{chosen}\n%14 = if %12 {{\nyield %13\n}} else {{\nyield s%2\n}}");
    assert!(!share(&twice, 10, 14, 10) && share(&twice, 10, 14, 13) && share(&twice, 10, 14, 11));
    let itself = chosen.replace("yield %11", "yield %10");
    assert!(share(&itself, 10, 13, 10));
}

/// Returns a function that writes to its parameter, and so many that hand theirs on to it, each to the next.
fn chain(length: usize) -> Module {
    let call = |i: usize| format!("fun f{i}(x%0: [float]) -> () {{\n  call f{}(x%0)\n  yield\n}}\n", i + 1);
    let last = format!("fun f{length}(x%0: [float]) -> () {{\n  store x%0[0] = 1.0\n  yield\n}}\n");
    parse(&((0..length).map(call).collect::<String>() + &last))
}

#[test]
fn a_function_is_looked_at_once_unless_it_is_recursive() {
    let module = chain(40);
    let mut looked_at = 0;
    let summaries = settled(&module, |_, function, summaries| {
        looked_at += 1;
        summary(function, &Aliases::of(function, summaries), summaries)
    });
    assert!(summaries.iter().all(|summary| summary.written == BTreeSet::from([0])));
    assert_eq!(looked_at, 41);
}

/// Returns the parameters that each function writes to.
fn written(module: &Module) -> Vec<Vec<usize>> {
    summaries(module).into_iter().map(|summary| Vec::from_iter(summary.written)).collect()
}

#[test]
fn what_recursive_functions_write_to_is_found() {
    let call =
        |f: &str, g: &str| format!("fun {f}(x%0: [float], y%1: [float]) -> () {{\n  call {g}(y%1, x%0)\n  yield\n}}\n");
    let last = "fun h(x%0: [float], y%1: [float]) -> () {\n  store x%0[0] = 1.0\n  call f(x%0, y%1)\n  yield\n}\n";
    let module = parse(&(call("f", "g") + &call("g", "h") + last + &call("k", "f")));
    // h writes to its first parameter, so f does by way of g; h hands the first on to f, and the second; g swaps them.
    assert_eq!(written(&module), [vec![0], vec![1], vec![0], vec![1]]);
}

#[test]
fn a_function_may_write_to_a_copy_of_a_parameter() {
    // The second function gives its parameter back, or copies it and hands the copy on to the first. It writes to a row
    // of a copied table, too: that row is the parameter's, unless it is copied as well.
    let add = "fun add(x%0: [float]) -> () {\n  add x%0[0] += 1.0\n  yield\n}\n\
               fun rows(x%0: [[float]]) -> () {\n  %1 = load x%0[0]\n  call add(%1)\n  yield\n}\n";
    let written_of = |f: &str| written(&parse(&format!("{add}{f}")))[2].clone();
    let copied = |ty: &str, way: &str, callee: &str| {
        format!(
            "fun f(c%0: bool, x%1: {ty}) -> ({ty}) {{\n  %2 = if c%0 {{\n    yield x%1\n  }} else {{\n    \
             %3 = alloc {ty} 1\n    {way}\n    call {callee}(%3)\n    yield %3\n  }}\n  yield %2\n}}\n"
        )
    };
    let row = "%4 = load x%1[0]\n    %5 = alloc [float] 1\n    move %5[0..1] <- %4[0..1]\n    store %3[0] = %5";
    assert_eq!(written_of(&copied("[float]", "move %3[0..1] <- x%1[0..1]", "add")), vec![0; 0]);
    assert_eq!(written_of(&copied("[[float]]", "move %3[0..1] <- x%1[0..1]", "rows")), [1]);
    assert_eq!(written_of(&copied("[[float]]", row, "rows")), vec![0; 0]);
}

#[test]
fn addresses_are_set_right_only_in_what_slid() {
    let f = "fun f(x%0: [[float]]) -> ([[float]]) {\n  %1 = mark\n  %2 = mark\n  %3 = slide %2 to %1\n  \
             %4 = x%0 after slide %2 by %3\n  %5 = %4 before x%0\n  if %5 {\n    %6 = load %4[0]\n    \
             %7 = %6 after slide %2 by %3\n    store %4[0] = %7\n    yield\n  } else {\n    yield\n  }\n  yield %4\n}\n";
    assert_eq!(written(&parse(f)), [vec![0; 0]]);
}

#[test]
fn a_call_may_give_back_what_it_writes_to() {
    // The function calls itself, adds to what it got, and gives that back: so its own parameter, both times.
    let f = "fun f(c%0: bool, x%1: [float], y%2: [float]) -> ([float]) {\n  %3 = if c%0 {\n    yield x%1\n  } else {\n    \
             %4 = call f(c%0, x%1, y%2)\n    add %4[0] += 1.0\n    yield %4\n  }\n  yield %3\n}\n";
    let found = &summaries(&parse(f))[0];
    assert_eq!(*found, Summary { written: BTreeSet::from([1]), given_back: BTreeSet::from([1]) });
    let caller =
        "fun g(c%0: bool, x%1: [float], y%2: [float]) -> ([float]) {\n  %3 = call f(c%0, x%1, y%2)\n  yield %3\n}\n";
    let module = parse(&format!("{f}{caller}"));
    let aliases = Aliases::of(&module.functions[1], &summaries(&module));
    assert!(aliases.may_share(Local(3), Local(1)));
    assert!(!aliases.may_share(Local(3), Local(2)));
}

#[test]
fn an_address_that_is_set_right_is_no_new_content() {
    // The table %8 is the parameter or the new one. A row of the parameter lies in the new one if it is stored there.
    let a_row_is_shared = |from: &str| {
        let module = parse(&format!(
            "fun f(c%0: bool, x%1: [[float]]) -> ([[float]]) {{\n  %2 = mark\n  %3 = alloc [[float]] 1\n  \
             %4 = alloc [float] 1\n  store %3[0] = %4\n  %5 = if c%0 {{\n    yield x%1\n  }} else {{\n    yield %3\n  }}\n  \
             %6 = mark\n  %7 = slide %6 to %2\n  %8 = %5 after slide %6 by %7\n  %9 = load {from}[0]\n  \
             %10 = %9 after slide %6 by %7\n  store %8[0] = %10\n  %11 = load %3[0]\n  %12 = load x%1[0]\n  yield %8\n}}\n"
        ));
        Aliases::of(&module.functions[0], &summaries(&module)).may_share(Local(11), Local(12))
    };
    assert!(a_row_is_shared("x%1"));
    assert!(!a_row_is_shared("%8"));
}
