//! Tests what varies over the lanes of a loop, and how its buffers lie.

use super::first_in_lanes;
use loops::analyses::alias::Aliases;
use loops::analyses::cache::summaries;
use loops::analyses::divergence::{Divergence, Layout};
use loops::analyses::verify::verify;
use loops::analyses::why_serial::WhySerial;
use loops::ir::parse::parse;
use loops::ir::{Function, Local, Memory, Operand, Stmt};
use std::collections::BTreeSet;

fn spread(text: &str) -> Result<Divergence, WhySerial> {
    let module = parse(text);
    verify(&parse(&text.replace(" lanes 4", ""))).expect("the text keeps the rules");
    let function = &module.functions[0];
    let aliases = Aliases::of(function, &summaries(&module));
    Divergence::of(function, &aliases, &first_in_lanes(function))
}

/// Returns the body in `for %3 in 0..%0 lanes 4` of a function that gets n%0, b%1: [float] and rows%2: [[float]].
fn in_lanes(body: &str) -> String {
    let head = "fun f(n%0: integer, b%1: [float], rows%2: [[float]]) -> () {\n  for %3 in 0..n%0 lanes 4 {\n";
    format!("{head}{body}\nyield\n}}\nyield\n}}\n")
}

fn of_body(body: &str) -> Result<Divergence, WhySerial> {
    spread(&in_lanes(body))
}

/// Returns the buffers that the loop of a function allocates, in order of their numbers.
fn allocated(function: &Function) -> BTreeSet<Local> {
    let mut allocated = BTreeSet::new();
    first_in_lanes(function).body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Alloc { buffer, .. } | Memory::Stack(buffer, _)) = stmt {
            allocated.insert(*buffer);
        }
    });
    allocated
}

/// Returns what varies and how allocated buffers are taken, as text.
fn shown(body: &str) -> String {
    let spread = match of_body(body) {
        Ok(spread) => spread,
        Err(refusal) => return refusal.to_string(),
    };
    let function = &parse(&in_lanes(body)).functions[0];
    let varying = (0..function.locals.len()).filter(|i| spread.varies(&x(*i as u32)));
    let varying: Vec<String> = varying.map(|i| format!("%{i}")).collect();
    let forms = allocated(function).into_iter().map(|b| format!(", %{} {:?}", b.0, spread.form(b)));
    format!("{} vary{}", varying.join(" "), forms.collect::<String>())
}

fn x(i: u32) -> Operand {
    Operand::Local(Local(i))
}

#[test]
fn operations_and_loads_vary_with_their_operands() {
    let body = "%4 = load b%1[0]\n%5 = load b%1[%3]\n%6 = mul.f %4, %4\n%7 = mul.f %4, %5\n%8 = load rows%2[%3]\n\
                %9 = load %8[0]\n%10 = load rows%2[0]\n%11 = load %10[0]";
    assert_eq!(shown(body), "%3 %5 %7 %8 %9 vary");
}

#[test]
fn a_table_of_what_is_uniform_is_shared() {
    let body = "%4 = alloc [float] n%0\nfor %5 in 0..n%0 {\n%6 = load b%1[%5]\n%7 = exp %6\nstore %4[%5] = %7\nyield\n}\n\
                add %4[0] += 1.0\n%8 = load %4[0]\n%9 = load %4[%3]";
    assert_eq!(shown(body), "%3 %9 vary, %4 Shared");
    let spread = of_body(body).expect("it runs in lanes");
    assert_eq!((spread.layout(&x(4)), spread.layout(&x(1))), (Layout::Shared, Layout::Plain));
}

#[test]
fn what_varies_is_stored_in_each() {
    let value = "%4 = alloc [float] n%0\n%5 = load b%1[%3]\nstore %4[0] = %5\n%6 = load %4[1]";
    assert_eq!(shown(value), "%3 %5 %6 vary, %4 Each");
    assert_eq!(of_body(value).expect("it runs in lanes").layout(&x(4)), Layout::Each);
    let place = "%4 = alloc [float] n%0\nstore %4[%3] = 1.0\n%6 = load %4[1]";
    assert_eq!(shown(place), "%3 %6 vary, %4 Each");
    let size = "%4 = alloc [float] %3\nzero %4[0..%3]\n%6 = load %4[1]";
    assert_eq!(shown(size), "%3 %6 vary, %4 Each");
    // Found out only after the load was seen.
    let later = "%4 = alloc [float] n%0\nfor %5 in 0..n%0 {\n%6 = load %4[%5]\n%7 = load b%1[%3]\n\
                 add %4[%5] += %7\nyield\n}";
    assert_eq!(shown(later), "%3 %6 %7 vary, %4 Each");
}

