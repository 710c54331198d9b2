//! Defines the types, and the tangent type of each.
//!
//! ```text
//! T ::= Float | Integer | Bool | String | (Tuple T1 .. Tn) | (Tensor d T) | (Lam S T) | (LM S T) | (Record f)
//!
//! d Float = Float      d Integer = d Bool = d String = (Tuple)
//! d (Tuple T1 .. Tn) = (Tuple dT1 .. dTn)      d (Tensor k T) = (Tensor k dT)
//! ```
//!
//! Source: working notes, Fig. 1, with n-ary tuples and tensors of any rank.

use crate::term::FunName;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::Arc;

/// A type of the language. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// IEEE binary64.
    Float,
    /// 64-bit two's complement.
    Integer,
    /// `true` or `false`.
    Bool,
    /// UTF-8 text, for `print`.
    String,
    /// An n-tuple; `Tuple([])` is unit.
    Tuple(Arc<[Type]>),
    /// A rectangular tensor: rank (at least 1) and element type.
    Tensor(usize, Arc<Type>),
    /// A function, only ever an argument of a built-in.
    Lam(Arc<Type>, Arc<Type>),
    /// A linear map from the first type's tangents to the second's.
    LM(Arc<Type>, Arc<Type>),
    /// The record that the first half of a function's reverse derivative makes for the second. It has a name, since
    /// the record of a recursive function holds records of the same type.
    Record(Arc<FunName>),
}

impl Type {
    /// Returns the n-tuple of the given types.
    pub fn tuple(parts: impl IntoIterator<Item = Type>) -> Type {
        Type::Tuple(parts.into_iter().collect())
    }

    /// Returns the empty tuple.
    pub fn unit() -> Type {
        Type::tuple([])
    }

    /// Returns `(Vec t)`.
    pub fn vec(element: Type) -> Type {
        Type::Tensor(1, Arc::new(element))
    }

    /// Returns `(LM s t)`.
    pub fn lm(s: Type, t: Type) -> Type {
        Type::LM(Arc::new(s), Arc::new(t))
    }

    /// Returns `(Lam s t)`.
    pub fn lam(s: Type, t: Type) -> Type {
        Type::Lam(Arc::new(s), Arc::new(t))
    }

    /// Returns the type of a small change to a value of this type.
    ///
    /// A linear map, like a function, has no tangent of its own here: differentiation meets neither.
    ///
    /// Shares with this type what is its own tangent, and makes the tangent of a tuple that occurs often once. Types of
    /// nested derivatives so need memory in proportion to their depth.
    pub fn tangent(&self) -> Type {
        self.other_tangent(&mut FxHashMap::default()).unwrap_or_else(|| self.clone())
    }

    /// Returns the tangent type if it is another type. `known` has it for the tuples of tuples that were visited.
    fn other_tangent(&self, known: &mut FxHashMap<*const Type, Option<Type>>) -> Option<Type> {
        match self {
            Type::Float => None,
            Type::Integer | Type::Bool | Type::String => Some(Type::unit()),
            Type::Tuple(parts) => {
                let is_nested = parts.iter().any(|part| matches!(part, Type::Tuple(_)));
                if let Some(tangent) = known.get(&parts.as_ptr()).filter(|_| is_nested) {
                    return tangent.clone();
                }
                let others: Vec<Option<Type>> = parts.iter().map(|part| part.other_tangent(known)).collect();
                let merged = |(other, part): (Option<Type>, &Type)| other.unwrap_or_else(|| part.clone());
                let is_other = others.iter().any(Option::is_some);
                let tangent = is_other.then(|| Type::tuple(others.into_iter().zip(parts.iter()).map(merged)));
                if is_nested {
                    known.insert(parts.as_ptr(), tangent.clone());
                }
                tangent
            }
            Type::Tensor(rank, element) => Some(Type::Tensor(*rank, Arc::new(element.other_tangent(known)?))),
            Type::Lam(s, t) => Some(Type::Lam(s.clone(), Arc::new(t.other_tangent(known)?))),
            Type::LM(..) | Type::Record(_) => Some(Type::unit()),
        }
    }

