//! One test for each file, demo and row of a table. `tests/lmc` has the tests that are written by hand.
//!
//! `BLESS=1` writes expectations anew; read the diff.

mod all_ways;
mod allocation;
mod bound;
mod c_interface;
mod category;
mod cost_arrays;
mod derivations;
mod each;
mod errors;
mod gradcheck;
mod headers;
mod lanes;
mod language;
mod loops_agree;
mod native_memory;
mod nested;
mod oracle;
mod paired;
mod passes;
mod places;
mod programs;
mod readme;
mod recorded;
mod workspace;

use libtest_mimic::{Arguments, Trial};

const SUBJECTS: &[fn() -> Vec<Trial>] = &[
    all_ways::tests,
    allocation::tests,
    bound::tests,
    c_interface::tests,
    category::tests,
    cost_arrays::tests,
    derivations::tests,
    errors::tests,
    gradcheck::tests,
    headers::tests,
    lanes::tests,
    language::tests,
    loops_agree::tests,
    native_memory::tests,
    nested::tests,
    oracle::tests,
    paired::tests,
    passes::tests,
    places::tests,
    programs::tests,
    readme::tests,
    recorded::tests,
    workspace::tests,
];

fn main() {
    let tests = SUBJECTS.iter().flat_map(|subject| subject()).collect();
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}
