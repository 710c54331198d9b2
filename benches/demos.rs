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
use lmc::derive::Derivation;
use lmc::ks::front;
use lmc::ks::source::Source;
use measure::{ARGUMENTS, Native, criterion, group, median, ratio, shown};
use std::process::Command;

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
    let (_, fields) = stat.rsplit_once(") ").expect("the name is in brackets");
    let ticks = fields.split(' ').skip(13).take(2).map(|ticks| ticks.parse::<f64>().expect("a number"));
    ticks.sum::<f64>() / 100.0
}

fn main() {
    let mut criterion = criterion("demos");
    let mut rows = Vec::new();
    for demo in DEMOS {
        let (size, arguments) = match ARGUMENTS.iter().find(|arguments| arguments.demo == demo.name) {
            Some(arguments) => (arguments.size, arguments.text.to_string()),
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
