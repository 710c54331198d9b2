//! Showing diagnostics: to people, to editors (`short`), to programs (`json`).

use crate::ks::diagnostic::Diagnostic;
use crate::ks::source::{Position, Source};
use lm::term::Span;
use std::fmt::Write;
use unicode_width::UnicodeWidthChar;

/// The form of a diagnostic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Several lines, with the source.
    #[default]
    Human,
    /// `file:line:column: message`.
    Short,
    /// One JSON object on a line.
    Json,
}

/// One diagnostic as text, with a line feed at its end.
///
/// Colour (ANSI) only touches the human form.
pub fn render(source: &Source, diagnostic: &Diagnostic, format: Format, colour: bool) -> String {
    match format {
        Format::Human => human(source, diagnostic, Paint { on: colour }),
        Format::Short => format!("{}: {diagnostic}\n", place(source, diagnostic.span)),
        Format::Json => json(source, diagnostic),
    }
}

/// All diagnostics, with an empty line between those for people.
pub fn render_all(source: &Source, diagnostics: &[Diagnostic], format: Format, colour: bool) -> String {
    let separator = if format == Format::Human { "\n" } else { "" };
    let texts: Vec<String> = diagnostics.iter().map(|d| render(source, d, format, colour)).collect();
    texts.join(separator)
}

fn place(source: &Source, span: Option<Span>) -> String {
    match span {
        Some(span) => {
            let Position { line, column } = source.position(span.start);
            format!("{}:{line}:{column}", source.name())
        }
        None => source.name().into(),
    }
}

/// ANSI colours, or none.
#[derive(Clone, Copy)]
struct Paint {
    on: bool,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn red(self, text: &str) -> String {
        self.wrap("1;31", text)
    }

    fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    fn blue(self, text: &str) -> String {
        self.wrap("1;34", text)
    }
}

fn human(source: &Source, diagnostic: &Diagnostic, paint: Paint) -> String {
    let head = paint.red(&format!("{}[{}]", diagnostic.severity.name(), diagnostic.code));
    let mut out = format!("{head}{}\n", paint.bold(&format!(": {diagnostic}")));
    if let Some(span) = diagnostic.span {
        let label = diagnostic.label.as_deref().unwrap_or_default();
        excerpt(&mut out, source, span, '^', label, paint);
    }
    for (span, words) in &diagnostic.related {
        excerpt(&mut out, source, *span, '-', words, paint);
    }
    if let Some(remedy) = &diagnostic.remedy {
        let _ = writeln!(out, "{}: {remedy}", paint.bold("help"));
    }
    out
}

/// The place, the source line, and a marker under the offending part (its first line only).
fn excerpt(out: &mut String, source: &Source, span: Span, mark: char, label: &str, paint: Paint) {
    let Position { line, column } = source.position(span.start);
    let end = source.position(span.end);
    let text = source.line(line);
    let last = if end.line == line { end.column } else { text.chars().count() + 1 };
    let shown = window(text, column - 1, last.max(column + 1) - 1);
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    let marker = format!("{}{} {label}", " ".repeat(shown.indent), mark.to_string().repeat(shown.width));
    let marker = if mark == '^' { paint.red(marker.trim_end()) } else { paint.blue(marker.trim_end()) };
    let _ = writeln!(out, "{gutter}{} {}:{line}:{column}", paint.blue("-->"), source.name());
    let _ = writeln!(out, "{gutter} {}", paint.blue("|"));
    let _ = writeln!(out, "{} {}", paint.blue(&format!("{number} |")), shown.text);
    let _ = writeln!(out, "{gutter} {} {marker}", paint.blue("|"));
}

/// A part of a line fit to be shown, and where the marker goes under it.
struct Shown {
    text: String,
    indent: usize,
    width: usize,
}

/// How many characters of a long line are shown before the marked part, and from its start on.
const BEFORE: usize = 70;
const AFTER: usize = 100;

fn window(line: &str, from: usize, to: usize) -> Shown {
    let first = from.saturating_sub(BEFORE);
    let mut shown = Shown { text: String::new(), indent: 0, width: 0 };
    if first > 0 {
        shown.text.push_str("...");
        shown.indent = 3;
    }
    let mut rest = line.chars().enumerate().skip(first);
    for (i, c) in rest.by_ref().take(from - first + AFTER) {
        let (piece, width) = printable(c);
        shown.text.push_str(piece.encode_utf8(&mut [0; 4]));
        match i {
            _ if i < from => shown.indent += width,
            _ if i < to => shown.width += width,
            _ => {}
        }
    }
    if rest.next().is_some() {
        shown.text.push_str("...");
    }
    shown.width = shown.width.max(1);
    shown
}

