//! The form for programs: one JSON object per line. All keys are always present; unknown values are null.

use crate::ks::diagnostic::Diagnostic;
use crate::ks::source::{Position, Source};
use lm::term::Span;
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    severity: &'a str,
    code: Option<&'a str>,
    message: &'a str,
    file: Option<&'a str>,
    #[serde(flatten)]
    place: Place,
    notes: Vec<Note<'a>>,
}

#[derive(Serialize)]
struct Note<'a> {
    kind: &'static str,
    /// The file of the place, if the diagnostic is about another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(flatten)]
    place: Option<Place>,
    message: &'a str,
}

/// A place in a file: lines and columns count from 1, bytes from 0.
#[derive(Default, Serialize)]
struct Place {
    line: Option<usize>,
    column: Option<usize>,
    #[serde(flatten)]
    extent: Option<Extent>,
}

#[derive(Serialize)]
struct Extent {
    end_line: usize,
    end_column: usize,
    start: u32,
    end: u32,
}

/// Returns the diagnostic as one line.
pub fn json(source: &Source, diagnostic: &Diagnostic) -> String {
    let place = |span: Span| Place::of(source, span);
    let file = |span: Span| source.file(span.start).1.name();
    let own = diagnostic.span.map_or(source.name(), file);
    let note = |kind: &'static str, span: Option<Span>, message| Note {
        kind,
        file: span.map(file).filter(|file| *file != own),
        place: span.map(place),
        message,
    };
    let label = diagnostic.label.iter().map(|words| note("label", None, words));
    let related = diagnostic.related.iter().map(|(span, words)| note("related", Some(*span), words));
    let help = diagnostic.remedy.iter().map(|words| note("help", None, words));
    line_json(&Line {
        severity: diagnostic.severity.name(),
        code: Some(diagnostic.code),
        message: &diagnostic.message,
        file: Some(own),
        place: diagnostic.span.map(place).unwrap_or_default(),
        notes: label.chain(related).chain(help).collect(),
    })
}

/// Returns an error without a code as one line, with the keys of all others.
pub fn json_without_code(severity: &str, message: &str, place: Option<(&str, Position)>) -> String {
    let (file, position) = place.unzip();
    let (line, column) = position.map(|Position { line, column }| (line, column)).unzip();
    line_json(&Line {
        severity,
        code: None,
        message,
        file,
        place: Place { line, column, extent: None },
        notes: Vec::new(),
    })
}

impl Place {
    fn of(source: &Source, span: Span) -> Place {
        let (file_start, file) = source.file(span.start);
        let bytes = Span { start: span.start - file_start, end: span.end - file_start };
        let (start, end) = (file.position(bytes.start), file.position(bytes.end));
        let extent = Extent { end_line: end.line, end_column: end.column, start: bytes.start, end: bytes.end };
        Place { line: Some(start.line), column: Some(start.column), extent: Some(extent) }
    }
}

fn line_json(line: &Line) -> String {
    serde_json::to_string(line).expect("texts and numbers have a JSON form") + "\n"
}
