//! Lists why a running program stops. Every evaluator and native code report these.

use crate::interp::NotFinite;
use crate::tensor::Position;
use crate::term::Span;

/// The reason why a program stopped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ErrorKind {
    /// `assert` of false.
    #[error("assertion failed")]
    AssertFailed,
    /// Integer division by zero.
    #[error("integer division of {0} by zero")]
    DivisionByZero(i64),
    /// Index outside a tensor.
    #[error("index {index} is out of range for size {size}")]
    IndexOutOfRange {
        /// The index.
        index: Position,
        /// The tensor's size.
        size: Position,
    },
    /// `build` of a negative size.
    #[error("negative size {0}")]
    NegativeSize(Position),
    /// Tensors that must have one size, and have not.
    #[error("the sizes {left} and {right} differ")]
    SizeMismatch {
        /// The size of the first.
        left: Position,
        /// The size of the second.
        right: Position,
    },
    /// A tensor with more elements than the interpreter makes room for.
    #[error("a tensor of size {0} is too large")]
    TooLarge(Position),
    /// Memory that is exhausted, in native code.
    #[error("out of memory: {asked} bytes are needed, {free} are free")]
    OutOfMemory {
        /// The bytes that were asked for.
        asked: i64,
        /// The bytes that were left.
        free: i64,
    },
    /// Calls nested deeper than the interpreter admits.
    #[error("recursion too deep: calls are nested more than {0} deep")]
    RecursionTooDeep(usize),
    /// More operators than the naive evaluator was allowed to apply.
    #[error("the evaluation takes more than {0} steps")]
    TooLong(u64),
    /// A sum over nothing whose zero has no known shape.
    #[error("the sum over nothing has no known shape; `(sumbuild w n f)` has that of `w`")]
    ShapeUnknown,
    /// A Jacobian at a recorded point, applied forwards.
    #[error("a record serves the reverse derivative only")]
    ReverseOnly,
    /// `L'` applied to a function whose support is not known to be finite.
    #[error("the sum over all Integers has no value")]
    InfiniteSum,
    /// A call of a function that is implemented elsewhere.
    #[error("`{0}` is external: only native code can call it")]
    External(String),
    /// A function that is implemented elsewhere returned a status other than 0.
    #[error("an external function failed with status {0}")]
    ExternalFailed(i64),
    /// In native code, an argument or a size that is another than the function was compiled for.
    #[error("the function was specialised for {wanted}, but called with {found}")]
    NotSpecialised {
        /// The number found.
        found: i64,
        /// The number expected.
        wanted: i64,
    },
    /// An operation whose result is not finite, where the interpreter was asked to look for it.
    #[error("{0}")]
    NotFinite(Box<NotFinite>),
    /// A call of a function that the program does not define.
    #[error("`{0}` is not defined")]
    Undefined(String),
}

/// An error of the program that runs, with the place in its source.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}")]
pub struct RuntimeError {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The place.
    pub span: Span,
}

impl RuntimeError {
    /// Returns an error whose place is not known yet.
    pub(crate) fn new(kind: ErrorKind) -> RuntimeError {
        RuntimeError { kind, span: Span::default() }
    }

    pub(crate) fn shape_unknown() -> RuntimeError {
        RuntimeError::new(ErrorKind::ShapeUnknown)
    }

    pub(crate) fn infinite_sum() -> RuntimeError {
        RuntimeError::new(ErrorKind::InfiniteSum)
    }
}
