//! What the evaluator holds. Its methods are in the other files, by what they evaluate.

use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::term::{Program, Span};
use std::cell::{Cell, RefCell};
use std::io::Write;

/// Evaluates the terms of one program.
pub struct Evaluator<'a> {
    pub(super) program: &'a Program,
    pub(super) output: RefCell<Box<dyn Write + 'a>>,
    pub(super) depth: Cell<usize>,
}

/// Returns an error without a place.
pub(super) fn fail<T>(kind: ErrorKind) -> Result<T, RuntimeError> {
    Err(RuntimeError { kind, span: Span::default() })
}
