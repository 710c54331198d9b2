//! The schedules have all laws.

use lm::law;
use lm::strategy::VARIANTS;
use lmc::derive::schedule::{KNOWN, Strategies};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Laws that no schedule applies, but a pass.
#[rustfmt::skip]
const OF_PASSES: &[(&str, &[&str])] = &[
    ("`apply_maps` applies families of maps and conditionals", &[
        "apply-vcatv", "apply-hcatv", "reverse-vcatv", "reverse-hcatv", "reverse-if",
    ]),
];

#[test]
fn every_law_is_in_a_schedule() {
    let files = VARIANTS.iter().map(|(name, text)| Strategies::with(name, text).expect("strategies of lmc are right"));
    let all: Vec<Strategies> = [Strategies::default()].into_iter().chain(files).collect();
    let applied = KNOWN.of_terms.iter().chain(KNOWN.of_definitions);
    let laws = applied.flat_map(|name| all.iter().flat_map(|strategies| strategies.strategy(name).laws()));
    let scheduled: FxHashSet<Arc<str>> = laws.map(|law| law.name.clone()).collect();
    let excused: FxHashSet<&str> = OF_PASSES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let forgotten: Vec<&str> = law::all()
        .keys()
        .map(|name| &**name)
        .filter(|name| scheduled.contains(*name) == excused.contains(name))
        .collect();
    assert!(forgotten.is_empty(), "in no schedule, or in one and excused: {forgotten:?}");
}
