//! Holds the values of the naive evaluator.
//!
//! Functions and linear maps are Rust closures, so they are no [`Value`]: only other values leave the evaluator.

use super::evaluator::{Evaluator, fail};
use crate::delta::Place;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::tensor::{Position, Tensor};
use crate::types::Type;
use crate::value::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

/// The result of an evaluation.
pub(super) type Outcome = Result<Val, RuntimeError>;

/// A function value.
pub(super) type Function = Rc<dyn Fn(&Evaluator, Val) -> Outcome>;

/// A Float, with the place of its Delta term in the trace; none for what does not depend on the traced arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    pub value: f64,
    pub place: Option<Place>,
}

/// A value.
#[derive(Clone)]
pub(super) enum Val {
    Float(Number),
    Integer(i64),
    Bool(bool),
    String(Arc<str>),
    Tuple(Vec<Val>),
    Tensor(Rc<Array>),
    Record(Rc<Val>),
    Map(Rc<Map>),
    Function(Function),
    /// A function of an Integer that is zero except at finitely many arguments.
    Finite(BTreeMap<i64, Val>),
}

/// A tensor: its size in each dimension, and its elements, the last index running fastest.
pub(super) struct Array {
    pub size: Vec<usize>,
    pub elements: Vec<Val>,
}

/// A linear map.
pub(super) struct Map {
    pub domain: Space,
    pub codomain: Space,
    pub forward: Forward,
}

pub(super) type Forward = Box<dyn Fn(&Evaluator, &Val) -> Outcome>;

/// The space of the values of a function at an Integer.
pub(super) type SpaceAt = dyn Fn(&Evaluator, i64) -> Result<Space, RuntimeError>;

/// A vector space.
#[derive(Clone)]
pub(super) enum Space {
    /// The space of dimension 0: the tangents of discrete values.
    Point,
    Float,
    Tuple(Vec<Space>),
    Tensor(Vec<usize>, Vec<Space>),
    /// A space of functions of an Integer, with the space of their values.
    Functions(Rc<SpaceAt>),
    /// A space that no value shows.
    Unknown,
}

impl Val {
    /// Returns a Float that depends on nothing: `D[r] = (r, Zero)`.
    pub fn constant(value: f64) -> Val {
        Val::Float(Number { value, place: None })
    }

    pub fn function(f: impl Fn(&Evaluator, Val) -> Outcome + 'static) -> Val {
        Val::Function(Rc::new(f))
    }

    pub fn map_of(m: Map) -> Val {
        Val::Map(Rc::new(m))
    }

    /// Returns a tensor. Panics when the number of elements is not the size's.
    pub fn tensor_of(size: Vec<usize>, elements: Vec<Val>) -> Val {
        assert_eq!(size.iter().product::<usize>(), elements.len(), "elements of a tensor of size {size:?}");
        Val::Tensor(Rc::new(Array { size, elements }))
    }

    /// Returns some value of a type: zeros, and no elements.
    pub fn dummy(ty: &Type) -> Val {
        match ty {
            Type::Float => Val::constant(0.0),
            Type::Integer => Val::Integer(0),
            Type::Bool => Val::Bool(false),
            Type::String => Val::String("".into()),
            Type::Tuple(parts) => Val::Tuple(parts.iter().map(Val::dummy).collect()),
            Type::Tensor(rank, _) => Val::tensor_of(vec![0; *rank], vec![]),
            Type::Record(_) => Val::Record(Rc::new(Val::Tuple(vec![]))),
            Type::LM(s, t) => Val::map_of(Map::zero(&Val::dummy(s), &Val::dummy(t))),
            Type::Lam(_, t) => {
                let value = Val::dummy(t);
                Val::function(move |_, _| Ok(value.clone()))
            }
        }
    }

    // Terms are typed, so a value of another form is a bug of the checker or of a pass.

    pub fn float(&self) -> f64 {
        if let Val::Float(x) = self { x.value } else { panic!("{self:?} is no Float") }
    }

    /// Returns the place of the Delta term of a Float; none for other values.
    pub fn place(&self) -> Option<Place> {
        if let Val::Float(x) = self { x.place } else { None }
    }

    pub fn integer(&self) -> i64 {
        if let Val::Integer(i) = self { *i } else { panic!("{self:?} is no Integer") }
    }

    pub fn boolean(&self) -> bool {
        if let Val::Bool(b) = self { *b } else { panic!("{self:?} is no Bool") }
    }

    pub fn tuple(&self) -> &[Val] {
        if let Val::Tuple(parts) = self { parts } else { panic!("{self:?} is no tuple") }
    }

    pub fn tensor(&self) -> &Array {
        if let Val::Tensor(v) = self { v } else { panic!("{self:?} is no tensor") }
    }

    pub fn map(&self) -> &Rc<Map> {
        if let Val::Map(m) = self { m } else { panic!("{self:?} is no linear map") }
    }

    pub fn as_function(&self) -> &Function {
        if let Val::Function(f) = self { f } else { panic!("{self:?} is no function") }
    }

    /// Returns whether all Floats of the value can be seen.
    pub fn is_data(&self) -> bool {
        match self {
            Val::Float(_) | Val::Integer(_) | Val::Bool(_) | Val::String(_) => true,
            Val::Tuple(parts) => parts.iter().all(Val::is_data),
            Val::Tensor(v) => v.elements.iter().all(Val::is_data),
            Val::Record(_) | Val::Map(_) | Val::Function(_) | Val::Finite(_) => false,
        }
    }

