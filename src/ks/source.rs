//! Source texts: a name, a text, and where its lines start. The text of a program may be that of several files.
//!
//! Offsets are bytes, as in [`Span`]; people are shown lines and columns, both from 1, columns
//! counted in characters.

use crate::ks::diagnostic::Diagnostic;
use lm::lines::line_ends;
use lm::term::Span;
use std::fs::File;
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

/// The size of the largest program. Devices without an end are read so far.
const MOST_BYTES: u64 = 1 << 28;

/// The reasons why a file cannot be read, each with the file's name.
enum SourceError {
    Missing(String),
    Directory(String),
    /// The operating system refuses for another reason.
    Refused(String, String),
    /// The first byte that is wrong, and its offset.
    NotUtf8(String, u8, usize),
    /// The text has more than [`MOST_BYTES`].
    TooLarge(String),
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
            E::TooLarge(path) => {
                Diagnostic::error("E005", format!("`{path}` is too large: a program has at most {MOST_BYTES} bytes"))
                    .remedy("a file of this size is most likely no program")
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
    /// Errors: those of [`Source::read`]; all files together are too large.
    pub fn read_all(paths: &[String]) -> Result<Source, Box<Unreadable>> {
        let mut files = paths.iter().map(|path| Source::read(path)).collect::<Result<Vec<Source>, _>>()?;
        if files.len() == 1 {
            return Ok(files.remove(0));
        }
        let name = files.iter().map(Source::name).collect::<Vec<_>>().join(", ");
        let size: u64 = files.iter().map(|file| file.text.len() as u64 + 1).sum();
        if size > MOST_BYTES {
            return Err(Unreadable::without_text(&name, SourceError::TooLarge(name.clone())));
        }
        Ok(Source::concatenated(&name, files))
    }

    /// Returns the texts of several files as one. Each file ends with a line feed.
    pub fn concatenated(name: &str, files: Vec<Source>) -> Source {
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

    /// Returns the text with another one behind it, which is a file of its own.
    pub fn followed_by(&self, other: Source) -> Source {
        let start = self.text.len() as u32;
        let files = self.files().map(|(start, file)| (start, file.clone())).chain([(start, other.clone())]).collect();
        Source { files, ..Source::new(&self.name, &format!("{}{}", self.text, other.text)) }
    }

    /// Reads a file, or standard input when the path is `-`.
    ///
    /// Errors: no such file, a directory, no permission, not UTF-8, too large.
    pub fn read(path: &str) -> Result<Source, Box<Unreadable>> {
        let (name, bytes) = match path {
            "-" => ("<stdin>", read_most(std::io::stdin().lock())),
            _ => (path, File::open(path).and_then(read_most)),
        };
        let bytes = bytes.map_err(|error| Unreadable::without_text(name, refusal(path, &error)))?;
        Source::from_bytes(name, bytes)
    }

    /// Returns the text that `bytes` hold.
    ///
    /// Errors: not UTF-8, too large.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Source, Box<Unreadable>> {
        if bytes.len() as u64 > MOST_BYTES {
            return Err(Unreadable::without_text(name, SourceError::TooLarge(name.into())));
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

/// Reads to the end, or so far that the text is too large.
fn read_most(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn refusal(path: &str, error: &std::io::Error) -> SourceError {
    match error.kind() {
        ErrorKind::NotFound => SourceError::Missing(path.into()),
        ErrorKind::IsADirectory => SourceError::Directory(path.into()),
        _ => SourceError::Refused(path.into(), error.to_string()),
    }
}
