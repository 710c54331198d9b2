//! The options after `--`:
//!
//! ```text
//! gmm                        measures only programs with that in their name
//! --quick                    measures less precisely
//! --check                    only compares results
//! --threads 1                leaves out the columns of two threads
//! --only C++,JAX,PyTorch.    measures lmc and contenders whose names start so; a point at the end: exactly so
//! --modules FOLDER           writes modules of JAX and measures nothing (`kernels` only)
//! --processor-time           measures the processor's time, with one thread, for machines with other work
//! ```

use super::clock::Clock;
use super::contender::Selection;
use super::program::Program;
use super::rounds::Effort;
use std::path::PathBuf;
use std::time::Duration;

const FULL: Effort = Effort { rounds: 15, sample: Duration::from_millis(50), clock: Clock::Wall };
const QUICK: Effort = Effort { rounds: 3, sample: Duration::from_millis(10), clock: Clock::Wall };

/// What a run measures, and how.
pub struct Options {
    /// The time to measure.
    pub effort: Effort,
    /// The contenders.
    pub selection: Selection,
    /// Where to write modules of JAX, in place of measuring.
    pub modules: Option<PathBuf>,
    names: Vec<String>,
}

impl Options {
    /// Returns the options of the command line; None for `cargo test --benches`, which runs benches, too.
    pub fn read() -> Option<Options> {
        let words: Vec<String> = std::env::args().skip(1).collect();
        words.contains(&"--bench".to_string()).then(|| Options::of(words))
    }

    fn of(words: Vec<String>) -> Options {
        let selection = Selection { threads: 2, names: Vec::new() };
        let mut options = Options { effort: FULL, selection, modules: None, names: Vec::new() };
        let mut clock = Clock::Wall;
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} has a value"));
            match &*word {
                "--quick" => options.effort = QUICK,
                "--check" => options.effort = Effort::CHECK,
                "--threads" => options.selection.threads = value().parse().expect("--threads has a number"),
                "--only" => options.selection.names = value().split(',').map(String::from).collect(),
                "--modules" => options.modules = Some(value().into()),
                "--processor-time" => (clock, options.selection.threads) = (Clock::Processor, 1),
                "--bench" => {}
                option if option.starts_with('-') => panic!("there is no option {option}"),
                name => options.names.push(name.to_string()),
            }
        }
        options.effort.clock = clock;
        options
    }

    /// Returns whether a program is measured.
    pub fn wants(&self, program: &Program) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| program.key().contains(name.as_str()))
    }
}
