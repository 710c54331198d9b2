//! Says where a value goes: back to the caller, or into a sum.

use super::value::Tensor;
use crate::ir::Operand;
use lm::destination::{Destination, Plan};
use lm::term::Expr;
use lm::types::Type;
use std::fmt;
use std::rc::Rc;

/// A place to add to: numbers in slots, numbers in buffers, tensors in place.
#[derive(Clone, Debug)]
pub(super) enum Accumulator {
    Slot(usize),
    Cell(Operand, Operand),
    Tuple(Vec<Accumulator>),
    Tensor(Rc<Tensor>),
}

impl Accumulator {
    /// Returns the slots in it.
    pub(super) fn slots(&self) -> Vec<usize> {
        match self {
            Accumulator::Slot(slot) => vec![*slot],
            Accumulator::Tuple(parts) => parts.iter().flat_map(Accumulator::slots).collect(),
            Accumulator::Cell(..) | Accumulator::Tensor(_) => vec![],
        }
    }

    /// Returns the i-th component, from 1.
    pub(super) fn component(&self, i: usize) -> Accumulator {
        match self {
            Accumulator::Tuple(parts) => parts[i - 1].clone(),
            Accumulator::Slot(_) | Accumulator::Cell(..) | Accumulator::Tensor(_) => panic!("a component of no tuple"),
        }
    }

    /// Returns the tensor.
    pub(super) fn tensor(&self) -> Rc<Tensor> {
        match self {
            Accumulator::Tensor(tensor) => tensor.clone(),
            Accumulator::Slot(_) | Accumulator::Cell(..) | Accumulator::Tuple(_) => {
                panic!("no tensor where the type says tensor")
            }
        }
    }
}

/// The destination of a value.
#[derive(Clone, Debug)]
pub(super) enum Sink {
    /// Back to the caller.
    Own,
    /// Adds the value to an accumulator. The caller gets nothing.
    Add(Accumulator),
    /// A tuple, each component with a target.
    Parts(Vec<Sink>),
    /// Nobody looks at it.
    Nowhere,
}

impl Sink {
    /// Returns the i-th component, from 1.
    pub(super) fn component(&self, i: usize) -> Sink {
        match self {
            Sink::Own | Sink::Nowhere => self.clone(),
            Sink::Add(sum) => Sink::Add(sum.component(i)),
            Sink::Parts(parts) => parts[i - 1].clone(),
        }
    }

    /// Returns the target, with separate storage for its unread parts, if it has any.
    pub(super) fn kept(&self) -> Option<Sink> {
        match self {
            Sink::Own | Sink::Add(_) => None,
            Sink::Nowhere => Some(Sink::Own),
            Sink::Parts(parts) => {
                let kept: Vec<Option<Sink>> = parts.iter().map(Sink::kept).collect();
                let part = |(part, kept): (&Sink, Option<Sink>)| kept.unwrap_or_else(|| part.clone());
                let is_any = kept.iter().any(Option::is_some);
                is_any.then(|| Sink::Parts(parts.iter().zip(kept).map(part).collect()))
            }
        }
    }

    /// Returns the target as the planner sees it: paths from the target itself.
    pub(super) fn destination(&self) -> Destination {
        self.destination_at(&[])
    }

    fn destination_at(&self, way: &[lm::destination::Step]) -> Destination {
        match self {
            Sink::Own => Destination::Own,
            Sink::Nowhere => Destination::Nowhere,
            Sink::Add(_) => Destination::Add(way.to_vec()),
            Sink::Parts(parts) => {
                let step = lm::destination::Step::Component;
                let part = |(i, part): (usize, &Sink)| part.destination_at(&[way, &[step(i + 1)]].concat());
                Destination::Parts(parts.iter().enumerate().map(part).collect())
            }
        }
    }

    /// Returns the places that are added to, in order.
    pub(super) fn sums(&self) -> Vec<Accumulator> {
        match self {
            Sink::Own | Sink::Nowhere => vec![],
            Sink::Add(sum) => vec![sum.clone()],
            Sink::Parts(parts) => parts.iter().flat_map(Sink::sums).collect(),
        }
    }

    /// Returns the target with other places, in the order of [`Sink::sums`].
    pub(super) fn with_sums(&self, sums: &mut impl Iterator<Item = Accumulator>) -> Sink {
        match self {
            Sink::Own | Sink::Nowhere => self.clone(),
            Sink::Add(_) => Sink::Add(sums.next().expect("there is a place for each")),
            Sink::Parts(parts) => Sink::Parts(parts.iter().map(|part| part.with_sums(sums)).collect()),
        }
    }

    pub(super) fn form(&self) -> SinkForm {
        match self {
            Sink::Own => SinkForm::Own,
            Sink::Add(_) => SinkForm::Add,
            Sink::Nowhere => SinkForm::Nowhere,
            Sink::Parts(parts) => SinkForm::Parts(parts.iter().map(Sink::form).collect()),
        }
    }
}

/// The form of a target. A function is compiled once for each form of target that its result goes to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum SinkForm {
    Own,
    Add,
    Parts(Vec<SinkForm>),
    Nowhere,
}

impl SinkForm {
    /// Returns the types of what is added to, in order, for a value of type `ty`.
    pub(super) fn sums<'t>(&self, ty: &'t Type) -> Vec<&'t Type> {
        match self {
            SinkForm::Own | SinkForm::Nowhere => vec![],
            SinkForm::Add => vec![ty],
            SinkForm::Parts(parts) => {
                let types = ty.as_tuple().expect("parts are those of a tuple");
                parts.iter().zip(types).flat_map(|(part, ty)| part.sums(ty)).collect()
            }
        }
    }

    /// Returns the types of what goes back, as one type: unit for the rest.
    pub(super) fn given_back(&self, ty: &Type) -> Type {
        match self {
            SinkForm::Own => ty.clone(),
            SinkForm::Add | SinkForm::Nowhere => Type::unit(),
            SinkForm::Parts(parts) => {
                let types = ty.as_tuple().expect("parts are those of a tuple");
                Type::tuple(parts.iter().zip(types).map(|(part, ty)| part.given_back(ty)))
            }
        }
    }

    /// Returns a target of the form, with these places.
    pub(super) fn target(&self, sums: &mut impl Iterator<Item = Accumulator>) -> Sink {
        match self {
            SinkForm::Own => Sink::Own,
            SinkForm::Nowhere => Sink::Nowhere,
            SinkForm::Add => Sink::Add(sums.next().expect("there is a place for each")),
            SinkForm::Parts(parts) => Sink::Parts(parts.iter().map(|part| part.target(sums)).collect()),
        }
    }
}

/// As part of a function's name.
impl fmt::Display for SinkForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SinkForm::Own => write!(f, "own"),
            SinkForm::Add => write!(f, "add"),
            SinkForm::Nowhere => write!(f, "none"),
            SinkForm::Parts(parts) => {
                let parts: Vec<String> = parts.iter().map(SinkForm::to_string).collect();
                write!(f, "({})", parts.join("-"))
            }
        }
    }
}

/// The plans of the blocks around a term, the innermost first.
#[derive(Clone, Copy)]
pub(super) struct Planned<'a> {
    pub(super) plan: &'a Plan,
    pub(super) outer: Option<&'a Planned<'a>>,
}

impl Planned<'_> {
    /// Returns whether the term was added where it was bound.
    pub(super) fn has_added(&self, e: &Expr) -> bool {
        self.plan.is_added(e) || self.outer.is_some_and(|outer| outer.has_added(e))
    }
}
