//! The cheap-gradient bound: see `docs/bound.md`.

mod common;

use common::cost::{Measured, pipeline, point_of_size, work};
use common::generate_scaled::program;
use lm::term::FunName;
use lmc::derivation::Derivation;
use lmc::with_large_stack;

#[test]
#[ignore]
fn survey() {
    let var = |n: &str, d: u64| std::env::var(n).map_or(d, |v| v.parse().unwrap());
    let (seed, from, to) = (var("LMC_SEED", 1), var("FROM", 0), var("TO", 200));
    let mut rows = Vec::new();
    for number in from..to {
        let text = program(seed, number);
        let t = text.clone();
        let start = std::time::Instant::now();
        let outcome = std::panic::catch_unwind(|| with_large_stack(move || {
            let mut p = pipeline(&t, Derivation::Jacobian)?;
            p.require(&FunName::base("f").derived("vjp")).map_err(|e| e.to_string())?;
            [4i64, 16].iter().map(|n| {
                let point = point_of_size(&p, *n)?;
                Measured::new(&mut p, &FunName::base("f"), &point)
            }).collect::<Result<Vec<_>, String>>()
        }));
        let secs = start.elapsed().as_secs_f64();
        if secs > 2.0 { println!("#{number} slow {secs:.1}"); }
        match outcome {
            Err(_) => println!("#{number} panics\n{text}"),
            Ok(Err(e)) => println!("#{number} fails: {}\n{text}", e.chars().take(600).collect::<String>()),
            Ok(Ok(ms)) => {
                rows.push((ms.iter().map(|m| m.per_level()).fold(0.0, f64::max), number, ms));
            }
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("{} rows, median {:.2}, above {}", rows.len(), rows[rows.len() / 2].0, rows.iter().filter(|r| !r.2.iter().all(Measured::is_cheap)).count());
    for (r, number, ms) in rows.iter().take(25) {
        let show: Vec<String> = ms.iter().map(|m| format!("L{} p{} fl{} vjp{} rev{}", m.levels, work(&m.primal), m.floats, work(&m.vjp), work(&m.rev))).collect();
        println!("{r:.2} #{number} {} ({} bytes)", show.join(" | "), program(seed, *number).len());
    }
}
#[test]
#[ignore]
fn show() {
    println!("{}", program(1, std::env::var("N").unwrap().parse().unwrap()));
}
