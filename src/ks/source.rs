//! Source texts: a name, a text, and where its lines start. The text of a program may be that of several files.
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
    /// The files that make up the text, each with the offset where it starts; empty for a single file.
    files: Vec<(u32, Source)>,
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
        Source { name: name.into(), text: text.into(), line_starts, files: Vec::new() }
    }

    /// Reads the files of one program.
    ///
    /// Errors: those of [`Source::read`]; all files together have 4 GiB or more.
    pub fn read_all(paths: &[String]) -> Result<Source, Box<Unreadable>> {
        let mut files = paths.iter().map(|path| Source::read(path)).collect::<Result<Vec<Source>, _>>()?;
        if files.len() == 1 {
            return Ok(files.remove(0));
        }
        let name = files.iter().map(Source::name).collect::<Vec<_>>().join(", ");
        let size: u64 = files.iter().map(|file| file.text.len() as u64 + 1).sum();
        if u32::try_from(size).is_err() {
            return Err(Unreadable::without_text(&name, SourceError::TooLarge(name.clone(), size)));
        }
        Ok(Source::concatenated(&name, files))
    }

    /// Returns the texts of several files as one. Each file ends with a line feed.
    fn concatenated(name: &str, files: Vec<Source>) -> Source {
        let mut text = String::new();
        let mut placed = Vec::new();
        for file in files {
            let start = text.len() as u32;
            text.push_str(&file.text);
            text.push('\n');
            placed.push((start, file));
        }
        Source { files: placed, ..Source::new(name, &text) }
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

    /// Returns the files that make up the text, in order, each with the offset where it starts.
    pub fn files(&self) -> impl Iterator<Item = (u32, &Source)> {
        let alone = self.files.is_empty().then_some((0, self));
        alone.into_iter().chain(self.files.iter().map(|(start, file)| (*start, file)))
    }

    /// Returns the file that has a byte, and the offset where the file starts.
    pub fn file(&self, offset: u32) -> (u32, &Source) {
        match self.files.partition_point(|(start, _)| *start <= offset) {
            0 => (0, self),
            n => (self.files[n - 1].0, &self.files[n - 1].1),
        }
    }

    /// Returns the name of the file that has a byte, and the position in that file.
    pub fn place(&self, offset: u32) -> (&str, Position) {
        let (start, file) = self.file(offset);
        (&file.name, file.position(offset - start))
    }

    /// Returns the line and column of a byte in its file; of the end, when the offset lies beyond it.
    pub fn position(&self, offset: u32) -> Position {
        if !self.files.is_empty() {
            return self.place(offset).1;
        }
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
    fn places_are_in_files() {
        let files = vec![Source::new("a.ks", "ab\ncd"), Source::new("b.ks", ""), Source::new("c.ks", "e\nf")];
        let source = Source::concatenated("a.ks, b.ks, c.ks", files);
        assert_eq!(source.text(), "ab\ncd\n\ne\nf\n");
        assert_eq!(source.place(4), ("a.ks", Position { line: 2, column: 2 }));
        assert_eq!(source.place(5), ("a.ks", Position { line: 2, column: 3 }));
        assert_eq!(source.place(6), ("b.ks", Position { line: 1, column: 1 }));
        assert_eq!(source.place(9), ("c.ks", Position { line: 2, column: 1 }));
        assert_eq!(source.files().map(|(start, _)| start).collect::<Vec<_>>(), [0, 6, 7]);
        let alone = Source::new("d.ks", "x");
        assert_eq!(alone.place(0), ("d.ks", Position { line: 1, column: 1 }));
        assert_eq!(alone.files().count(), 1);
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
