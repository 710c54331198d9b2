//! Options of native code, which several commands take.

use super::watch::Watch;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use loops::{Checks, Forward, Known, Selection};
use native::{Lanes, Math};
use std::path::PathBuf;

/// How to compile.
#[derive(clap::Args)]
pub struct NativeOptions {
    /// An object, archive or library (for code that runs at once, a shared library) that has the program's external
    /// functions (`edef`); may be repeated.
    #[arg(long, value_name = "FILE")]
    link: Vec<PathBuf>,
    /// The processor, as LLVM names it (x86-64-v3); without it, the one at hand.
    #[arg(long, value_name = "CPU")]
    pub target_cpu: Option<String>,
    /// Optimisation level.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    level: u8,
    /// Where indices and sizes are checked.
    #[arg(long, default_value = "hoisted", value_parser = one_of(CHECKS))]
    checks: Checks,
    /// How Floats are computed.
    #[arg(long, default_value = "fast", value_parser = one_of(MATH))]
    math: Math,
    /// How many iterations of a loop run at once, in the lanes of vectors: auto, off or a power of two.
    #[arg(long, value_name = "N", default_value = "auto", value_parser = lanes)]
    lanes: Lanes,
    /// What becomes of values that a derivative needs, and that were computed for the value.
    #[arg(long, default_value = "auto", value_parser = one_of(FORWARD))]
    forward: Forward,
    /// A number that a parameter always is, or a size (`n=10`, `t.2=10`, `v.size=10`, `m.size.2=10`,
    /// `rows.each.size=10`): the functions that have it are compiled for it, and stop with an error otherwise.
    #[arg(long, value_name = "PARAMETER=NUMBER", value_delimiter = ',')]
    specialise: Vec<Known>,
    /// Go on with the loops as that pass leaves them; `lowering` is before the first. See `lmc compile --emit loops`.
    #[arg(long, value_name = "PASS")]
    after: Option<String>,
}

impl NativeOptions {
    /// For the code generator.
    pub fn options(&self, watch: &Watch) -> native::Options {
        native::Options {
            opt_level: self.level,
            target_cpu: self.target_cpu.clone(),
            link: self.link.clone(),
            checks: self.checks,
            math: self.math,
            lanes: self.lanes,
            forward: self.forward,
            grain: native::Options::GRAIN,
            specialise: self.specialise.clone(),
            passes: self.after.clone().map_or(Selection::All, Selection::Through),
            timings: watch.timings.clone(),
        }
    }
}

/// What `--checks` takes.
const CHECKS: [(&str, &str, Checks); 3] = [
    ("full", "each time", Checks::Full),
    ("hoisted", "before loops where that is enough, with the same errors", Checks::Hoisted),
    ("none", "not at all: unsafe, a program that would stop does anything", Checks::None),
];

/// What `--math` takes.
const MATH: [(&str, &str, Math); 2] = [
    ("exact", "sums in the order of the program, functions of libm", Math::Exact),
    (
        "fast",
        "sums in any order, products with sums rounded once, functions on vectors up to 4 ulp off (exp in lanes 1, others by libmvec)",
        Math::Fast,
    ),
];

/// What `--forward` takes.
const FORWARD: [(&str, &str, Forward); 3] = [
    ("auto", "what is dearer to compute than to store and load is stored", Forward::Auto),
    ("store", "whatever takes an operation on Floats is stored", Forward::Store),
    ("recompute", "it is computed again", Forward::Recompute),
];

/// Reads how many iterations run at once: `auto`, `off` or a number.
///
/// Errors: a number that is no power of two, or too large.
fn lanes(given: &str) -> Result<Lanes, String> {
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

/// Threads take room for their stacks, and a machine has not so many processors.
const MOST_THREADS: usize = 1_024;

/// Reads a number of threads.
pub(super) fn threads(given: &str) -> Result<usize, String> {
    let threads = given.parse().map_err(|_| String::from("not a number"))?;
    if threads <= MOST_THREADS { Ok(threads) } else { Err(format!("more than {MOST_THREADS}")) }
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
