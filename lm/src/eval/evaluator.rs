//! Holds the state of the naive evaluator.

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

impl<'a> Evaluator<'a> {
    /// Returns an evaluator whose `print` writes to `output`.
    pub fn new(program: &'a Program, output: impl Write + 'a) -> Evaluator<'a> {
        Evaluator { program, output: RefCell::new(Box::new(output)), depth: Cell::new(0) }
    }
}

/// Returns an error whose place is not known yet.
pub(super) fn fail<T>(kind: ErrorKind) -> Result<T, RuntimeError> {
    Err(RuntimeError { kind, span: Span::default() })
}

/// Returns the error, at a place if it has none.
pub(super) fn located(error: RuntimeError, span: Span) -> RuntimeError {
    if error.span == Span::default() { RuntimeError { span, ..error } } else { error }
}
