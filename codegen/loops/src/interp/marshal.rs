//! Converts values of the language to words and back. As in `layout`, each component of a tensor's elements has a
//! buffer.

use super::Failed;
use super::space::Space;
use super::texts::Texts;
use super::word::Word;
use crate::ir::{Failure, Ty};
use crate::layout::components;
use lm::interp::{ErrorKind, RuntimeError};
use lm::tensor::{Position, Tensor};
use lm::types::Type;
use lm::value::Value;
use std::sync::Arc;

/// Appends the words of a value. Its buffers are arguments, which are read-only.
///
/// Panics if the value does not have the type.
pub(super) fn pack(space: &mut Space, texts: &mut Texts, ty: &Type, value: &Value, words: &mut Vec<Word>) {
    match (ty, value) {
        (Type::Float, Value::Float(x)) => words.push(Word::Float(*x)),
        (Type::Integer, Value::Integer(i)) => words.push(Word::Integer(*i)),
        (Type::Bool, Value::Bool(b)) => words.push(Word::Bool(*b)),
        (Type::String, Value::String(s)) => words.push(Word::Text(texts.add(s))),
        (Type::Tuple(types), Value::Tuple(parts)) if types.len() == parts.len() => {
            types.iter().zip(parts).for_each(|(ty, part)| pack(space, texts, ty, part, words));
        }
        (Type::Tensor(rank, element), Value::Tensor(tensor)) if tensor.size().len() == *rank => {
            words.extend(tensor.size().iter().map(|n| Word::Integer(*n as i64)));
            let types = layout(element);
            let mut columns = vec![Vec::with_capacity(tensor.elements().len()); types.len()];
            for value in tensor.elements() {
                let mut row = Vec::new();
                pack(space, texts, element, value, &mut row);
                columns.iter_mut().zip(row).for_each(|(column, word)| column.push(word));
            }
            words.extend(types.into_iter().zip(columns).map(|(ty, column)| space.argument(ty, column, false)));
        }
        (ty, value) => panic!("{value} is no {ty}"),
    }
}

/// Returns the value that the words represent.
///
/// Errors: some of its memory cannot be read.
pub(super) fn unpack(
    space: &Space,
    texts: &Texts,
    ty: &Type,
    words: &mut dyn Iterator<Item = Word>,
) -> Result<Value, String> {
    let mut word = || words.next().expect("there is a word for each component");
    Ok(match ty {
        Type::Float => match word() {
            Word::Float(x) => Value::Float(x),
            other => return Err(format!("{other:?} where a Float belongs")),
        },
        Type::Integer => Value::Integer(word().integer()?),
        Type::Bool => Value::Bool(word().boolean()?),
        Type::String => match word() {
            Word::Text(number) => Value::String(texts.text(number)),
            other => return Err(format!("{other:?} where a text belongs")),
        },
        Type::Tuple(parts) => {
            let parts = parts.iter().map(|part| unpack(space, texts, part, words));
            Value::Tuple(parts.collect::<Result<_, _>>()?)
        }
        Type::Tensor(rank, element) => {
            let size = (0..*rank).map(|_| Ok(word().integer()? as usize)).collect::<Result<Vec<_>, String>>()?;
            let types = layout(element);
            let buffers: Vec<Word> = types.iter().map(|_| word()).collect();
            buffers.iter().try_for_each(|buffer| space.rest(*buffer).map(drop))?;
            let at = |i: usize| {
                let row = types.iter().zip(&buffers).map(|(ty, buffer)| space.load(*buffer, i as i64, *ty));
                unpack(space, texts, element, &mut row.collect::<Result<Vec<_>, _>>()?.into_iter())
            };
            let elements = (0..size.iter().product()).map(at).collect::<Result<_, _>>()?;
            Value::Tensor(Arc::new(Tensor::new(size, elements)))
        }
        Type::Lam(..) | Type::LM(..) | Type::Record(_) => panic!("{ty} has no layout"),
    })
}

fn layout(ty: &Type) -> Vec<Ty> {
    components(ty).expect("only types with a layout are lowered")
}

impl Failed {
    /// The error as the reference interpreter has it.
    ///
    /// Panics for failures of the interface to C, which no call with values has.
    pub fn runtime_error(&self) -> RuntimeError {
        let numbers = &self.numbers[..];
        let position = |numbers: &[i64]| Position::from(numbers.to_vec());
        let (first, second) = numbers.split_at(numbers.len() / 2);
        let kind = match self.failure {
            Failure::AssertFailed => ErrorKind::AssertFailed,
            Failure::DivisionByZero => ErrorKind::DivisionByZero(numbers[0]),
            Failure::RecursionTooDeep => ErrorKind::RecursionTooDeep(numbers[0] as usize),
            Failure::IndexOutOfRange => ErrorKind::IndexOutOfRange { index: position(first), size: position(second) },
            Failure::NegativeSize => ErrorKind::NegativeSize(position(numbers)),
            Failure::SizeMismatch => ErrorKind::SizeMismatch { left: position(first), right: position(second) },
            Failure::TooLarge => ErrorKind::TooLarge(position(numbers)),
            Failure::ShapeUnknown => ErrorKind::ShapeUnknown,
            Failure::OutOfMemory => ErrorKind::OutOfMemory { asked: numbers[0], free: numbers[1] },
            Failure::ExternalFailed => ErrorKind::ExternalFailed(numbers[0]),
            Failure::NotSpecialised => ErrorKind::NotSpecialised { found: numbers[0], wanted: numbers[1] },
            Failure::BadArgument | Failure::ShapeMismatch => panic!("a call with values checks no storage"),
        };
        RuntimeError { kind, span: self.span }
    }
}
