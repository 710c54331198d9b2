//! Reads and writes the places of sums.
//!
//! Numbers that are summed in registers have slots: a slot's operand is the number so far. What runs in a
//! branch or a loop sets slots; `choose` and `add_each` see that their operands come out of it.

use super::body::Body;
use super::sink::{Accumulator, Sink};
use super::value::{Tensor, Val};
use crate::ir::{Local, Memory, Operand, Stmt};
use lm::types::Type;
use std::rc::Rc;

impl Val {
    /// Returns the value, or what remains of it after the addition, without unread parts.
    pub(super) fn without_unread(&self, target: &Sink) -> Val {
        match target {
            Sink::Nowhere => Val::nothing(),
            Sink::Parts(parts) => {
                let part = |(value, part): (&Val, &Sink)| value.without_unread(part);
                Val::tuple(self.parts().iter().zip(parts).map(part).collect::<Vec<_>>())
            }
            Sink::Own | Sink::Add(_) => self.clone(),
        }
    }
}

impl Body<'_> {
    /// Returns an accumulator for a value with a single owner. Its numbers get slots.
    pub(super) fn sum_of(&mut self, value: &Val) -> Accumulator {
        match value {
            Val::Leaf(operand) => {
                self.slots.push(operand.clone());
                Accumulator::Slot(self.slots.len() - 1)
            }
            Val::Tuple(parts) => Accumulator::Tuple(parts.iter().map(|part| self.sum_of(part)).collect()),
            Val::Tensor(tensor) => Accumulator::Tensor(tensor.clone()),
        }
    }

    /// The value that is at a place now.
    pub(super) fn sum_value(&mut self, sum: &Accumulator) -> Val {
        match sum {
            Accumulator::Slot(slot) => Val::Leaf(self.slots[*slot].clone()),
            Accumulator::Cell(buffer, offset) => Val::Leaf(self.load_cell(buffer, offset)),
            Accumulator::Tuple(parts) => Val::tuple(parts.iter().map(|part| self.sum_value(part)).collect::<Vec<_>>()),
            Accumulator::Tensor(tensor) => Val::Tensor(tensor.clone()),
        }
    }

    /// An element of a tensor, to be added to.
    pub(super) fn element_sum(&mut self, tensor: &Tensor, offset: &Operand) -> Accumulator {
        self.part_sum(&tensor.element, &mut tensor.buffers.iter(), offset)
    }

    fn part_sum<'b>(
        &mut self,
        ty: &Type,
        buffers: &mut impl Iterator<Item = &'b Operand>,
        offset: &Operand,
    ) -> Accumulator {
        match ty {
            Type::Tuple(parts) => {
                Accumulator::Tuple(parts.iter().map(|part| self.part_sum(part, buffers, offset)).collect())
            }
            Type::Tensor(rank, element) => {
                let width = crate::layout::components(element).expect("the whole has a layout").len();
                let buffers: Vec<Operand> = buffers.take(rank + width).cloned().collect();
                let mut components = buffers.iter().map(|buffer| self.load_cell(buffer, offset)).collect::<Vec<_>>();
                let inside = |(inner, outer): (&Operand, &Operand)| Some((inner.local()?, outer.local()?));
                self.inside.extend(components.iter().zip(&buffers).filter_map(inside));
                let inner = components.split_off(*rank);
                let tensor = Tensor { element: (**element).clone(), sizes: components, buffers: inner };
                let tensor = Rc::new(tensor);
                self.new_sizes(&Val::Tensor(tensor.clone()), 0);
                Accumulator::Tensor(tensor)
            }
            Type::Float
            | Type::Integer
            | Type::Bool
            | Type::String
            | Type::Lam(..)
            | Type::LM(..)
            | Type::Record(_) => {
                Accumulator::Cell(buffers.next().expect("there is a buffer for each component").clone(), offset.clone())
            }
        }
    }

    /// Returns whether two places that are not one may have a part in common, as `v[i]` and `v[j]` may.
    pub(super) fn may_meet(&self, a: &Accumulator, b: &Accumulator) -> bool {
        let slots = a.slots();
        let shares_slot = || b.slots().iter().any(|slot| slots.contains(slot));
        let roots = self.roots(a);
        !a.is(b) && (shares_slot() || self.roots(b).iter().any(|root| roots.contains(root)))
    }

    /// Returns the buffers that the place is a part of.
    fn roots(&self, sum: &Accumulator) -> Vec<Local> {
        match sum {
            Accumulator::Slot(_) => vec![],
            Accumulator::Cell(buffer, _) => self.root(buffer).into_iter().collect(),
            Accumulator::Tuple(parts) => parts.iter().flat_map(|part| self.roots(part)).collect(),
            Accumulator::Tensor(tensor) => tensor.buffers.iter().filter_map(|buffer| self.root(buffer)).collect(),
        }
    }

    fn root(&self, buffer: &Operand) -> Option<Local> {
        let mut root = buffer.local()?;
        while let Some(outer) = self.inside.get(&root) {
            root = *outer;
        }
        Some(root)
    }

    /// The place with its cells in slots.
    pub(super) fn loaded(&mut self, sum: &Accumulator) -> Accumulator {
        match sum {
            Accumulator::Cell(buffer, offset) => {
                let number = self.load_cell(buffer, offset);
                self.sum_of(&Val::Leaf(number))
            }
            Accumulator::Tuple(parts) => Accumulator::Tuple(parts.iter().map(|part| self.loaded(part)).collect()),
            Accumulator::Slot(_) | Accumulator::Tensor(_) => sum.clone(),
        }
    }

    /// The reverse of `loaded`.
    pub(super) fn stored(&mut self, sum: &Accumulator, loaded: &Accumulator) {
        match (sum, loaded) {
            (Accumulator::Cell(buffer, offset), Accumulator::Slot(slot)) => {
                let number = self.slots[*slot].clone();
                self.stmts.push(Stmt::Memory(Memory::Store(buffer.clone(), offset.clone(), number)));
            }
            (Accumulator::Tuple(parts), Accumulator::Tuple(loaded)) => {
                parts.iter().zip(loaded).for_each(|(part, loaded)| self.stored(part, loaded));
            }
            _ => {}
        }
    }
}
