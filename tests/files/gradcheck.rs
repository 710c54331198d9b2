//! Checks derivatives of the demos, and of programs that once went wrong, or that might
//! (`cases/gradcheck/<what>.ks`): forward = reverse = finite differences, interpreter = native.

use super::each::{self, Outcome};
use common::files;
use common::native::unoptimised;
use libtest_mimic::Trial;
use lm::term::FunName;
use lm::types::Type;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck;
use lmc::ks::front;
use lmc::ks::source::Source;
use native::{Jit, Options, SourceInfo};
use std::path::Path;

const POINTS: usize = 20;
const SEED: u64 = 1;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let demos = each::program("gradcheck::demos", "demos", demo);
    let cases = each::program("gradcheck::programs_that_went_wrong_or_might", "tests/cases/gradcheck", case);
    demos.into_iter().chain(cases).collect()
}

/// The options that users get. `programs` runs the demos with exact arithmetic.
fn demo(path: &Path) -> Outcome {
    agrees(path, &[Options::default()])
}

/// The folder is no place for functions of which nothing is checked.
fn case(path: &Path) -> Outcome {
    let program = front::load(&Source::new("case.ks", &files::text(path))).expect("cases are right programs").program;
    let changes = |ty: &Type| ty.is_differentiable();
    let any = program.defs.values().any(|d| changes(&d.fun.result) && d.fun.params.iter().any(changes));
    assert!(any, "no function can change");
    agrees(path, &[unoptimised(), Options { opt_level: 0, ..Options::default() }])
}

fn agrees(path: &Path, ways: &[Options]) -> Outcome {
    let failures = failures(path, ways);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// The functions of a program that fail, and how.
fn failures(path: &Path, ways: &[Options]) -> Vec<String> {
    let shown = path.display().to_string();
    let source = Source::new(&shown, &files::text(path));
    let checked = front::load(&source).unwrap_or_else(|errors| panic!("{shown}: {errors:?}"));
    let mut functions: Vec<FunName> = checked.places.keys().filter(|f| f.derivations.is_empty()).cloned().collect();
    functions.retain(|f| checked.program.externals.get(f).is_none());
    functions.retain(|f| *f.base != *"main" && gradcheck::is_worth_checking(&checked.program, f));
    let mut pipeline = Pipeline::new(checked);
    for f in &functions {
        gradcheck::prepare(&mut pipeline, f).unwrap_or_else(|error| panic!("{shown}: {f}: {error}"));
    }
    let entries: Vec<FunName> = functions.iter().flat_map(gradcheck::names).collect();
    let info = SourceInfo::new(source.name(), source.text());
    // A program with an example is a large one, and its points are near that example.
    let points = if pipeline.program().defs.contains_key(&FunName::base("example")) { 2 } else { POINTS };
    let failing = |options: &Options| {
        let jit = Jit::new(pipeline.program(), &entries, &info, options);
        let jit = jit.unwrap_or_else(|error| panic!("{shown}: {error}"));
        let report = |f: &FunName| gradcheck::check(&pipeline, Some(&jit), f, points, SEED);
        let reports = functions.iter().map(|f| (f, report(f)));
        let failing = reports.filter(|(_, report)| !(report.agrees() && report.points == points));
        let tell = |(f, report)| format!("{shown}: {f}, {:?}: {report:?}", options.math);
        failing.map(tell).collect::<Vec<_>>()
    };
    ways.iter().flat_map(failing).collect()
}
