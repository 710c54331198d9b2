//! Tests which loops have independent iterations, and what these leave behind.

use super::first_in_lanes;
use loops::analyses::alias::Aliases;
use loops::analyses::cache::Analyses;
use loops::analyses::independence::{FunctionEffects, Independence};
use loops::analyses::verify::verify;
use loops::analyses::why_serial::WhySerial;
use loops::ir::Local;
use loops::ir::parse::parse;
use std::collections::BTreeSet;

/// Returns what is known of the loop of the first function that is marked.
fn found(text: &str) -> Result<Independence, WhySerial> {
    let module = parse(text);
    verify(&parse(&text.replace(" lanes 4", ""))).expect("the text keeps the rules");
    let effects = FunctionEffects::of(&module, &mut Analyses::default());
    let function = &module.functions[0];
    let aliases = Aliases::of(function, &effects.summaries);
    Independence::of(function, &aliases, &effects, &first_in_lanes(function))
}

/// Returns the body in `for %9 in 0..n%0` of a function with Integers n%0, #1, buffers b%2, c%3, rows%4 made by it, and
/// parameter p%5. What is carried is y%8, if there is something after `yield`.
fn of_body(body: &str, next: &str) -> Result<Independence, WhySerial> {
    let carrying = if next.is_empty() { "" } else { " carrying (y%8 = 0.0)" };
    let result = if next.is_empty() { "" } else { "%7 = " };
    found(&format!(
        "fun f(n%0: integer, #1: integer, p%5: [float]) -> () {{\nb%2 = alloc [float] n%0\nc%3 = alloc [float] n%0\n\
         rows%4 = alloc [[float]] n%0\nfor j%6 in 0..n%0 {{\n%70 = alloc [float] #1\nstore rows%4[j%6] = %70\nyield\n}}\n\
         %71 = mark\n{result}for %9 in 0..n%0 lanes 4{carrying} {{\n{body}\nyield {next}\n}}\n\
         yield\n}}\n"
    ))
}

fn shown(body: &str, next: &str) -> String {
    match of_body(body, next) {
        Err(refusal) => refusal.to_string(),
        Ok(Independence { carried, added, summed: _, stored, kept }) => {
            let list = |name: &str, locals: BTreeSet<Local>| {
                let locals: Vec<String> = locals.iter().map(|x| format!(" %{}", x.0)).collect();
                if locals.is_empty() { String::new() } else { format!("{name}{};", locals.concat()) }
            };
            let carried: Vec<String> = carried.iter().map(|c| format!("{c:?};")).collect();
            carried.concat() + &list("added", added) + &list("stored", stored) + &list("kept", kept)
        }
    }
}

#[test]
fn sums_are_carried() {
    assert_eq!(shown("%10 = load p%5[%9]\n%11 = add.f %10, y%8", "%11"), "Sum;");
    assert_eq!(shown("%10 = load p%5[%9]\n%11 = sub.f y%8, %10\n%12 = add.f %11, 1.0", "%12"), "Sum;");
    let nested = "%15 = for %10 in 0..#1 carrying (%11 = y%8) {\n%12 = lt.i %10, 5\n%13 = if %12 {\n\
                  %14 = add.f %11, 1.0\nyield %14\n} else {\nyield %11\n}\nyield %13\n}";
    assert_eq!(shown(nested, "%15"), "Sum;");
    assert_eq!(shown("", "y%8"), "Same;");
}

#[test]
fn bests_are_carried() {
    let load = "%10 = load p%5[%9]\n";
    assert_eq!(shown(&format!("{load}%11 = max.f y%8, %10"), "%11"), "Best(0);");
    let chosen = |arms: &str| format!("{load}%12 = lt.f y%8, %10\n%11 = if %12 {{\n{arms}\n}}");
    assert_eq!(shown(&chosen("yield %10\n} else {\nyield y%8"), "%11"), "Best(0);");
    assert_eq!(shown(&chosen("yield y%8\n} else {\nyield %10"), "%11"), "Best(0);");
    let refused = "%8 is carried, and neither a sum nor a best element";
    // Something else is taken than what was compared, or the best is looked at.
    assert_eq!(shown(&chosen("yield 1.0\n} else {\nyield y%8"), "%11"), refused);
    assert_eq!(shown(&chosen("%13 = mul.f y%8, 2.0\nyield %10\n} else {\nyield y%8"), "%11"), refused);
    let stored = format!("{}\nstore b%2[%9] = %11", chosen("yield %10\n} else {\nyield y%8"));
    assert_eq!(shown(&stored, "%11"), refused);
    // Where NaN is taken the loop may run twice, so it leaves nothing but the best.
    let stored = |max: &str| format!("{load}store b%2[%9] = %10\n%11 = max.f {max}");
    assert_eq!(shown(&stored("%10, y%8"), "%11"), "Best(0);stored %2;");
    assert_eq!(shown(&stored("y%8, %10"), "%11"), refused);
}

