//! Types, with sizes, and random values of them.

use lm::random::SplitMix;
use lm::tensor::Tensor;
use lm::value::Value;
use std::sync::Arc;

/// Sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// The first size that a point fixes.
    N,
    /// The second one.
    M,
    /// A number.
    Constant(usize),
    /// The successor of a size.
    Next(Box<Size>),
    /// The value of a variable, an index.
    Of(usize),
    /// The size of a vector variable.
    Row(usize),
}

/// Types, with sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    /// `Float`.
    Float,
    /// `Integer`.
    Integer,
    /// `Bool`.
    Bool,
    /// An Integer from 0, below the size.
    Index(Size),
    /// An Integer, the size itself.
    Length(Size),
    /// An Integer that a recursive function counts down.
    Count,
    /// `Tuple`.
    Tuple(Vec<Ty>),
    /// A vector of a size.
    Vec(Size, Box<Ty>),
    /// A vector of Floats of any size.
    Row,
    /// Rank 2.
    Matrix(Size, Size),
}

use Ty::{Bool, Float, Integer, Row};

pub(super) fn vec(size: Size, element: Ty) -> Ty {
    Ty::Vec(size, Box::new(element))
}

impl Ty {
    /// KS spelling.
    pub fn text(&self) -> String {
        match self {
            Float => "Float".into(),
            Integer | Ty::Index(_) | Ty::Length(_) | Ty::Count => "Integer".into(),
            Bool => "Bool".into(),
            Ty::Tuple(parts) => {
                format!("(Tuple{})", parts.iter().map(|t| format!(" {}", t.text())).collect::<String>())
            }
            Ty::Vec(_, element) => format!("(Vec {})", element.text()),
            Row => "(Vec Float)".into(),
            Ty::Matrix(..) => "(Tensor 2 Float)".into(),
        }
    }

    /// Returns whether a value of this type is also a value of the other.
    pub(super) fn fits(&self, other: &Ty) -> bool {
        match (self, other) {
            (Ty::Index(_) | Ty::Length(_) | Ty::Count, Integer) => true,
            (Ty::Vec(_, element), Row) => **element == Float,
            (Ty::Tuple(a), Ty::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.fits(b)),
            (Ty::Vec(m, a), Ty::Vec(n, b)) => m == n && a.fits(b),
            (a, b) => a == b,
        }
    }

    /// Made of Floats of known shape: what can be added.
    pub(super) fn is_vector(&self) -> bool {
        match self {
            Float | Ty::Matrix(..) => true,
            Ty::Tuple(parts) => !parts.is_empty() && parts.iter().all(Ty::is_vector),
            Ty::Vec(_, element) => element.is_vector(),
            _ => false,
        }
    }

    pub(super) fn is_scalar(&self) -> bool {
        match self {
            Float | Integer | Bool => true,
            Ty::Tuple(parts) => parts.iter().all(Ty::is_scalar),
            _ => false,
        }
    }

    /// Returns whether a part of its values can vary.
    pub fn varies(&self) -> bool {
        match self {
            Float | Row | Ty::Matrix(..) => true,
            Ty::Tuple(parts) => parts.iter().any(Ty::varies),
            Ty::Vec(_, element) => element.varies(),
            _ => false,
        }
    }

    /// A random value, where there is one, for these N and M.
    pub fn value(&self, sizes: [usize; 2], random: &mut SplitMix) -> Option<Value> {
        let known = |size: &Size| match size {
            Size::N => sizes[0],
            Size::M => sizes[1],
            Size::Constant(n) => *n,
            other => panic!("{other:?} in a parameter"),
        };
        Some(match self {
            Float => Value::Float((random.draw() >> 11) as f64 / (1u64 << 51) as f64 - 2.0),
            Integer => Value::Integer((random.draw() % 6) as i64 - 1),
            Bool => Value::Bool(random.draw().is_multiple_of(2)),
            Ty::Index(size) if known(size) == 0 => return None,
            Ty::Index(size) => Value::Integer((random.draw() as usize % known(size)) as i64),
            Ty::Length(size) => Value::Integer(known(size) as i64),
            Ty::Count => Value::Integer((random.draw() % 4) as i64),
            Ty::Tuple(parts) => {
                Value::Tuple(parts.iter().map(|part| part.value(sizes, random)).collect::<Option<_>>()?)
            }
            Ty::Vec(size, element) => vector(known(size), element, sizes, random)?,
            Row => vector(random.draw() as usize % 4, &Float, sizes, random)?,
            Ty::Matrix(rows, columns) => {
                let size = vec![known(rows), known(columns)];
                let elements = (0..size[0] * size[1]).map(|_| Float.value(sizes, random)).collect::<Option<_>>()?;
                Value::Tensor(Arc::new(Tensor::new(size, elements)))
            }
        })
    }
}

fn vector(n: usize, element: &Ty, sizes: [usize; 2], random: &mut SplitMix) -> Option<Value> {
    Some(Value::vector((0..n).map(|_| element.value(sizes, random)).collect::<Option<_>>()?))
}

impl Ty {
    pub(super) fn is_array_of_arrays(&self) -> bool {
        matches!(self, Ty::Vec(..) | Ty::Matrix(..))
    }
}

pub(super) fn count_of(size: &Size) -> f64 {
    match size {
        Size::Constant(n) => (*n).max(1) as f64,
        _ => 5.0,
    }
}

pub(super) fn sizes_of(ty: &Ty) -> Vec<Size> {
    match ty {
        Ty::Index(size) | Ty::Length(size) => vec![size.clone()],
        Ty::Vec(size, element) => [vec![size.clone()], sizes_of(element)].concat(),
        Ty::Tuple(parts) => parts.iter().flat_map(sizes_of).collect(),
        Ty::Matrix(m, n) => vec![m.clone(), n.clone()],
        Float | Integer | Bool | Ty::Count | Row => vec![],
    }
}
