//! Arguments as contenders take them: arrays of numbers, in memory and in files of NumPy's format.

use lm::value::Value;
use std::io;
use std::path::Path;

/// An argument: numbers of one kind, the last index running fastest.
pub struct Array {
    size: Vec<usize>,
    numbers: Numbers,
}

enum Numbers {
    Floats(Vec<f64>),
    Integers(Vec<i64>),
}

/// An [`Array`] as programs written by hand take it: `struct Input` of `cc/input.h`.
#[repr(C)]
pub struct Input {
    floats: *const f64,
    integers: *const i64,
    rank: i64,
    size: [i64; 4],
}

impl Array {
    /// Tuples become the last index. Panics when tensors of tensors are jagged, or kinds of numbers mixed.
    pub fn of(value: &Value) -> Array {
        let size = size(value);
        let mut integers = Vec::new();
        collect(value, &mut integers);
        let numbers = match value.floats() {
            floats if floats.is_empty() => Numbers::Integers(integers),
            floats => {
                assert!(integers.is_empty(), "numbers of one kind");
                Numbers::Floats(floats)
            }
        };
        let count = match &numbers {
            Numbers::Floats(floats) => floats.len(),
            Numbers::Integers(integers) => integers.len(),
        };
        assert_eq!(count, size.iter().product::<usize>(), "a rectangular array");
        Array { size, numbers }
    }

    /// Returns the inputs of programs written by hand; `self` has the numbers.
    pub fn input(&self) -> Input {
        let mut size = [0; 4];
        size.iter_mut().zip(&self.size).for_each(|(to, from)| *to = *from as i64);
        let (floats, integers) = match &self.numbers {
            Numbers::Floats(floats) => (floats.as_ptr(), std::ptr::null()),
            Numbers::Integers(integers) => (std::ptr::null(), integers.as_ptr()),
        };
        Input { floats, integers, rank: self.size.len() as i64, size }
    }

    /// Writes a file that NumPy loads: format 1.0, a header padded to 64 bytes, then the numbers.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let sizes: String = self.size.iter().map(|n| format!("{n},")).collect();
        let (kind, bytes): (_, Vec<u8>) = match &self.numbers {
            Numbers::Floats(floats) => ("<f8", floats.iter().flat_map(|x| x.to_le_bytes()).collect()),
            Numbers::Integers(integers) => ("<i8", integers.iter().flat_map(|i| i.to_le_bytes()).collect()),
        };
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes})}}");
        let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
        let header = format!("{header:<width$}\n", width = length - 1);
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((length as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(bytes);
        std::fs::write(path, file)
    }
}

fn size(value: &Value) -> Vec<usize> {
    let (mut size, first) = match value {
        Value::Tuple(parts) => (vec![parts.len()], parts.first()),
        Value::Tensor(tensor) => (tensor.size().to_vec(), tensor.elements().first()),
        _ => return Vec::new(),
    };
    size.extend(first.map(self::size).unwrap_or_default());
    size
}

fn collect(value: &Value, integers: &mut Vec<i64>) {
    match value {
        Value::Integer(i) => integers.push(*i),
        Value::Tuple(parts) => parts.iter().for_each(|part| collect(part, integers)),
        Value::Tensor(tensor) => tensor.elements().iter().for_each(|element| collect(element, integers)),
        _ => {}
    }
}
