//! The parts of `docs/bound.md` that are computed: each between two comments that name it.

use std::fs;
use std::path::PathBuf;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/bound.md")
}

/// What stands before the part, the part, and what stands after it.
fn around(name: &str) -> [String; 3] {
    let text = fs::read_to_string(path()).expect("the page can be read");
    let (start, end) = (format!("<!-- computed: {name} -->\n"), format!("<!-- end: {name} -->\n"));
    let from = text.find(&start).unwrap_or_else(|| panic!("the page has no {start}")) + start.len();
    let to = text.find(&end).unwrap_or_else(|| panic!("the page has no {end}"));
    [&text[..from], &text[from..to], &text[to..]].map(String::from)
}

/// A part as it stands in the page.
pub fn part(name: &str) -> String {
    let [_, part, _] = around(name);
    part.trim_matches('\n').to_string() + "\n"
}

/// Puts a part into the page.
pub fn replace(name: &str, part: &str) {
    let [before, _, after] = around(name);
    fs::write(path(), format!("{before}\n{}\n\n{after}", part.trim_matches('\n'))).expect("the page can be written");
}
