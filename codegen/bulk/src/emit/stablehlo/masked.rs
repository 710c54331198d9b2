//! One place of an axis, on several devices.
//!
//! An axis may lie along the devices. `dynamic_slice` would send the whole array to each of them; a mask is compared on
//! each, and one number is sent:
//!
//! ```text
//! at a e          =  sum (select (iota = e) a 0)
//! scatter a x e   =  select (iota = e) (a + x) a
//! ```
//!
//! A loop reads and writes a place in each step. There a mask would cost the whole array each time, so it is left out.

use super::{Printer, Val};
use crate::ir::Id;

impl Printer<'_> {
    /// Returns whether places are compared, not taken, along an axis of an array.
    fn masks(&self, of: &Val, axis: usize, place: Id) -> bool {
        let is_data = self.plan.integer(place).is_none();
        is_data && !self.options.mesh.is_alone() && self.loops == 0 && of.ty.dims[axis] > 1 && of.ty.element != "i1"
    }

    fn mask(&mut self, of: &Val, axis: usize, place: Id) -> Val {
        let ty = of.ty.of("i64");
        let iota = self.assign(format!("stablehlo.iota dim = {axis} : {ty}"), ty.clone());
        let place = self.value(place);
        let place = self.broadcast(&place, &[], ty);
        self.compare("EQ", &iota, &place)
    }

    /// Returns place e of an axis.
    pub(super) fn masked_at(&mut self, of: &Val, axis: usize, place: Id) -> Option<Val> {
        if !self.masks(of, axis, place) {
            return None;
        }
        let (mask, zeros) = (self.mask(of, axis, place), self.zeros(&of.ty));
        let part = self.select(&mask, of, &zeros);
        let mut dims = of.ty.dims.clone();
        dims.remove(axis);
        let zero = self.zeros(&of.ty.sized(vec![]));
        Some(self.reduced("stablehlo.add", &part, &zero, &[axis], of.ty.sized(dims)))
    }

    /// Returns an array with x, of size 1 along one axis, added at a place of it. Other places are 0.
    pub(super) fn masked_add(&mut self, of: &Val, x: &Val, starts: &[Option<Id>]) -> Option<Val> {
        let mut open = (0..starts.len()).filter(|&k| x.ty.dims[k] != of.ty.dims[k]);
        let (axis, others) = (open.next()?, open.next());
        let place = starts[axis].filter(|&place| others.is_none() && self.masks(of, axis, place))?;
        if x.ty.dims[axis] != 1 {
            return None;
        }
        let mask = self.mask(of, axis, place);
        let all: Vec<usize> = (0..of.ty.dims.len()).collect();
        let x = self.broadcast(x, &all, of.ty.clone());
        let sum = self.alike("stablehlo.add", &[of, &x]);
        Some(self.select(&mask, &sum, of))
    }
}
