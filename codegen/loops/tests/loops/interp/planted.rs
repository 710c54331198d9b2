//! What a pass would have left behind, were it wrong in one place: the comparison tells.

use super::compare::{Rules, compare};
use super::draw::Draw;
use super::with_stack;
use crate::passes::BECOMES;
use loops::ir::parse::parse;
use std::path::Path;

/// A file, what is wrong after the pass, as pairs of text that is there and of text that replaces it, and what is told.
type Planted = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const PLANTED: &[Planted] = &[
    // A check goes.
    ("loop_versioning/rows", &[("      check %12 else IndexOutOfRange(j%11, #5)\n", "")], "instead of IndexOutOfRange"),
    // A check comes before a loop that may not run.
    (
        "licm/loads",
        &[
            ("    check %8 else IndexOutOfRange(1, #0)\n", ""),
            ("  for ", "  check %8 else IndexOutOfRange(1, #0)\n  for "),
        ],
        "IndexOutOfRange [1, 0] instead of",
    ),
    // A load comes before the store to the same element.
    (
        "licm/loads",
        &[("    %6 = load w%2[0]\n", ""), ("  for ", "  %6 = load w%2[0]\n  for ")],
        "in number 2 of results and arguments",
    ),
    // What outlives a scope is made in it.
    (
        "arena_place/product",
        &[("  %7 = alloc [float] %5\n  %3 = mark\n", "  %3 = mark\n  %7 = alloc [float] %5\n")],
        "a result lies in memory that was given back",
    ),
    // A store is lost.
    ("fusion/chain", &[("    store %4[i%5] = %7\n", "")], "element 0 is read before it is written"),
    // A product begins with 0.
    ("fusion/chain", &[("%16 = 1.0", "%16 = 0.0")], "in number 1 of results"),
    // Ranges overlap.
    ("index_set_split/triangle", &[("j%22 in i%3..%19", "j%22 in i%3..#0")], "in number 2 of results and arguments"),
    // Each chunk begins with the initial value.
    ("parallelize/sums", &[("carrying (%10 = %42)", "carrying (%10 = 1.5)")], "in number 0 of results"),
    // All chunks add to one buffer.
    (
        "parallelize/sums",
        &[("      %43 = load %33[%36]\n", "      %43 = load %33[0]\n")],
        "use the same element, and one of them writes it, in f: add %43[%13] += %12",
    ),
    // The last of equal elements is chosen, not the first.
    ("vectorize/bests", &[("%8 = lt.f %5, %7", "%8 = le.f %5, %7")], "in number 1 of results"),
];

#[test]
fn planted_faults_are_found() {
    with_stack(|| PLANTED.iter().for_each(found));
}

fn found((file, changes, told): &Planted) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/passes/{file}.loops"));
    let text = std::fs::read_to_string(&path).expect("the file is there");
    let (before, after) = text.split_once(BECOMES).expect("a file has two parts");
    let mut broken = after.to_string();
    for (there, other) in *changes {
        assert!(broken.contains(there), "{file} has {there:?}:\n{broken}");
        broken = broken.replacen(there, other, 1);
    }
    let modules = [before, after, &broken].map(parse);
    let rules = Rules { tolerance: 1e-9, unchecked: false };
    let differs = |after| Draw::all().into_iter().find_map(|draw| compare([&modules[0], after], draw, rules).err());
    assert_eq!(differs(&modules[1]), None, "{file} as it is");
    let found = differs(&modules[2]);
    assert!(found.as_ref().is_some_and(|found| found.contains(told)), "{file}, {changes:?}: {found:?}");
}