    /// Returns the number of scalars, tensors and other values in this type's tuples, which may be tuples of tuples.
    ///
    /// Visits a tuple that occurs often once. Does not exceed the largest number.
    pub fn component_count(&self) -> usize {
        fn count(ty: &Type, known: &mut FxHashMap<*const Type, usize>) -> usize {
            let Type::Tuple(parts) = ty else { return 1 };
            if let Some(count) = known.get(&parts.as_ptr()) {
                return *count;
            }
            let total = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(count(part, known)));
            known.insert(parts.as_ptr(), total);
            total
        }
        count(self, &mut FxHashMap::default())
    }

    /// Returns whether a change to a value of this type can be anything but zero.
    pub fn is_differentiable(&self) -> bool {
        match self {
            Type::Float => true,
            Type::Integer | Type::Bool | Type::String | Type::LM(..) | Type::Record(_) => false,
            Type::Tuple(parts) => parts.iter().any(Type::is_differentiable),
            Type::Tensor(_, element) => element.is_differentiable(),
            Type::Lam(_, t) => t.is_differentiable(),
        }
    }

    /// Returns whether every value of this type has the same shape, so that the type alone gives its zero.
    pub fn has_fixed_shape(&self) -> bool {
        match self {
            Type::Float | Type::Integer | Type::Bool | Type::String | Type::LM(..) | Type::Record(_) => true,
            Type::Tuple(parts) => parts.iter().all(Type::has_fixed_shape),
            Type::Tensor(..) | Type::Lam(..) => false,
        }
    }

    /// Returns whether values of this type can be added: numbers, and tuples, tensors and functions of numbers.
    pub fn has_sums(&self) -> bool {
        match self {
            Type::Float | Type::Integer => true,
            Type::Bool | Type::String | Type::LM(..) | Type::Record(_) => false,
            Type::Tuple(parts) => parts.iter().all(Type::has_sums),
            Type::Tensor(_, element) => element.has_sums(),
            Type::Lam(_, t) => t.has_sums(),
        }
    }

    /// Returns whether this type contains a linear map.
    pub fn mentions_lm(&self) -> bool {
        match self {
            Type::LM(..) => true,
            Type::Float | Type::Integer | Type::Bool | Type::String | Type::Record(_) => false,
            Type::Tuple(parts) => parts.iter().any(Type::mentions_lm),
            Type::Tensor(_, element) => element.mentions_lm(),
            Type::Lam(s, t) => s.mentions_lm() || t.mentions_lm(),
        }
    }

    /// Returns whether this type contains a record.
    pub fn mentions_record(&self) -> bool {
        match self {
            Type::Record(_) => true,
            Type::Float | Type::Integer | Type::Bool | Type::String => false,
            Type::Tuple(parts) => parts.iter().any(Type::mentions_record),
            Type::Tensor(_, element) => element.mentions_record(),
            Type::Lam(s, t) | Type::LM(s, t) => s.mentions_record() || t.mentions_record(),
        }
    }

    /// Returns whether this type contains a tensor or a function.
    pub fn mentions_array(&self) -> bool {
        match self {
            Type::Tensor(..) | Type::Lam(..) => true,
            Type::Float | Type::Integer | Type::Bool | Type::String | Type::Record(_) => false,
            Type::Tuple(parts) => parts.iter().any(Type::mentions_array),
            Type::LM(s, t) => s.mentions_array() || t.mentions_array(),
        }
    }

    /// Returns the domain and codomain of a linear map type.
    pub fn as_lm(&self) -> Option<(&Type, &Type)> {
        match self {
            Type::LM(s, t) => Some((s, t)),
            _ => None,
        }
    }

    /// Returns the component types of a tuple type.
    pub fn as_tuple(&self) -> Option<&[Type]> {
        match self {
            Type::Tuple(parts) => Some(parts),
            _ => None,
        }
    }

    /// Returns the type of an index into a tensor of the given rank: Integer, or a tuple of Integers.
    pub fn index(rank: usize) -> Type {
        match rank {
            1 => Type::Integer,
            _ => Type::tuple(std::iter::repeat_n(Type::Integer, rank)),
        }
    }

    /// Returns the rank of the tensors that have indices of this type.
    pub fn rank_of_index(&self) -> Option<usize> {
        match self {
            Type::Integer => Some(1),
            Type::Tuple(parts) if parts.len() >= 2 && parts.iter().all(|t| *t == Type::Integer) => Some(parts.len()),
            Type::Float | Type::Bool | Type::String | Type::Tuple(_) => None,
            Type::Tensor(..) | Type::Lam(..) | Type::LM(..) | Type::Record(_) => None,
        }
    }

    /// Returns the type of the shape of a value of this type.
    ///
    /// If the type fixes the shape, the type of the shape is unit. The shape of a tensor is its size if the type fixes
    /// the shape of the elements, and otherwise the tensor of their shapes.
    pub fn shape(&self) -> Type {
        match self {
            Type::Float
            | Type::Integer
            | Type::Bool
            | Type::String
            | Type::Lam(..)
            | Type::LM(..)
            | Type::Record(_) => Type::unit(),
            Type::Tuple(parts) => Type::tuple(parts.iter().map(Type::shape)),
            Type::Tensor(rank, element) if element.has_fixed_shape() => Type::index(*rank),
            Type::Tensor(rank, element) => Type::Tensor(*rank, Arc::new(element.shape())),
        }
    }
}

/// Writes the KS-Lisp spelling, in parentheses where the reader needs them.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Float => write!(f, "Float"),
            Type::Integer => write!(f, "Integer"),
            Type::Bool => write!(f, "Bool"),
            Type::String => write!(f, "String"),
            Type::Tuple(parts) => {
                write!(f, "(Tuple")?;
                parts.iter().try_for_each(|t| write!(f, " {t}"))?;
                write!(f, ")")
            }
            Type::Tensor(1, element) => write!(f, "(Vec {element})"),
            Type::Tensor(rank, element) => write!(f, "(Tensor {rank} {element})"),
            Type::Lam(s, t) => write!(f, "(Lam {s} {t})"),
            Type::LM(s, t) => write!(f, "(LM {s} {t})"),
            Type::Record(name) => write!(f, "(Record {name})"),
        }
    }
}
