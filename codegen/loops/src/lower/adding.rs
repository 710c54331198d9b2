//! Addition of values to places.

use super::body::Body;
use super::sink::Accumulator;
use super::value::Val;
use crate::error::Error;
use crate::ir::{Op, Operand, Scalar};

impl Body<'_> {
    /// Adds a value to a place.
    pub(super) fn add_value(&mut self, sum: &Accumulator, y: &Val) -> Result<(), Error> {
        self.add_changed(sum, y, &mut |_, x| x)
    }

    /// Adds a value, with its Floats changed, to a place.
    pub(super) fn add_changed(
        &mut self,
        sum: &Accumulator,
        y: &Val,
        change: &mut dyn FnMut(&mut Self, Operand) -> Operand,
    ) -> Result<(), Error> {
        match sum {
            Accumulator::Slot(_) | Accumulator::Cell(..) => {
                let scalar = self.addable(&y.leaf())?;
                let y = if scalar == Scalar::Float { change(self, y.leaf()) } else { y.leaf() };
                self.add_number(sum, scalar, y);
                Ok(())
            }
            Accumulator::Tuple(parts) => {
                parts.iter().zip(y.parts()).try_for_each(|(part, y)| self.add_changed(part, y, change))
            }
            Accumulator::Tensor(tensor) => {
                let other = y.tensor();
                self.check_same_size(&tensor.sizes, &other.sizes);
                let count = self.count(&tensor.sizes);
                self.count_to(&count, vec![], |body, i, _| {
                    let element = body.element_sum(tensor, &i);
                    let y = body.load_element(other, &i);
                    body.add_changed(&element, &y, change)?;
                    Ok(vec![])
                })?;
                Ok(())
            }
        }
    }

    fn add_number(&mut self, sum: &Accumulator, scalar: Scalar, y: Operand) {
        match sum {
            Accumulator::Slot(slot) => {
                let op = if scalar == Scalar::Float { Op::AddF } else { Op::AddI };
                let x = self.slots[*slot].clone();
                self.slots[*slot] = self.op(op, [x, y]);
            }
            Accumulator::Cell(buffer, offset) => self.add_to_cell(buffer, offset, y),
            Accumulator::Tuple(_) | Accumulator::Tensor(_) => panic!("a number is added to a number"),
        }
    }

    fn addable(&self, x: &Operand) -> Result<Scalar, Error> {
        match self.scalar_of(x) {
            scalar @ (Scalar::Float | Scalar::Integer) => Ok(scalar),
            other => Err(self.unsupported(&format!("the sum of values with a {other} in them"))),
        }
    }
}
