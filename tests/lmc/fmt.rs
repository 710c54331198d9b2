//! `lmc fmt`: the layout of every program of the repository, and of random layouts of them.
//!
//! The oracle for tokens is a lexer of its own, a few lines long.

use lmc::ks::fmt::{WIDTH, format};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const TOP: &str = env!("CARGO_MANIFEST_DIR");

/// The tokens of a text, comments included, each as written but for blanks at the end of a `;` comment.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ';' => rest.find('\n').unwrap_or(rest.len()),
            '#' => comment_length(rest),
            '"' => string_length(rest),
            '(' | ')' | '[' | ']' => 1,
            _ => rest.find(|c: char| c.is_whitespace() || "()[]\";#".contains(c)).unwrap_or(rest.len()),
        };
        let token = &rest[..length];
        tokens.push(if first == ';' { token.trim_end() } else { token });
        rest = rest[length..].trim_start();
    }
    tokens
}

fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        (depth, at) = match text.get(at..at + 2) {
            Some("#|") => (depth + 1, at + 2),
            Some("|#") => (depth - 1, at + 2),
            _ => (depth, at + 1),
        };
        if depth == 0 {
            return at;
        }
    }
}

fn string_length(text: &str) -> usize {
    let mut escaped = true;
    let end = text.char_indices().find(|&(_, c)| {
        let ends = c == '"' && !escaped;
        // The first character opens the string.
        escaped = c == '\\' && !escaped;
        ends
    });
    end.expect("the string ends").0 + 1
}

