//! Run time of `f2`, `fwd$f2` and `rev$f2` from `lmc`, beside the same functions written by hand in
//! Rust, over the same numbers in one run.
//!
//! `cargo bench --bench derivatives`. Both are called through a pointer that the compiler cannot see
//! through, so the ratio is that of the code, call included.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lm::term::{Derivative, FunName};
use lmc::derive::pipeline::Pipeline;
use lmc::ks::front;
use lmc::ks::source::Source;
use native::abi::Context;
use native::{Jit, SourceInfo};
use std::hint::black_box;

type Value = unsafe extern "C" fn(*mut Context, f64, *mut f64) -> i32;
type Tangent = unsafe extern "C" fn(*mut Context, f64, f64, *mut f64) -> i32;

extern "C" fn f2(_: *mut Context, x: f64, out: *mut f64) -> i32 {
    let y = x * x;
    let z = x + y;
    // SAFETY: callers give a place for one Float.
    unsafe { *out = y * z };
    0
}

/// The derivative written by hand: 3 x^2 + 4 x^3.
extern "C" fn f2_derivative(_: *mut Context, x: f64, dx: f64, out: *mut f64) -> i32 {
    let y = x * x;
    // SAFETY: callers give a place for one Float.
    unsafe { *out = (3.0 * y + 4.0 * y * x) * dx };
    0
}

const POINTS: usize = 1_000;

fn derivatives(c: &mut Criterion) {
    let text = include_str!("../demos/ex2.ks");
    let jit = {
        let f = FunName::base("f2");
        let entries = [f.clone(), f.derived(Derivative::Fwd), f.derived(Derivative::Rev)];
        let mut p = Pipeline::new(front::load(&Source::new("ex2.ks", text)).expect("ex2 is right"));
        entries.iter().for_each(|name| p.require(name).expect("f2 derives"));
        let info = SourceInfo::new("ex2.ks", text);
        Jit::new(p.program(), &entries, &info, &native::Options::default()).expect("ex2 compiles")
    };
    let f = FunName::base("f2");
    let address = |name: &FunName| jit.address(name).expect("an entry");
    // SAFETY: the entries have these types by the C interface (docs of native::abi).
    let (value, forward, reverse) = unsafe {
        (
            std::mem::transmute::<usize, Value>(address(&f)),
            std::mem::transmute::<usize, Tangent>(address(&f.derived(Derivative::Fwd))),
            std::mem::transmute::<usize, Tangent>(address(&f.derived(Derivative::Rev))),
        )
    };
    let points: Vec<f64> = (0..POINTS).map(|i| i as f64 / POINTS as f64).collect();
    let mut group = c.benchmark_group("f2 at 1,000 points");
    group.throughput(Throughput::Elements(POINTS as u64));
    for (name, f) in [("f2, lmc", value), ("f2, by hand", f2 as Value)] {
        // SAFETY: `out` is a place for one Float; a null context is allowed.
        let call = |x: f64, out: &mut f64| unsafe { black_box(f)(std::ptr::null_mut(), x, out) };
        group.bench_function(name, |b| b.iter(|| points.iter().map(|&x| with_place(|out| call(x, out))).sum::<f64>()));
    }
    for (name, f) in
        [("fwd$f2, lmc", forward), ("rev$f2, lmc", reverse), ("derivative, by hand", f2_derivative as Tangent)]
    {
        // SAFETY: as above.
        let call = |x: f64, out: &mut f64| unsafe { black_box(f)(std::ptr::null_mut(), x, 1.0, out) };
        group.bench_function(name, |b| b.iter(|| points.iter().map(|&x| with_place(|out| call(x, out))).sum::<f64>()));
    }
    group.finish();
}

fn with_place(call: impl Fn(&mut f64) -> i32) -> f64 {
    let mut out = 0.0;
    assert_eq!(call(&mut out), 0);
    out
}

criterion_group!(benches, derivatives);
criterion_main!(benches);
