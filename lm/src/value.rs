//! Values: what terms mean.

use crate::interp::Closure;
use crate::map::LinearMap;
use crate::tensor::Tensor;
use crate::types::Type;
use std::fmt;
use std::sync::Arc;

/// A value of the language.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A Float.
    Float(f64),
    /// An Integer.
    Integer(i64),
    /// A Bool.
    Bool(bool),
    /// A String.
    String(Arc<str>),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A tensor.
    Tensor(Arc<Tensor>),
    /// A record: what it was made of, shared, since records hold records.
    Record(Arc<Value>),
    /// A linear map.
    Map(Arc<LinearMap>),
    /// A function.
    Function(Closure),
    /// A tangent of a function of an Integer with finite support: the values at 0, 1, ...; zero
    /// elsewhere.
    Support(Vec<Value>),
}

impl Value {
    /// A tensor of rank 1.
    pub fn vector(elements: Vec<Value>) -> Value {
        Value::Tensor(Arc::new(Tensor::vector(elements)))
    }

    /// The number, when the value is a Float.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// The components, when the value is a tuple.
    pub fn as_tuple(&self) -> Option<&[Value]> {
        match self {
            Value::Tuple(parts) => Some(parts),
            _ => None,
        }
    }

    /// All Floats in the value, in order.
    pub fn floats(&self) -> Vec<f64> {
        match self {
            Value::Float(x) => vec![*x],
            Value::Tuple(vs) | Value::Support(vs) => vs.iter().flat_map(Value::floats).collect(),
            Value::Tensor(t) => t.elements().iter().flat_map(Value::floats).collect(),
            Value::Integer(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::Map(_)
            | Value::Function(_)
            | Value::Record(_) => {
                vec![]
            }
        }
    }

    /// Some value of a type, for `Op::Dummy`: zeros, of a tensor the empty one.
    pub fn dummy(ty: &Type) -> Value {
        match ty {
            Type::Float => Value::Float(0.0),
            Type::Integer => Value::Integer(0),
            Type::Bool => Value::Bool(false),
            Type::String => Value::String("".into()),
            Type::Tuple(parts) => Value::Tuple(parts.iter().map(Value::dummy).collect()),
            Type::Tensor(rank, _) => Value::Tensor(Arc::new(Tensor::new(vec![0; *rank], vec![]))),
            Type::Lam(..) => Value::Support(vec![]),
            Type::Record(_) => Value::Record(Arc::new(Value::Tuple(vec![]))),
            Type::LM(s, t) => Value::Map(Arc::new(LinearMap::Zero(Value::dummy(s), Value::dummy(t)))),
        }
    }
}

/// As `print` shows values: Float by the shortest decimal that reads back equal, a tuple inside
/// brackets.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, vs: &[Value]| {
            vs.iter().enumerate().try_for_each(|(i, v)| write!(f, "{}{v}", if i == 0 { "" } else { ", " }))
        };
        match self {
            Value::Float(x) => write!(f, "{x}"),
            Value::Integer(i) => write!(f, "{i}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::String(s) => write!(f, "{s}"),
            Value::Tuple(vs) => {
                write!(f, "(")?;
                list(f, vs)?;
                write!(f, ")")
            }
            Value::Tensor(t) => write!(f, "{t}"),
            Value::Support(vs) => {
                write!(f, "[")?;
                list(f, vs)?;
                write!(f, "]")
            }
            Value::Map(m) => write!(f, "{m:?}"),
            Value::Function(_) => write!(f, "<function>"),
            Value::Record(_) => write!(f, "<record>"),
        }
    }
}