#[test]
fn what_is_no_sum_is_refused() {
    let refused = "%8 is carried, and neither a sum nor a best element";
    assert_eq!(shown("%10 = sub.f 1.0, y%8", "%10"), refused);
    assert_eq!(shown("%10 = add.f y%8, y%8", "%10"), refused);
    assert_eq!(shown("%10 = mul.f y%8, 2.0", "%10"), refused);
    assert_eq!(shown("", "1.0"), refused);
    // A sum that is read.
    assert_eq!(shown("%10 = add.f y%8, 1.0\n%11 = mul.f %10, 2.0\nstore b%2[%9] = %11", "%10"), refused);
    assert_eq!(shown("store b%2[%9] = y%8\n%10 = add.f y%8, 1.0", "%10"), refused);
    assert_eq!(
        shown("%10 = lt.f y%8, 1.0\n%11 = if %10 {\n%12 = add.f y%8, 1.0\nyield %12\n} else {\nyield y%8\n}", "%11"),
        refused
    );
    // One branch starts anew.
    assert_eq!(shown("%10 = lt.i %9, 1\n%11 = if %10 {\nyield 1.0\n} else {\nyield y%8\n}", "%11"), refused);
    assert_eq!(shown("%11 = for %10 in 0..#1 carrying (%12 = y%8) {\nyield 1.0\n}", "%11"), refused);
    // Two places that are exchanged: neither is its own sum.
    let exchanged = "fun f(n%0: integer) -> () {\n%4, %5 = for %1 in 0..n%0 lanes 4 carrying (%2 = 0.0, %3 = 0.0) {\n\
                     yield %3, %2\n}\nyield\n}\n";
    assert_eq!(found(exchanged).expect_err("they depend on each other"), WhySerial::Carried(Local(2)));
}

#[test]
fn elements_that_belong_to_the_iteration_are_stored() {
    assert_eq!(shown("store b%2[%9] = 1.0", ""), "stored %2;");
    assert_eq!(shown("%10 = add.i %9, #1\nstore b%2[%10] = 1.0\n%11 = load b%2[%10]", ""), "stored %2;");
    assert_eq!(
        shown("%10 = sub.i #1, %9\n%11 = mul.i %10, 3\n%12 = add.i %11, 2\nstore b%2[%12] = 1.0", ""),
        "stored %2;"
    );
    // The same element added to, and then read.
    assert_eq!(shown("add b%2[%9] += 1.0\n%11 = load b%2[%9]\nstore c%3[%9] = %11", ""), "added %2;stored %3;");
}

#[test]
fn elements_that_others_may_see_are_refused() {
    let own = "what is written to %2 may be another iteration's";
    assert_eq!(shown("store b%2[0] = 1.0", ""), own);
    assert_eq!(shown("%10 = div.i %9, 2\nstore b%2[%10] = 1.0", ""), own);
    assert_eq!(shown("%10 = mul.i %9, 0\nstore b%2[%10] = 1.0", ""), own);
    assert_eq!(shown("%10 = mul.i %9, #1\nstore b%2[%10] = 1.0", ""), own);
    assert_eq!(shown("%10 = mul.i %9, %9\n%11 = sub.i %10, %9\nstore b%2[%11] = 1.0", ""), own);
    assert_eq!(shown("%10 = sub.i %9, %9\nstore b%2[%10] = 1.0", ""), own);
    assert_eq!(shown("%10 = mul.f 1.0, 1.0\nfor %11 in 0..#1 {\nstore b%2[%11] = %10\nyield\n}", ""), own);
    assert_eq!(shown("zero b%2[0..#1]", ""), own);
    // The element before.
    let neighbour = "%10 = add.i %9, 1\nstore b%2[%10] = 1.0\n%11 = load b%2[%9]";
    assert_eq!(shown(neighbour, ""), "what is written to %2 may be another iteration's");
    // A part of the same buffer by another name.
    let part = "%10 = b%2[1..]\nstore b%2[%9] = 1.0\n%11 = load %10[%9]";
    assert_eq!(shown(part, ""), "what is written to %2 another iteration may see in %10");
    let alias = "%10 = lt.i %9, 4\n%11 = if %10 {\nyield b%2\n} else {\nyield c%3\n}";
    assert_eq!(
        shown(&format!("{alias}\nstore %11[%9] = 1.0"), ""),
        "%11 is written to, and may be one of several buffers"
    );
    let read = format!("{alias}\n%12 = load %11[%9]\nstore b%2[%9] = 1.0");
    assert_eq!(shown(&read, ""), "what is written to %2 another iteration may see in %11");
}

