//! Options of native code that several commands take: `--checks`, `--math`, `--lanes`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use codegen::{Checks, Lanes, Math};

/// What `--checks` takes.
const CHECKS: [(&str, &str, Checks); 3] = [
    ("full", "each time", Checks::Full),
    ("hoisted", "before loops where that is enough, with the same errors", Checks::Hoisted),
    ("none", "not at all: unsafe, a program that would stop does anything", Checks::None),
];

/// What `--math` takes.
const MATH: [(&str, &str, Math); 2] = [
    ("exact", "sums in the order of the program, functions of libm", Math::Exact),
    ("fast", "sums in any order, products with sums rounded once, functions of libmvec (4 ulp)", Math::Fast),
];

/// Reads where indices are checked.
pub fn checks() -> impl TypedValueParser<Value = Checks> {
    one_of(CHECKS)
}

/// Reads how Floats are computed.
pub fn math() -> impl TypedValueParser<Value = Math> {
    one_of(MATH)
}

/// Reads how many iterations run at once: `auto`, `off` or a number.
///
/// Errors: a number that is no power of two, or too large.
pub fn lanes(given: &str) -> Result<Lanes, String> {
    let wrong = || format!("say `auto`, `off` or a power of two from 2 to {}", Lanes::MOST);
    match given {
        "auto" => Ok(Lanes::Auto),
        "off" => Ok(Lanes::Off),
        number => {
            let number = number.parse().ok().filter(|n: &u32| (2..=Lanes::MOST).contains(n) && n.is_power_of_two());
            number.map(Lanes::Width).ok_or_else(wrong)
        }
    }
}

fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    table: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let values = table.map(|(name, help, _)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).map(move |given| {
        let found = table.iter().find(|(name, ..)| *name == given);
        found.expect("clap takes nothing else").2
    })
}
