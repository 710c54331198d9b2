//! The canonical layout of KS text.
//!
//! ```text
//! text --tree--> s-expressions with comments and paragraphs --layout--> text
//! ```
//!
//! The layout depends on the tokens, on the comments (whether each has a line of its own) and on the empty
//! lines between bindings and around comments. No other white space matters. Literals and comments stay as written,
//! but for blanks at the end of a `;` comment.

mod layout;
mod style;
mod tree;

use crate::ks::diagnostic::Diagnostic;
use crate::ks::reader::read;

/// Lines are not longer, where they can be broken.
pub const WIDTH: usize = 100;

/// Returns the text in its canonical layout, which is a fixed point: formatting it again changes nothing.
///
/// Call it under [`with_large_stack`](crate::with_large_stack).
///
/// Errors: those of the reader. What the text means, and whether it is a program, does not matter.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let errors = read(text).errors;
    if errors.is_empty() { Ok(layout::layout(&tree::tree(text), WIDTH)) } else { Err(errors) }
}