#[test]
fn rows_and_columns_belong_to_iterations() {
    let row = "%10 = mul.i %9, #1\nfor %11 in 0..#1 {\n%12 = add.i %10, %11\nstore b%2[%12] = 1.0\n%13 = load b%2[%12]\n\
               yield\n}";
    assert_eq!(shown(row, ""), "stored %2;");
    assert_eq!(
        shown(&row.replace("for %11 in 0..#1", "for %11 in -1..#1"), ""),
        "what is written to %2 may be another iteration's"
    );
    assert_eq!(
        shown(&row.replace("for %11 in 0..#1", "for %11 in 0..n%0"), ""),
        "what is written to %2 may be another iteration's"
    );
    let part = "%10 = mul.i #1, %9\n%11 = b%2[%10..]\nzero %11[0..#1]";
    assert_eq!(shown(part, ""), "stored %2;");
    assert_eq!(shown(&part.replace("0..#1]", "0..n%0]"), ""), "what is written to %11 may be another iteration's");
    let column = "for %11 in 0..#1 {\n%10 = mul.i %11, n%0\n%12 = add.i %10, %9\nstore b%2[%12] = 1.0\nyield\n}";
    assert_eq!(shown(column, ""), "stored %2;");
    // Planes one after the other: rests of the division by n are the columns.
    let planes = "%10 = mul.i n%0, 3\n%11 = add.i %10, %9\nstore b%2[%11] = 1.0\n%12 = add.i n%0, %9\nstore b%2[%12] = 1.0\n\
                  store b%2[%9] = 1.0\n%13 = mul.i #1, n%0\n%14 = sub.i %11, %13\n%15 = load b%2[%14]";
    assert_eq!(shown(planes, ""), "stored %2;");
    assert_eq!(
        shown(&planes.replace("add.i n%0, %9", "add.i 1, %9"), ""),
        "what is written to %2 may be another iteration's"
    );
    assert_eq!(
        shown(&planes.replace("add.i n%0, %9", "add.i #1, %9"), ""),
        "what is written to %2 may be another iteration's"
    );
    let deep = "for %11 in 0..#1 {\n%10 = mul.i %9, #1\n%12 = add.i %10, %11\n%13 = mul.i %12, n%0\nfor %14 in 0..n%0 {\n\
                %15 = add.i %13, %14\nstore b%2[%15] = 1.0\nyield\n}\nyield\n}";
    assert_eq!(shown(deep, ""), "stored %2;");
    // A row, and all that is in it, seen as columns.
    let both = format!(
        "{row}\nfor %20 in 0..#1 {{\n%21 = mul.i %20, n%0\n%22 = add.i %21, %9\n%23 = load b%2[%22]\nyield\n}}"
    );
    assert_eq!(shown(&both, ""), "what is written to %2 may be another iteration's");
}

#[test]
fn parts_of_rows_belong_to_iterations() {
    let row = "%10 = mul.i %9, 30\n";
    let written_out = "%11 = add.i %10, 29\nstore c%3[%11] = 1.0\nstore c%3[%10] = 2.0";
    assert_eq!(shown(&format!("{row}{written_out}"), ""), "stored %3;");
    let of_rows = |first: i64, to: i64| {
        format!(
            "{row}for %12 in 0..2 {{\n%13 = mul.i %12, 15\n%14 = add.i %10, %13\nfor %15 in 0..{to} {{\n\
             %16 = add.i %14, %15\n%17 = add.i %16, {first}\nstore c%3[%17] = 1.0\nyield\n}}\nyield\n}}"
        )
    };
    assert_eq!(shown(&of_rows(0, 15), ""), "stored %3;");
    assert_eq!(shown(&of_rows(61, 14), ""), "stored %3;");
    // The last one is the first of the next row.
    let refused = "what is written to %3 may be another iteration's";
    assert_eq!(shown(&of_rows(0, 16), ""), refused);
    assert_eq!(shown(&of_rows(61, 15), ""), refused);
    assert_eq!(shown(&format!("{row}{}", written_out.replace("29", "30")), ""), refused);
}

