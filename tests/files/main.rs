//! One test for each file, demo and row of a table. `tests/lmc` has the tests that are written by hand.
//!
//! `BLESS=1` writes expectations anew; read the diff. `LMC_SEED` and `LMC_CASES` choose what random tests draw, and
//! `campaign --seed 1 --minutes 10` runs these for long.

mod all_ways;
mod allocation;
mod bound;
mod c_interface;
mod campaign;
mod category;
mod cost;
mod cost_arrays;
mod delta;
mod derivations;
mod derivatives;
mod derivatives_of_arrays;
mod dual;
mod dual_arrays;
mod each;
mod errors;
mod gradcheck;
mod headers;
mod kernels;
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
mod python;
mod readme;
mod recorded;
mod traces;
mod whole_arrays;
mod workspace;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// Those with the longest tests come first, so that none is left alone at the end.
const SUBJECTS: &[fn() -> Vec<Trial>] = &[
    traces::tests,
    kernels::tests,
    dual_arrays::tests,
    all_ways::tests,
    allocation::tests,
    bound::tests,
    c_interface::tests,
    category::tests,
    cost::tests,
    cost_arrays::tests,
    delta::tests,
    derivations::tests,
    derivatives::tests,
    derivatives_of_arrays::tests,
    dual::tests,
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
    python::tests,
    readme::tests,
    recorded::tests,
    whole_arrays::tests,
    workspace::tests,
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some((first, rest)) = args.split_first()
        && first == "campaign"
    {
        return campaign::run(rest);
    }
    let tests = SUBJECTS.iter().flat_map(|subject| subject()).collect();
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}
