//! Values under construction: arrays, with the loops around them as their first axes.

use crate::ir::Id;
use lm::types::Type;

/// The number of a loop whose iterations are elements. Inner loops have larger numbers.
pub type Axis = usize;

/// An array. Its first dimensions are those of the loops that it depends on, in order; the others are its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub id: Id,
    pub axes: Vec<Axis>,
}

/// A value, of the form of its type.
#[derive(Clone, Debug)]
pub enum Value {
    Array(Array),
    Tuple(Vec<Value>),
    /// A tensor: the arrays of `element` have its dimensions in front of those of an element.
    Tensor {
        sizes: Vec<Id>,
        element: Box<Value>,
    },
    /// A value that is never read.
    Dummy(Type),
}

impl Array {
    /// Returns an array that depends on no loop.
    pub fn fixed(id: Id) -> Array {
        Array { id, axes: vec![] }
    }
}

impl Value {
    /// Returns the array that the value is. Terms are typed, so a value of another form is a bug.
    pub fn array(&self) -> &Array {
        match self {
            Value::Array(array) => array,
            other => panic!("{other:?} is no array of numbers"),
        }
    }

    /// Returns the components of a tuple.
    pub fn tuple(&self) -> &[Value] {
        match self {
            Value::Tuple(parts) => parts,
            other => panic!("{other:?} is no tuple"),
        }
    }

    /// Returns the sizes and the element of a tensor.
    pub fn tensor(&self) -> (&[Id], &Value) {
        match self {
            Value::Tensor { sizes, element } => (sizes, element),
            other => panic!("{other:?} is no tensor"),
        }
    }

    /// Returns the numbers of an index or a size: those of an Integer, or of a tuple of Integers.
    pub fn numbers(&self) -> Vec<Array> {
        match self {
            Value::Tuple(parts) => parts.iter().map(|part| part.array().clone()).collect(),
            one => vec![one.array().clone()],
        }
    }

    /// Returns the arrays from left to right.
    pub fn leaves(&self) -> Vec<&Array> {
        match self {
            Value::Array(array) => vec![array],
            Value::Tuple(parts) => parts.iter().flat_map(Value::leaves).collect(),
            Value::Tensor { element, .. } => element.leaves(),
            Value::Dummy(_) => vec![],
        }
    }

    /// Returns whether a part of the value is never read.
    pub fn has_dummy(&self) -> bool {
        match self {
            Value::Dummy(_) => true,
            Value::Tuple(parts) => parts.iter().any(Value::has_dummy),
            Value::Tensor { element, .. } => element.has_dummy(),
            Value::Array(_) => false,
        }
    }

    /// Returns the value with each array replaced.
    pub fn map(&self, f: &mut impl FnMut(&Array) -> Array) -> Value {
        match self {
            Value::Array(array) => Value::Array(f(array)),
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| part.map(f)).collect()),
            Value::Tensor { sizes, element } => {
                Value::Tensor { sizes: sizes.clone(), element: Box::new(element.map(f)) }
            }
            Value::Dummy(ty) => Value::Dummy(ty.clone()),
        }
    }

    /// Returns the value with other arrays, from left to right.
    pub fn with(&self, arrays: Vec<Array>) -> Value {
        let mut arrays = arrays.into_iter();
        self.map(&mut |_| arrays.next().expect("an array for each"))
    }
}
