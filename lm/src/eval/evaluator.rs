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
    /// The operators that may be applied, and those that are left of them.
    longest: u64,
    left: Cell<u64>,
    /// Whether a sum over nothing was left out of an addition.
    pub(super) has_left_out: Cell<bool>,
    /// What is traced; none where no number has a place.
    pub(super) recorder: RefCell<Option<Recorder>>,
}

impl<'a> Evaluator<'a> {
    /// Returns an evaluator whose `print` writes to `output`.
    pub fn new(program: &'a Program, output: impl Write + 'a) -> Evaluator<'a> {
        let output = RefCell::new(Box::new(output) as Box<dyn Write + 'a>);
        let (depth, left, has_left_out) = (Cell::new(0), Cell::new(u64::MAX), Cell::new(false));
        let recorder = RefCell::new(None);
        Evaluator { program, output, depth, longest: u64::MAX, left, has_left_out, recorder }
    }

    /// Returns the evaluator, which stops after so many applications of operators and of linear maps. Maps that are made
    /// of one map twice are applied along every path, which takes exponentially long.
    pub fn stopping_after(self, steps: u64) -> Evaluator<'a> {
        Evaluator { longest: steps, left: Cell::new(steps), ..self }
    }

    /// Returns how many operators and linear maps were applied.
    pub fn steps(&self) -> u64 {
        self.longest - self.left.get()
    }

    /// Returns whether a sum over nothing that has no known shape was left out of an addition.
    pub fn has_left_out(&self) -> bool {
        self.has_left_out.get()
    }

    /// Counts an application of an operator.
    ///
    /// Errors: there were too many.
    pub(super) fn step(&self) -> Result<(), RuntimeError> {
        match self.left.get().checked_sub(1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => fail(ErrorKind::TooLong(self.longest)),
        }
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
