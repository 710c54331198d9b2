//! Says where a value goes: back to the caller, or into a sum.

use super::value::Tensor;
use crate::ir::Operand;
use lm::destination::{Destination, Plan, Step};
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

    /// Returns whether the two are known to be one place.
    pub(super) fn is(&self, other: &Accumulator) -> bool {
        match (self, other) {
            (Accumulator::Slot(a), Accumulator::Slot(b)) => a == b,
            (Accumulator::Cell(a, i), Accumulator::Cell(b, j)) => a == b && i == j,
            (Accumulator::Tuple(a), Accumulator::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is(b))
            }
            (Accumulator::Tensor(a), Accumulator::Tensor(b)) => a.sizes == b.sizes && a.buffers == b.buffers,
            _ => false,
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

    fn destination_at(&self, way: &[Step]) -> Destination {
        match self {
            Sink::Own => Destination::Own,
            Sink::Nowhere => Destination::Nowhere,
            Sink::Add(_) => Destination::Add(way.to_vec()),
            Sink::Parts(parts) => {
                let part = |(i, part): (usize, &Sink)| part.destination_at(&[way, &[Step::Component(i + 1)]].concat());
                Destination::Parts(parts.iter().enumerate().map(part).collect())
            }
        }
    }

    /// Returns the places that are added to, in order, each once.
    pub(super) fn sums(&self) -> Vec<Accumulator> {
        let mut sums = vec![];
        self.collect_sums(&mut sums);
        sums
    }

    fn collect_sums(&self, sums: &mut Vec<Accumulator>) {
        match self {
            Sink::Own | Sink::Nowhere => {}
            Sink::Add(sum) if sums.iter().any(|other| other.is(sum)) => {}
            Sink::Add(sum) => sums.push(sum.clone()),
            Sink::Parts(parts) => parts.iter().for_each(|part| part.collect_sums(sums)),
        }
    }

    /// Returns the target with other places, in the order of [`Sink::sums`].
    pub(super) fn with_sums(&self, sums: &[Accumulator]) -> Sink {
        self.form().target(sums)
    }

    pub(super) fn form(&self) -> SinkForm {
        self.form_among(&self.sums())
    }

    fn form_among(&self, sums: &[Accumulator]) -> SinkForm {
        match self {
            Sink::Own => SinkForm::Own,
            Sink::Add(sum) => {
                SinkForm::Add(sums.iter().position(|other| other.is(sum)).expect("it is one of the sums"))
            }
            Sink::Nowhere => SinkForm::Nowhere,
            Sink::Parts(parts) => SinkForm::Parts(parts.iter().map(|part| part.form_among(sums)).collect()),
        }
    }
}

/// The form of a target. A function is compiled once for each form of target that its result goes to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum SinkForm {
    Own,
    /// The number of the place, among all places of the target. Parts with one number go to one place.
    Add(usize),
    Parts(Vec<SinkForm>),
    Nowhere,
}

impl SinkForm {
    /// Returns the types of the places, in order, for a value of type `ty`.
    pub(super) fn sums<'t>(&self, ty: &'t Type) -> Vec<&'t Type> {
        let mut sums = vec![];
        self.collect_sums(ty, &mut sums);
        sums
    }

    fn collect_sums<'t>(&self, ty: &'t Type, sums: &mut Vec<&'t Type>) {
        match self {
            SinkForm::Own | SinkForm::Nowhere => {}
            SinkForm::Add(place) if *place < sums.len() => {}
            SinkForm::Add(_) => sums.push(ty),
            SinkForm::Parts(parts) => {
                let types = ty.as_tuple().expect("parts are those of a tuple");
                parts.iter().zip(types).for_each(|(part, ty)| part.collect_sums(ty, sums));
            }
        }
    }

    /// Returns the types of what goes back, as one type: unit for the rest.
    pub(super) fn given_back(&self, ty: &Type) -> Type {
        match self {
            SinkForm::Own => ty.clone(),
            SinkForm::Add(_) | SinkForm::Nowhere => Type::unit(),
            SinkForm::Parts(parts) => {
                let types = ty.as_tuple().expect("parts are those of a tuple");
                Type::tuple(parts.iter().zip(types).map(|(part, ty)| part.given_back(ty)))
            }
        }
    }

    /// Returns a target of the form, with these places.
    pub(super) fn target(&self, sums: &[Accumulator]) -> Sink {
        match self {
            SinkForm::Own => Sink::Own,
            SinkForm::Nowhere => Sink::Nowhere,
            SinkForm::Add(place) => Sink::Add(sums[*place].clone()),
            SinkForm::Parts(parts) => Sink::Parts(parts.iter().map(|part| part.target(sums)).collect()),
        }
    }

    /// Writes the form; `places` is the number of places so far.
    fn write(&self, f: &mut fmt::Formatter<'_>, places: &mut usize) -> fmt::Result {
        match self {
            SinkForm::Own => write!(f, "own"),
            SinkForm::Nowhere => write!(f, "none"),
            // A place that another part goes to, too, by its number from 1.
            SinkForm::Add(place) if place < places => write!(f, "add{}", place + 1),
            SinkForm::Add(_) => {
                *places += 1;
                write!(f, "add")
            }
            SinkForm::Parts(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    write!(f, "{}", if i == 0 { "(" } else { "-" })?;
                    part.write(f, places)?;
                }
                write!(f, "{}", if parts.is_empty() { "()" } else { ")" })
            }
        }
    }
}

/// As part of a function's name.
impl fmt::Display for SinkForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &mut 0)
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
