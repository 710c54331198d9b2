//! Random cases: the same in every run, unless `LMC_SEED` says otherwise. `LMC_CASES` says how many.

use proptest::test_runner::{Config, RngSeed};
use std::str::FromStr;

/// A configuration for `cases` cases. The seed is printed: tests show what they print when they fail.
pub fn config(cases: u32) -> Config {
    let seed = from_environment("LMC_SEED", 1);
    let cases = from_environment("LMC_CASES", cases);
    println!("LMC_SEED={seed} LMC_CASES={cases}");
    Config { cases, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Config::default() }
}

/// The seed of tests that draw by themselves.
pub fn seed() -> u64 {
    from_environment("LMC_SEED", 1)
}

/// Returns whether programs are to be large, as the campaign requests by `LMC_LARGE`.
pub fn large() -> bool {
    std::env::var_os("LMC_LARGE").is_some()
}

/// Returns the number of cases to draw.
pub fn cases(otherwise: u32) -> u32 {
    from_environment("LMC_CASES", otherwise)
}

fn from_environment<T: FromStr>(name: &str, otherwise: T) -> T {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        Err(_) => otherwise,
    }
}
