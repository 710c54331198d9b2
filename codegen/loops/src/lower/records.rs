//! Lowers records: the first half of the reverse derivative of a recursive function keeps them for the second half.
//!
//! A record is a row of words in the arena, one for each component of what it was made of; a record in a record is one
//! word. The memory of a record, and of the tensors in it, must not move, and must stay until the record has been used.
//! So a scope whose value holds a record takes back nothing, and leaves that to the scope around it.

use super::body::Body;
use super::value::Val;
use crate::error::Error;
use crate::ir::{Memory, Operand, Scalar, Stmt, Ty};
use lm::types::Type;

/// Bytes of a word.
const WORD: i64 = 8;

impl Body<'_> {
    /// A record of the value.
    pub(super) fn pack(&mut self, value: &Val) -> Val {
        let components = value.flatten();
        let record = self.alloc(Scalar::Integer.ty().buffer(), Operand::Integer(components.len() as i64));
        for (i, component) in components.into_iter().enumerate() {
            let (words, at) = self.word(&record, i, self.ty_of(&component));
            self.stmts.push(Stmt::Memory(Memory::Store(words, at, component)));
        }
        Val::Leaf(record)
    }

    /// The value of that type of which a record was made.
    pub(super) fn unpack(&mut self, record: &Operand, ty: &Type) -> Result<Val, Error> {
        let types = self.components(ty)?;
        let load = |(i, ty): (usize, &Ty)| {
            let (words, at) = self.word(record, i, *ty);
            self.memory(*ty, |x| Memory::Load(x, words, at))
        };
        let components: Vec<Operand> = types.iter().enumerate().map(load).collect();
        let value = Val::from_components(ty, &mut components.into_iter());
        self.new_sizes(&value, 0);
        Ok(value)
    }

    /// The i-th word of a record as an element of a buffer of another type: the buffer, and its index.
    fn word(&mut self, record: &Operand, i: usize, ty: Ty) -> (Operand, Operand) {
        let words = self.memory(ty.buffer(), |x| Memory::Cast(x, record.clone()));
        // A Bool takes a byte.
        let step = if ty.as_scalar() == Some(Scalar::Bool) { WORD } else { 1 };
        (words, Operand::Integer(i as i64 * step))
    }

    /// Returns whether there is a record anywhere in the value.
    pub(super) fn holds_record(&self, value: &Val) -> bool {
        match value {
            Val::Leaf(operand) => self.ty_of(operand).as_scalar().is_none(),
            Val::Tuple(parts) => parts.iter().any(|part| self.holds_record(part)),
            Val::Tensor(tensor) => tensor.element.mentions_record(),
        }
    }
}
