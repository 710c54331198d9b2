//! `--checks`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use codegen::Checks;

/// What `--checks` takes.
const CHECKS: [(&str, &str, Checks); 3] = [
    ("full", "each time", Checks::Full),
    ("hoisted", "before loops where that is enough, with the same errors", Checks::Hoisted),
    ("none", "not at all: unsafe, a program that would stop does anything", Checks::None),
];

/// Reads one of them.
pub fn parser() -> impl TypedValueParser<Value = Checks> {
    let values = CHECKS.iter().map(|(name, help, _)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).map(|given| {
        let found = CHECKS.iter().find(|(name, ..)| *name == given);
        found.expect("clap takes nothing else").2
    })
}
