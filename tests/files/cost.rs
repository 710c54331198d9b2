//! `lmc cost`: on every demo, whose counts are those of `docs/bound.md`, and on the programs of `tests/cases/bound`, whose
//! counts are in the file beside: the counterexamples to Theorem 5.4 of the paper, and programs above the bound.

use super::each::{self, Outcome};
use common::cost::input_of_demo;
use common::files;
use common::page;
use common::table::row_of_counts;
use libtest_mimic::Trial;
use lmc::demos::Demo;
use lmc::derive::Derivation;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::demo("cost::demos_are_within_the_bound_and_on_the_page", demo_is_within_the_bound);
    tests.extend(each::program("cost::programs_have_these_counts", FOLDER, has_these_counts));
    tests
}

const FOLDER: &str = "tests/cases/bound";

/// The derivations with a bound, as an option takes them.
fn bounded() -> String {
    Derivation::BOUNDED.map(Derivation::name).join(",")
}

fn cost(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.arg("cost").args(args).args(["--derivation", &bounded(), "--checkpoint", "none", "--check"]);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("lmc starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// `BLESS=1 cargo bench --bench bound` computes the page anew.
fn demo_is_within_the_bound(demo: &Demo) -> Outcome {
    let file = format!("demos/{}.ks", demo.name);
    let mut args = vec![file.as_str(), "--fun", demo.fun, "--format", "json"];
    let input = input_of_demo(demo)?;
    args.extend(input.iter().flat_map(|input| ["--input", input]));
    let output = cost(&args);
    // The derivative of lgamma, which is one operation, is a function of the prelude.
    let expected = if demo.name == "ex9" { 1 } else { 0 };
    let (status, errors) = (output.status.code(), text(&output.stderr));
    if status != Some(expected) {
        return Err(format!("status {status:?}: {errors}"));
    }
    let page = page::part("bound", "demos");
    let printed = text(&output.stdout);
    let rows: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let derivations: Vec<&str> = rows.iter().filter_map(|row| row["derivation"].as_str()).collect();
    assert_eq!(derivations.join(","), bounded());
    for row in &rows {
        let row = row_of_page(demo.name, row);
        assert!(page.contains(&row), "docs/bound.md does not have\n{row}");
    }
    Ok(())
}

/// Returns the row of the page that has the counts which the command prints.
fn row_of_page(demo: &str, row: &Value) -> String {
    const KINDS: [&str; 5] = ["ADDS", "MULTS", "NLOPS", "moves", "MOVES"];
    let counts = ["primal", "vjp"].map(|entry| KINDS.map(|kind| row[entry][kind].as_u64().expect("a count")));
    let levels = row["p"].as_u64().expect("a number").max(1);
    let per_level = row["vjp_ratios"]["work"].as_f64().expect("a ratio") / levels as f64;
    let derivation = row["derivation"].as_str().expect("a name");
    row_of_counts(demo, derivation, levels, counts, per_level, row["met"].as_bool().expect("a truth value"))
}

/// The first line of a program says with which options it is measured.
fn has_these_counts(path: &Path) -> Outcome {
    let program = files::text(path);
    let command = program.lines().next().and_then(|line| line.strip_prefix("; lmc cost "));
    let options: Vec<&str> = command.ok_or("the first line is no `; lmc cost ..`")?.split(' ').collect();
    let path = path.to_str().expect("UTF-8");
    let output = cost(&[&[path], options.as_slice()].concat());
    let found = text(&output.stdout);
    let is_met = !found.contains("not met");
    assert_eq!(output.status.code(), Some(i32::from(!is_met)), "{}", text(&output.stderr));
    grows_as_the_function(&text(&cost(&[&[path, "--format", "json"], options.as_slice()].concat()).stdout))?;
    let file = Path::new(path).with_extension("out");
    files::expect(&found, &file)
}

/// Checks that the ratio at the largest size is about that at the smallest: a quadratic gradient has another one. What
/// is above the bound is so in the expected counts.
fn grows_as_the_function(printed: &str) -> Outcome {
    const GROWTH: f64 = 1.12;
    let rows: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for row in rows.iter().filter(|row| row["met"] == true) {
        let is_same = |other: &&Value| ["function", "derivation"].iter().all(|key| other[key] == row[key]);
        let smallest = rows.iter().find(is_same).expect("the row itself");
        let [least, ratio] = [smallest, row].map(|row| row["vjp_ratios"]["work"].as_f64().expect("a ratio"));
        if ratio > GROWTH * least {
            return Err(format!("{ratio} is more than {GROWTH} times {least}: {row}"));
        }
    }
    Ok(())
}
