//! Suggestions for misspelt names.

/// The search for suggestions of one check.
#[derive(Debug, Default)]
pub struct Suggestions {
    compared: usize,
}

/// The most pairs of names that one check looks at. Later errors come without suggestions.
pub const MOST_COMPARED: usize = 400_000;

/// The most bytes of a name that gets a suggestion.
pub const LONGEST: usize = 100;

/// The most differences between a name and a suggestion.
const MOST_DIFFERENCES: usize = 3;

/// What other languages call functions of this one, and words of its grammar.
const ELSEWHERE: [(&str, &str); 33] = [
    ("+", "add"),
    ("-", "sub"),
    ("*", "mul"),
    ("/", "div"),
    ("^", "pow"),
    ("**", "pow"),
    ("<", "lt"),
    (">", "gt"),
    ("<=", "lte"),
    (">=", "gte"),
    ("=", "eq"),
    ("==", "eq"),
    ("!=", "ne"),
    ("length", "size"),
    ("len", "size"),
    ("count", "size"),
    ("float", "to_float"),
    ("int", "to_integer"),
    ("dot", "ts_dot"),
    ("get", "index"),
    ("nth", "index"),
    ("ref", "index"),
    ("list", "Vec_init"),
    ("vector", "Vec_init"),
    ("vec", "Vec_init"),
    ("foldl", "fold"),
    ("argmax", "imax"),
    ("maximum", "max"),
    ("lambda", "lam"),
    ("fn", "lam"),
    ("cond", "if"),
    ("begin", "let"),
    ("power", "pow"),
];

impl Suggestions {
    /// Returns the function that other languages call so, or else the known name that is closest.
    pub fn function<'a>(&mut self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
        let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == name).map(|(_, ours)| ours.to_string());
        elsewhere.or_else(|| self.closest(name, known))
    }

    /// Returns the known name closest to `name`, when it is close; of equally close ones, the first.
    pub fn closest<'a>(&mut self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
        let limit = (name.chars().count() / 3).clamp(1, MOST_DIFFERENCES);
        let may_fit = |k: &&str| k.len().abs_diff(name.len()) <= 4 * MOST_DIFFERENCES;
        let left = if name.len() <= LONGEST { MOST_COMPARED - self.compared } else { 0 };
        let candidates = known.into_iter().take(left).inspect(|_| self.compared += 1).filter(may_fit);
        let ranked =
            candidates.map(|k| (distance(name, k, limit), k)).filter(|(d, k)| *d <= limit && *d < k.chars().count());
        ranked.min().map(|(_, k)| k.to_string())
    }
}

/// Returns the edit distance: insertions, deletions, replacements and swaps of neighbours. Stops at a prefix of `a` from
/// which on it is beyond the limit.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        if row.iter().chain(&above).all(|&d| d > limit) {
            return limit + 1;
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}
