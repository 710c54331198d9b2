//! Which rows have a length that the pass knows.

use lm::timing::Timings;
use loops::ir::parse::parse;
use loops::passes::{Checks, Selection, run};

/// Returns how many buffers of rows have a length that the pass knows, where a loop loads the given sizes of each
/// row.
fn known(params: &str, sizes: &[usize]) -> usize {
    let loads: String = sizes.iter().map(|b| format!("    #9{b} = load x%{b}[i%80]\n")).collect();
    let text =
        format!("fun f(#0: integer, {params}) -> () {{\n  for i%80 in 0..#0 {{\n{loads}    yield\n  }}\n  yield\n}}\n");
    let mut module = parse(&text);
    let selection = Selection::Only(vec!["rectangular".to_string()]);
    run(&mut module, &selection, Checks::Full, &Timings::default()).expect("there is such a pass");
    module.functions[0].row_sizes.len()
}

#[test]
fn one_size_tells_the_length_of_rows_and_several_do_not() {
    assert_eq!(known("x%1: [integer], x%2: [[float]]", &[1]), 1);
    assert_eq!(known("x%1: [integer], x%2: [integer], x%3: [[float]]", &[1, 2]), 0);
    assert_eq!(known("x%1: [integer], x%2: [integer], x%3: [[float]]", &[2]), 0);
}
