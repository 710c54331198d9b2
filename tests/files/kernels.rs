//! The programs of `benches/kernels`, small: the cost of their gradients, counted, and their loops.
//!
//! The bench compares what they compute, and how fast, with C++ and JAX. Here each formulation is derived, its
//! operations are counted at two sizes, and each pass over its loops keeps the rules.

use super::each::{self, Outcome};
use common::cost::{measured, pipeline, point_of_size};
use common::files;
use libtest_mimic::Trial;
use lm::term::FunName;
use lmc::derive::Derivation;
use lmc::derive::pipeline::Pipeline;
use std::path::Path;
use std::process::Command;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests: Vec<Trial> = (files::programs("benches/kernels/ks").into_iter())
        .map(|path| {
            let name = files::name(&path);
            // The interpreter takes long for convolutions: of two formulations for the campaign.
            let is_long = matches!(name.as_str(), "conv2d_net_index" | "conv2d_net_fused");
            each::row("kernels::gradients_are_cheap", &name, move || gradient_is_cheap(&path))
                .with_ignored_flag(is_long)
        })
        .collect();
    tests.extend(each::program("kernels::passes_keep_the_rules_of_loops", "benches/kernels/ks", loops_keep_the_rules));
    tests
}

/// Sizes at which operations are counted.
const SIZES: [i64; 2] = [5, 10];

/// The most that a gradient does for each operation of the function and each number of its argument and result.
const MOST: f64 = 12.0;

/// The most that this may grow from the first size to the second.
const GROWTH: f64 = 1.25;

fn gradient_is_cheap(path: &Path) -> Outcome {
    let mut p = pipeline(&files::text(path), Derivation::default())?;
    let f = kernel(&p, path);
    let mut ratios = Vec::new();
    for n in SIZES {
        let point = point_of_size(&p, n)?;
        ratios.push(measured(&mut p, &f, &point)?.per_level());
    }
    println!("{ratios:.2?}");
    let is_cheap = ratios.iter().all(|ratio| *ratio <= MOST) && ratios[1] <= GROWTH * ratios[0];
    if is_cheap { Ok(()) } else { Err(format!("{ratios:?} at {SIZES:?}")) }
}

/// Builds of the tests check the rules after each pass.
fn loops_keep_the_rules(path: &Path) -> Outcome {
    let p = pipeline(&files::text(path), Derivation::default())?;
    let f = kernel(&p, path).to_string();
    let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
    lmc.args(["compile", "--rev", "--fun", &f, "--emit", "loops=-"]).arg(path);
    let output = lmc.output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// Returns the function that a file's name begins with: `gmm_flat` of `gmm_flat_columns.ks`.
fn kernel(p: &Pipeline, path: &Path) -> FunName {
    let file = files::name(path);
    let names = p.program().defs.keys().filter(|name| name.derivations.is_empty());
    let named = names.filter(|name| file.strip_prefix(&*name.base).is_some_and(|rest| rest.starts_with('_')));
    named.max_by_key(|name| name.base.len()).expect("a file is named after its function").clone()
}
