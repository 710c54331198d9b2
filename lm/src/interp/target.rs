//! Holds the targets that terms are evaluated into, and adds values there.

use super::counts::Counts;
use super::interpreter::Interpreter;
use super::sizes::{common_size, offset};
use crate::destination::{Destination, Step};
use crate::map;
use crate::runtime_error::RuntimeError;
use crate::tensor::Tensor;
use crate::term::Expr;
use crate::value::{Env, Value};
use std::sync::Arc;

type Outcome = Result<Value, RuntimeError>;

/// A part of one of the values that are being added to: the value's number, and the way to the part. The way goes by
/// components and elements, each counted from 0.
#[derive(Clone, Debug)]
pub(super) struct Place {
    root: usize,
    way: Vec<usize>,
}

impl Place {
    pub(super) fn below(&self, i: usize) -> Place {
        Place { root: self.root, way: [self.way.as_slice(), &[i]].concat() }
    }
}

/// The target of a value.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// Back to the caller.
    Own,
    /// The value is added there, and the caller gets nothing.
    Add(Place),
    /// A tuple, each component with a target.
    Parts(Vec<Target>),
    /// The value is unused.
    Nowhere,
}

impl Target {
    /// Returns the target as the planner sees it: paths from the target itself.
    pub(super) fn destination(&self, way: &[Step]) -> Destination {
        match self {
            Target::Own => Destination::Own,
            Target::Nowhere => Destination::Nowhere,
            Target::Add(_) => Destination::Add(way.to_vec()),
            Target::Parts(parts) => {
                let part = |(i, part): (usize, &Target)| part.destination(&[way, &[Step::Component(i + 1)]].concat());
                Destination::Parts(parts.iter().enumerate().map(part).collect())
            }
        }
    }

    /// Returns the target with places of their own for its unused parts; `None` where there are none.
    pub(super) fn with_own_places(&self) -> Option<Target> {
        match self {
            Target::Own | Target::Add(_) => None,
            Target::Nowhere => Some(Target::Own),
            Target::Parts(parts) => {
                let kept: Vec<Option<Target>> = parts.iter().map(Target::with_own_places).collect();
                let part = |(part, kept): (&Target, Option<Target>)| kept.unwrap_or_else(|| part.clone());
                let is_any = kept.iter().any(Option::is_some);
                is_any.then(|| Target::Parts(parts.iter().zip(kept).map(part).collect()))
            }
        }
    }

    pub(super) fn component(&self, i: usize) -> Target {
        match self {
            Target::Own | Target::Nowhere => self.clone(),
            Target::Add(place) => Target::Add(place.below(i)),
            Target::Parts(parts) => parts[i].clone(),
        }
    }
}

/// Returns the value that the caller gets for a part that was added, or that is unused.
pub(super) fn nothing() -> Value {
    Value::Tuple(Vec::new())
}

/// Returns a value without its unused parts.
pub(super) fn without_unread(value: Value, target: &Target) -> Value {
    match (target, value) {
        (Target::Nowhere, _) => nothing(),
        (Target::Parts(parts), Value::Tuple(values)) => {
            Value::Tuple(values.into_iter().zip(parts).map(|(value, part)| without_unread(value, part)).collect())
        }
        (_, value) => value,
    }
}

