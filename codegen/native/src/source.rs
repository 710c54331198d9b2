//! Finds lines and columns in the source, for run-time errors.

use std::sync::Arc;

/// The file that a program was read from.
#[derive(Clone, Debug)]
pub struct SourceInfo {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Vec<usize>,
}

impl SourceInfo {
    /// Returns a file name as errors show it, and the text that spans point into.
    pub fn new(name: &str, text: &str) -> SourceInfo {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        SourceInfo { name: name.into(), text: text.into(), line_starts }
    }

    /// Returns the file name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the line and the column (in characters) of a byte, both from 1.
    pub fn position(&self, offset: u32) -> (i32, i32) {
        let offset = (offset as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let before = self.text[self.line_starts[line - 1]..].char_indices();
        let column = 1 + before.take_while(|(i, _)| self.line_starts[line - 1] + i < offset).count();
        (line as i32, column as i32)
    }
}

/// A program that was read from nowhere.
impl Default for SourceInfo {
    fn default() -> SourceInfo {
        SourceInfo::new("", "")
    }
}
