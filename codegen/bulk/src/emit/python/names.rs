//! Names of variables and functions in Python.

use std::collections::HashSet;

/// The names that are taken.
#[derive(Default)]
pub struct Names {
    taken: HashSet<String>,
    temporaries: usize,
}

/// Words that Python or the module has a meaning for.
const WORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield", "abs", "float", "int", "len", "range",
    "bool", "list", "tuple", "max", "min", "sum", "np", "jnp", "jax", "lax", "math", "status",
];

impl Names {
    /// Returns a name like the given one that nothing else has.
    pub fn fresh(&mut self, like: &str) -> String {
        let name = identifier(like);
        let numbered = |k: usize| if k == 0 { name.clone() } else { format!("{name}_{k}") };
        let free = (0..).map(numbered).find(|name| !self.taken.contains(name) && !WORDS.contains(&name.as_str()));
        let free = free.expect("there are more numbers than names");
        self.taken.insert(free.clone());
        free
    }

    /// Returns a name for a value without one.
    pub fn temporary(&mut self) -> String {
        self.temporaries += 1;
        self.fresh(&format!("t{}", self.temporaries))
    }
}

/// Returns a name as Python takes it.
pub fn identifier(name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match word.chars().next() {
        Some(c) if c.is_ascii_alphabetic() => word,
        _ => format!("v{word}"),
    }
}