impl Interpreter<'_> {
    pub(super) fn element(&mut self, place: &Place, i: &Expr, env: &mut Env) -> Result<Place, RuntimeError> {
        let index = self.eval(i, env)?;
        let Value::Tensor(elements) = self.part(place) else { panic!("an element of no tensor") };
        Ok(place.below(offset(elements, &index)?))
    }

    /// Returns zeros of w's shape for the parts that go back to the caller.
    pub(super) fn zero_into(&mut self, w: &Value, target: &Target) -> Value {
        match (target, w) {
            (Target::Own, _) => self.zero(w),
            (Target::Add(_) | Target::Nowhere, _) => nothing(),
            (Target::Parts(parts), Value::Tuple(ws)) => {
                Value::Tuple(parts.iter().zip(ws).map(|(part, w)| self.zero_into(w, part)).collect())
            }
            (Target::Parts(_), w) => panic!("{w:?} is no tuple"),
        }
    }

    /// Makes zeros for each part that goes back to the caller, and returns the target that adds to them.
    pub(super) fn with_zeros(&mut self, w: &Value, target: &Target) -> Target {
        match target {
            Target::Add(_) | Target::Nowhere => target.clone(),
            Target::Own => {
                let zero = self.zero(w);
                self.roots.push(zero);
                Target::Add(Place { root: self.roots.len() - 1, way: Vec::new() })
            }
            Target::Parts(parts) => {
                let witnesses = w.as_tuple().expect("a witness of a tuple");
                Target::Parts(parts.iter().zip(witnesses).map(|(part, w)| self.with_zeros(w, part)).collect())
            }
        }
    }

    /// Returns the sums that `with_zeros` started, from root `next` on.
    pub(super) fn collect(&mut self, target: &Target, next: &mut usize) -> Value {
        match target {
            Target::Add(_) | Target::Nowhere => nothing(),
            Target::Own => {
                *next += 1;
                std::mem::replace(&mut self.roots[*next - 1], nothing())
            }
            Target::Parts(parts) => Value::Tuple(parts.iter().map(|part| self.collect(part, next)).collect()),
        }
    }

    /// Returns the value after `work` has added to it.
    pub(super) fn adding_to(
        &mut self,
        value: Value,
        work: impl FnOnce(&mut Self, &Target) -> Result<(), RuntimeError>,
    ) -> Outcome {
        let root = self.roots.len();
        self.roots.push(value);
        let outcome = work(self, &Target::Add(Place { root, way: Vec::new() }));
        let sum = std::mem::replace(&mut self.roots[root], nothing());
        self.roots.truncate(root);
        outcome.map(|()| sum)
    }

    /// Adds a value where the target says, and returns the parts that go back to the caller.
    pub(super) fn distribute(&mut self, value: Value, target: &Target) -> Outcome {
        match (target, value) {
            (Target::Own, value) => Ok(value),
            (Target::Nowhere, _) => Ok(nothing()),
            (Target::Add(place), value) => {
                let mut sum = std::mem::replace(self.part(place), nothing());
                let outcome = self.add_to(&mut sum, &value);
                *self.part(place) = sum;
                self.checked(outcome).map(|()| nothing())
            }
            (Target::Parts(parts), Value::Tuple(values)) => {
                let parts = parts.iter().zip(values).map(|(part, value)| self.distribute(value, part));
                Ok(Value::Tuple(parts.collect::<Result<_, _>>()?))
            }
            (Target::Parts(_), value) => panic!("{value:?} is no tuple"),
        }
    }

    /// Returns the value at a place, for changing. A shared tensor is copied first.
    pub(super) fn part(&mut self, place: &Place) -> &mut Value {
        let mut value = &mut self.roots[place.root];
        for &i in &place.way {
            value = match value {
                Value::Tuple(parts) => &mut parts[i],
                Value::Tensor(tensor) => {
                    count_copy(tensor, &mut self.counts);
                    &mut Arc::make_mut(tensor).elements_mut()[i]
                }
                other => panic!("{other:?} has no parts"),
            };
        }
        value
    }

    /// Does `x := x + y`.
    fn add_to(&mut self, x: &mut Value, y: &Value) -> Result<(), RuntimeError> {
        match (x, y) {
            (Value::Tuple(xs), Value::Tuple(ys)) => xs.iter_mut().zip(ys).try_for_each(|(x, y)| self.add_to(x, y)),
            (Value::Tensor(xs), Value::Tensor(ys)) => {
                common_size(xs, ys)?;
                count_copy(xs, &mut self.counts);
                let places = Arc::make_mut(xs).elements_mut();
                places.iter_mut().zip(ys.elements()).try_for_each(|(x, y)| self.add_to(x, y))
            }
            (x, y) => {
                *x = self.add(x, y)?;
                Ok(())
            }
        }
    }

    /// Returns the zero of a shape, and counts its Floats as written.
    pub(super) fn zero(&mut self, shape: &Value) -> Value {
        let zero = map::zero(shape);
        if matches!(zero, Value::Tuple(_) | Value::Tensor(_)) {
            self.counts.write(zero.floats().len() as u64);
        }
        zero
    }
}

/// Counts the copy that is made of a shared tensor before it is changed.
fn count_copy(tensor: &mut Arc<Tensor>, counts: &mut Counts) {
    if Arc::get_mut(tensor).is_none() {
        counts.write(tensor.elements().iter().map(own_floats).sum::<u64>());
    }
}

/// Returns the number of Floats in a value.
pub(super) fn all_floats(x: &Value) -> u64 {
    match x {
        Value::Float(_) => 1,
        Value::Tuple(parts) => parts.iter().map(all_floats).sum(),
        Value::Tensor(v) if matches!(v.elements().first(), Some(Value::Float(_))) => v.elements().len() as u64,
        Value::Tensor(v) => v.elements().iter().map(all_floats).sum(),
        _ => 0,
    }
}

/// Returns the number of Floats in a value that belong to tensors.
pub(super) fn shared_floats(x: &Value) -> u64 {
    all_floats(x) - own_floats(x)
}

/// Returns the number of Floats in a value that belong to no tensor. A tensor's were written when it was made.
pub(super) fn own_floats(x: &Value) -> u64 {
    match x {
        Value::Float(_) => 1,
        Value::Tuple(parts) => parts.iter().map(own_floats).sum(),
        _ => 0,
    }
}
