//! Loops whose iterations run in order again.

use loops::ir::parse::parse;

#[test]
fn iterations_run_in_order() {
    let loops = |lanes: &str| {
        format!(
            "fun f(#0: integer, b%1: [float]) -> () {{\n  if true {{\n    for i%2 in 0..#0{lanes} {{\n      \
             for j%3 in 0..#0{lanes} {{\n        store b%1[j%3] = 1.0\n        yield\n      }}\n      yield\n    \
             }}\n    yield\n  }} else {{\n    yield\n  }}\n  yield\n}}\n"
        )
    };
    let mut module = parse(&loops(" lanes 8"));
    assert_eq!(module.to_string(), loops(" lanes 8"));
    module.run_in_order();
    assert_eq!(module.to_string(), loops(""));
}
