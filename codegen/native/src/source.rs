//! Finds lines and columns in the source, for run-time errors.

use lm::lines::line_ends;
use std::sync::Arc;

/// The files that a program was read from.
#[derive(Clone, Debug)]
pub struct SourceInfo {
    name: Arc<str>,
    files: Vec<File>,
}

/// A file, whose first byte has the offset `start` among the bytes of all files.
#[derive(Clone, Debug)]
struct File {
    start: u32,
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Vec<usize>,
}

impl SourceInfo {
    /// Returns a file name as errors show it, and the text that spans point into.
    pub fn new(name: &str, text: &str) -> SourceInfo {
        SourceInfo::of_files(name, [(0, name, text)])
    }

    /// Returns the files that spans point into: the offset of the first byte of each, its name and its text. Takes them
    /// in order. The first offset is 0.
    pub fn of_files<'a>(name: &str, files: impl IntoIterator<Item = (u32, &'a str, &'a str)>) -> SourceInfo {
        let files = files.into_iter().map(|(start, name, text)| {
            let line_starts = std::iter::once(0).chain(line_ends(text).map(|i| i + 1)).collect();
            File { start, name: name.into(), text: text.into(), line_starts }
        });
        SourceInfo { name: name.into(), files: files.collect() }
    }

    /// Returns the name of the program: that of its file, or the names of all.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the file of a byte, and its line and column (in characters), both from 1.
    pub fn position(&self, offset: u32) -> (&Arc<str>, i32, i32) {
        let file = &self.files[self.files.partition_point(|file| file.start <= offset) - 1];
        let offset = ((offset - file.start) as usize).min(file.text.len());
        let line = file.line_starts.partition_point(|&start| start <= offset);
        let start = file.line_starts[line - 1];
        let column = 1 + file.text[start..].char_indices().take_while(|(i, _)| start + i < offset).count();
        (&file.name, line as i32, column as i32)
    }
}

/// A program that was read from nowhere.
impl Default for SourceInfo {
    fn default() -> SourceInfo {
        SourceInfo::new("", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_in_errors_of_the_compiler() {
        for text in ["a\nbc", "a\rbc", "a\r\nbc"] {
            let info = SourceInfo::new("f.ks", text);
            let (file, line, column) = info.position(text.len() as u32 - 1);
            assert_eq!((&**file, line, column), ("f.ks", 2, 2), "{text:?}");
        }
    }
}
