//! Names of values and functions in MLIR.

use rustc_hash::FxHashMap;

/// The names that are taken in a function: how many there are like each word.
#[derive(Default)]
pub struct Names {
    taken: FxHashMap<String, usize>,
}

impl Names {
    /// Returns a name of a value, like the given one, that nothing else has: `%x`.
    pub fn fresh(&mut self, like: &str) -> String {
        let base = word(if like.is_empty() { "t" } else { like });
        let mut name = base.clone();
        while self.taken.contains_key(&name) {
            let count = self.taken.entry(base.clone()).or_default();
            *count += 1;
            name = format!("{base}_{count}");
        }
        self.taken.insert(name.clone(), 0);
        format!("%{name}")
    }
}

/// Returns a name in letters that MLIR takes.
pub fn word(name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match word.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("v{word}"),
        false => word,
    }
}
