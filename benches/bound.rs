//! The table of `docs/bound.md`: exact counts of operations, no times.
//!
//! `cargo bench --bench bound` prints it; with `BLESS=1` it takes its place in the page. `LMC_CASES` says how many
//! random programs; `-- random` counts only the part with that in its name.

use common::{page, table};

const PROGRAMS: u64 = 2_000;

fn main() {
    // `cargo test --benches` runs this, too.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    std::panic::set_hook(Box::new(|_| {}));
    let count = std::env::var("LMC_CASES").map_or(PROGRAMS, |n| n.parse().expect("LMC_CASES is a number"));
    let parts: [(&str, &dyn Fn() -> String); 3] =
        [("demos", &table::demos), ("families", &table::grown), ("random programs", &|| table::random(count))];
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part));
    for (name, part) in parts.into_iter().filter(|(name, _)| is_wanted(name)) {
        let text = part();
        println!("{text}");
        if std::env::var_os("BLESS").is_some() {
            page::replace("bound", name, &text);
        }
    }
}
