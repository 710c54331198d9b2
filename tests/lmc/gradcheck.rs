//! Derivatives of the demos, and of programs that once went wrong, or that might (`cases/gradcheck/<what>.ks`):
//! forward = reverse = finite differences, interpreter = native.

use lm::term::FunName;
use lm::types::Type;
use lmc::derive::pipeline::Pipeline;
use lmc::gradcheck;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use native::{Jit, SourceInfo};
use std::fs;
use std::path::{Path, PathBuf};

const POINTS: usize = 20;
const SEED: u64 = 1;

#[test]
fn demos() {
    // `./setup test` checks them with default options, by `lmc gradcheck`.
    every_program_of("demos", &[native::Options::exact()]);
}

#[test]
fn programs_that_went_wrong_or_might() {
    every_program_of("tests/cases/gradcheck", &[native::Options::exact(), native::Options::default()]);
}

fn every_program_of(folder: &str, ways: &[native::Options]) {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "ks"));
    paths.sort();
    let failures: Vec<String> = paths.iter().flat_map(|path| with_large_stack(|| failures(path, ways))).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The functions of a program that fail, and how.
fn failures(path: &Path, ways: &[native::Options]) -> Vec<String> {
    let shown = path.display().to_string();
    let source = Source::new(&shown, &fs::read_to_string(path).expect("the program can be read"));
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
    let failing = |options: &native::Options| {
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

/// The folder is no place for functions that nothing is checked about.
#[test]
fn every_case_has_a_function_that_can_change() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/gradcheck");
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        let source = Source::new("case.ks", &fs::read_to_string(&path).expect("the program can be read"));
        let program = with_large_stack(|| front::load(&source)).expect("cases are right programs").program;
        let changes = |ty: &Type| ty.is_differentiable();
        let any = program.defs.values().any(|d| changes(&d.fun.result) && d.fun.params.iter().any(changes));
        assert!(any, "{}", path.display());
    }
}
