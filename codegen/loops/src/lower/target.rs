//! Where a value goes: back to the caller, or to the place of a sum.

use super::value::Tensor;
use crate::ir::Operand;
use lm::destination::{Destination, Plan};
use lm::term::Expr;
use lm::types::Type;
use std::fmt;
use std::rc::Rc;

/// A place to add to: numbers in slots, numbers in buffers, tensors in place.
#[derive(Clone, Debug)]
pub(super) enum Sum {
    Slot(usize),
    Cell(Operand, Operand),
    Tuple(Vec<Sum>),
    Tensor(Rc<Tensor>),
}

impl Sum {
    /// The slots in it.
    pub(super) fn slots(&self) -> Vec<usize> {
        match self {
            Sum::Slot(slot) => vec![*slot],
            Sum::Tuple(parts) => parts.iter().flat_map(Sum::slots).collect(),
            Sum::Cell(..) | Sum::Tensor(_) => vec![],
        }
    }

    /// The i-th component, from 1.
    pub(super) fn component(&self, i: usize) -> Sum {
        match self {
            Sum::Tuple(parts) => parts[i - 1].clone(),
            Sum::Slot(_) | Sum::Cell(..) | Sum::Tensor(_) => panic!("a component of no tuple"),
        }
    }

    /// The tensor.
    pub(super) fn tensor(&self) -> Rc<Tensor> {
        match self {
            Sum::Tensor(tensor) => tensor.clone(),
            Sum::Slot(_) | Sum::Cell(..) | Sum::Tuple(_) => panic!("no tensor where the type says tensor"),
        }
    }
}

/// Where a value goes.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// Back to the caller.
    Own,
    /// It is added there, and the caller gets nothing.
    Add(Sum),
    /// A tuple, each component with a target.
    Parts(Vec<Target>),
    /// Nobody looks at it.
    Nowhere,
}

impl Target {
    /// The i-th component, from 1.
    pub(super) fn component(&self, i: usize) -> Target {
        match self {
            Target::Own | Target::Nowhere => self.clone(),
            Target::Add(sum) => Target::Add(sum.component(i)),
            Target::Parts(parts) => parts[i - 1].clone(),
        }
    }

    /// The target with places of their own for parts that nobody looks at, if there are any.
    pub(super) fn kept(&self) -> Option<Target> {
        match self {
            Target::Own | Target::Add(_) => None,
            Target::Nowhere => Some(Target::Own),
            Target::Parts(parts) => {
                let kept: Vec<Option<Target>> = parts.iter().map(Target::kept).collect();
                let part = |(part, kept): (&Target, Option<Target>)| kept.unwrap_or_else(|| part.clone());
                let is_any = kept.iter().any(Option::is_some);
                is_any.then(|| Target::Parts(parts.iter().zip(kept).map(part).collect()))
            }
        }
    }

    /// The target as the planner sees it: paths from the target itself.
    pub(super) fn destination(&self) -> Destination {
        self.destination_at(&[])
    }

    fn destination_at(&self, way: &[lm::destination::Step]) -> Destination {
        match self {
            Target::Own => Destination::Own,
            Target::Nowhere => Destination::Nowhere,
            Target::Add(_) => Destination::Add(way.to_vec()),
            Target::Parts(parts) => {
                let step = lm::destination::Step::Component;
                let part = |(i, part): (usize, &Target)| part.destination_at(&[way, &[step(i + 1)]].concat());
                Destination::Parts(parts.iter().enumerate().map(part).collect())
            }
        }
    }

    /// The places that are added to, in order.
    pub(super) fn sums(&self) -> Vec<Sum> {
        match self {
            Target::Own | Target::Nowhere => vec![],
            Target::Add(sum) => vec![sum.clone()],
            Target::Parts(parts) => parts.iter().flat_map(Target::sums).collect(),
        }
    }

    /// The target with other places, in the order of [`Target::sums`].
    pub(super) fn with_sums(&self, sums: &mut impl Iterator<Item = Sum>) -> Target {
        match self {
            Target::Own | Target::Nowhere => self.clone(),
            Target::Add(_) => Target::Add(sums.next().expect("there is a place for each")),
            Target::Parts(parts) => Target::Parts(parts.iter().map(|part| part.with_sums(sums)).collect()),
        }
    }

    pub(super) fn form(&self) -> Form {
        match self {
            Target::Own => Form::Own,
            Target::Add(_) => Form::Add,
            Target::Nowhere => Form::Nowhere,
            Target::Parts(parts) => Form::Parts(parts.iter().map(Target::form).collect()),
        }
    }
}

/// What a target is like: functions whose results go to different kinds of target are compiled apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Form {
    Own,
    Add,
    Parts(Vec<Form>),
    Nowhere,
}

impl Form {
    /// The types of what is added to, in order, for a value of type `ty`.
    pub(super) fn sums<'t>(&self, ty: &'t Type) -> Vec<&'t Type> {
        match self {
            Form::Own | Form::Nowhere => vec![],
            Form::Add => vec![ty],
            Form::Parts(parts) => {
                let types = ty.as_tuple().expect("parts are those of a tuple");
                parts.iter().zip(types).flat_map(|(part, ty)| part.sums(ty)).collect()
            }
        }
    }

    /// The types of what goes back, as one type: unit for the rest.
    pub(super) fn given_back(&self, ty: &Type) -> Type {
        match self {
            Form::Own => ty.clone(),
            Form::Add | Form::Nowhere => Type::unit(),
            Form::Parts(parts) => {
                let types = ty.as_tuple().expect("parts are those of a tuple");
                Type::tuple(parts.iter().zip(types).map(|(part, ty)| part.given_back(ty)))
            }
        }
    }

    /// A target of the form, with these places.
    pub(super) fn target(&self, sums: &mut impl Iterator<Item = Sum>) -> Target {
        match self {
            Form::Own => Target::Own,
            Form::Nowhere => Target::Nowhere,
            Form::Add => Target::Add(sums.next().expect("there is a place for each")),
            Form::Parts(parts) => Target::Parts(parts.iter().map(|part| part.target(sums)).collect()),
        }
    }
}

/// As part of a function's name.
impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Form::Own => write!(f, "own"),
            Form::Add => write!(f, "add"),
            Form::Nowhere => write!(f, "none"),
            Form::Parts(parts) => {
                let parts: Vec<String> = parts.iter().map(Form::to_string).collect();
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
    /// Whether the term was added where it was bound.
    pub(super) fn has_added(&self, e: &Expr) -> bool {
        self.plan.is_added(e) || self.outer.is_some_and(|outer| outer.has_added(e))
    }
}
