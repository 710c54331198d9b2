//! Derivatives by dual numbers beside reverse mode, beside the same without laws, and beside C++, JAX and PyTorch.
//!
//! `cargo bench --bench dual` measures, and prints tables of medians, of slopes and of targets. `BLESS=1` writes them to
//! `docs/dual.md`. `benches/compare/harness/options.rs` has the options after `--`; threads are one.
//!
//! Sources: Figs. 11 to 13 of *Efficient differentiable programming in a functional array-processing language* (ICFP
//! 2019), and Fig. 3 of *Using rewrite strategies for efficient functional automatic differentiation* (FTfJP 2023).

mod contenders;
#[path = "../compare/harness/mod.rs"]
#[allow(dead_code)] // each user uses a part
mod harness;
mod programs;
mod report;

use common::page;
use contenders::{ABLATION, CONTENDERS};
use harness::contender::{Contender, Selection};
use harness::options::Options;
use harness::rounds::Contest;
use programs::{FACTORISATION, LEAST_SQUARES, SERIES, Series};
use report::Found;

/// The sizes at which groups of laws are left out: up to that at which the naive way takes a fifth of a second.
const SIZES: &[usize] = &[100, 200, 500, 1_000];

/// The programs of which groups of laws are left out.
const ABLATED: [&Series; 2] = [&Series { sizes: SIZES, ..FACTORISATION }, &Series { sizes: SIZES, ..LEAST_SQUARES }];

fn main() {
    if let Some(options) = Options::read() {
        lmc::with_large_stack(|| dual(options));
    }
}

fn dual(mut options: Options) {
    options.selection.threads = 1;
    let mut failures = Vec::new();
    let none = Selection { threads: 1, names: Vec::new() };
    let groups = Contest::start(ABLATION, none, options.effort);
    let found = |series, failures: &mut Vec<String>| measured(series, ABLATION, &groups, &options, failures);
    let ablations = ABLATED.map(|series| found(series, &mut failures));
    let effort = options.effort;
    let contest = Contest::start(CONTENDERS, options.selection.clone(), effort);
    let all: Vec<Found> =
        SERIES.iter().map(|series| measured(series, CONTENDERS, &contest, &options, &mut failures)).collect();
    let text = report::text(&all, &ablations, effort, &contest.versions());
    println!("{text}");
    if std::env::var_os("BLESS").is_some() {
        page::replace("dual", "tables", &text);
    }
    failures.iter().for_each(|failure| eprintln!("failed: {failure}"));
    std::process::exit(i32::from(!failures.is_empty()));
}

/// Measures a program at those of its sizes that are wanted.
fn measured(
    series: &'static Series,
    contenders: &'static [Contender],
    contest: &Contest,
    options: &Options,
    failures: &mut Vec<String>,
) -> Found {
    let mut sizes = Vec::new();
    for &n in series.sizes {
        let program = series.at(n);
        if options.wants(&program) {
            eprintln!("{}, {}", program.name, program.size());
            sizes.push((n, contest.measure(&program, failures)));
        }
    }
    Found { series, contenders, sizes }
}
