//! Warns of calls that fail whenever they run, as their literals show.
//!
//! ```text
//!     (index -1 v)     (div x 0)
//! ```
//!
//! Such a program is legal: it may never run the call.

use crate::ks::check::checker::Checker;
use crate::ks::check::error;
use crate::ks::diagnostic::Diagnostic;
use lm::prim::Prim;
use lm::term::{Constant, Expr, Kind, Op, Span};

impl Checker {
    /// Warns of a call of a primitive that the user wrote; `span` is nowhere for those of the prelude.
    pub(super) fn warn_of_literals(&mut self, prim: Prim, args: &[Expr], span: Span) {
        if self.expansion.is_none() && span != Span::default() {
            self.warnings.extend(failure(prim, args));
        }
    }
}

fn failure(prim: Prim, args: &[Expr]) -> Option<Diagnostic> {
    match (prim, args) {
        (Prim::Index, [index, _]) => {
            let (wrong, n) = integers(index).into_iter().find(|(_, n)| *n < 0)?;
            Some(error::negative_index(n).at(wrong))
        }
        (Prim::Div, [_, divisor]) => match integers(divisor).as_slice() {
            [(zero, 0)] => Some(error::division_by_zero().at(*zero)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the Integer that a literal is, or those in a tuple of literals, each with its place.
fn integers(e: &Expr) -> Vec<(Span, i64)> {
    match e.kind() {
        Kind::Const(Constant::Integer(n)) => vec![(e.span(), *n)],
        Kind::App(Op::Tuple, parts) => parts.iter().flat_map(integers).collect(),
        _ => Vec::new(),
    }
}