fn formatted(text: &str) -> String {
    format(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"))
}

/// Formats, and checks what formatting promises.
fn settled(text: &str) -> String {
    let once = formatted(text);
    assert_eq!(tokens(text), tokens(&once), "the tokens of\n{text}\nbecame\n{once}");
    let twice = formatted(&once);
    assert_eq!(once, twice, "not settled after\n{text}");
    assert!(!once.contains(" \n") || text.contains(" \n"), "blanks at the end of a line:\n{once}");
    once
}

fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(TOP)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder is read") {
            let path = entry.expect("an entry").path();
            let is_ours = !path.ends_with("target") && !path.ends_with(".git");
            if path.is_dir() && is_ours {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ks") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 50, "only {} programs were found", found.len());
    found
}

/// The programs that the reader takes.
fn programs() -> Vec<String> {
    let texts = files().into_iter().filter_map(|path| String::from_utf8(fs::read(path).expect("a file")).ok());
    texts.filter(|text| format(text).is_ok()).collect()
}

#[test]
fn programs_settle() {
    lmc::with_large_stack(|| {
        for text in programs() {
            let layout = settled(&text);
            // Deeply nested lists, which start far to the right, may go beyond.
            let indent = |line: &str| line.len() - line.trim_start().len();
            let is_long = |line: &&str| line.chars().count() > WIDTH && indent(line) < 60 && !line.contains(';');
            assert_eq!(layout.lines().find(is_long), None, "{layout}");
        }
    });
}

/// The programs that test the language have it, too.
#[test]
fn language_tests_are_laid_out() {
    lmc::with_large_stack(|| {
        let ours = files().into_iter().filter(|path| path.starts_with(Path::new(TOP).join("tests/language")));
        let texts: Vec<(PathBuf, String)> =
            ours.map(|path| (path.clone(), fs::read_to_string(path).expect("a program"))).collect();
        assert!(texts.len() > 70, "only {} programs were found", texts.len());
        for (path, text) in texts {
            assert_eq!(formatted(&text), text, "{}", path.display());
        }
    });
}

/// The asserts of a chain are broken together, and the last term goes below them.
#[test]
fn chains_of_asserts_are_lists() {
    let parts: Vec<String> = (0..4).map(|i| format!("(assert (gt (index {i} v) 0.0) ")).collect();
    let text = format!("(def f Float (v : Vec Float) {}(print (sum v)){})", parts.concat(), ")".repeat(4));
    let lines: Vec<String> = (0..4).map(|i| format!("  (assert (gt (index {i} v) 0.0)\n")).collect();
    let layout = format!("(def f Float (v : Vec Float)\n{}  (print (sum v)))))))\n", lines.concat());
    let short = "(def f Float (x : Float)\n  (assert (gt x 0.0) (assert (lt x 1.0) x)))\n";
    lmc::with_large_stack(|| {
        assert_eq!(settled(&text), layout);
        assert_eq!(settled(short), short);
    });
}

/// The demos of `lmc demo` and the models of `lmc gradbench` have the layout already.
#[test]
fn demos_are_laid_out() {
    lmc::with_large_stack(|| {
        for demo in lmc::demos::DEMOS {
            assert_eq!(formatted(demo.text), demo.text, "{}", demo.name);
        }
        for eval in lmc::gradbench::EVALS {
            assert_eq!(formatted(eval.text), eval.text, "{}", eval.module);
        }
    });
}

/// The texts that may separate two tokens. Comments and line feeds get more frequent towards the end.
const BETWEEN: [&str; 14] = [
    "",
    " ",
    "\n",
    "  \n\t",
    "\n\n",
    "\r\n",
    "\n\n\n ",
    " ; a comment  \n",
    "; b\n",
    "\n\n; c\n\n",
    " #| d |# ",
    "#| e #| f\n g |# |#\n",
    "\n#| h |#",
    "\n #|\n|# ; i\n",
];

/// The tokens of a text with other things between them.
fn scrambled(text: &str, choices: &[usize]) -> String {
    let mut out = String::new();
    for (token, choice) in tokens(text).iter().zip(choices.iter().cycle()) {
        let between = BETWEEN[*choice % BETWEEN.len()];
        let last = out.chars().next_back().unwrap_or(' ');
        let touches = |c: char| !c.is_whitespace() && !"()[]".contains(c);
        let must_part = between.is_empty() && touches(last) && touches(token.chars().next().expect("a token"));
        out.push_str(if must_part { " " } else { between });
        // At the start of a line, `(def` is a definition, whatever is open.
        out.push_str(if *token == "(" && out.ends_with('\n') { " (" } else { token });
        if token.starts_with(';') {
            out.push('\n');
        }
    }
    out
}

#[test]
fn random_layouts_settle() {
    lmc::with_large_stack(|| {
        let programs = programs();
        let layouts = (0..programs.len(), prop::collection::vec(0..BETWEEN.len(), 1..60));
        let mut runner = proptest::test_runner::TestRunner::new(common::random::config(300));
        let check = |(program, choices): (usize, Vec<usize>)| {
            settled(&scrambled(&programs[program], &choices));
            Ok(())
        };
        runner.run(&layouts, check).unwrap_or_else(|e| panic!("{e}"));
    });
}

/// Line feeds and blanks alone change nothing, where no comment and no empty line is.
#[test]
fn blanks_do_not_matter() {
    lmc::with_large_stack(|| {
        let programs: Vec<String> = programs().into_iter().filter(|text| !text.contains([';', '#'])).collect();
        let layouts = (0..programs.len(), prop::collection::vec(0..4usize, 1..60));
        let mut runner = proptest::test_runner::TestRunner::new(common::random::config(200));
        let check = |(program, choices): (usize, Vec<usize>)| {
            let text = scrambled(&programs[program], &[1]);
            assert_eq!(formatted(&scrambled(&text, &choices)), formatted(&text));
            Ok(())
        };
        runner.run(&layouts, check).unwrap_or_else(|e| panic!("{e}"));
    });
}

#[test]
fn comments_stay_where_they_are() {
    let text = "#| head
  of file |# ; and more


; about f
(def f Float ((x : Float) ; first
   (y : Float)) #| the body |# (let ((a (g x ; argument
    ))

    ; in a paragraph of its own
    (b 1.50e0))

   ; the result
   (if (gt a b) #| one |# x y ; other
   ; nothing follows
   )))
(gdef fwd f)
(gdef rev f) ; asked for
; the end";
    let layout = "#| head
  of file |# ; and more

