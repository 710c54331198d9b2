//! The book is whole: links lead somewhere, the summary names every page, files that pages name exist, and tables that
//! repeat the code are computed from it. `BLESS=1` writes those tables; read the difference.

use common::page;
use lm::law;
use lm::term::Derivative;
use lmc::derive::Derivation;
use lmc::derive::passes;
use lmc::derive::passes::laws;
use lmc::derive::recipes::{self, Entry};
use lmc::ks::explain;
use loops::PASSES;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOP: &str = env!("CARGO_MANIFEST_DIR");

/// The pages outside of `docs/`.
const OTHERS: [&str; 5] =
    ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "demos/README.md", "benches/gradbench/README.md"];

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(TOP).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The pages of the book, by their path.
fn book() -> Vec<String> {
    let folder = fs::read_dir(Path::new(TOP).join("docs")).expect("the folder can be read");
    let names = folder.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut pages: Vec<String> = names.filter(|n| n.ends_with(".md")).map(|n| format!("docs/{n}")).collect();
    pages.sort();
    pages
}

fn pages() -> Vec<String> {
    book().into_iter().chain(OTHERS.map(String::from)).collect()
}

/// A page without its blocks of code.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !fenced && !fence && !line.starts_with("    ") {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    prose
}

/// Returns the targets of the links of a page: the text in `](..)`.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let after = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    after.map(|(target, _)| target.to_string()).collect()
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn anchors(page: &str) -> HashSet<String> {
    let prose = prose(&read(page));
    prose.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// Returns the fault of a link of a page, if it has one.
fn broken(page: &str, link: &str) -> Option<String> {
    if link.starts_with("https://") {
        return None;
    }
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let folder = Path::new(page).parent().expect("a page has a folder");
    let target = if path.is_empty() { PathBuf::from(page) } else { folder.join(path) };
    let target = target.to_str().expect("UTF-8");
    if !Path::new(TOP).join(target).exists() {
        return Some(format!("{page}: {link}: there is no {target}"));
    }
    let is_missing = !fragment.is_empty() && !anchors(target).contains(fragment);
    is_missing.then(|| format!("{page}: {link}: {target} has no heading with that anchor"))
}

#[test]
fn links_lead_somewhere() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in pages() {
        for link in links(&read(&page)) {
            count += 1;
            wrong.extend(broken(&page, &link));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "only {count} links were found");
}

#[test]
fn broken_links_are_noticed() {
    assert!(broken("docs/start.md", "nowhere.md").is_some());
    assert!(broken("docs/start.md", "start.md#nowhere").is_some());
    assert!(broken("docs/start.md", "start.md#words").is_none());
    assert!(broken("README.md", "docs/start.md").is_none());
}

#[test]
fn the_summary_names_every_page() {
    let listed: HashSet<String> = links(&read("docs/SUMMARY.md")).into_iter().map(|l| format!("docs/{l}")).collect();
    let pages: HashSet<String> = book().into_iter().filter(|page| page != "docs/SUMMARY.md").collect();
    assert_eq!(listed, pages);
}

/// The words in backquotes of a page's prose that name files of ours.
fn named_files(text: &str) -> Vec<String> {
    const FOLDERS: [&str; 8] = ["benches/", "codegen/", "demos/", "docs/", "lm/", "src/", "tests/", "LICENSE"];
    let prose = prose(text);
    let quoted = prose.split('`').skip(1).step_by(2).map(|quoted| quoted.split(' ').next().unwrap_or(""));
    let is_ours = |word: &&str| FOLDERS.iter().any(|top| word.starts_with(top));
    let is_pattern = |word: &&str| word.contains("NAME") || word.contains('*') || word.contains("..");
    quoted.filter(is_ours).filter(|word| !is_pattern(word)).map(String::from).collect()
}

#[test]
fn the_files_that_pages_name_exist() {
    let (mut count, mut missing) = (0, Vec::new());
    for page in pages() {
        for file in named_files(&read(&page)) {
            count += 1;
            if !Path::new(TOP).join(&file).exists() {
                missing.push(format!("{page}: {file}"));
            }
        }
    }
    assert!(missing.is_empty(), "there are no such files:\n{}", missing.join("\n"));
    assert!(count > 100, "only {count} files are named");
}

#[test]
fn pages_name_no_machine() {
    for page in pages() {
        // The build's own folder is no machine's.
        let text = read(&page).replace("target/tmp/", "");
        for word in ["/work/", "/tmp/", "/root/", "../shared", "crates.io"] {
            assert!(!text.contains(word), "{page} names {word}");
        }
    }
}

/// The paragraphs and list items of a page, each on one line, with `x` for what is in backquotes.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in prose(text).lines() {
        let line = line.trim_start();
        let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_item = line.starts_with(['-', '*']) || (number.len() < line.len() && number.starts_with(". "));
        let is_prose = !line.is_empty() && !line.starts_with(['|', '#', '<', '{']);
        if is_item || !is_prose {
            paragraphs.push(String::new());
        }
        if let (true, Some(last)) = (is_prose, paragraphs.last_mut()) {
            last.push_str(line);
            last.push(' ');
        }
    }
    let plain = |p: String| p.split('`').step_by(2).collect::<Vec<_>>().join("x");
    paragraphs.into_iter().map(plain).collect()
}