#[test]
fn sums_in_memory_may_meet() {
    assert_eq!(shown("add b%2[0] += 1.0\nadd b%2[%9] += 1.0", ""), "added %2;");
    let jagged = "for %10 in 0..#1 {\n%11 = load rows%4[%10]\nadd %11[0] += 1.0\nyield\n}";
    assert_eq!(shown(jagged, ""), "added %4;");
    let read = format!("{jagged}\n%12 = load rows%4[%9]\n%13 = load %12[0]");
    assert_eq!(shown(&read, ""), "what is written to %11 another iteration may see in %12");
    assert_eq!(shown("add b%2[0] += 1.0\n%10 = load b%2[1]", ""), "what is written to %2 may be another iteration's");
    assert_eq!(shown("add b%2[0] += 1.0\nstore b%2[%9] = 1.0", ""), "what is written to %2 may be another iteration's");
}

#[test]
fn rows_of_buffers_belong_to_iterations() {
    let own = "%10 = load rows%4[%9]\nzero %10[0..#1]\nadd %10[0] += 1.0\n%11 = load %10[0]";
    assert_eq!(shown(own, ""), "added %4;stored %4;");
    let other = "%10 = load rows%4[0]\nzero %10[0..#1]";
    assert_eq!(shown(other, ""), "what is written to %10 may be another iteration's");
    let made = "%10 = alloc [float] #1\nzero %10[0..#1]\nstore rows%4[%9] = %10";
    assert_eq!(shown(made, ""), "stored %4;kept %10;");
    let seen = format!("{made}\n%11 = load rows%4[0]");
    assert_eq!(shown(&seen, ""), "what is written to %4 may be another iteration's");
}

#[test]
fn buffers_of_the_iteration_are_its_own() {
    let body =
        "%12 = mark\n%10 = alloc [float] #1\nstore %10[0] = 1.0\nadd %10[0] += 1.0\n%11 = load %10[0]\nrelease %12";
    assert_eq!(shown(body, ""), "");
    // What is held by one of them may be another's.
    let held = "%10 = alloc [[float]] 1\nstore %10[0] = b%2\n%11 = load %10[0]\nstore %11[%9] = 1.0";
    assert_eq!(shown(held, ""), "%11 is written to, and may be one of several buffers");
    assert_eq!(shown("release %71", ""), "the mark %71 is from before the loop");
}

#[test]
fn calls_do_what_their_functions_do() {
    let calls = |callee: &str, call: &str| {
        let text = format!(
            "fun f(n%0: integer) -> () {{\nb%1 = alloc [float] n%0\nfor %2 in 0..n%0 lanes 4 {{\n{call}\nyield\n}}\n\
             yield\n}}\n\nfun g(i%0: integer, b%1: [float]) -> () {{\n{callee}\nyield\n}}\n"
        );
        found(&text).map_err(|refusal| refusal.to_string()).map(|found| found.stored)
    };
    assert_eq!(calls("%2 = load b%1[i%0]", "call g(%2, b%1)"), Ok(BTreeSet::new()));
    assert_eq!(calls("write 1.0", "call g(%2, b%1)"), Err("it has `call`".to_string()));
    let written = "what is written to %1 may be another iteration's";
    assert_eq!(calls("store b%1[i%0] = 1.0", "call g(%2, b%1)"), Err(written.to_string()));
    let own = "%3 = alloc [float] 1\ncall g(0, %3)";
    assert_eq!(calls("store b%1[0] = 1.0", own), Ok(BTreeSet::new()));
    let read = "store b%1[%2] = 1.0\ncall g(%2, b%1)";
    assert_eq!(calls("%2 = load b%1[i%0]", read), Err(written.to_string()));
    // What the function writes to lies in what it gets.
    let deep = "fun f(n%0: integer) -> () {\nrows%1 = alloc [[float]] n%0\n%2 = alloc [float] 1\nstore rows%1[0] = %2\n\
                %3 = load rows%1[0]\nfor %4 in 0..n%0 lanes 4 {\ncall g(rows%1)\n%5 = load %3[0]\nyield\n}\nyield\n}\n\
                \nfun g(rows%0: [[float]]) -> () {\n%1 = load rows%0[0]\nstore %1[0] = 1.0\nyield\n}\n";
    assert_eq!(found(deep).expect_err("they share a row"), WhySerial::Conflict(Local(1), Local(1)));
    let seen = deep.replace("call g(rows%1)\n%5 = load %3[0]", "%5 = load %3[0]\ncall g(rows%1)");
    assert_eq!(found(&seen).expect_err("they share a row"), WhySerial::Conflict(Local(1), Local(3)));
}

