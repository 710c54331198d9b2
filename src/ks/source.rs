//! Source texts: a name, a text, and where its lines start.
//!
//! Offsets are bytes, as in [`Span`]; people are shown lines and columns, both from 1, columns
//! counted in characters.

use crate::ks::diagnostic::Diagnostic;
use lm::term::Span;
use std::io::{ErrorKind, Read};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// A text and the name people know it by.
#[derive(Clone, Debug)]
pub struct Source {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Vec<usize>,
}

/// A line and a column, both from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// The reasons why a file cannot be read, each with the file's name.
enum SourceError {
    Missing(String),
    Directory(String),
    /// The operating system refuses for another reason.
    Refused(String, String),
    /// The first byte that is wrong, and its offset.
    NotUtf8(String, u8, usize),
    /// The text has so many bytes that places in it do not fit a [`Span`].
    TooLarge(String, u64),
}

impl From<SourceError> for Diagnostic {
    fn from(error: SourceError) -> Diagnostic {
        use SourceError as E;
        match error {
            E::Missing(path) => Diagnostic::error("E001", format!("cannot read `{path}`: there is no such file")),
            E::Directory(path) => Diagnostic::error("E002", format!("cannot read `{path}`: it is a directory"))
                .remedy("name a file in it, or `-` for standard input"),
            E::Refused(path, why) => Diagnostic::error("E003", format!("cannot read `{path}`: {why}")),
            E::NotUtf8(path, byte, at) => {
                Diagnostic::error("E004", format!("`{path}` is not UTF-8: byte {byte:#04x} at offset {at}"))
                    .remedy("save the file with the encoding UTF-8")
            }
            E::TooLarge(path, size) => {
                Diagnostic::error("E005", format!("`{path}` is too large: {size} bytes, where the limit is 4294967295"))
                    .remedy("split the program into several files")
            }
        }
    }
}

/// A file that could not be read: its readable part, and the error.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// The text as far as it could be read (for a file that is not UTF-8), else empty.
    pub source: Source,
    /// The error.
    pub diagnostic: Diagnostic,
}

impl Source {
    /// Returns a source with a given text.
    pub fn new(name: &str, text: &str) -> Source {
        let line_starts = std::iter::once(0).chain(line_ends(text).map(|i| i + 1)).collect();
        Source { name: name.into(), text: text.into(), line_starts }
    }

    /// Reads a file, or standard input when the path is `-`.
    ///
    /// Errors: no such file, a directory, no permission, not UTF-8, 4 GiB or more.
    pub fn read(path: &str) -> Result<Source, Box<Unreadable>> {
        let (name, bytes) = match path {
            "-" => ("<stdin>", read_stdin()),
            _ => (path, std::fs::read(path)),
        };
        let bytes = bytes.map_err(|error| Unreadable::without_text(name, refusal(path, &error)))?;
        Source::from_bytes(name, bytes)
    }

    /// Returns the text that `bytes` hold.
    ///
    /// Errors: not UTF-8, 4 GiB or more.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Source, Box<Unreadable>> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(Unreadable::without_text(name, SourceError::TooLarge(name.into(), bytes.len() as u64)));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source::new(name, &text)),
            Err(error) => Err(Unreadable::not_utf8(name, error.as_bytes(), error.utf8_error().valid_up_to())),
        }
    }

    /// Returns the name, such as a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the line and column of a byte; of the end, when the offset lies beyond it.
    pub fn position(&self, offset: u32) -> Position {
        let offset = (offset as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts[line - 1];
        let column = 1 + self.text[start..].char_indices().take_while(|(i, _)| start + i < offset).count();
        Position { line, column }
    }

    /// Returns the bytes of some lines, which count from 1, without the end of the last.
    pub fn lines(&self, lines: RangeInclusive<usize>) -> Range<usize> {
        let start = |line: usize| self.line_starts.get(line - 1).copied();
        let end = start(lines.end() + 1).map_or(self.text.len(), |next| next - 1);
        start(*lines.start()).unwrap_or(end)..end
    }
}

/// Returns where lines end: a line feed, or a carriage return without a line feed behind it.
pub(super) fn line_ends(text: &str) -> impl Iterator<Item = usize> {
    let is_end = |(i, end): &(usize, &str)| *end == "\n" || text.as_bytes().get(i + 1) != Some(&b'\n');
    text.match_indices(['\n', '\r']).filter(is_end).map(|(i, _)| i)
}

impl Unreadable {
    fn without_text(name: &str, error: SourceError) -> Box<Unreadable> {
        let diagnostic = error.into();
        Box::new(Unreadable { source: Source::new(name, ""), diagnostic })
    }

    fn not_utf8(name: &str, bytes: &[u8], valid: usize) -> Box<Unreadable> {
        let source = Source::new(name, &String::from_utf8_lossy(bytes));
        let place = Span { start: valid as u32, end: valid as u32 + 1 };
        let diagnostic = Diagnostic::from(SourceError::NotUtf8(name.into(), bytes[valid], valid)).at(place);
        Box::new(Unreadable { source, diagnostic })
    }
}

fn read_stdin() -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn refusal(path: &str, error: &std::io::Error) -> SourceError {
    match error.kind() {
        ErrorKind::NotFound => SourceError::Missing(path.into()),
        ErrorKind::IsADirectory => SourceError::Directory(path.into()),
        _ => SourceError::Refused(path.into(), error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let source = Source::new("a.ks", "ab\nλx y\n");
        assert_eq!(source.position(0), Position { line: 1, column: 1 });
        assert_eq!(source.position(2), Position { line: 1, column: 3 });
        assert_eq!(source.position(6), Position { line: 2, column: 3 });
        assert_eq!(source.position(99), Position { line: 3, column: 1 });
        assert_eq!(&source.text()[source.lines(2..=2)], "λx y");
        assert_eq!(&source.text()[source.lines(1..=3)], "ab\nλx y\n");
    }

    #[test]
    fn lines_may_end_with_a_carriage_return() {
        let source = Source::new("a.ks", "ab\rc\r\nd\re");
        let lines: Vec<&str> = (1..=4).map(|line| source.text()[source.lines(line..=line)].trim_end()).collect();
        assert_eq!(lines, ["ab", "c", "d", "e"]);
        assert_eq!(source.position(7), Position { line: 3, column: 2 });
    }

    #[test]
    fn unreadable_files_say_why() {
        let message = |path: &str| Source::read(path).expect_err("unreadable").diagnostic.to_string();
        assert_eq!(message("/no/such/file.ks"), "cannot read `/no/such/file.ks`: there is no such file");
        assert_eq!(message("/"), "cannot read `/`: it is a directory");
        let garbage = Source::from_bytes("x.ks", b"(def\n\xff".to_vec()).expect_err("not UTF-8");
        assert_eq!(garbage.diagnostic.to_string(), "`x.ks` is not UTF-8: byte 0xff at offset 5");
    }
}
