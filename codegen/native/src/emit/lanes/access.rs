//! Emits loads and stores in lanes: finds where the elements of all lanes lie, and gathers them in vectors.
//!
//! ```text
//! one       the same element for all lanes          a scalar load
//! row       neighbours, lane 0's first              a vector load
//! apart     anywhere                                a gather or a scatter
//! ```
//!
//! Under a mask where lanes are off, unless the memory is their own and they stay off.

use super::addition;
use crate::emit::frame::{ActiveLanes, Frame};
use crate::emit::shape::vector_of;
use crate::emit::{Emitter, built};
use crate::llvm;
use inkwell::types::{BasicTypeEnum, VectorType};
use inkwell::values::{BasicValue, BasicValueEnum, InstructionValue, PointerValue, VectorValue};
use loops::analyses::divergence::Layout;
use loops::ir::{Op, Operand, Scalar, Ty};

/// An element for each lane.
pub(super) struct Cells<'ctx> {
    place: LaneAddress<'ctx>,
    /// The type of an element.
    ty: Ty,
    /// Whether each lane has one of its own.
    own: bool,
    /// Whether the lanes do the same to it, once.
    once: bool,
    /// Under which mask they are read and written.
    mask: Option<VectorValue<'ctx>>,
}

/// The addresses of the lanes' elements.
enum LaneAddress<'ctx> {
    One(PointerValue<'ctx>),
    Row(PointerValue<'ctx>),
    Apart(VectorValue<'ctx>),
}

impl<'ctx> Emitter<'ctx, '_> {
    /// The elements of a buffer at an index.
    pub(super) fn cells(
        &mut self,
        frame: &Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        buffer: &Operand,
        index: &Operand,
    ) -> Cells<'ctx> {
        let (base, i) = (self.operand(frame, buffer), self.operand(frame, index));
        self.cells_at(frame, lanes, buffer, (base, i), lanes.spread.stride(index))
    }

    /// The same for an index that is no operand of the loops, and that varies by so much from lane to lane.
    pub(super) fn cells_at(
        &mut self,
        frame: &Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        buffer: &Operand,
        (base, i): (BasicValueEnum<'ctx>, BasicValueEnum<'ctx>),
        stride: Option<i64>,
    ) -> Cells<'ctx> {
        let layout = lanes.spread.layout(buffer);
        let ty = frame.function().ty(buffer).element().expect("loops are well-typed");
        let stride = if i.is_vector_value() { stride } else { Some(0) };
        // What is one index for all lanes may have been computed in each of them.
        let i = match i {
            BasicValueEnum::VectorValue(each) if stride == Some(0) => self.lane(each, 0),
            _ => i,
        };
        let is_each = layout == Layout::Each;
        let i = if is_each { self.of_each(lanes, i) } else { i };
        let one_address = !base.is_vector_value();
        let place = match (is_each, stride) {
            (true, Some(0)) if one_address => LaneAddress::Row(self.address(ty, base, i)),
            (false, Some(0)) if one_address => LaneAddress::One(self.address(ty, base, i)),
            (false, Some(1)) if one_address => {
                LaneAddress::Row(self.address(ty, base, self.lane(i.into_vector_value(), 0)))
            }
            (true, _) => {
                let i = self.spread(i, lanes.width).into();
                let i = self.op(Op::AddI, &[i, self.numbers(lanes.width).into()]);
                LaneAddress::Apart(llvm::elements(&self.builder, self.stored(ty), base, i))
            }
            (false, _) => LaneAddress::Apart(llvm::elements(&self.builder, self.stored(ty), base, i)),
        };
        let own = is_each || one_address && stride.is_some_and(|stride| stride != 0);
        let spares_mask = is_each && matches!(place, LaneAddress::Row(_)) && !lanes.mask.parted;
        let mask = lanes.mask.on.filter(|_| !spares_mask);
        Cells { place, ty, own, once: layout == Layout::Shared, mask }
    }

    /// Returns where an index of a buffer that each lane has for itself begins.
    pub(super) fn of_each(&self, lanes: &ActiveLanes<'ctx>, i: BasicValueEnum<'ctx>) -> BasicValueEnum<'ctx> {
        let width = self.constant_like(i, self.i64().const_int(u64::from(lanes.width), false).into());
        self.op(Op::MulI, &[i, width])
    }

    fn address(&self, ty: Ty, base: BasicValueEnum<'ctx>, i: BasicValueEnum<'ctx>) -> PointerValue<'ctx> {
        // Lane 0 may be off, and its index beyond the buffer.
        llvm::any_element(&self.builder, self.stored(ty), base.into_pointer_value(), i.into_int_value())
    }

    /// Returns what the elements are: a vector, or the one value of all lanes.
    pub(super) fn read(
        &self,
        frame: &Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        buffer: &Operand,
        cells: &Cells<'ctx>,
    ) -> BasicValueEnum<'ctx> {
        let stored = self.stored(cells.ty);
        let vector = vector_of(stored, lanes.width);
        let loaded = match (&cells.place, cells.mask) {
            (LaneAddress::One(address), _) => built(self.builder.build_load(stored, *address, "")),
            (LaneAddress::Row(address), None) => self.aligned_load(vector.into(), *address, cells.ty),
            (LaneAddress::Row(address), Some(mask)) => {
                let args = [(*address).into(), self.alignment(cells.ty), mask.into(), vector.const_zero().into()];
                self.intrinsic("llvm.masked.load", &args, &[vector.into(), self.ptr().into()])
            }
            (LaneAddress::Apart(addresses), mask) => {
                let mask = mask.unwrap_or_else(|| self.all_on(lanes));
                let args = [(*addresses).into(), self.alignment(cells.ty), mask.into(), vector.const_zero().into()];
                self.intrinsic("llvm.masked.gather", &args, &[vector.into(), addresses.get_type().into()])
            }
        };
        self.place_load(frame, buffer, loaded);
        self.inward(cells.ty, loaded)
    }

    /// Sets the elements.
    pub(super) fn write_cells(
        &self,
        frame: &Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        buffer: &Operand,
        cells: &Cells<'ctx>,
        value: BasicValueEnum<'ctx>,
    ) {
        if let LaneAddress::One(address) = cells.place
            && cells.once
        {
            let store = built(self.builder.build_store(address, self.outward(cells.ty, value)));
            return self.place_in_scope(frame, buffer, store);
        }
        let value = self.outward(cells.ty, self.spread(value, lanes.width).into());
        let store = match (&cells.place, cells.mask) {
            (LaneAddress::Row(address), None) => self.aligned_store(*address, value, cells.ty),
            (LaneAddress::Row(address), Some(mask)) => {
                let args = [value, (*address).into(), self.alignment(cells.ty), mask.into()];
                self.effect("llvm.masked.store", &args, &[value.get_type(), self.ptr().into()])
            }
            (LaneAddress::One(_) | LaneAddress::Apart(_), mask) => {
                let addresses = match cells.place {
                    LaneAddress::Apart(addresses) => addresses,
                    LaneAddress::One(address) | LaneAddress::Row(address) => self.splat(address.into(), lanes.width),
                };
                let mask = mask.unwrap_or_else(|| self.all_on(lanes));
                let args = [value, addresses.into(), self.alignment(cells.ty), mask.into()];
                self.effect("llvm.masked.scatter", &args, &[value.get_type(), addresses.get_type().into()])
            }
        };
        self.place_in_scope(frame, buffer, store);
    }

    /// Adds to the elements: in vectors if each lane has its own, once if all lanes do the same. Otherwise it adds one
    /// lane after the other, for they may have the same element.
    pub(super) fn add_to_cells(
        &mut self,
        frame: &Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        buffer: &Operand,
        cells: &Cells<'ctx>,
        value: BasicValueEnum<'ctx>,
    ) {
        let op = addition(cells.ty.as_scalar());
        match cells.place {
            LaneAddress::One(address) => {
                let value = if cells.once { value } else { self.total(op, self.of_lanes_on(lanes, op, value)) };
                self.add_to(frame, buffer, op, (address, cells.ty), value);
            }
            LaneAddress::Row(_) | LaneAddress::Apart(_) if cells.own => {
                let old = self.read(frame, lanes, buffer, cells);
                let sum = self.op(op, &[old, self.spread(value, lanes.width).into()]);
                self.write_cells(frame, lanes, buffer, cells, sum);
            }
            LaneAddress::Row(address) => panic!("{address} is a row that the lanes do not own"),
            LaneAddress::Apart(addresses) => {
                let value = self.of_lanes_on(lanes, op, value);
                let addresses = match lanes.mask.on {
                    Some(on) => self.or_nowhere(frame, on, addresses),
                    None => addresses,
                };
                for lane in 0..lanes.width {
                    let address = self.lane(addresses, lane).into_pointer_value();
                    self.add_to(frame, buffer, op, (address, cells.ty), self.lane(value, lane));
                }
            }
        }
    }

    fn add_to(
        &self,
        frame: &Frame<'ctx, '_>,
        buffer: &Operand,
        op: Op,
        (address, ty): (PointerValue<'ctx>, Ty),
        value: BasicValueEnum<'ctx>,
    ) {
        let old = self.load_stored(address, ty);
        self.place_load(frame, buffer, old);
        let sum = self.op(op, &[old, value]);
        self.may_reorder(sum);
        let store = built(self.builder.build_store(address, sum));
        self.place_in_scope(frame, buffer, store);
    }

    /// Returns what the lanes that are on add; the others add nothing.
    fn of_lanes_on(&self, lanes: &ActiveLanes<'ctx>, op: Op, value: BasicValueEnum<'ctx>) -> VectorValue<'ctx> {
        let value = self.spread(value, lanes.width);
        let nothing = self.splat(self.neutral(op), lanes.width);
        let chosen = |on| self.select(on, value.into(), nothing.into()).into_vector_value();
        lanes.mask.on.map_or(value, chosen)
    }

    /// Returns the addresses of the active lanes. All other lanes get an address that is otherwise unused.
    fn or_nowhere(
        &self,
        frame: &Frame<'ctx, '_>,
        on: VectorValue<'ctx>,
        addresses: VectorValue<'ctx>,
    ) -> VectorValue<'ctx> {
        let slot = self.slot(frame.llvm(), self.context.struct_type(&[self.i64().into()], false));
        built(self.builder.build_store(slot, self.i64().const_zero()));
        let nowhere = self.splat(slot.into(), on.get_type().get_size());
        self.select(on, addresses.into(), nowhere.into()).into_vector_value()
    }

    fn all_on(&self, lanes: &ActiveLanes<'ctx>) -> VectorValue<'ctx> {
        VectorType::const_vector(&vec![self.context.bool_type().const_all_ones(); lanes.width as usize])
    }

    fn alignment(&self, ty: Ty) -> BasicValueEnum<'ctx> {
        self.i32().const_int(ty.bytes(), false).into()
    }

    fn aligned_load(&self, ty: BasicTypeEnum<'ctx>, from: PointerValue<'ctx>, element: Ty) -> BasicValueEnum<'ctx> {
        let loaded = built(self.builder.build_load(ty, from, ""));
        align(loaded.as_instruction_value().expect("a load is an instruction"), element);
        loaded
    }

    fn aligned_store(
        &self,
        to: PointerValue<'ctx>,
        value: BasicValueEnum<'ctx>,
        element: Ty,
    ) -> InstructionValue<'ctx> {
        let store = built(self.builder.build_store(to, value));
        align(store, element);
        store
    }
}

/// Vectors lie as their elements do.
fn align(access: InstructionValue, element: Ty) {
    let bytes = if element == Scalar::Bool.ty() { 1 } else { 8 };
    access.set_alignment(bytes).expect("a load or a store, and a power of two");
}