#[test]
fn several_iterations_may_add_to_one_element() {
    let summed = |body: &str| of_body(body, "").expect("sums may meet").summed.into_iter().collect::<Vec<Local>>();
    assert_eq!(summed("add b%2[0] += 1.0"), [Local(2)]);
    assert_eq!(summed("add b%2[%9] += 1.0"), []);
    assert_eq!(summed("add b%2[%9] += 1.0\nadd b%2[0] += 1.0\nadd c%3[%9] += 1.0"), [Local(2)]);
    assert_eq!(summed("%10 = load rows%4[%9]\nadd %10[0] += 1.0"), []);
    assert_eq!(summed("%10 = load rows%4[0]\nadd %10[%9] += 1.0"), []);
    assert_eq!(summed("%10 = load rows%4[0]\nadd %10[0] += 1.0"), [Local(4)]);
}

#[test]
fn calls_may_add_as_loops_do() {
    let of = |body: &str, call: &str| {
        let text = format!(
            "fun f(n%0: integer) -> () {{\nb%1 = alloc [float] n%0\nrows%2 = alloc [[float]] n%0\nfor j%3 in 0..n%0 {{\n\
             %4 = alloc [float] n%0\nstore rows%2[j%3] = %4\nyield\n}}\nfor %5 in 0..n%0 lanes 4 {{\n{call}\nyield\n}}\n\
             yield\n}}\n\nfun g(p%0: [float], i%1: integer) -> () {{\n{body}\nyield\n}}\n"
        );
        found(&text).map(|found| found.summed.into_iter().collect::<Vec<Local>>())
    };
    let adds = "add p%0[i%1] += 1.0";
    assert_eq!(of(adds, "call g(b%1, %5)"), Ok(vec![Local(1)]));
    assert_eq!(of(adds, "%6 = load rows%2[%5]\ncall g(%6, %5)"), Ok(vec![]));
    assert_eq!(of(adds, "%6 = load rows%2[0]\ncall g(%6, %5)"), Ok(vec![Local(2)]));
    let conflict = Err(WhySerial::Conflict(Local(1), Local(1)));
    assert_eq!(of("add p%0[i%1] += 1.0\n%2 = load p%0[0]", "call g(b%1, %5)"), conflict);
    assert_eq!(of("store p%0[i%1] = 1.0", "call g(b%1, %5)"), conflict);
    assert_eq!(of(adds, "call g(b%1, %5)\n%6 = load b%1[0]"), conflict);
}

#[test]
fn loops_on_threads_stay_where_they_are() {
    let inner = "for %10 in 0..m%1 on threads {\nyield\n}";
    assert_eq!(of_body(inner, "").expect_err("it divides the arena"), WhySerial::Statement("on threads"));
}

#[test]
fn rows_are_owned_in_parts_of_their_range() {
    // j from p or from 0 on, to p or q: p is 1 or m, whichever is less; q is p or m - 1, whichever is more.
    let part = |from: &str, to: &str| {
        format!(
            "%10 = mul.i %9, #1\n%11 = le.i 1, #1\n%12 = if %11 {{\nyield 1\n}} else {{\nyield #1\n}}\n\
             %13 = add.i #1, -1\n%14 = le.i %12, %13\n%15 = if %14 {{\nyield %13\n}} else {{\nyield %12\n}}\n\
             %16 = add.i #1, 1\nfor j%17 in {from}..{to} {{\n%18 = add.i %10, j%17\nstore b%2[%18] = 1.0\nyield\n}}"
        )
    };
    for (from, to) in [("0", "%12"), ("%12", "%15"), ("%15", "#1"), ("0", "%13")] {
        assert_eq!(shown(&part(from, to), ""), "stored %2;");
    }
    // Beyond the row, or before it.
    for (from, to) in [("0", "%16"), ("%13", "#1"), ("-1", "%12")] {
        assert_eq!(shown(&part(from, to), ""), "what is written to %2 may be another iteration's");
    }
}
