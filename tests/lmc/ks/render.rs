//! Diagnostics as people, editors and programs see them.

use lm::term::Span;
use lmc::ks::diagnostic::Diagnostic;
use lmc::ks::reader::read;
use lmc::ks::render::{Format, json_without_code, render};
use lmc::ks::source::Source;

/// A text with a `)` too many, at a place, and what the reader says of it.
fn stray(text: &str, at: u32) -> (Source, Diagnostic) {
    let mut errors = read(text).errors;
    let diagnostic = errors.pop().expect("the reader reports it");
    assert!(errors.is_empty() && diagnostic.span == Some(Span { start: at, end: at + 1 }), "{diagnostic:?}");
    (Source::new("a.ks", text), diagnostic)
}

fn human(text: &str, diagnostic: &Diagnostic) -> String {
    render(&Source::new("a.ks", text), diagnostic, Format::Human, false)
}

#[test]
fn human_form_marks_the_text() {
    let (source, diagnostic) = stray("(a)\n\tλ )\n", 8);
    let text = render(&source, &diagnostic, Format::Human, false);
    assert_eq!(text, "error[E109]: this `)` closes nothing\n --> a.ks:2:4\n  |\n2 |     λ )\n  |       ^\n");
}

#[test]
fn wide_characters_take_two_columns() {
    let (source, diagnostic) = stray("\"漢字\" )", 9);
    let text = render(&source, &diagnostic, Format::Human, false);
    assert!(text.ends_with("1 | \"漢字\" )\n  |        ^\n"), "{text}");
}

#[test]
fn several_lines_are_marked_from_end_to_end() {
    let text = "(def f Float (x : Float)\n  (tuple x\n    x))\n";
    let wrong = Diagnostic::error("E216", "wrong").at(Span { start: 27, end: 42 }).label("this");
    assert_eq!(
        human(text, &wrong),
        "error[E216]: wrong\n --> a.ks:2:3\n  |\n2 | /   (tuple x\n3 | |     x))\n  | |______^ this\n"
    );
}

#[test]
fn the_end_of_the_text_can_be_marked() {
    let end = Diagnostic::error("E112", "too many").at(Span { start: 2, end: 2 });
    assert_eq!(human("a\n", &end), "error[E112]: too many\n --> a.ks:2:1\n  |\n2 |\n  | ^\n");
    assert_eq!(human("", &end), "error[E112]: too many\n --> a.ks:1:1\n  |\n1 |\n  | ^\n");
}

#[test]
fn colour_is_on_demand() {
    let (source, diagnostic) = stray("a)", 1);
    assert!(!render(&source, &diagnostic, Format::Human, false).contains('\x1b'));
    assert!(render(&source, &diagnostic, Format::Human, true).contains("\x1b["));
}

#[test]
fn short_and_json() {
    let (source, diagnostic) = stray("a)", 1);
    assert_eq!(render(&source, &diagnostic, Format::Short, true), "a.ks:1:2: this `)` closes nothing\n");
    let expected = "{\"severity\":\"error\",\"code\":\"E109\",\"message\":\"this `)` closes nothing\",\
        \"file\":\"a.ks\",\"line\":1,\"column\":2,\"end_line\":1,\"end_column\":3,\"start\":1,\"end\":2,\
        \"notes\":[]}\n";
    assert_eq!(render(&source, &diagnostic, Format::Json, false), expected);
    let unknown = "{\"severity\":\"error\",\"code\":null,\"message\":\"no\",\"file\":null,\
        \"line\":null,\"column\":null,\
        \"notes\":[]}\n";
    assert_eq!(json_without_code("error", "no", None), unknown);
}

#[test]
fn long_lines_are_cut() {
    let line = "x".repeat(500) + ")" + &"y".repeat(500);
    let (source, diagnostic) = stray(&line, 500);
    let text = render(&source, &diagnostic, Format::Human, false);
    assert!(text.lines().all(|l| l.len() < 200), "{text}");
    assert!(text.contains("...xxx"), "{text}");
}

#[test]
fn of_far_apart_places_each_has_its_piece() {
    let text = format!("(a\n{}\nb)\n", "; far\n".repeat(100_000));
    let at = text.find('b').expect("it is there") as u32;
    let twice = Diagnostic::error("E209", "twice").at(Span { start: at, end: at + 1 });
    let twice = twice.related(Span { start: 1, end: 2 }, "first");
    let found = human(&text, &twice);
    assert!(
        found.contains("100003 | b)\n       | ^\n") && found.contains("     1 | (a\n       |  - first\n"),
        "{found}"
    );
}

#[test]
fn of_a_huge_line_only_the_place_is_shown() {
    let (source, diagnostic) = stray(&format!("{})", " ".repeat(1 << 20)), 1 << 20);
    let text = render(&source, &diagnostic, Format::Human, false);
    assert_eq!(text, "error[E109]: this `)` closes nothing\n--> a.ks:1:1048577\n");
}
