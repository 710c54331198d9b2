//! Kernels that numerical people write, each in several formulations, beside C++ by hand and JAX: the same inputs,
//! results compared first, one run on one machine.
//!
//! `cargo bench --bench kernels` measures, and prints tables. `BLESS=1` writes them to `docs/kernels.md`. `-- --modules
//! FOLDER` writes the formulations as JAX modules instead, for `whole_arrays.py`.
//! `benches/compare/harness/options.rs` has the options after `--`.

mod contenders;
#[path = "../compare/harness/mod.rs"]
#[allow(dead_code)] // each user uses a part
mod harness;
mod kernel;
mod modules;
mod report;
mod rows;

use common::page;
use contenders::CONTENDERS;
use harness::options::Options;
use harness::rounds::Contest;
use report::Row;

fn main() {
    if let Some(options) = Options::read() {
        lmc::with_large_stack(|| match &options.modules {
            Some(folder) => modules::write(folder, &rows::ALL.concat(), &options),
            None => measure(options),
        });
    }
}

fn measure(options: Options) {
    let effort = options.effort;
    let contest = Contest::start(CONTENDERS, options.selection.clone(), effort);
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for kernel in rows::ALL.concat() {
        for formulation in kernel.formulations {
            let program = kernel.program(formulation);
            if options.wants(&program) {
                eprintln!("{}, {}", program.name, program.size());
                let cells = contest.measure(&program, &mut failures);
                rows.push(Row { kernel, formulation: formulation.0, cells });
            }
        }
    }
    let text = report::text(&rows, effort, &contest.versions());
    println!("{text}");
    if std::env::var_os("BLESS").is_some() {
        page::replace("kernels", "tables", &text);
    }
    failures.iter().for_each(|failure| eprintln!("failed: {failure}"));
    std::process::exit(i32::from(!failures.is_empty()));
}
