//! Explanations of error codes, of laws and of derivatives, at length.
//!
//! The codes are explained in `errors.md`, with a wrong program and the same one put right, which the test
//! `tests/explain.rs` tries. The explanations of laws are made from their tables.

mod derivatives;
mod laws;

pub use derivatives::derivative;
pub use laws::law;

/// The explanation of an error code.
#[derive(Clone, Copy, Debug)]
pub struct Explanation {
    /// Such as `E101`.
    pub code: &'static str,
    /// A few words.
    pub title: &'static str,
    /// Paragraphs, and the examples between lines of backquotes.
    body: &'static str,
}

const TEXT: &str = include_str!("errors.md");

const FENCE: &str = "```";

/// Returns all codes, in order.
pub fn codes() -> impl Iterator<Item = Explanation> {
    let sections = TEXT.split("\n# ").map(|section| section.strip_prefix("# ").unwrap_or(section));
    sections.map(|section| {
        let (head, body) = section.split_once('\n').expect("a section has a heading and a text");
        let (code, title) = head.split_once(": ").expect("a heading has a code and a title");
        Explanation { code, title, body: body.trim() }
    })
}

/// Returns the explanation of a code, in any case: `E101`, `e101`.
pub fn code(code: &str) -> Option<Explanation> {
    codes().find(|explanation| explanation.code.eq_ignore_ascii_case(code))
}

impl Explanation {
    /// Returns a program with the error, where one can be shown.
    pub fn wrong(&self) -> Option<&'static str> {
        self.example("wrong")
    }

    /// Returns the program without it.
    pub fn right(&self) -> Option<&'static str> {
        self.example("right")
    }

    fn example(&self, kind: &str) -> Option<&'static str> {
        let (_, after) = self.body.split_once(&format!("{FENCE}{kind}\n"))?;
        let (example, _) = after.split_once(&format!("\n{FENCE}"))?;
        Some(example)
    }

    /// Returns the whole explanation as text.
    pub fn text(&self) -> String {
        let mut text = format!("{}: {}\n\n", self.code, self.title);
        let mut in_example = false;
        for line in self.body.lines() {
            match line.strip_prefix(FENCE) {
                Some("") => in_example = false,
                Some(kind) => {
                    in_example = true;
                    text.push_str(if kind == "wrong" { "Wrong:\n\n" } else { "Right:\n\n" });
                }
                None if in_example && !line.is_empty() => text.push_str(&format!("    {line}\n")),
                None => text.push_str(&format!("{line}\n")),
            }
        }
        text
    }
}
