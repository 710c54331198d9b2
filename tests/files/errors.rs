//! Compares the messages for wrong and doubtful files: each `tests/cases/errors/*.ks` has its message beside it, and so
//! does each file of strategies, `tests/cases/errors/*.strategy`.

use super::each::{self, Outcome};
use common::files::{self, expect};
use libtest_mimic::Trial;
use lmc::derive::schedule::Strategies;
use lmc::ks::front::load;
use lmc::ks::render::{Format, render_all};
use lmc::ks::source::Source;
use std::fs;
use std::path::Path;

/// Returns the messages of `lmc check` about the file.
fn message(path: &Path) -> String {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    let bytes = fs::read(path).expect("the case can be read");
    message_of(&name, bytes)
}

fn message_of(name: &str, bytes: Vec<u8>) -> String {
    let source = match Source::from_bytes(name, bytes) {
        Ok(source) => source,
        Err(bad) => return render_all(&bad.source, &[bad.diagnostic], Format::Human, false),
    };
    match load(&source) {
        Ok(checked) if checked.warnings.is_empty() => {
            format!("no errors, {} definitions\n", checked.program.defs.len())
        }
        Ok(checked) => render_all(&source, &checked.warnings, Format::Human, false),
        Err(errors) => render_all(&source, &errors, Format::Human, false),
    }
}

/// The tests.
pub fn tests() -> Vec<Trial> {
    let mut tests = each::program("errors::messages_are_as_expected", "tests/cases/errors", message_is_as_expected);
    let strategies = files::of_kind("tests/cases/errors", "strategy").into_iter();
    tests.extend(strategies.map(|path| {
        each::row("errors::mistakes_in_strategies", &files::name(&path), move || mistakes_are_as_expected(&path))
    }));
    tests.push(each::one("errors", "monsters_are_refused", monsters_are_refused));
    tests.push(each::one("errors", "prefixes_are_refused", prefixes_are_refused));
    tests
}

fn message_is_as_expected(path: &Path) -> Outcome {
    let message = message(path);
    if message.starts_with("no errors") && !message.contains(" 0 definitions") {
        return Err(format!("this program has a message to show, but the checker gives none: {message}"));
    }
    expect(&message, &path.with_extension("err"))
}

fn mistakes_are_as_expected(path: &Path) -> Outcome {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    match Strategies::with(&name, &files::text(path)) {
        Ok(_) => Err("this file has a message to show, but it is read without one".into()),
        Err((source, mistakes)) => {
            expect(&render_all(&source, &mistakes, Format::Human, false), &path.with_extension("err"))
        }
    }
}

/// Files too large or too odd to keep: their messages are short, and none makes the compiler panic.
fn monsters_are_refused() {
    let first = |bytes: Vec<u8>| message_of("monster.ks", bytes).lines().next().unwrap_or("").to_string();
    let deep = "(".repeat(100_000);
    let closed = format!("(def f Float (x : Float) {}x{})", "(".repeat(100_000), ")".repeat(100_000));
    let too_deep = "error[E111]: parentheses are nested deeper than 20000";
    assert!(message_of("monster.ks", deep.into_bytes()).contains(too_deep));
    assert_eq!(first(closed.into_bytes()), too_deep);
    assert_eq!(first(vec![0; 1 << 20]), "error[E101]: unexpected character U+0000");
    let noise = |i: u64| (i.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407) >> 33) as u8;
    let garbage: Vec<u8> = (0..1 << 20)
        .scan(7, |s: &mut u64, _| {
            *s = s.wrapping_mul(25214903917) + 11;
            Some(noise(*s))
        })
        .collect();
    assert!(first(garbage.clone()).contains("is not UTF-8"));
    let ascii: Vec<u8> = garbage.iter().map(|b| b & 0x7f).collect();
    assert!(first(ascii).starts_with("error["));
    assert!(first("#|".repeat(1 << 19).into_bytes()).contains("comment is never closed"));
    assert!(first("(f ".repeat(15_000).into_bytes()).contains("never closed"));
    assert!(
        first(format!("(def f Float () {}1.0{})", "(sin ".repeat(19_000), ")".repeat(19_000)).into_bytes())
            .contains("no errors")
    );
}

/// Every prefix of a program is read without a panic, and every one but the whole is refused.
fn prefixes_are_refused() {
    let text =
        "(def f Float ((x : Float) (n : Integer)) (let ((a b) (tuple x \"λ\\n\")) (if (gt n 1) a ([fwd sin] x 1e3))))";
    for (end, _) in text.char_indices().skip(1) {
        assert!(message_of("prefix.ks", text[..end].into()).starts_with("error["), "{}", &text[..end]);
    }
    // f, and the definition of `sin` that the derivative is one of.
    assert_eq!(message_of("whole.ks", text.into()), "no errors, 2 definitions\n");
}
