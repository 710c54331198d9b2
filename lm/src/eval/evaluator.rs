//! Holds the state of the naive evaluator.

use super::recorder::Recorder;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::term::{Program, Span};
use std::cell::{Cell, RefCell};
use std::io::Write;

/// Evaluates the terms of one program.
pub struct Evaluator<'a> {
    pub(super) program: &'a Program,
    pub(super) output: RefCell<Box<dyn Write + 'a>>,
    pub(super) depth: Cell<usize>,
    /// What is traced; none where no number has a place.
    pub(super) recorder: RefCell<Option<Recorder>>,
}

impl<'a> Evaluator<'a> {
    /// Returns an evaluator whose `print` writes to `output`.
    pub fn new(program: &'a Program, output: impl Write + 'a) -> Evaluator<'a> {
        let output = RefCell::new(Box::new(output) as Box<dyn Write + 'a>);
        Evaluator { program, output, depth: Cell::new(0), recorder: RefCell::new(None) }
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
