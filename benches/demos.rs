//! Run time of each demo's function and reverse derivative, by Jacobian and by tupling, native, one thread; and
//! compile time of function and reverse derivative, from source to shared library, by the total of
//! `lmc compile --time-passes`.
//!
//! `cargo bench --bench demos` measures, and ends with a table of medians.

#[allow(dead_code)] // each bench uses a part
mod measure;

use lm::term::FunName;
use lm::types::Type;
use lmc::demos::{DEMOS, Demo};
use lmc::derivation::Derivation;
use lmc::front;
use lmc::source::Source;
use measure::{Native, criterion, group, median, ratio, shown};
use std::process::Command;

/// Arguments, and what to call their size. The other demos take numbers.
const ARGUMENTS: [(&str, &str, &str); 10] = [
    ("lse", "100,000 numbers", "(build 100000 (lam (i : Integer) (mul 4.0 ($ranhashdoub i))))"),
    ("gmm", "1,000 points, dimension 10, 25 Gaussians", "(model 1000 25 10)"),
    (
        "ba",
        "20 cameras, 1,000 points, 5,000 observations",
        "(tuple
           (build 20 (lam (i : Integer) (Vec_init 0.3 -0.2 ($ranhashdoub i) 0.1 -0.4 0.2 1.5 0.05 -0.02 0.1 -0.03)))
           (build 1000 (lam (i : Integer)
             (Vec_init ($ranhashdoub i) ($ranhashdoub (add i 2000)) (add 3.0 ($ranhashdoub (add i 4000))))))
           (build 5000 (lam (i : Integer) ($ranhashdoub i)))
           (build 5000 (lam (i : Integer)
             (tuple (to_integer (mul 20.0 ($ranhashdoub i))) (to_integer (mul 1000.0 ($ranhashdoub (add i 6000)))))))
           (build 5000 (lam (i : Integer) (Vec_init ($ranhashdoub i) 0.5))))",
    ),
    ("lstm", "2 layers of 14 cells, 1,024 characters", "(network 2 14 1024)"),
    (
        "kmeans",
        "10,000 points of dimension 4, 20 centroids",
        "(tuple (random_rows 0 10000 4) (random_rows 90000 20 4))",
    ),
    (
        "cnn",
        "10 pictures of 28 x 28, kernels 6 and 16 of 5 x 5",
        "(tuple (random 1000 (tuple 6 1 5 5)) (random 2000 6) (random 3000 (tuple 16 6 5 5)) (random 4000 16)
                (random 5000 (tuple 10 16 4 4)) (random 6000 10)
                (build 10 (lam (i : Integer) (random (mul 10000 (add i 1)) (tuple 1 28 28))))
                (build 10 (lam (i : Integer) i)) 2)",
    ),
    (
        "black_scholes",
        "10,000 options",
        "(tuple (build 10000 (lam (i : Integer) (add 40.0 (mul 80.0 ($ranhashdoub i)))))
                (build 10000 (lam (i : Integer) (add 40.0 (mul 80.0 ($ranhashdoub (add i 20000))))))
                0.1
                (build 10000 (lam (i : Integer) (add 0.1 ($ranhashdoub (add i 40000)))))
                (build 10000 (lam (i : Integer) (add 0.5 ($ranhashdoub (add i 60000))))))",
    ),
    (
        "ode",
        "20 species, 1,000 steps",
        "(tuple (build 20 (lam (i : Integer) (sub ($ranhashdoub i) 0.5)))
                (build (tuple 20 20) (lam (ij : Tuple Integer Integer)
                  (neg ($ranhashdoub (add 100 (add (mul 20 (get$1$2 ij)) (get$2$2 ij)))))))
                (build 20 (lam (i : Integer) (add 0.5 ($ranhashdoub (add 900 i)))))
                1.0
                1000)",
    ),
    ("det", "50 x 50", "(random_matrix 0 50)"),
    ("minors", "7 x 7", "(random_matrix 0 7)"),
];

