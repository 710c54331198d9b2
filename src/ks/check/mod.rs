//! The checker: from s-expressions to a typed program.
//!
//! First the heads of all definitions, so that definitions may refer to each other in any order,
//! then the bodies. What is wrong is reported once and becomes `None`, which nobody judges again:
//! all errors of a file are found, and no error that is but the consequence of another.

mod arguments;
mod arrays;
mod builtins;
mod call;
mod checked;
mod checker;
mod copies;
mod declaration;
mod derived_call;
mod error;
mod expr;
mod functions;
mod generic;
mod halves;
mod head;
mod lets;
mod names;
mod program;
mod scope;
mod second_order;
mod signatures;
mod suggest;
mod terms;
mod types;
mod written;

pub use checked::{CheckOptions, Checked, Record};

use crate::ks::diagnostic::Diagnostic;
use crate::ks::reader::Sexp;
use checker::Checker;

/// Checks the forms of a file together with those of the prelude.
///
/// Errors: all that are found, in order of place.
pub fn check(forms: &[Sexp], prelude: &[Sexp], options: CheckOptions) -> Result<Checked, Vec<Diagnostic>> {
    let mut checker = Checker::new(options);
    let checked = checker.program(forms, prelude);
    let mut errors = checker.errors;
    errors.sort_by_key(|e| e.span.map(|s| s.start));
    // A body that is looked at for several calls has its errors once.
    let mut reported: Vec<Diagnostic> = Vec::new();
    errors.retain(|e| {
        !reported.contains(e) && {
            reported.push(e.clone());
            true
        }
    });
    if errors.is_empty() { Ok(checked) } else { Err(errors) }
}

#[cfg(test)]
mod tests;
