//! The texts of diagnostics.

use lmc::ks::diagnostic::{Diagnostic, clipped};

#[test]
fn long_names_are_cut() {
    let name = "x".repeat(1_000_000);
    let message = Diagnostic::error("E202", format!("unknown function `{name}`")).message;
    assert!(message.starts_with("unknown function `xxx") && message.ends_with("xxx`"), "{message}");
    assert!(message.len() < 250, "{}", message.len());
    let types = Diagnostic::error("E212", "Float ".repeat(1_000_000)).message;
    assert!(types.len() < 4_010, "{}", types.len());
    assert_eq!(clipped("a short\n message "), "a short\n message ");
}
