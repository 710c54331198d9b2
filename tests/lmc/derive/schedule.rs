//! The schedules have all laws.

use lm::law;
use lmc::derive::schedule::SCHEDULES;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Laws that are stated and tested, but applied by no schedule, and why.
#[rustfmt::skip]
const NOT_APPLIED: &[(&str, &[&str])] = &[
    ("`reverse-apply` goes first", &[
        "reverse-compose", "reverse-vcat", "reverse-hcat", "reverse-add", "reverse-zero", "reverse-one",
        "reverse-scale", "reverse-transpose", "reverse-vcatv", "reverse-hcatv", "reverse-tlambda", "reverse-get",
    ]),
    ("the passes `apply` and `transpose` are for families of maps", &[
        "apply-vcatv", "apply-hcatv", "transpose-vcatv", "transpose-hcatv",
    ]),
    ("functions of all Integers are interpreted", &["apply-lambda", "transpose-lambda", "transpose-tlambda"]),
    ("the map would be copied", &["compose-hcat"]),
];

#[test]
fn every_law_is_in_a_schedule() {
    let scheduled: FxHashSet<Arc<str>> =
        SCHEDULES.iter().flat_map(|schedule| schedule.strategy.laws()).map(|law| law.name.clone()).collect();
    let excused: FxHashSet<&str> = NOT_APPLIED.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let forgotten: Vec<&str> = law::all()
        .keys()
        .map(|name| &**name)
        .filter(|name| scheduled.contains(*name) == excused.contains(name))
        .collect();
    assert!(forgotten.is_empty(), "in no schedule, or in one and excused: {forgotten:?}");
}
