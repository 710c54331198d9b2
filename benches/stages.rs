//! Compile time of each stage against the size of the program: 100, 1,000 and 10,000 lets.
//!
//! `cargo bench --bench stages`. Near-linear means that a row's time per let stays flat.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lm::term::{Derivative, FunName};
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use lmc::with_large_stack;
use std::hint::black_box;

const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// Each let uses the one before twice.
fn chain(n: usize) -> String {
    let lets: Vec<String> = (1..=n).map(|i| format!("(x{i} (mul (sin x{}) x{}))", i - 1, i - 1)).collect();
    format!("(def f Float (x0 : Float) (let ({}) x{n}))", lets.join(" "))
}

/// Each let uses the one before and one far back.
fn web(n: usize) -> String {
    let lets: Vec<String> = (1..=n).map(|i| format!("(x{i} (add (sin x{}) (mul x0 x{})))", i - 1, i / 2)).collect();
    format!("(def f Float ((x0 : Float) (y : Float)) (let ({}) (mul y x{n})))", lets.join(" "))
}

fn pipeline(text: &str) -> Pipeline {
    let source = Source::new("bench.ks", text);
    Pipeline::new(front::load(&source).expect("the program is right"))
}

fn stages(c: &mut Criterion) {
    for shape in ["chain", "web"] {
        for stage in ["read and check", "D", "Dt", "fwd", "rev", "native rev"] {
            let mut group = c.benchmark_group(format!("{shape}: {stage}"));
            group.sample_size(10);
            for n in SIZES {
                group.throughput(Throughput::Elements(n as u64));
                let text = if shape == "chain" { chain(n) } else { web(n) };
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

criterion_group!(benches, stages);
criterion_main!(benches);
