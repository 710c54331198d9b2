//! Turns values of the interpreter into the words of native code, with buffers in memory of this process, and back.

use lm::tensor::Tensor;
use lm::types::Type;
use lm::value::Value;
use loops::ir::{Scalar, Ty};
use loops::layout::components;
use std::ffi::{CStr, CString, c_char};
use std::sync::Arc;

/// Arguments of a call, and the memory that they point into.
#[derive(Default)]
pub(crate) struct Packed {
    pub(crate) words: Vec<u64>,
    texts: Vec<CString>,
    // Their addresses stay what they are when the list grows.
    buffers: Vec<Vec<u64>>,
}

impl Packed {
    /// Appends a value. Panics when it is none of the type.
    pub(crate) fn push(&mut self, ty: &Type, value: &Value) {
        let mut words = Vec::new();
        self.pack(ty, value, &mut words);
        self.words.extend(words);
    }

    fn pack(&mut self, ty: &Type, value: &Value, words: &mut Vec<u64>) {
        match (ty, value) {
            (Type::Float, Value::Float(x)) => words.push(x.to_bits()),
            (Type::Integer, Value::Integer(i)) => words.push(*i as u64),
            (Type::Bool, Value::Bool(b)) => words.push(u64::from(*b)),
            (Type::String, Value::String(s)) => {
                self.texts.push(text(s));
                words.push(self.texts[self.texts.len() - 1].as_ptr() as u64);
            }
            (Type::Tuple(types), Value::Tuple(parts)) if types.len() == parts.len() => {
                types.iter().zip(parts).for_each(|(ty, part)| self.pack(ty, part, words));
            }
            (Type::Tensor(rank, element), Value::Tensor(tensor)) if tensor.size().len() == *rank => {
                words.extend(tensor.size().iter().map(|n| *n as u64));
                self.pack_elements(element, tensor, words);
            }
            (ty, value) => panic!("{value} is no {ty}"),
        }
    }

    fn pack_elements(&mut self, ty: &Type, tensor: &Tensor, words: &mut Vec<u64>) {
        let components = layout(ty);
        let mut columns = vec![Vec::with_capacity(tensor.elements().len()); components.len()];
        for element in tensor.elements() {
            let mut row = Vec::new();
            self.pack(ty, element, &mut row);
            columns.iter_mut().zip(row).for_each(|(column, word)| column.push(word));
        }
        for (ty, column) in components.into_iter().zip(columns) {
            let column = if ty == Scalar::Bool.ty() { bytes(&column) } else { column };
            words.push(column.as_ptr() as u64);
            self.buffers.push(column);
        }
    }
}

fn layout(ty: &Type) -> Vec<Ty> {
    components(ty).expect("only types with a layout compile")
}

/// Bools, which are bytes in a buffer.
fn bytes(column: &[u64]) -> Vec<u64> {
    column
        .chunks(8)
        .map(|word| u64::from_le_bytes(std::array::from_fn(|i| word.get(i).map_or(0, |b| *b as u8))))
        .collect()
}

/// Text ends at a NUL, for C.
fn text(s: &str) -> CString {
    let until_nul = s.split('\0').next().unwrap_or("");
    CString::new(until_nul).expect("there is no NUL before the first")
}

/// Returns how many words a value takes.
pub(crate) fn count(ty: &Type) -> usize {
    layout(ty).len()
}

/// Returns the value that the words represent.
///
/// # Safety
///
/// The words are the result of native code for the type, and the memory that they point to is still valid.
pub(crate) unsafe fn unpack(ty: &Type, words: &mut dyn Iterator<Item = u64>) -> Value {
    let mut word = || words.next().expect("there is a word per component");
    match ty {
        Type::Float => Value::Float(f64::from_bits(word())),
        Type::Integer => Value::Integer(word() as i64),
        Type::Bool => Value::Bool(word() & 0xff != 0),
        Type::String => {
            // SAFETY: texts are NUL-terminated constants of the code, or arguments, which still live.
            let text = unsafe { CStr::from_ptr(word() as *const c_char) };
            Value::String(text.to_string_lossy().into())
        }
        // SAFETY: parts of a whole.
        Type::Tuple(parts) => Value::Tuple(parts.iter().map(|part| unsafe { unpack(part, words) }).collect()),
        Type::Tensor(rank, element) => {
            let size: Vec<usize> = (0..*rank).map(|_| word() as usize).collect();
            let types = layout(element);
            let buffers: Vec<u64> = types.iter().map(|_| word()).collect();
            let at = |i: usize| {
                types.iter().zip(&buffers).map(move |(ty, buffer)| {
                    // SAFETY: the buffers have an element for each index below the count.
                    unsafe { load(*ty, *buffer, i) }
                })
            };
            let count = size.iter().product();
            // SAFETY: as above.
            let elements = (0..count).map(|i| unsafe { unpack(element, &mut at(i)) }).collect();
            Value::Tensor(Arc::new(Tensor::new(size, elements)))
        }
        Type::Lam(..) | Type::LM(..) | Type::Record(_) => panic!("{ty} has no layout"),
    }
}

unsafe fn load(ty: Ty, buffer: u64, i: usize) -> u64 {
    // SAFETY: the caller's promise.
    match ty.bytes() {
        1 => u64::from(unsafe { *(buffer as *const u8).add(i) }),
        _ => unsafe { *(buffer as *const u64).add(i) },
    }
}
