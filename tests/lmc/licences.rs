//! `deny.toml` allows the licences that the dependencies have, and no others.

use std::collections::BTreeSet;
use std::process::Command;

/// The words between quotes in the line that starts with `allow`.
fn allowed() -> BTreeSet<&'static str> {
    let line = include_str!("../../deny.toml").lines().find(|line| line.starts_with("allow")).expect("a list");
    line.split('"').skip(1).step_by(2).collect()
}

/// One licence expression per package in the dependency tree.
fn licences() -> BTreeSet<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["tree", "--workspace", "--locked", "--offline", "--prefix", "none", "--format", "{l}"]);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    lines.lines().map(|line| line.replace(" (*)", "")).filter(|line| !line.is_empty()).collect()
}

#[test]
fn dependencies_have_allowed_licences() {
    let allowed = allowed();
    let mut used = BTreeSet::new();
    for licence in licences() {
        for part in licence.split(" AND ") {
            let alternatives = part.trim_matches(['(', ')']).split(" OR ").flat_map(|l| l.split('/'));
            let fitting: Vec<&str> = alternatives.filter_map(|l| allowed.get(l.trim()).copied()).collect();
            assert!(!fitting.is_empty(), "deny.toml does not allow `{licence}`");
            used.extend(fitting);
        }
    }
    assert_eq!(used, allowed, "deny.toml allows what no dependency has");
}
