//! Run time of gmm and rev$gmm of `demos/gmm.ks`, beside value and gradient written by hand in C++ (`gmm.cc`), over
//! the same numbers in one run, one thread.
//!
//! `cargo bench --bench gmm` measures, and ends with a table of medians. The C++ is compiled by `g++ -O3
//! -march=native`. Before that, the two gradients are compared.

#[allow(dead_code)] // each bench uses a part
mod measure;

use libloading::{Library, Symbol};
use lm::value::Value;
use measure::{Native, criterion, demo, group, median, ratio, shown};
use std::path::Path;
use std::process::Command;

const SIZES: [(usize, usize, usize); 3] = [(1_000, 10, 25), (10_000, 10, 25), (1_000, 20, 50)];

type Value9 = unsafe extern "C" fn(i64, i64, i64, *const f64, *const f64, *const f64, *const f64, f64, i64) -> f64;
type Gradient = unsafe extern "C" fn(i64, i64, i64, *const f64, *const f64, *const f64, *const f64, f64, i64, *mut f64);

fn by_hand() -> Library {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gmm-by-hand.so");
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-O3", "-march=native", "-shared", "-fPIC"]);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/gmm.cc")).arg("-o").arg(&library);
    assert!(command.status().expect("g++ runs").success());
    // SAFETY: the library has no constructors.
    unsafe { Library::new(library) }.expect("the library loads")
}

/// The arguments as the C++ takes them.
struct Flat {
    sizes: [i64; 3],
    parts: [Vec<f64>; 4],
    gamma: f64,
    m: i64,
}

impl Flat {
    fn new((n, d, k): (usize, usize, usize), arguments: &[Value]) -> Flat {
        let gamma = arguments[4].as_float().expect("gamma is a Float");
        let Value::Integer(m) = arguments[5] else { panic!("m is an Integer") };
        Flat { sizes: [n, d, k].map(|n| n as i64), parts: std::array::from_fn(|i| arguments[i].floats()), gamma, m }
    }

    fn value(&self, f: Value9) -> f64 {
        let ([n, d, k], [alphas, means, icf, x]) = (self.sizes, self.parts.each_ref().map(|part| part.as_ptr()));
        // SAFETY: the parts have the sizes of the model.
        unsafe { f(n, d, k, alphas, means, icf, x, self.gamma, self.m) }
    }

    fn gradient(&self, f: Gradient, out: &mut [f64]) {
        assert_eq!(out.len(), self.parts.iter().map(Vec::len).sum::<usize>() + 1);
        let ([n, d, k], [alphas, means, icf, x]) = (self.sizes, self.parts.each_ref().map(|part| part.as_ptr()));
        // SAFETY: as above, and the result has room for the gradient.
        unsafe { f(n, d, k, alphas, means, icf, x, self.gamma, self.m, out.as_mut_ptr()) }
    }
}

/// The largest difference, relative to the largest component.
fn error(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(0.0f64, |scale, x| scale.max(x.abs()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / scale
}

fn main() {
    let library = by_hand();
    // SAFETY: the types are those of the functions.
    let (value, gradient): (Symbol<Value9>, Symbol<Gradient>) = unsafe {
        (library.get(b"by_hand_value").expect("is there"), library.get(b"by_hand_gradient").expect("is there"))
    };
    let mut criterion = criterion("gmm");
    let mut errors = Vec::new();
    for size @ (n, d, k) in SIZES {
        let native = Native::new(demo("gmm"), &format!("(model {n} {k} {d})"));
        let flat = Flat::new(size, native.arguments());
        let expected = native.gradient().floats();
        let mut found = vec![0.0; expected.len()];
        flat.gradient(*gradient, &mut found);
        let of_values = error(&[flat.value(*value)], &native.value().floats());
        errors.push(error(&found, &expected).max(of_values));
        let mut group = group(&mut criterion, &format!("{n}-{d}-{k}"));
        let (mut gmm, mut rev) = (native.prepare(), native.prepare_reverse().expect("gmm has a derivative"));
        group.bench_function("gmm", |b| b.iter(|| gmm.call().expect("goes well")));
        group.bench_function("rev gmm", |b| b.iter(|| rev.call().expect("goes well")));
        group.bench_function("value by hand", |b| b.iter(|| flat.value(*value)));
        group.bench_function("gradient by hand", |b| b.iter(|| flat.gradient(*gradient, &mut found)));
        group.finish();
    }
    println!(
        "| n, d, k | gmm | rev$gmm | ratio | value by hand | gradient by hand | ratio | rev$gmm / by hand | differ by |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for ((n, d, k), error) in SIZES.iter().zip(errors) {
        let of = |name| median("gmm", &format!("{n}-{d}-{k}"), name);
        let (gmm, rev, value, gradient) = (of("gmm"), of("rev gmm"), of("value by hand"), of("gradient by hand"));
        println!(
            "| {n}, {d}, {k} | {} | {} | {} | {} | {} | {} | {} | {error:.0e} |",
            shown(gmm),
            shown(rev),
            ratio(rev, gmm),
            shown(value),
            shown(gradient),
            ratio(gradient, value),
            ratio(rev, gradient)
        );
        assert!(error < 1e-10, "the gradients differ by {error}");
    }
}
