//! Suggestions for misspelt names.

use lmc::ks::check::suggest::{LONGEST, MOST_COMPARED, Suggestions};

fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    Suggestions::default().closest(name, known)
}

#[test]
fn close_names_are_found() {
    let known = ["sin", "sinh", "lgamma", "to_float"];
    assert_eq!(closest("lgama", known), Some("lgamma".into()));
    assert_eq!(closest("to_flaot", known), Some("to_float".into()));
    assert_eq!(closest("frobnicate", known), None);
    assert_eq!(closest("x", ["y"]), None);
}

#[test]
fn comparisons_are_bounded() {
    let known: Vec<String> = (0..1_000).map(|i| format!("f{i}")).collect();
    let mut suggestions = Suggestions::default();
    let (mut compared, mut found) = (0, 0);
    for _ in 0..1_000 {
        let counted = known.iter().map(String::as_str).inspect(|_| compared += 1);
        found += usize::from(suggestions.closest("f1234", counted).is_some());
    }
    assert_eq!((compared, found), (MOST_COMPARED, MOST_COMPARED / known.len()));
    assert_eq!(closest(&"x".repeat(LONGEST + 1), [&*"x".repeat(LONGEST)]), None);
}