; about f
(def f Float
     ((x : Float) ; first
      (y : Float))
  #| the body |# (let ((a (g x ; argument
                          ))

                       ; in a paragraph of its own
                       (b 1.50e0))

                   ; the result
                   (if (gt a b)
                       #| one |# x
                       y ; other
                     ; nothing follows
                   )))

(gdef fwd f)
(gdef rev f) ; asked for
; the end
";
    lmc::with_large_stack(|| assert_eq!(settled(text), layout));
}

#[test]
fn odd_texts_settle() {
    lmc::with_large_stack(|| {
        assert_eq!(settled(""), "");
        assert_eq!(settled("\u{feff} \n\n"), "");
        assert_eq!(settled("; only this"), "; only this\n");
        assert_eq!(settled("\n\n#| this |#\n\n; that \n\n"), "#| this |#\n\n; that\n");
        assert_eq!(settled("a\"b\n  c\"d"), "a\n\n\"b\n  c\"\n\nd\n");
        assert_eq!(settled("(\n)[ ]"), "()\n\n[]\n");
        assert_eq!(settled("( ; x\r\n)"), "(; x\n)\n");
        let count = 15_000;
        let deep = format!("(def f Float (x : Float) {} x {})", "(sin ".repeat(count), ")".repeat(count));
        assert!(settled(&deep).len() < 200 * count);
    });
}

/// A directory of its own.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    // It is there when the test ran before.
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the directory for tests can be written to");
    path
}

fn lmc(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    command.args(args).current_dir(directory).stdin(Stdio::null()).output().expect("lmc starts")
}

#[test]
fn files_are_written_anew_and_wrong_ones_left_alone() {
    let directory = directory("fmt_files");
    let write = |name: &str, text: &str| fs::write(directory.join(name), text).expect("the file is written");
    let read = |name: &str| fs::read_to_string(directory.join(name)).expect("the file is read");
    write("odd.ks", "(def f   Float (x : Float) x)");
    write("good.ks", "(def f Float (x : Float)\n  x)\n");
    write("wrong.ks", "(def f   Float (x : Float) x");
    let permissions = fs::Permissions::from_mode(0o640);
    fs::set_permissions(directory.join("odd.ks"), permissions.clone()).expect("the file is ours");
    let args = ["odd.ks", "wrong.ks", "good.ks"];

    let checked = lmc(&directory, &[&["fmt", "--check"][..], &args].concat());
    assert_eq!(checked.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&checked.stdout), "odd.ks\n");
    assert!(String::from_utf8_lossy(&checked.stderr).contains("error[E108]"));
    assert_eq!(read("odd.ks"), "(def f   Float (x : Float) x)");

    let done = lmc(&directory, &[&["fmt"][..], &args].concat());
    assert_eq!(done.status.code(), Some(1));
    assert!(done.stdout.is_empty());
    assert_eq!(read("odd.ks"), read("good.ks"));
    let mode = fs::metadata(directory.join("odd.ks")).expect("the file is there").permissions().mode();
    assert_eq!(mode & 0o777, permissions.mode() & 0o777);
    assert_eq!(read("wrong.ks"), "(def f   Float (x : Float) x");
    assert_eq!(fs::read_dir(&directory).expect("the directory is read").count(), 3);
    assert_eq!(lmc(&directory, &["fmt", "--check", "odd.ks", "good.ks"]).status.code(), Some(0));
}

#[test]
fn standard_input_goes_to_standard_output() {
    let directory = directory("fmt_stdin");
    fs::write(directory.join("p.ks"), "(def f   Float (x : Float) x)").expect("the file is written");
    let file = || Stdio::from(fs::File::open(directory.join("p.ks")).expect("the file is read"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let done = command.args(["fmt", "-"]).stdin(file()).output().expect("lmc starts");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "(def f Float (x : Float)\n  x)\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmc"));
    let checked = command.args(["fmt", "--check", "-"]).stdin(file()).output().expect("lmc starts");
    assert_eq!((checked.status.code(), &checked.stdout[..]), (Some(1), &b"<stdin>\n"[..]));
}
