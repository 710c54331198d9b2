//! The documents tell the truth: their `console` blocks print what they say, and their lists are complete.
//!
//! In a block, `$ ` begins a command for bash; the lines below it are what it prints on standard output and
//! standard error, and a line `...` matches any lines. A block whose fence names a file is that file. The
//! blocks of a page share a folder, which has `demos` and `codegen`.

use super::each::{self, Outcome, alone};
use libtest_mimic::Trial;
use lmc::demos::DEMOS;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The tests.
pub fn tests() -> Vec<Trial> {
    let of_page = |page: &&'static str| {
        let page = *page;
        each::row("readme::examples_print_what_they_say", page, move || examples_print_what_they_say(page))
    };
    let mut tests: Vec<Trial> = PAGES.iter().map(of_page).collect();
    tests.extend(alone!(
        "readme": every_page_with_blocks_is_run, the_commands_are_listed, the_demos_are_listed,
        dots_stand_for_any_lines,
    ));
    tests
}

const TOP: &str = env!("CARGO_MANIFEST_DIR");

/// A fenced block.
struct Block {
    /// The text after the fence: a language, and perhaps a file.
    info: String,
    text: Vec<String>,
}

/// A command and what it prints.
struct Example {
    command: String,
    output: Vec<String>,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        if let Some(info) = line.trim_start().strip_prefix("```") {
            let inner = lines.by_ref().take_while(|line| line.trim() != "```");
            let text = inner.map(|line| line.get(indent..).unwrap_or("").to_string()).collect();
            blocks.push(Block { info: info.to_string(), text });
        }
    }
    blocks
}

fn examples(page: &str, block: &Block) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in &block.text {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(Example { command: command.into(), output: Vec::new() }),
            (None, Some(example)) => example.output.push(line.clone()),
            (None, None) => panic!("{page}: a console block begins with `{line}`, not with a command"),
        }
    }
    examples
}

/// A fresh folder for the blocks of a page, with links to the demos and to the headers.
fn folder(page: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages").join(page);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder is made");
    for linked in ["demos", "codegen"] {
        std::os::unix::fs::symlink(Path::new(TOP).join(linked), folder.join(linked)).expect("the folder is linked");
    }
    folder
}

fn printed(command: &str, folder: &Path) -> Vec<String> {
    let lmc = Path::new(env!("CARGO_BIN_EXE_lmc")).parent().expect("a folder");
    let path = format!("{}:{}", lmc.display(), std::env::var("PATH").unwrap_or_default());
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(folder).env("PATH", path);
    let output = bash.output().expect("bash runs");
    String::from_utf8_lossy(&output.stdout).trim_end().lines().map(String::from).collect()
}

/// Returns whether the lines are as expected, where `...` matches any lines.
fn fits(expected: &[String], found: &[String]) -> bool {
    match expected {
        [] => found.is_empty(),
        [any, rest @ ..] if any == "..." => (0..=found.len()).any(|n| fits(rest, &found[n..])),
        [line, rest @ ..] => found.first() == Some(line) && fits(rest, &found[1..]),
    }
}

/// Runs the blocks of a page in a folder of its own, and says how many commands it has.
fn run(page: &str) -> usize {
    let text = fs::read_to_string(Path::new(TOP).join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    let folder = folder(page);
    let (mut wrong, mut run) = (String::new(), 0);
    for block in blocks(&text) {
        if let Some((_, file)) = block.info.split_once(' ') {
            fs::write(folder.join(file), block.text.join("\n") + "\n").expect("the file is written");
        }
        if block.info != "console" {
            continue;
        }
        for Example { command, mut output } in examples(page, &block) {
            while output.last().is_some_and(String::is_empty) {
                output.pop();
            }
            let found = printed(&command, &folder);
            if !fits(&output, &found) {
                let (expected, found) = (output.join("\n"), found.join("\n"));
                let _ = writeln!(wrong, "$ {command}\n{page} says:\n{expected}\nit prints:\n{found}\n");
            }
            run += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    run
}

/// Pages with blocks.
const PAGES: &[&str] = &[
    "README.md",
    "docs/tutorial.md",
    "docs/linalg.md",
    "docs/derivations.md",
    "docs/language.md",
    "docs/embedding.md",
    "docs/loops.md",
    "docs/strategies.md",
    "docs/bound.md",
];

fn examples_print_what_they_say(page: &str) -> Outcome {
    if run(page) > 0 { Ok(()) } else { Err("there is no console block".into()) }
}

/// No page with blocks is left out.
fn every_page_with_blocks_is_run() {
    let docs = fs::read_dir(Path::new(TOP).join("docs")).expect("the pages are there");
    let names = docs.map(|entry| format!("docs/{}", entry.expect("an entry").file_name().to_string_lossy()));
    for page in names.chain(["README.md", "CONTRIBUTING.md"].map(String::from)) {
        let text = fs::read_to_string(Path::new(TOP).join(&page)).unwrap_or_default();
        assert!(!text.contains("```console") || PAGES.contains(&&*page), "{page} is in no test");
    }
}

/// The table of commands has those of `lmc --help`, in that order.
fn the_commands_are_listed() {
    let help = printed("lmc --help", Path::new(TOP)).join("\n");
    let (_, commands) = help.split_once("Commands:\n").expect("the help lists commands");
    let commands =
        commands.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let expected: Vec<&str> = commands.filter(|command| *command != "help").collect();
    let text = fs::read_to_string(Path::new(TOP).join("docs/commands.md")).expect("the page is read");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `lmc "));
    let listed: Vec<&str> = rows.filter_map(|row| row.split([' ', '`']).next()).collect();
    assert_eq!(listed, expected);
}

/// `demos/README.md` has the rows of the tables, which have every program.
fn the_demos_are_listed() {
    let folder = Path::new(TOP).join("demos");
    let listed = fs::read_to_string(folder.join("README.md")).expect("demos/README.md is read");
    for demo in DEMOS {
        let row = format!("| `{}.ks` | {} |", demo.name, demo.shows);
        assert!(listed.lines().any(|line| line == row), "demos/README.md lacks {row}");
    }
    let files = fs::read_dir(folder).expect("the demos are there").map(|entry| entry.expect("an entry").path());
    let programs = files.filter(|path| path.extension().is_some_and(|extension| extension == "ks"));
    assert_eq!(programs.count(), DEMOS.len());
}

fn dots_stand_for_any_lines() {
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let fits = |expected, found| fits(&lines(expected), &lines(found));
    assert!(fits("a\n...\nb", "a\nb"));
    assert!(fits("...\nb\n...", "a\nb\nb\nc"));
    assert!(!fits("a\n...\nb", "a\nb\nc"));
    assert!(!fits("a", "a\nb"));
    assert!(!fits("a\nb", "a"));
}
