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
                if ms.iter().any(|m| work(&m.vjp) > work(&m.rev) + work(&m.primal) + 4) { println!("#{number} apart {:?}", ms.iter().map(|m| (work(&m.primal), work(&m.rev), work(&m.vjp))).collect::<Vec<_>>()); }
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
    let text = program(1, std::env::var("N").unwrap().parse().unwrap());
    let over: f64 = std::env::var("OVER").map_or(4.0, |v| v.parse().unwrap());
    std::panic::set_hook(Box::new(|_| {}));
    let ratio = |t: &str| {
        let t = t.to_string();
        std::panic::catch_unwind(|| with_large_stack(move || {
            let mut p = pipeline(&t, Derivation::Jacobian)?;
            let point = point_of_size(&p, 16)?;
            let m = Measured::new(&mut p, &FunName::base("f"), &point)?;
            let show = format!("L{} p{} fl{} vjp{} rev{}", m.levels, work(&m.primal), m.floats, work(&m.vjp), work(&m.rev));
            let apart = work(&m.vjp) as f64 / (work(&m.rev) + work(&m.primal) + 4) as f64;
            Ok::<_, String>((if std::env::var("APART").is_ok() { apart } else { m.per_level() }, show))
        })).unwrap_or(Err("panic".into()))
    };
    let small = common::shrink::smallest(&text, |t| ratio(t).is_ok_and(|r| r.0 > over));
    println!("{:?}\n{small}", ratio(&small));
}
#[test]
#[ignore]
fn defs() {
    let text = std::fs::read_to_string(std::env::var("FILE").unwrap()).unwrap();
    let d = Derivation::named(&std::env::var("D").unwrap_or("jacobian".into())).unwrap();
    with_large_stack(move || {
        let mut p = pipeline(&text, d).unwrap();
        let point = point_of_size(&p, 16).unwrap();
        let m = Measured::new(&mut p, &FunName::base("f"), &point).unwrap();
        for def in p.program().defs.values() {
            if def.fun.name.derivations.is_empty() { continue }
            println!("{}\n", lm::notation::ks::def(def, 110));
        }
        println!("{} {m:?}", m.per_level());
    });
}
