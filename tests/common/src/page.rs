//! The parts of pages of `docs/` that are computed: each between two comments that name it.

use super::files;
use std::fs;
use std::path::PathBuf;

fn path(page: &str) -> PathBuf {
    files::path(&format!("docs/{page}.md"))
}

/// Splits a page into the text before a part, the part, and the text after it.
fn around(page: &str, name: &str) -> [String; 3] {
    let text = fs::read_to_string(path(page)).expect("the page can be read");
    let (start, end) = (format!("<!-- computed: {name} -->\n"), format!("<!-- end: {name} -->\n"));
    let from = text.find(&start).unwrap_or_else(|| panic!("the page has no {start}")) + start.len();
    let to = text.find(&end).unwrap_or_else(|| panic!("the page has no {end}"));
    [&text[..from], &text[from..to], &text[to..]].map(String::from)
}

/// Returns a part of a page.
pub fn part(page: &str, name: &str) -> String {
    let [_, part, _] = around(page, name);
    part.trim_matches('\n').to_string() + "\n"
}

/// Puts a part into a page.
pub fn replace(page: &str, name: &str, part: &str) {
    let [before, _, after] = around(page, name);
    fs::write(path(page), format!("{before}\n{}\n\n{after}", part.trim_matches('\n')))
        .expect("the page can be written");
}
