//! Defines tensors: rectangular arrays of values, the last index running fastest.

use crate::value::Value;
use std::fmt;

/// An index into a tensor, or a tensor's size: one number for each of its dimensions.
///
/// Shown as in programs: `3`, `(1, 2)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position(Vec<i64>);

impl Position {
    /// Returns the position that a value of an index type means.
    ///
    /// Panics for another value, which the checker rules out.
    pub fn of(index: &Value) -> Position {
        let number = |v: &Value| match v {
            Value::Integer(i) => *i,
            other => panic!("{other:?} is no index"),
        };
        match index {
            Value::Tuple(parts) => Position(parts.iter().map(number).collect()),
            one => Position(vec![number(one)]),
        }
    }

    /// Returns the position as a value of its index type.
    pub fn value(&self) -> Value {
        match self.0.as_slice() {
            [one] => Value::Integer(*one),
            many => Value::Tuple(many.iter().copied().map(Value::Integer).collect()),
        }
    }

    /// Returns the position as a size; `None` when one of the numbers is negative.
    pub fn as_size(&self) -> Option<Vec<usize>> {
        self.0.iter().map(|&n| usize::try_from(n).ok()).collect()
    }
}

impl From<Vec<i64>> for Position {
    fn from(numbers: Vec<i64>) -> Position {
        Position(numbers)
    }
}

impl From<&[usize]> for Position {
    fn from(size: &[usize]) -> Position {
        Position(size.iter().map(|&n| n as i64).collect())
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

/// A tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    size: Vec<usize>,
    elements: Vec<Value>,
}

impl Tensor {
    /// Returns a tensor of a size, from its elements in order.
    ///
    /// Panics when there are more or fewer elements than the size says.
    pub fn new(size: Vec<usize>, elements: Vec<Value>) -> Tensor {
        assert_eq!(size.iter().product::<usize>(), elements.len(), "the elements of a tensor of size {size:?}");
        Tensor { size, elements }
    }

    /// Returns a tensor of rank 1.
    pub fn vector(elements: Vec<Value>) -> Tensor {
        Tensor { size: vec![elements.len()], elements }
    }

    /// Returns the tensor of the same size with other elements, one for each.
    pub fn with(&self, elements: Vec<Value>) -> Tensor {
        Tensor::new(self.size.clone(), elements)
    }

    /// Returns the number of elements in each dimension.
    pub fn size(&self) -> &[usize] {
        &self.size
    }

    /// Returns the elements, in order.
    pub fn elements(&self) -> &[Value] {
        &self.elements
    }

    /// Returns the elements, in order, for changing.
    pub fn elements_mut(&mut self) -> &mut [Value] {
        &mut self.elements
    }

    /// Returns the number of the element at a position; `None` for a position outside.
    pub fn offset(&self, at: &Position) -> Option<usize> {
        let step = |offset: Option<usize>, (&i, &n): (&i64, &usize)| {
            let i = usize::try_from(i).ok().filter(|i| *i < n)?;
            Some(offset? * n + i)
        };
        at.0.iter().zip(&self.size).fold(Some(0), step)
    }

    /// Returns the positions of a tensor of a size, in order.
    pub fn positions(size: &[usize]) -> impl Iterator<Item = Position> {
        let count: usize = size.iter().product();
        let size = size.to_vec();
        (0..count).map(move |offset| {
            let mut rest = offset;
            let mut numbers: Vec<i64> = Vec::with_capacity(size.len());
            for n in size.iter().rev() {
                numbers.push((rest % n) as i64);
                rest /= n;
            }
            numbers.reverse();
            Position(numbers)
        })
    }
}

/// Writes `[a, b, c]`; of higher rank, such a list for each index of the first dimension.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        rows(f, &self.size, &self.elements)
    }
}

fn rows(f: &mut fmt::Formatter<'_>, size: &[usize], elements: &[Value]) -> fmt::Result {
    let (count, inner) = (size[0], &size[1..]);
    let width: usize = inner.iter().product();
    write!(f, "[")?;
    for i in 0..count {
        write!(f, "{}", if i == 0 { "" } else { ", " })?;
        let row = &elements[i * width..(i + 1) * width];
        if inner.is_empty() { write!(f, "{}", row[0])? } else { rows(f, inner, row)? }
    }
    write!(f, "]")
}
