//! Tests the contenders of `cargo bench --bench dual`: at a small size all ways of lmc and the programs in C++ give the
//! same derivatives.

#[path = "../../benches/dual/contenders.rs"]
mod contenders;
#[path = "../../benches/dual/programs.rs"]
#[allow(dead_code)] // the bench uses more of it
mod programs;

use crate::harness::contender::{Contender, Selection};
use crate::harness::rounds::{Contest, Effort};
use contenders::{ABLATION, CONTENDERS};
use programs::{FACTORISATION, SERIES, Series};

/// Checks that all contenders but those in Python give the derivative of the first.
fn agrees(series: &Series, contenders: &'static [Contender], count: usize) {
    let program = series.at(9);
    let selection = Selection { threads: 1, names: vec!["C++".to_string()] };
    let mut failures = Vec::new();
    let cells = Contest::start(contenders, selection, Effort::CHECK).measure(&program, &mut failures);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(cells.len(), count, "contenders of {}", program.name);
}

#[test]
fn derivatives_agree() {
    lmc::with_large_stack(|| {
        SERIES.iter().for_each(|series| agrees(series, CONTENDERS, 4));
        agrees(&FACTORISATION, ABLATION, ABLATION.len());
    });
}
