//! What a pass would have left behind, were it wrong in one place: the comparison tells.

use super::compare::{Rules, compare};
use super::draw::Draw;
use super::files::BECOMES;
use super::with_stack;
use crate::loops::parse::parse;
use std::path::Path;

/// A file, what is wrong after the pass, as pairs of text that is there and of text that replaces it, and what is told.
type Planted = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const PLANTED: &[Planted] = &[
    // A check goes.
    ("versions/rows", &[("      check %12 else IndexOutOfRange(j%11, #5)\n", "")], "instead of IndexOutOfRange"),
    // A check comes too early.
    (
        "motion/loads",
        &[
            ("    check %8 else", "    check %9 else"),
            (
                "  %8 = below 1, #0\n",
                "  %9 = below 1, #0\n  check %9 else IndexOutOfRange(1, #0)\n  %8 = below 1, #0\n",
            ),
        ],
        "IndexOutOfRange [1, 0] instead of",
    ),
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
    let differs = |after| {
        Draw::all()
            .into_iter()
            .find_map(|draw| compare([&modules[0], after], draw, Rules { tolerance: 1e-9, unchecked: false }).err())
    };
    assert_eq!(differs(&modules[1]), None, "{file} as it is");
    let found = differs(&modules[2]);
    assert!(found.as_ref().is_some_and(|found| found.contains(told)), "{file}, {changes:?}: {found:?}");
}
