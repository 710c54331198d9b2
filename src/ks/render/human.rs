//! The form for people: the message, the source with the marked text, and what to do.

use crate::ks::diagnostic::{Diagnostic, Severity};
use crate::ks::source::{Position, Source};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use lm::lines::line_ends;
use lm::term::Span;

/// The renderer looks through all the text that it is given, so it is given no more than this many bytes.
const MOST_TEXT: usize = 1 << 16;

/// A place to be marked, and a few words.
type Mark<'a> = (AnnotationKind, Span, Option<&'a str>);

/// Returns the diagnostic with its piece of the source, in several lines.
pub fn human(source: &Source, diagnostic: &Diagnostic, colour: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(&diagnostic.message).id(diagnostic.code);
    let remedy = diagnostic.remedy.as_ref().map(|remedy| Level::HELP.message(remedy));
    let report = Group::with_title(title).elements(excerpts(source, &marks(diagnostic))).elements(remedy);
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.decor_style(DecorStyle::Ascii).render(&[report]) + "\n"
}

fn marks(diagnostic: &Diagnostic) -> Vec<Mark<'_>> {
    let primary = diagnostic.span.map(|span| (AnnotationKind::Primary, span, diagnostic.label.as_deref()));
    let related = diagnostic.related.iter().map(|(span, words)| (AnnotationKind::Context, *span, Some(&**words)));
    primary.into_iter().chain(related).collect()
}

/// Returns the lines of all places in one piece; a piece for each place where they are far apart.
fn excerpts<'a>(source: &'a Source, marks: &[Mark<'a>]) -> Vec<Element<'a>> {
    match excerpt(source, marks) {
        Some(whole) => vec![whole],
        None => marks.iter().map(|mark| excerpt(source, &[*mark]).unwrap_or_else(|| origin(source, mark.1))).collect(),
    }
}

/// Returns the lines from the first place to the last, marked; `None` where there is no place, or too much text, or
/// places are in several files.
fn excerpt<'a>(source: &'a Source, marks: &[Mark<'a>]) -> Option<Element<'a>> {
    let (file_start, file) = source.file(marks.first()?.1.start);
    if marks.iter().any(|(_, span, _)| source.file(span.start).0 != file_start) {
        return None;
    }
    let line = |offset: u32| file.position(offset - file_start).line;
    let first = marks.iter().map(|(_, span, _)| line(span.start)).min()?;
    let last = marks.iter().map(|(_, span, _)| line(span.end)).max()?;
    let bytes = file.lines(first..=last);
    if bytes.len() > MOST_TEXT {
        return None;
    }
    let text = with_line_feeds(&file.text()[bytes.clone()]);
    let offset = |at: u32| ((at - file_start) as usize).clamp(bytes.start, bytes.end) - bytes.start;
    // A place in a file that is not UTF-8 may end within a character.
    let whole = |at: &usize| text.is_char_boundary(*at);
    let annotations = marks.iter().map(|(kind, span, words)| {
        let start = (0..=offset(span.start)).rev().find(whole).unwrap_or(0);
        let end = (offset(span.end)..text.len()).find(whole).unwrap_or(text.len());
        kind.span(start..end).label(*words)
    });
    let annotations: Vec<_> = annotations.collect();
    Some(Snippet::source(text).line_start(first).path(file.name()).annotations(annotations).into())
}

/// Returns a text with a line feed for each carriage return that ends a line alone, which the renderer does not know.
fn with_line_feeds(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    line_ends(text).for_each(|i| bytes[i] = b'\n');
    String::from_utf8(bytes).expect("one character of one byte is put for another")
}

/// Returns the place without its text.
fn origin<'a>(source: &'a Source, span: Span) -> Element<'a> {
    let (file, Position { line, column }) = source.place(span.start);
    Origin::path(file).line(line).char_column(column).into()
}