/// Arguments for functions of numbers.
fn numbers(demo: &Demo) -> String {
    let checked = front::load(&Source::new("demo.ks", demo.text)).expect("the demo is right");
    let params = &checked.program.defs[&FunName::base(demo.fun)].fun.params;
    let number = |(i, ty): (usize, &Type)| match ty {
        Type::Integer => "3".to_string(),
        _ => format!("{:?}", 0.7 + 0.1 * i as f64),
    };
    let numbers: Vec<String> = params.iter().enumerate().map(number).collect();
    if numbers.len() == 1 { numbers.concat() } else { format!("(tuple {})", numbers.join(" ")) }
}

/// The medians of five compilations, in seconds: the total of `--time-passes`, and processor time; None where there is
/// no native code.
fn compile_times(demo: &Demo) -> Option<[f64; 2]> {
    let mut times = [vec![], vec![]];
    for _ in 0..5 {
        let mut lmc = Command::new(env!("CARGO_BIN_EXE_lmc"));
        lmc.current_dir(env!("CARGO_MANIFEST_DIR")).args(["compile", "--rev", "--fun", demo.fun, "--time-passes"]);
        lmc.arg(format!("demos/{}.ks", demo.name)).args(["--emit", "so", "-o"]);
        let before = children();
        let output = lmc.arg(concat!(env!("CARGO_TARGET_TMPDIR"), "/demo.so")).output().expect("lmc runs");
        if !output.status.success() {
            return None;
        }
        let table = String::from_utf8_lossy(&output.stderr).into_owned();
        let total = table.lines().find(|line| line.starts_with("total")).expect("there is a total");
        let ms: f64 = total.split_whitespace().nth(1).and_then(|ms| ms.parse().ok()).expect("milliseconds");
        times[0].push(ms / 1000.0);
        times[1].push(children() - before);
    }
    Some(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[2]
    }))
}

/// The processor time of the processes that ended, in seconds: Linux counts in hundredths.
fn children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("this is Linux");
    let (_, fields) = stat.rsplit_once(") ").expect("the name stands in brackets");
    let ticks = fields.split(' ').skip(13).take(2).map(|ticks| ticks.parse::<f64>().expect("a number"));
    ticks.sum::<f64>() / 100.0
}

fn main() {
    let mut criterion = criterion("demos");
    let mut rows = Vec::new();
    for demo in DEMOS {
        let arguments = ARGUMENTS.iter().find(|(name, ..)| *name == demo.name);
        let (size, arguments) = match arguments {
            Some((_, size, arguments)) => (*size, arguments.to_string()),
            None => ("numbers", numbers(demo)),
        };
        let native = Native::new(demo, &arguments);
        let mut group = group(&mut criterion, demo.name);
        let mut primal = native.prepare();
        group.bench_function("primal", |b| b.iter(|| primal.call().expect("goes well")));
        if let Some(mut reverse) = native.prepare_reverse() {
            group.bench_function("reverse", |b| b.iter(|| reverse.call().expect("goes well")));
        }
        let recorded = Native::by(Derivation::Tupled, demo, &arguments);
        if let Some(mut reverse) = recorded.prepare_reverse() {
            group.bench_function("recorded", |b| b.iter(|| reverse.call().expect("goes well")));
        }
        group.finish();
        let of = |name| median("demos", demo.name, name);
        let (primal, reverse, recorded) = (of("primal"), of("reverse"), of("recorded"));
        let [wall, processor] = compile_times(demo).map_or([None; 2], |times| times.map(Some));
        let times = [shown(primal), shown(reverse), ratio(reverse, primal), ratio(recorded, primal)];
        let times = [&times[..], &[shown(wall), shown(processor)]].concat();
        rows.push(format!("| `{}` | {size} | {} |", demo.name, times.join(" | ")));
    }
    println!("| demo | size | primal | reverse | ratio | ratio, tupled | compile | processor |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |\n{}", rows.join("\n"));
}
