//! Finds where the lines of a text end.

/// Returns where lines end: a line feed, or a carriage return without a line feed behind it.
pub fn line_ends(text: &str) -> impl Iterator<Item = usize> {
    let is_end = |(i, end): &(usize, &str)| *end == "\n" || text.as_bytes().get(i + 1) != Some(&b'\n');
    text.match_indices(['\n', '\r']).filter(is_end).map(|(i, _)| i)
}