    /// Returns the Floats of the value that can be seen, in order.
    pub fn floats(&self) -> Vec<Number> {
        match self {
            Val::Float(x) => vec![*x],
            Val::Tuple(parts) => parts.iter().flat_map(Val::floats).collect(),
            Val::Tensor(v) => v.elements.iter().flat_map(Val::floats).collect(),
            Val::Integer(_) | Val::Bool(_) | Val::String(_) => vec![],
            Val::Record(_) | Val::Map(_) | Val::Function(_) | Val::Finite(_) => vec![],
        }
    }

    /// Returns the value with other Floats, which are asked for in order.
    pub fn with_floats(&self, other: &mut impl FnMut(f64) -> Val) -> Val {
        match self {
            Val::Float(x) => other(x.value),
            Val::Tuple(parts) => Val::Tuple(parts.iter().map(|x| x.with_floats(other)).collect()),
            Val::Tensor(v) => Val::tensor_of(v.size.clone(), v.elements.iter().map(|x| x.with_floats(other)).collect()),
            rest => rest.clone(),
        }
    }

    /// Returns `self(x)`.
    pub fn call(&self, cx: &Evaluator, x: Val) -> Outcome {
        self.as_function()(cx, x)
    }

    /// Returns whether two values are equal, component by component; Floats as IEEE 754 says.
    pub fn equals(&self, other: &Val) -> bool {
        let all = |xs: &[Val], ys: &[Val]| xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| x.equals(y));
        match (self, other) {
            (Val::Float(a), Val::Float(b)) => a.value == b.value,
            (Val::Integer(a), Val::Integer(b)) => a == b,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::String(a), Val::String(b)) => a == b,
            (Val::Tuple(a), Val::Tuple(b)) => all(a, b),
            (Val::Tensor(a), Val::Tensor(b)) => a.size == b.size && all(&a.elements, &b.elements),
            _ => panic!("{self:?} and {other:?} cannot be compared"),
        }
    }

    /// Returns the value as others see it. Panics for what holds a function or a linear map.
    pub fn to_value(&self) -> Value {
        let all = |vs: &[Val]| vs.iter().map(Val::to_value).collect::<Vec<Value>>();
        match self {
            Val::Float(x) => Value::Float(x.value),
            Val::Integer(i) => Value::Integer(*i),
            Val::Bool(b) => Value::Bool(*b),
            Val::String(s) => Value::String(s.clone()),
            Val::Tuple(parts) => Value::Tuple(all(parts)),
            Val::Tensor(v) => Value::Tensor(Arc::new(Tensor::new(v.size.clone(), all(&v.elements)))),
            Val::Record(value) => Value::Record(Arc::new(value.to_value())),
            Val::Map(_) | Val::Function(_) | Val::Finite(_) => panic!("{self:?} stays inside"),
        }
    }
}

impl Array {
    /// Returns the element at an index.
    ///
    /// Errors: the index is outside.
    pub fn element(&self, index: &Val) -> Outcome {
        let at = self.offset(index)?;
        Ok(self.elements[at].clone())
    }

    /// Returns where the element at an index lies.
    ///
    /// Errors: the index is outside.
    pub fn offset(&self, index: &Val) -> Result<usize, RuntimeError> {
        let index = numbers(index);
        let is_inside = index.iter().zip(&self.size).all(|(&i, &n)| 0 <= i && i < n as i64);
        if !is_inside {
            let size = Position::from(self.size.as_slice());
            return fail(ErrorKind::IndexOutOfRange { index: Position::from(index), size });
        }
        Ok(index.iter().zip(&self.size).fold(0, |offset, (&i, &n)| offset * n + i as usize))
    }
}

/// Returns the numbers of an index or a size.
pub(super) fn numbers(index: &Val) -> Vec<i64> {
    match index {
        Val::Tuple(parts) => parts.iter().map(Val::integer).collect(),
        one => vec![one.integer()],
    }
}

impl From<&Value> for Val {
    fn from(value: &Value) -> Val {
        let all = |vs: &[Value]| vs.iter().map(Val::from).collect::<Vec<Val>>();
        match value {
            Value::Float(x) => Val::constant(*x),
            Value::Integer(i) => Val::Integer(*i),
            Value::Bool(b) => Val::Bool(*b),
            Value::String(s) => Val::String(s.clone()),
            Value::Tuple(parts) => Val::Tuple(all(parts)),
            Value::Tensor(v) => Val::tensor_of(v.size().to_vec(), all(v.elements())),
            Value::Record(value) => Val::Record(Rc::new(Val::from(&**value))),
            Value::Support(values) => Val::Finite((0..).zip(all(values)).collect()),
            Value::Map(_) | Value::Function(_) => panic!("{value:?} stays inside of its evaluator"),
        }
    }
}

/// Writes the value as `print` shows it.
impl fmt::Display for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_value())
    }
}

/// Writes the value for messages about bugs.
impl fmt::Debug for Val {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Val::Tuple(parts) => f.debug_list().entries(parts).finish(),
            Val::Tensor(v) => f.debug_list().entries(&v.elements).finish(),
            Val::Record(_) => write!(f, "<record>"),
            Val::Map(_) => write!(f, "<linear map>"),
            Val::Function(_) | Val::Finite(_) => write!(f, "<function>"),
            Val::Float(_) | Val::Integer(_) | Val::Bool(_) | Val::String(_) => write!(f, "{}", self.to_value()),
        }
    }
}