/// A character as it is shown, and how many columns it takes.
fn printable(c: char) -> (char, usize) {
    match c {
        '\t' => (' ', 1),
        _ => c.width().map_or(('\u{fffd}', 1), |width| (c, width)),
    }
}

fn json(source: &Source, diagnostic: &Diagnostic) -> String {
    let note = |kind: &str, span: Option<Span>, words: &str| {
        let place = span.map(|span| json_place(source, span) + ",").unwrap_or_default();
        format!("{{\"kind\":\"{kind}\",{place}\"message\":{}}}", quoted(words))
    };
    let label = diagnostic.label.iter().map(|words| note("label", None, words));
    let related = diagnostic.related.iter().map(|(span, words)| note("related", Some(*span), words));
    let help = diagnostic.remedy.iter().map(|words| note("help", None, words));
    let notes: Vec<String> = label.chain(related).chain(help).collect();
    let place = diagnostic.span.map(|span| json_place(source, span));
    let (severity, code) = (diagnostic.severity.name(), Some(diagnostic.code));
    json_line(severity, code, &diagnostic.message, Some(source.name()), place, &notes)
}

/// An error without a code as a JSON object on a line, with the keys of all others.
pub fn json_without_code(severity: &str, message: &str, place: Option<(&str, Position)>) -> String {
    let position = place.map(|(_, Position { line, column })| format!("\"line\":{line},\"column\":{column}"));
    json_line(severity, None, message, place.map(|(file, _)| file), position, &[])
}

/// The keys are always there; what is not known is null.
fn json_line(
    severity: &str,
    code: Option<&str>,
    message: &str,
    file: Option<&str>,
    place: Option<String>,
    notes: &[String],
) -> String {
    let text = |text: Option<&str>| text.map_or("null".into(), quoted);
    let place = place.unwrap_or_else(|| "\"line\":null,\"column\":null".into());
    format!(
        "{{\"severity\":{},\"code\":{},\"message\":{},\"file\":{},{place},\"notes\":[{}]}}\n",
        quoted(severity),
        text(code),
        quoted(message),
        text(file),
        notes.join(",")
    )
}

fn json_place(source: &Source, span: Span) -> String {
    let (start, end) = (source.position(span.start), source.position(span.end));
    format!(
        "\"line\":{},\"column\":{},\"end_line\":{},\"end_column\":{},\"start\":{},\"end\":{}",
        start.line, start.column, end.line, end.column, span.start, span.end
    )
}

/// A JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ks::syntax_error::SyntaxError;

    fn stray(text: &str, at: u32) -> (Source, Diagnostic) {
        let diagnostic = Diagnostic::from(SyntaxError::Stray(')')).at(Span { start: at, end: at + 1 });
        (Source::new("a.ks", text), diagnostic)
    }

    #[test]
    fn human_form_marks_the_text() {
        let (source, diagnostic) = stray("(a)\n\tλ )\n", 8);
        let text = render(&source, &diagnostic, Format::Human, false);
        assert_eq!(text, "error[E109]: this `)` closes nothing\n --> a.ks:2:4\n  |\n2 |  λ )\n  |    ^\n");
    }

    #[test]
    fn short_and_json() {
        let (source, diagnostic) = stray("a)", 1);
        assert_eq!(render(&source, &diagnostic, Format::Short, true), "a.ks:1:2: this `)` closes nothing\n");
        let expected = "{\"severity\":\"error\",\"code\":\"E109\",\"message\":\"this `)` closes nothing\",\
            \"file\":\"a.ks\",\"line\":1,\"column\":2,\"end_line\":1,\"end_column\":3,\"start\":1,\"end\":2,\
            \"notes\":[]}\n";
        assert_eq!(render(&source, &diagnostic, Format::Json, false), expected);
    }

    #[test]
    fn long_lines_are_cut() {
        let line = "x".repeat(500) + ")" + &"y".repeat(500);
        let (source, diagnostic) = stray(&line, 500);
        let text = render(&source, &diagnostic, Format::Human, false);
        assert!(text.lines().all(|l| l.len() < 200), "{text}");
        assert!(text.contains("...xxx"), "{text}");
    }
}
