//! Defines values: what terms mean.
//!
//! Functions and linear maps are values and hold values, so their data is here, too. `interp` applies functions, `map`
//! applies linear maps.

use crate::tensor::{Position, Tensor};
use crate::term::{Expr, FunName};
use crate::types::Type;
use rustc_hash::FxHashMap;
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
    /// A record: the value that it was made of. Shared, since records hold records.
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
    /// Returns a tensor of rank 1.
    pub fn vector(elements: Vec<Value>) -> Value {
        Value::Tensor(Arc::new(Tensor::vector(elements)))
    }

    /// Returns the number, when the value is a Float.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Value::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// Returns the components, when the value is a tuple.
    pub fn as_tuple(&self) -> Option<&[Value]> {
        match self {
            Value::Tuple(parts) => Some(parts),
            _ => None,
        }
    }

    /// Returns all Floats in the value, in order.
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

    /// Returns some value of a type, for `Op::Dummy`: zeros, and the empty tensor.
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

/// Writes values as `print` does: a Float by the shortest decimal that reads back equal, a tuple inside brackets.
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

/// The values of the variables in scope.
pub type Env = FxHashMap<u32, Value>;

/// A function value.
#[derive(Clone, Debug, PartialEq)]
pub struct Closure {
    /// The number of the parameter.
    pub(crate) param: u32,
    pub(crate) body: Expr,
    pub(crate) env: Arc<Env>,
    /// The steps that follow a call, in order.
    pub(crate) then: Vec<Then>,
}

/// A step that follows each call of a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Then {
    /// Applies the result, a map, to this.
    Apply(Value),
    /// Applies the result, a map, to this in reverse.
    ApplyReverse(Value),
    /// Adds the value of this function at the same place.
    Add(Value),
    /// Negates or scales the result.
    Change(Change),
}

/// An operation on one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    Negate,
    Scale(f64),
}

impl Closure {
    /// Returns `λi. (self i) ⊙ x`.
    pub(crate) fn then_apply(self, x: &Value) -> Closure {
        self.then(Then::Apply(x.clone()))
    }

    /// Returns `λi. r ⊙ᴿ (self i)`.
    pub(crate) fn then_apply_reverse(self, r: &Value) -> Closure {
        self.then(Then::ApplyReverse(r.clone()))
    }

    pub(crate) fn then(mut self, then: Then) -> Closure {
        self.then.push(then);
        self
    }
}

/// A linear map. Witnesses (`s`, `t`) are values that show a shape.
#[derive(Clone, Debug, PartialEq)]
pub enum LinearMap {
    /// `0`, from the first witness's space to the second's.
    Zero(Value, Value),
    /// `1`.
    One(Value),
    /// `S(k)`.
    Scale(Value, f64),
    /// r to r * v.
    ScaleR(Value),
    /// x to v • x.
    Dot(Value),
    /// `⊕`.
    Add(Arc<LinearMap>, Arc<LinearMap>),
    /// `×`.
    VCat(Vec<Arc<LinearMap>>),
    /// `⋈`.
    HCat(Vec<Arc<LinearMap>>),
    /// `V(v)`, with a witness of the domain when it can be known without an element.
    VCatV(Arc<Tensor>, Option<Value>),
    /// `H(v)`, with a witness of the codomain when it can be known without an element.
    HCatV(Arc<Tensor>, Option<Value>),
    /// The sum of a tensor of maps, with a witness of the codomain, and one of the domain when it can
    /// be known without an element.
    AddV(Vec<Value>, Value, Option<Value>),
    /// The element at a position of a tensor that the witness shows: `H` of a one-hot tensor of maps.
    Index(Position, Arc<Tensor>),
    /// The sum of the elements of a tensor that the first witness shows: `H` of a tensor of ones.
    Sum(Arc<Tensor>, Option<Value>),
    /// A linear recurrence from (state, input) to (state, sum of outputs): the number of steps, witnesses of both
    /// pairs, and the map f(i) of step i. Figs. 12-15.
    Fold(i64, Value, Value, Closure),
    /// The Jacobian of a function at a recorded point: the second half of its reverse derivative, the record,
    /// and witnesses of both spaces.
    At(FunName, Value, Value, Value),
    /// `m ∘ n`: m after n.
    Compose(Arc<LinearMap>, Arc<LinearMap>),
    /// `mᵀ`.
    Transpose(Arc<LinearMap>),
    /// The i-th component (1-based) of a tuple that the witness shows.
    Get(usize, Value),
    /// `L(f)`, with a witness of the domain when it can be known without an element.
    L(Closure, Option<Value>),
    /// `L'(f)`, with a witness of the codomain when it can be known without an element.
    LT(Closure, Option<Value>),
}
