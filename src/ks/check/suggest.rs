//! Suggestions for misspelt names.

/// Returns the known name closest to `name`, when it is close; of equally close ones, the first.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let ranked = known.into_iter().filter(|k| k.len().abs_diff(name.len()) <= 12);
    let ranked = ranked.map(|k| (distance(name, k), k)).filter(|(d, k)| *d <= limit && *d < k.chars().count());
    ranked.min().map(|(_, k)| k.to_string())
}

/// Returns the edit distance: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &str, b: &str) -> usize {
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
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_found() {
        let known = ["sin", "sinh", "lgamma", "to_float"];
        assert_eq!(closest("lgama", known), Some("lgamma".into()));
        assert_eq!(closest("to_flaot", known), Some("to_float".into()));
        assert_eq!(closest("frobnicate", known), None);
        assert_eq!(closest("x", ["y"]), None);
    }
}