#[test]
fn sentences_have_at_most_thirty_words() {
    const LONGEST: usize = 30;
    let mut long = Vec::new();
    for page in pages() {
        for paragraph in paragraphs(&read(&page)) {
            let ends = [". ", ": ", "; ", "? ", ".) "].iter().fold(paragraph, |text, end| text.replace(end, "\n"));
            let words = |sentence: &str| sentence.split(' ').filter(|w| w.contains(char::is_alphanumeric)).count();
            long.extend(ends.lines().filter(|sentence| words(sentence) > LONGEST).map(|s| format!("{page}: {s}")));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// Compares a computed part of a page with what it should be, or writes it.
fn holds(name: &str, part: &str, computed: &str) {
    let computed = computed.trim_matches('\n').to_string() + "\n";
    if std::env::var_os("BLESS").is_some() {
        page::replace(name, part, &computed);
    }
    let found = page::part(name, part);
    let differs = found.lines().zip(computed.lines()).find(|(found, computed)| found != computed);
    assert!(found == computed, "docs/{name}.md, {part}: not as the code says (BLESS=1 writes it), first {differs:?}");
}

#[test]
fn the_passes_on_terms_are_listed() {
    let row =
        |p: &lmc::derive::postcondition::TermPass| format!("| `{}` | {} | {} |\n", p.name, p.purpose, p.postcondition);
    let rows: String = passes::PASSES.iter().map(row).collect();
    holds("design", "passes", &format!("| pass | does | afterwards |\n| --- | --- | --- |\n{rows}"));
}

#[test]
fn the_passes_over_loops_are_listed() {
    let order = |reorders| if reorders { "may change" } else { "kept" };
    let row =
        |pass: &loops::passes::Pass| format!("| `{}` | {} | {} |\n", pass.name, pass.purpose, order(pass.reorders));
    let rows: String = PASSES.iter().map(row).collect();
    holds("codegen", "passes", &format!("| pass | does | rounding |\n| --- | --- | --- |\n{rows}"));
}

/// The number at the end of a source, such as that of a figure.
fn number(source: &str) -> Vec<u32> {
    source.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn laws_of_figures() -> String {
    let matched = law::all().values().map(|law| (&*law.source, &*law.name));
    let all = matched.chain(laws::all().map(|law| (law.source, law.name)));
    let all = all.flat_map(|(sources, name)| sources.split("; ").map(move |source| (source, name)));
    let mut by_source: BTreeMap<(bool, Vec<u32>, &str), Vec<String>> = BTreeMap::new();
    for (source, name) in all {
        let key = (!source.starts_with("Fig"), number(source), source);
        by_source.entry(key).or_default().push(format!("`{name}`"));
    }
    let mut table = String::from("| source | laws | names |\n| --- | --- | --- |\n");
    for ((_, _, source), names) in by_source {
        writeln!(table, "| {source} | {} | {} |", names.len(), names.join(", ")).expect("a string takes all");
    }
    table
}

fn derivatives() -> String {
    let row = |derivative: Derivative| {
        let Entry { typing, title, recipes } = recipes::entry(&derivative);
        // A type, and behind many blanks what its letters mean.
        let (ty, letters) = typing.text().split_once("    ").unwrap_or((typing.text(), ""));
        let letters = if letters.is_empty() { String::new() } else { format!(", {}", letters.trim()) };
        format!("| `{}` | `{ty}`{letters} | {title} | {} |\n", derivative.word(), recipes.len())
    };
    let rows: String = Derivative::all().map(row).collect();
    format!("| derivative | type | is | recipes |\n| --- | --- | --- | --- |\n{rows}")
}

/// One test, since both parts are of one page.
#[test]
fn the_laws_of_figures_and_the_derivatives_are_listed() {
    holds("derivations", "figures", &laws_of_figures());
    holds("derivations", "derivatives", &derivatives());
}

/// Every derivative has a row in the page of the language, and every derivation one in its own page.
#[test]
fn the_derivatives_are_described() {
    let page = read("docs/language.md");
    let rows: String = page.lines().filter(|line| line.starts_with("| `[")).collect();
    let names = Derivative::all().map(|derivative| format!("`[{} f]`", derivative.word())).collect::<Vec<_>>();
    let missing: Vec<String> = names.into_iter().filter(|name| !rows.contains(&**name)).collect();
    assert!(missing.is_empty(), "docs/language.md has no rows for {missing:?}");
    let page = read("docs/derivations.md");
    for derivation in Derivation::ALL {
        assert!(page.contains(&format!("\n| `{}` |", derivation.name())), "docs/derivations.md: {derivation:?}");
    }
}

fn lmc(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let output = command.args(arguments).current_dir(TOP).output().expect("lmc runs");
    assert!(output.status.success(), "lmc {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The short help of every command.
fn options() -> String {
    let help = lmc(&["--help"]);
    let (_, commands) = help.split_once("Commands:\n").expect("the help lists commands");
    let names = commands.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let mut text = String::new();
    for name in names.filter(|name| *name != "help") {
        let help = lmc(&[name, "-h"]);
        let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        write!(text, "### lmc {name}\n\n```text\n{}\n```\n\n", lines.join("\n")).expect("a string takes all");
    }
    text
}

fn error_codes() -> String {
    let rows = explain::codes().map(|code| format!("| {} | {} |\n", code.code, code.title));
    format!("| code | means |\n| --- | --- |\n{}", rows.collect::<String>())
}

/// One test, since both parts are of one page.
#[test]
fn the_options_and_error_codes_are_listed() {
    holds("commands", "options", &options());
    holds("commands", "error codes", &error_codes());
}

/// The statuses of the header, `LMC_X = 1, /* numbers */`, with what `error.number` holds.
#[test]
fn the_statuses_are_listed() {
    let header = lmc(&["compile", "demos/ex2.ks", "--emit", "header=-"]);
    let mut table = String::from("| code | name | numbers |\n| --- | --- | --- |\n");
    for line in header.lines().take_while(|line| !line.contains("LMC_FLOAT")) {
        let Some((name, rest)) = line.trim().split_once(" = ").filter(|(name, _)| name.starts_with("LMC_")) else {
            continue;
        };
        let (code, numbers) = rest.split_once("/*").unwrap_or((rest, ""));
        let (code, numbers) = (code.trim().trim_end_matches(','), numbers.trim_end_matches("*/").trim());
        writeln!(table, "| {code} | `{name}` | {numbers} |").expect("a string takes all");
    }
    assert!(table.lines().count() > 10, "{table}");
    holds("embedding", "statuses", &table);
}
