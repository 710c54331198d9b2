//! Compile time of each stage against the size of the program, for the shapes that tests of code size count, too.
//!
//! `cargo bench --bench stages`. Near-linear means that a row's time per element stays flat.

use common::shapes::{FILTERS, SHAPES};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lm::term::{Derivative, FunName};
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use std::hint::black_box;

fn pipeline(text: &str) -> Pipeline {
    let source = Source::new("bench.ks", text);
    Pipeline::new(front::load(&source).expect("the program is right"))
}

fn stages(c: &mut Criterion) {
    for shape in SHAPES {
        let stages = ["read and check", "D", "Dt", "fwd", "rev", "native rev"];
        let stages = if shape.is_derived { &stages[..] } else { &stages[..1] };
        for stage in stages {
            let mut group = c.benchmark_group(format!("{}: {stage}", shape.name));
            group.sample_size(10);
            for n in shape.sizes {
                group.throughput(Throughput::Elements(n as u64));
                let text = (shape.text)(n);
                group.bench_with_input(BenchmarkId::from_parameter(n), &text, |b, text| {
                    with_large_stack(|| b.iter(|| run(stage, black_box(text))));
                });
            }
            group.finish();
        }
    }
}

/// All work up to the stage: stages follow from each other.
fn run(stage: &str, text: &str) {
    let mut p = pipeline(text);
    let f = FunName::base("f");
    match stage {
        "read and check" => {}
        "native rev" => {
            let rev = f.derived(Derivative::Rev);
            p.require(&rev).expect("f derives");
            let info = native::SourceInfo::new("bench.ks", text);
            let module = native::compile(p.program(), &[rev], &info, &native::Options::default());
            black_box(module.and_then(|m| m.output(native::Kind::Obj)).expect("f compiles"));
        }
        word => p.require(&f.derived(word.parse().expect("a derivative"))).expect("f derives"),
    }
    black_box(p.program());
}

/// Ordinary programs, with all of their functions and the reverse derivatives of these, as `lmc compile --vjp` does it.
fn programs(c: &mut Criterion) {
    let mut group = c.benchmark_group("Kalman filter: native vjp of all functions");
    group.sample_size(10);
    for (name, text) in FILTERS {
        group.bench_with_input(BenchmarkId::from_parameter(name), text, |b, text| {
            with_large_stack(|| b.iter(|| compile_all(black_box(text))));
        });
    }
    group.finish();
}

fn compile_all(text: &str) {
    let mut p = pipeline(text);
    let values: Vec<FunName> = p.program().defs.keys().cloned().collect();
    let derivatives: Vec<FunName> = values.iter().map(|f| f.derived(Derivative::Vjp)).collect();
    derivatives.iter().for_each(|f| p.require(f).expect("it derives"));
    let entries: Vec<FunName> = values.into_iter().chain(derivatives).collect();
    let info = native::SourceInfo::new("bench.ks", text);
    let module = native::compile(p.program(), &entries, &info, &native::Options::default());
    black_box(module.and_then(|m| m.output(native::Kind::Obj)).expect("it compiles"));
}

criterion_group!(benches, stages, programs);
criterion_main!(benches);
