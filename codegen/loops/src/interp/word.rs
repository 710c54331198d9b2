//! Words: what a local or a cell of memory holds.

use crate::ir::{Scalar, Ty};

/// The number of an object of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub(super) u32);

/// The value of a local or of a cell of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Word {
    /// Not yet set.
    Unset,
    /// A Float.
    Float(f64),
    /// An Integer.
    Integer(i64),
    /// A Bool.
    Bool(bool),
    /// The number of a text.
    Text(u32),
    /// An address in the arena.
    Mark(u64),
    /// An address, and the object that it was made for.
    Buffer(ObjectId, u64),
}

impl Word {
    /// The address that `zero` writes into a buffer of buffers.
    pub const NULL: Word = Word::Buffer(ObjectId(0), 0);

    /// Returns the word that `zero` writes into a buffer with elements of a type.
    ///
    /// Errors: texts have no zero.
    pub(super) fn zero(ty: Ty) -> Result<Word, String> {
        match ty.as_scalar() {
            None => Ok(Word::NULL),
            Some(Scalar::Float) => Ok(Word::Float(0.0)),
            Some(Scalar::Integer) => Ok(Word::Integer(0)),
            Some(Scalar::Bool) => Ok(Word::Bool(false)),
            Some(Scalar::Text | Scalar::Mark) => Err(format!("{ty} has no zero")),
        }
    }

    /// Returns whether the word is a value of a type.
    pub(super) fn is(self, ty: Ty) -> bool {
        match self {
            Word::Unset => false,
            Word::Float(_) => ty == Scalar::Float.ty(),
            Word::Integer(_) => ty == Scalar::Integer.ty(),
            Word::Bool(_) => ty == Scalar::Bool.ty(),
            Word::Text(_) => ty == Scalar::Text.ty(),
            Word::Mark(_) => ty == Scalar::Mark.ty(),
            Word::Buffer(..) => ty.as_scalar().is_none(),
        }
    }

    /// The Integer. Errors: it is none.
    pub(super) fn integer(self) -> Result<i64, String> {
        match self {
            Word::Integer(i) => Ok(i),
            other => Err(format!("{other:?} where an Integer belongs")),
        }
    }

    /// The Bool. Errors: it is none.
    pub(super) fn boolean(self) -> Result<bool, String> {
        match self {
            Word::Bool(b) => Ok(b),
            other => Err(format!("{other:?} where a Bool belongs")),
        }
    }

    /// The address of a mark. Errors: it is none.
    pub(super) fn mark(self) -> Result<u64, String> {
        match self {
            Word::Mark(m) => Ok(m),
            other => Err(format!("{other:?} where a mark belongs")),
        }
    }

    /// The object and the address of a buffer. Errors: it is none.
    pub(super) fn buffer(self) -> Result<(ObjectId, u64), String> {
        match self {
            Word::Buffer(object, address) => Ok((object, address)),
            other => Err(format!("{other:?} where a buffer belongs")),
        }
    }

    /// Returns whether two words are the same to the bit; any two NaNs are.
    pub fn same(self, other: Word) -> bool {
        match (self, other) {
            (Word::Float(a), Word::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (a, b) => a == b,
        }
    }
}