#[test]
fn under_a_condition_that_varies_lanes_part() {
    let outside = "%4 = alloc [float] n%0\nzero %4[0..n%0]\n%5 = lt.i %3, 7\nif %5 {\nstore %4[0] = 1.0\nyield\n} else {\n\
                   yield\n}\n%6 = load %4[0]";
    assert_eq!(shown(outside), "%3 %5 %6 vary, %4 Each");
    let inside = "%5 = lt.i %3, 7\n%6 = if %5 {\n%4 = alloc [float] n%0\nstore %4[0] = 1.0\n%7 = load %4[0]\nyield %7\n\
                  } else {\nyield 2.0\n}";
    assert_eq!(shown(inside), "%3 %5 %6 vary, %4 Shared");
    let uniform = "%4 = alloc [float] n%0\n%5 = lt.i n%0, 7\nif %5 {\nstore %4[0] = 1.0\nyield\n} else {\nyield\n}";
    assert_eq!(shown(uniform), "%3 vary, %4 Shared");
}

#[test]
fn a_loop_diverges_where_its_bounds_vary() {
    // The index is the same in all lanes that are still on; what is carried is not, in the end.
    let sum = "%8 = for %4 in 0..%3 carrying (%5 = 0.0) {\n%6 = load b%1[%4]\n%7 = add.f %5, %6\nyield %7\n}";
    assert_eq!(shown(sum), "%3 %5 %7 %8 vary");
    let from = "for %4 in %3..n%0 {\n%6 = load b%1[%4]\nyield\n}";
    assert_eq!(shown(from), "%3 %4 %6 vary");
    let written = "%4 = alloc [float] n%0\nfor %5 in 0..%3 {\nstore %4[%5] = 1.0\nyield\n}";
    assert_eq!(shown(written), "%3 vary, %4 Each");
    let made = "for %5 in 0..%3 {\n%4 = alloc [float] n%0\nstore %4[%5] = 1.0\nyield\n}";
    assert_eq!(shown(made), "%3 vary, %4 Shared");
    let uniform = "%8 = for %4 in 0..n%0 carrying (%5 = 0.0) {\n%7 = add.f %5, 1.0\nyield %7\n}";
    assert_eq!(shown(uniform), "%3 vary");
}

#[test]
fn carried_values_vary_through_many_iterations() {
    let body = "%10, %11, %12 = for %4 in 0..n%0 carrying (%5 = 0.0, %6 = 0.0, %7 = 0.0) {\n%8 = load b%1[%3]\n\
                yield %6, %7, %8\n}";
    assert_eq!(shown(body), "%3 %5 %6 %7 %8 %10 %11 %12 vary");
}

#[test]
fn what_outside_memory_holds_are_rows() {
    let row = "%4 = alloc [float] n%0\nzero %4[0..n%0]\nstore rows%2[%3] = %4\n%5 = load %4[0]";
    assert_eq!(shown(row), "%3 %4 %5 vary, %4 Rows");
    assert_eq!(of_body(row).expect("it runs in lanes").layout(&x(4)), Layout::Plain);
    // What is copied into a row must not lie between the rows.
    let kept = "%4 = alloc [float] n%0\nstore %4[0] = 1.0\n%5 = alloc [float] n%0\nmove %5[0..n%0] <- %4[0..n%0]\n\
                store rows%2[%3] = %5";
    assert_eq!(shown(kept), "%3 %4 %5 vary, %4 Rows, %5 Rows");
}

