//! Native code of lmc beside programs written by hand in C++, JAX and PyTorch: the same inputs, results compared first,
//! one run on one machine, one thread and two.
//!
//! `cargo bench --bench compare` measures, and prints tables of medians and of targets. `BLESS=1` writes them to
//! `docs/comparison.md`. `harness/options.rs` has the options after `--`.
//!
//! `benches/compare/setup` makes the Python that has JAX and PyTorch; `COMPARE_PYTHON` is another one. Where they are
//! not there the run says so, and goes on without them.

#[path = "../measure/arguments.rs"]
#[allow(dead_code)] // each user uses a part
mod arguments;
mod contenders;
#[allow(dead_code)]
mod harness;
mod programs;
mod report;

use common::page;
use contenders::CONTENDERS;
use harness::options::Options;
use harness::rounds::Contest;
use programs::PROGRAMS;
use report::Row;

fn main() {
    if let Some(options) = Options::read() {
        lmc::with_large_stack(|| compare(options));
    }
}

fn compare(options: Options) {
    let wanted: Vec<_> = PROGRAMS.iter().filter(|program| options.wants(program)).collect();
    let effort = options.effort;
    let contest = Contest::start(CONTENDERS, options.selection, effort);
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for program in wanted {
        eprintln!("{}, {}", program.name, program.size());
        rows.push(Row { program, cells: contest.measure(program, &mut failures) });
    }
    let text = report::text(&rows, effort, &contest.versions());
    println!("{text}");
    if std::env::var_os("BLESS").is_some() {
        page::replace("comparison", "tables", &text);
    }
    failures.iter().for_each(|failure| eprintln!("failed: {failure}"));
    std::process::exit(i32::from(!failures.is_empty()));
}
