//! The options for native code, shared by several commands.

use super::watch::Watch;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use loops::{Checks, Forward, Known, Selection};
use native::{Lanes, Math};
use std::path::PathBuf;

/// The options for native code.
#[derive(clap::Args)]
pub struct NativeOptions {
    /// Link this object, archive or library, which defines external functions (`edef`) of the program. Commands that
    /// run the code at once need a shared library. May be repeated.
    #[arg(long, value_name = "FILE")]
    link: Vec<PathBuf>,
    /// The processor to compile for, by LLVM's name, such as x86-64-v3. Default: this machine's.
    #[arg(long, value_name = "CPU")]
    pub target_cpu: Option<String>,
    /// The optimisation level of LLVM, 0 to 3.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    level: u8,
    /// When to check indices and sizes.
    #[arg(long, default_value = "hoisted", value_parser = one_of(CHECKS))]
    checks: Checks,
    /// The arithmetic of Floats.
    #[arg(long, default_value = "fast", value_parser = one_of(MATH))]
    math: Math,
    /// The number of loop iterations to run at once in vector lanes: auto, off or a power of two up to 64.
    #[arg(long, value_name = "N", default_value = "auto", value_parser = lanes)]
    lanes: Lanes,
    /// Whether a derivative stores or recomputes intermediate values of the function.
    #[arg(long, default_value = "auto", value_parser = one_of(FORWARD))]
    forward: Forward,
    /// Compile for a fixed number or size: `n=10`, `t.2=10`, `v.size=10`, `m.size.2=10`, `rows.each.size=10`.
    /// Functions with that parameter stop with an error on any other number or size.
    #[arg(long, value_name = "PARAMETER=NUMBER", value_delimiter = ',')]
    specialise: Vec<Known>,
    /// Stop the passes over loops after this pass; `lowering` skips all of them. `lmc compile --emit loops` shows the
    /// loops.
    #[arg(long, value_name = "PASS")]
    after: Option<String>,
}

impl NativeOptions {
    /// Returns what is known of parameters.
    pub fn known(&self) -> &[Known] {
        &self.specialise
    }

    /// Returns the options of the code generator.
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

/// The values of `--checks`.
const CHECKS: [(&str, &str, Checks); 3] = [
    ("full", "at every access", Checks::Full),
    ("hoisted", "once before a loop where that suffices; reports the same errors", Checks::Hoisted),
    ("none", "never: unsafe, since a program with a wrong index has undefined behaviour", Checks::None),
];

/// The values of `--math`.
const MATH: [(&str, &str, Math); 2] = [
    ("exact", "adds in the order of the program and calls libm", Math::Exact),
    (
        "fast",
        "reorders sums, fuses multiplications with additions, and computes functions in vector lanes, \
         with errors up to 4 ulp (exp 1, others by libmvec)",
        Math::Fast,
    ),
];

/// The values of `--forward`.
const FORWARD: [(&str, &str, Forward); 3] = [
    ("auto", "stores a value if it costs more to compute than to store and load", Forward::Auto),
    ("store", "stores every value that takes an operation on Floats", Forward::Store),
    ("recompute", "recomputes every value", Forward::Recompute),
];

/// Reads the value of `--lanes`: `auto`, `off` or a number.
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

/// The most threads. Each thread takes memory for its stack, and no machine has that many processors.
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
