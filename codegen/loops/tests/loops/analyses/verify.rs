//! Violations of the rules for loops in lanes.

use loops::analyses::verify::verify;
use loops::ir::parse::parse;

#[test]
fn loops_in_lanes_can_run_in_lanes() {
    let text = |body: &str| {
        parse(&format!(
            "fun f(n%0: integer, b%1: [float]) -> () {{\n%7 = for %2 in 0..n%0 lanes 4 carrying (%3 = 0.0) {{\n{body}\n}}\n\
             yield\n}}\n"
        ))
    };
    let violation = |body: &str| verify(&text(body)).err().unwrap_or_default();
    assert_eq!(violation("%4 = add.f %3, 1.0\nyield %4"), "");
    assert_eq!(
        violation("%4 = mul.f %3, 2.0\nyield %4"),
        "at once in f: %3 is carried, and neither a sum nor a best element"
    );
    let address = "%4 = mark\n%5 = b%1[%2..]\n%6 = %5 above %4\nyield %3";
    assert_eq!(violation(address), "at once in f: %5 is another address in each lane, and looked at");
    // Chunks divide the arena, which the lanes share: loops in lanes have none.
    let inner = |threads: &str| format!("for %4 in 0..n%0{threads} {{\nyield\n}}\nyield %3");
    assert_eq!(violation(&inner("")), "");
    assert!(violation(&inner(" on threads")).starts_with("at once in f: "), "{}", violation(&inner(" on threads")));
}
