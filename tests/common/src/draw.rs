//! Draws random programs on arrays for a check, and shrinks one that fails.

use crate::generate_arrays::{Generated, Options, program};
use crate::random::{cases, seed};
use lm::random::SplitMix;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

const OPTIONS: Options = Options { functions: 3, depth: 4, nodes: 10 };

/// Draws `LMC_CASES` programs, or so many, and checks each with random numbers of its own. Returns their number, and
/// the sum of what the checks count.
///
/// Panics as the check does, for the smallest program found for which it panics.
pub fn programs(otherwise: u32, check: impl Fn(&Generated, &mut SplitMix) -> usize) -> (u32, usize) {
    let (seed, cases) = (seed(), cases(otherwise));
    println!("LMC_SEED={seed} LMC_CASES={cases}");
    let (mut random, mut sum) = (SplitMix::new(seed), 0);
    for _ in 0..cases {
        let length = 20 + random.draw() % 140;
        let choices: Vec<u32> = (0..length).map(|_| (random.draw() % 5040) as u32).collect();
        let own = random.draw();
        let checked = |choices: &[u32]| check(&program(choices, OPTIONS), &mut SplitMix::new(own));
        // The last line printed shows the program whose native code crashed.
        println!("{}", program(&choices, OPTIONS).text);
        sum += catch_unwind(AssertUnwindSafe(|| checked(&choices))).unwrap_or_else(|_| {
            let small = smallest(choices, &|choices| catch_unwind(AssertUnwindSafe(|| checked(choices))).is_err());
            println!("the smallest program found that fails:\n{}", program(&small, OPTIONS).text);
            checked(&small)
        });
    }
    (cases, sum)
}

/// Shrinks choices to fewer and simpler ones that fail, too. 0 is the simplest choice; missing choices are 0.
fn smallest(mut choices: Vec<u32>, fails: &dyn Fn(&[u32]) -> bool) -> Vec<u32> {
    let shown = take_hook();
    set_hook(Box::new(|_| {}));
    let mut step = choices.len();
    while step > 0 {
        let mut at = 0;
        while at < choices.len() {
            let mut fewer = choices.clone();
            fewer.drain(at..choices.len().min(at + step));
            if fails(&fewer) { choices = fewer } else { at += step }
        }
        step /= 2;
    }
    for i in 0..choices.len() {
        let simpler = [&choices[..i], &[0], &choices[i + 1..]].concat();
        if choices[i] != 0 && fails(&simpler) {
            choices = simpler;
        }
    }
    set_hook(shown);
    choices
}
