//! Shows diagnostics: to people, to editors (`short`), to programs (`json`).

mod human;
mod json;

pub use json::json_without_code;

use crate::ks::diagnostic::Diagnostic;
use crate::ks::source::{Position, Source};
use lm::term::Span;

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

/// Returns one diagnostic as text, with a line feed at its end.
///
/// Colour (ANSI) only touches the human form.
pub fn render(source: &Source, diagnostic: &Diagnostic, format: Format, colour: bool) -> String {
    match format {
        Format::Human => human::human(source, diagnostic, colour),
        Format::Short => format!("{}: {diagnostic}\n", place(source, diagnostic.span)),
        Format::Json => json::json(source, diagnostic),
    }
}

/// Returns all diagnostics as text, with an empty line between those for people.
pub fn render_all(source: &Source, diagnostics: &[Diagnostic], format: Format, colour: bool) -> String {
    let separator = if format == Format::Human { "\n" } else { "" };
    let texts: Vec<String> = diagnostics.iter().map(|d| render(source, d, format, colour)).collect();
    texts.join(separator)
}

fn place(source: &Source, span: Option<Span>) -> String {
    match span {
        Some(span) => {
            let (file, Position { line, column }) = source.place(span.start);
            format!("{file}:{line}:{column}")
        }
        None => source.name().into(),
    }
}
