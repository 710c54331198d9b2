//! The checker: from s-expressions to a typed program.
//!
//! First the heads of all definitions, so that definitions may refer to each other in any order,
//! then the bodies. A wrong part is reported once and becomes `None`, which no later check reports again:
//! all errors of a file are found, and no error that is but the consequence of another.

mod arguments;
mod arrays;
pub mod builtins;
mod call;
mod checked;
mod checker;
mod copies;
mod declaration;
mod declared;
mod deriv;
mod derived_call;
mod error;
mod expansions;
mod expr;
mod functions;
mod generic;
mod halves;
mod head;
mod lets;
mod literals;
pub mod names;
mod program;
mod scope;
mod second_order;
mod shapes;
mod signatures;
mod sizes;
pub mod suggest;
mod terms;
mod types;
mod typings;
pub mod written;

pub use checked::{Called, CheckOptions, Checked, Record, SizeCheck};
pub use error::{malformed, unknown_function};
pub use expansions::expansion;

use crate::ks::diagnostic::Diagnostic;
use crate::ks::reader::Sexp;
use checker::Checker;

/// Checks the forms of a file together with those of the prelude.
///
/// Errors: all that are found, in order of place.
pub fn check(forms: &[Sexp], prelude: &[Sexp], options: CheckOptions) -> Result<Checked, Vec<Diagnostic>> {
    let mut checker = Checker::new(options);
    let checked = checker.program(forms, prelude);
    let errors = each_once(checker.errors);
    if errors.is_empty() { Ok(Checked { warnings: each_once(checker.warnings), ..checked }) } else { Err(errors) }
}

/// Sorts by place. A body that is checked for several calls has its mistakes once.
fn each_once(mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let start = |e: &Diagnostic| e.span.map(|s| s.start);
    found.sort_by_key(start);
    let mut reported: Vec<Diagnostic> = Vec::new();
    for diagnostic in found {
        let here = reported.iter().rev().take_while(|other| start(other) == start(&diagnostic));
        if !here.into_iter().any(|other| *other == diagnostic) {
            reported.push(diagnostic);
        }
    }
    reported
}
