//! Defines the statements on buffers and on the arena.
//!
//! The arena is a stack: `alloc` takes from its top, `release` puts the top back to a mark. What is above the mark may
//! then be overwritten by the next `alloc`, and is intact until then: so a result that lies there is moved down after
//! the release. Several results may lie in any order, and be nested. They are copied to the top first, as one piece.
//! The piece then slides down, and the addresses in it are adjusted.

use super::{Local, Operand};
use lm::term::Span;

/// A statement on memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// `x = alloc n`: a buffer of n elements, not set.
    Alloc {
        /// The buffer.
        buffer: Local,
        /// The number of elements, not negative.
        count: Operand,
        /// The place of an error in the source.
        span: Span,
    },
    /// `x = stack n`: a buffer of n elements, not set, on the stack of the function: another one, or the same, each
    /// time. n is a number.
    Stack(Local, Operand),
    /// `zero b[0..n]`: the first n elements are zero.
    Zero(Operand, Operand),
    /// `x = load b[i]`.
    Load(Local, Operand, Operand),
    /// `store b[i] = a`.
    Store(Operand, Operand, Operand),
    /// `add b[i] += a`, of Floats or Integers.
    Add(Operand, Operand, Operand),
    /// `x = b[i..]`: the same buffer from element i on.
    View(Local, Operand, Operand),
    /// `x = b as T`: the same words as elements of another type.
    Cast(Local, Operand),
    /// `move b[0..n] <- a[0..n]`; the two may overlap.
    Move {
        /// The buffer that is written.
        to: Operand,
        /// The buffer that is read.
        from: Operand,
        /// The number of elements.
        count: Operand,
    },
    /// `m = mark`: the top of the arena.
    Mark(Local),
    /// `release m`: puts the top back.
    Release(Operand),
    /// `x = b above m`: whether the buffer lies between the mark and the top.
    Above(Local, Operand, Operand),
    /// `x = b before c`: whether the buffer's address is less than the other's.
    Before(Local, Operand, Operand),
    /// `d = slide p to m`: what lies between p and the top moves down to m; d is the distance in bytes.
    Slide(Local, Operand, Operand),
    /// `x = b after slide p by d`: where the buffer is now, if it slid.
    Slid {
        /// The buffer's new address.
        target: Local,
        /// The old one.
        buffer: Operand,
        /// The mark where the piece began.
        piece: Operand,
        /// The distance.
        distance: Operand,
    },
}
