//! Native code of lmc beside programs written by hand in C++, JAX and PyTorch: the same inputs, results compared first,
//! one run on one machine, one thread and two.
//!
//! `cargo bench --bench compare` measures, and prints tables of medians and of targets. `BLESS=1` writes them to
//! `docs/comparison.md`. Options after `--`:
//!
//! ```text
//! gmm                        measures only programs with that in their name
//! --quick                    measures less precisely
//! --check                    only compares results
//! --threads 1                leaves out the columns of two threads
//! --only C++,JAX,PyTorch.    measures lmc and contenders whose names start so; a point at the end: exactly so
//! --processor-time           measures the processor's time, with one thread, for machines with other work
//! ```
//!
//! `benches/compare/setup` makes the Python that has JAX and PyTorch; `COMPARE_PYTHON` is another one. Where they are
//! not there the run says so, and goes on without them.

#[path = "../measure/arguments.rs"]
#[allow(dead_code)] // each user uses a part
mod arguments;
mod clock;
mod contenders;
mod inputs;
mod machine;
mod process;
mod programs;
mod report;
mod rounds;
mod run;
#[path = "../measure/units.rs"]
mod units;

use clock::Clock;
use common::page;
use contenders::{CONTENDERS, Kind, Selection};
use machine::Cores;
use process::Process;
use programs::{PROGRAMS, Program};
use report::Row;
use rounds::{Effort, Processes};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

const FULL: Effort = Effort { rounds: 15, sample: Duration::from_millis(50), clock: Clock::Wall };
const QUICK: Effort = Effort { rounds: 3, sample: Duration::from_millis(10), clock: Clock::Wall };
const CHECK: Effort = Effort { rounds: 0, sample: Duration::ZERO, clock: Clock::Wall };

struct Options {
    effort: Effort,
    selection: Selection,
    names: Vec<String>,
}

impl Options {
    fn read() -> Options {
        let selection = Selection { threads: 2, names: Vec::new() };
        let mut options = Options { effort: FULL, selection, names: Vec::new() };
        let mut clock = Clock::Wall;
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_else(|| panic!("{word} has a value"));
            match &*word {
                "--quick" => options.effort = QUICK,
                "--check" => options.effort = CHECK,
                "--threads" => options.selection.threads = value().parse().expect("--threads has a number"),
                "--only" => options.selection.names = value().split(',').map(String::from).collect(),
                "--processor-time" => (clock, options.selection.threads) = (Clock::Processor, 1),
                "--bench" => {}
                option if option.starts_with('-') => panic!("there is no option {option}"),
                name => options.names.push(name.to_string()),
            }
        }
        options.effort.clock = clock;
        options
    }

    fn wants(&self, program: &Program) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| program.key().contains(name.as_str()))
    }
}

fn main() {
    // `cargo test --benches` runs this, too.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    lmc::with_large_stack(compare);
}

fn compare() {
    let options = Options::read();
    let cores = Cores::choose(2);
    let processes = start(&cores, &options.selection);
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for program in PROGRAMS.iter().filter(|program| options.wants(program)) {
        eprintln!("{}, {}", program.name, program.size);
        let cells = rounds::measure(program, &processes, &cores, &options.selection, options.effort, &mut failures);
        rows.push(Row { program, cells });
    }
    let text = report::text(&rows, options.effort, &versions(&processes));
    println!("{text}");
    if std::env::var_os("BLESS").is_some() {
        page::replace("comparison", "tables", &text);
    }
    failures.iter().for_each(|failure| eprintln!("failed: {failure}"));
    std::process::exit(i32::from(!failures.is_empty()));
}

/// Starts the contenders in Python.
fn start(cores: &Cores, selection: &Selection) -> Processes {
    let process = |contender: usize| {
        let row = &CONTENDERS[contender];
        let Kind::Python(script, arguments) = row.kind else { return None };
        if !selection.has(contender) {
            return None;
        }
        let process = Process::start(script, arguments, cores.for_threads(row.threads));
        let missing = |error: &String| eprintln!("without {}: {error}; see benches/compare/setup", row.name);
        process.inspect_err(missing).ok().map(|process| Rc::new(RefCell::new(process)))
    };
    (0..CONTENDERS.len()).map(process).collect()
}

fn versions(processes: &Processes) -> Vec<String> {
    let mut versions: Vec<String> =
        processes.iter().flatten().map(|process| process.borrow().version.clone()).collect();
    versions.sort();
    versions.dedup();
    versions
}
