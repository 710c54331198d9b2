//! Defines the types of locals.

use super::Operand;

/// A type that is not a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// IEEE binary64.
    Float,
    /// 64-bit two's complement.
    Integer,
    /// One bit, or a byte in a buffer.
    Bool,
    /// The address of NUL-terminated UTF-8 text that lives as long as the code.
    Text,
    /// How far the arena was filled at some time.
    Mark,
}

impl Scalar {
    /// Returns the type of a local that holds one.
    pub const fn ty(self) -> Ty {
        Ty { scalar: self, depth: 0 }
    }
}

/// A scalar, or a buffer of what is in turn a scalar or a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ty {
    scalar: Scalar,
    depth: u16,
}

impl Ty {
    /// Returns the type of buffers with elements of this type.
    pub fn buffer(self) -> Ty {
        Ty { depth: self.depth.checked_add(1).expect("types are not nested so deep"), ..self }
    }

    /// Returns the type of a buffer's elements.
    pub fn element(self) -> Option<Ty> {
        self.depth.checked_sub(1).map(|depth| Ty { depth, ..self })
    }

    /// Returns the scalar, when it is one.
    pub fn as_scalar(self) -> Option<Scalar> {
        (self.depth == 0).then_some(self.scalar)
    }

    /// Returns the zero of numbers of this type.
    pub fn zero(self) -> Option<Operand> {
        match self.as_scalar()? {
            Scalar::Float => Some(Operand::Float(0.0)),
            Scalar::Integer => Some(Operand::Integer(0)),
            Scalar::Bool | Scalar::Text | Scalar::Mark => None,
        }
    }

    /// Returns the scalar that a buffer holds in the end.
    pub fn base(self) -> Scalar {
        self.scalar
    }

    /// Returns the bytes that an element of this type takes in a buffer.
    pub fn bytes(self) -> u64 {
        if self == Scalar::Bool.ty() { 1 } else { 8 }
    }
}