#[test]
fn buffers_that_meet_lie_alike() {
    let arms = |store: &str| {
        format!(
            "%4 = alloc [float] n%0\n%5 = alloc [float] n%0\nstore %4[0] = 1.0\nstore %5[0] = {store}\n%6 = lt.i n%0, 7\n\
             %7 = if %6 {{\nyield %4\n}} else {{\nyield %5\n}}\n%8 = load %7[0]"
        )
    };
    assert_eq!(shown(&arms("2.0")), "%3 vary, %4 Shared, %5 Shared");
    let each = arms("2.0").replace("store %5[0] = 2.0", "%9 = to_float %3\nstore %5[0] = %9");
    assert_eq!(shown(&each), "%3 %8 %9 vary, %4 Each, %5 Each");
    // One comes from outside the loop, and is read only.
    let outside = "%4 = alloc [float] n%0\nstore %4[0] = 1.0\n%6 = lt.i n%0, 7\n%7 = if %6 {\nyield %4\n} else {\n\
                   yield b%1\n}\n%8 = load %7[0]";
    assert_eq!(shown(outside), "%3 vary, %4 Shared");
    let varying = outside.replace("store %4[0] = 1.0", "store %4[%3] = 1.0");
    assert_eq!(shown(&varying), "%3 %4 %7 %8 vary, %4 Rows");
    // What is added to one from outside is added by each lane, to one of the loop's by all as one.
    let added = format!("{outside}\nadd %7[0] += 1.0");
    assert_eq!(shown(&added), "%3 %4 %7 %8 vary, %4 Rows");
}

#[test]
fn a_buffer_chosen_by_the_lane_is_written_by_some() {
    let body = "%4 = alloc [float] n%0\n%5 = alloc [float] n%0\n%6 = lt.i %3, 7\n%7 = if %6 {\nyield %4\n} else {\n\
                yield %5\n}\nstore %7[0] = 1.0\n%8 = load %4[0]";
    assert_eq!(shown(body), "%3 %6 %7 %8 vary, %4 Each, %5 Each");
}

#[test]
fn buffers_of_buffers_hold_what_they_hold() {
    let body = "%4 = alloc [[float]] 2\n%5 = alloc [float] n%0\nstore %5[0] = 1.0\nstore %4[0] = %5\n%6 = load %4[0]\n\
                %7 = load %6[0]\nstore %6[%3] = 1.0";
    assert_eq!(shown(body), "%3 %7 vary, %4 Shared, %5 Each");
    let spread = of_body(body).expect("it runs in lanes");
    assert_eq!((spread.layout(&x(6)), spread.varies(&x(6))), (Layout::Each, false));
}

#[test]
fn strides_tell_neighbours() {
    let body = "%4 = add.i %3, n%0\n%5 = mul.i %4, 3\n%6 = sub.i n%0, %5\n%7 = mul.i %3, n%0\n%8 = sub.i %5, %3\n\
                %9 = mul.i %3, %3\n%10 = neg.i %8\n%11 = add.i n%0, 1";
    let spread = of_body(body).expect("it runs in lanes");
    let strides: Vec<Option<i64>> = (3..12).map(|i| spread.stride(&x(i))).collect();
    let expected = [Some(1), Some(1), Some(3), Some(-3), None, Some(2), None, Some(-2), Some(0)];
    assert_eq!(strides, expected);
    assert_eq!(spread.stride(&Operand::Integer(5)), Some(0));
}

#[test]
fn what_cannot_run_in_lanes_is_refused() {
    assert_eq!(shown("write 1.0"), "it has `write`");
    let address = "%4 = mark\n%5 = load rows%2[%3]\n%6 = %5 above %4";
    assert_eq!(shown(address), "%5 is another address in each lane, and looked at");
    let own = "%4 = mark\n%5 = alloc [float] n%0\n%6 = %5 above %4\nrelease %4";
    assert_eq!(shown(own), "%3 vary, %5 Shared");
    let released = "%4 = mark\n%5 = lt.i %3, 7\nif %5 {\nrelease %4\nyield\n} else {\nyield\n}";
    assert_eq!(shown(released), "some lanes release %4, which others may be above of");
    let inside = "%5 = lt.i %3, 7\nif %5 {\n%4 = mark\nrelease %4\nyield\n} else {\nyield\n}";
    assert_eq!(shown(inside), "%3 %5 vary");
}
