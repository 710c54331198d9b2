//! Where a value goes: the places of sums.
//!
//! Numbers that are summed in registers have slots: a slot's operand is the number so far. What runs in a
//! branch or a loop sets slots; `choose` and `add_each` see that their operands come out of it.

use super::body::Body;
use super::value::{Tensor, Val, nothing};
use crate::ir::{Memory, Operand, Stmt};
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

impl Val {
    /// The value, or what came back of it, without the parts that nobody looks at.
    pub(super) fn without_unread(&self, target: &Target) -> Val {
        match target {
            Target::Nowhere => nothing(),
            Target::Parts(parts) => {
                let part = |(value, part): (&Val, &Target)| value.without_unread(part);
                Val::tuple(self.parts().iter().zip(parts).map(part).collect::<Vec<_>>())
            }
            Target::Own | Target::Add(_) => self.clone(),
        }
    }
}

impl Body<'_> {
    /// The place of a value that nobody else has: its numbers get slots.
    pub(super) fn sum_of(&mut self, value: &Val) -> Sum {
        match value {
            Val::Leaf(operand) => {
                self.slots.push(operand.clone());
                Sum::Slot(self.slots.len() - 1)
            }
            Val::Tuple(parts) => Sum::Tuple(parts.iter().map(|part| self.sum_of(part)).collect()),
            Val::Tensor(tensor) => Sum::Tensor(tensor.clone()),
        }
    }

    /// The value that is at a place now.
    pub(super) fn sum_value(&mut self, sum: &Sum) -> Val {
        match sum {
            Sum::Slot(slot) => Val::Leaf(self.slots[*slot].clone()),
            Sum::Cell(buffer, offset) => Val::Leaf(self.load_cell(buffer, offset)),
            Sum::Tuple(parts) => Val::tuple(parts.iter().map(|part| self.sum_value(part)).collect::<Vec<_>>()),
            Sum::Tensor(tensor) => Val::Tensor(tensor.clone()),
        }
    }

    /// An element of a tensor, to be added to.
    pub(super) fn element_sum(&mut self, tensor: &Tensor, offset: &Operand) -> Sum {
        self.part_sum(&tensor.element, &mut tensor.buffers.iter(), offset)
    }

    fn part_sum<'b>(&mut self, ty: &Type, buffers: &mut impl Iterator<Item = &'b Operand>, offset: &Operand) -> Sum {
        match ty {
            Type::Tuple(parts) => Sum::Tuple(parts.iter().map(|part| self.part_sum(part, buffers, offset)).collect()),
            Type::Tensor(rank, element) => {
                let width = crate::layout::components(element).expect("the whole has a layout").len();
                let buffers: Vec<Operand> = buffers.take(rank + width).cloned().collect();
                let mut components = buffers.iter().map(|buffer| self.load_cell(buffer, offset)).collect::<Vec<_>>();
                let inner = components.split_off(*rank);
                let tensor = Tensor { element: (**element).clone(), sizes: components, buffers: inner };
                let tensor = Rc::new(tensor);
                self.new_sizes(&Val::Tensor(tensor.clone()), 0);
                Sum::Tensor(tensor)
            }
            Type::Float
            | Type::Integer
            | Type::Bool
            | Type::String
            | Type::Lam(..)
            | Type::LM(..)
            | Type::Record(_) => {
                Sum::Cell(buffers.next().expect("there is a buffer for each component").clone(), offset.clone())
            }
        }
    }

    /// The place with its cells in slots.
    pub(super) fn loaded(&mut self, sum: &Sum) -> Sum {
        match sum {
            Sum::Cell(buffer, offset) => {
                let number = self.load_cell(buffer, offset);
                self.sum_of(&Val::Leaf(number))
            }
            Sum::Tuple(parts) => Sum::Tuple(parts.iter().map(|part| self.loaded(part)).collect()),
            Sum::Slot(_) | Sum::Tensor(_) => sum.clone(),
        }
    }

    /// The reverse of `loaded`.
    pub(super) fn stored(&mut self, sum: &Sum, loaded: &Sum) {
        match (sum, loaded) {
            (Sum::Cell(buffer, offset), Sum::Slot(slot)) => {
                let number = self.slots[*slot].clone();
                self.stmts.push(Stmt::Memory(Memory::Store(buffer.clone(), offset.clone(), number)));
            }
            (Sum::Tuple(parts), Sum::Tuple(loaded)) => {
                parts.iter().zip(loaded).for_each(|(part, loaded)| self.stored(part, loaded));
            }
            _ => {}
        }
    }
}
