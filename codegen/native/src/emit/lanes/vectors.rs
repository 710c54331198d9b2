//! Emits work on the lanes, the parts and the sums of vectors.

use crate::emit::shape::vector_of;
use crate::emit::{Emitter, built};
use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, IntValue, VectorValue};
use loops::ir::Op;

impl<'ctx> Emitter<'ctx, '_> {
    /// The element of a lane.
    pub(in crate::emit) fn lane(&self, vector: VectorValue<'ctx>, lane: u32) -> BasicValueEnum<'ctx> {
        let place = self.i32().const_int(u64::from(lane), false);
        built(self.builder.build_extract_element(vector, place, ""))
    }

    /// Returns the same in all lanes.
    pub(super) fn splat(&self, value: BasicValueEnum<'ctx>, lanes: u32) -> VectorValue<'ctx> {
        let nothing = vector_of(value.get_type(), lanes).get_poison();
        let zero = self.i32().const_zero();
        let first = built(self.builder.build_insert_element(nothing, value, zero, ""));
        self.shuffle(first, nothing, &vec![0; lanes as usize])
    }

    /// Returns the vector cut into vectors of a width that divides its own.
    pub(super) fn split(&self, vector: VectorValue<'ctx>, width: u32) -> Vec<VectorValue<'ctx>> {
        let lanes = vector.get_type().get_size();
        if lanes == width {
            return vec![vector];
        }
        let part = |start: u32| self.shuffle(vector, vector, &(start..start + width).collect::<Vec<u32>>());
        (0..lanes).step_by(width as usize).map(part).collect()
    }

    /// Vectors of one width, their number a power of two, as one.
    pub(super) fn join(&self, mut parts: Vec<VectorValue<'ctx>>) -> VectorValue<'ctx> {
        while parts.len() > 1 {
            let all: Vec<u32> = (0..2 * parts[0].get_type().get_size()).collect();
            parts = parts.chunks(2).map(|pair| self.shuffle(pair[0], pair[1], &all)).collect();
        }
        parts[0]
    }

    /// Returns the elements of both at these places, counted through.
    fn shuffle(&self, left: VectorValue<'ctx>, right: VectorValue<'ctx>, places: &[u32]) -> VectorValue<'ctx> {
        let places: Vec<_> = places.iter().map(|place| self.i32().const_int(u64::from(*place), false)).collect();
        built(self.builder.build_shuffle_vector(left, right, VectorType::const_vector(&places), ""))
    }

    /// Returns the numbers of the lanes.
    pub(super) fn numbers(&self, lanes: u32) -> VectorValue<'ctx> {
        let numbers: Vec<_> = (0..lanes).map(|lane| self.i64().const_int(u64::from(lane), false)).collect();
        VectorType::const_vector(&numbers)
    }

    /// Returns a value as a vector: itself, or the same in all lanes.
    pub(super) fn spread(&self, value: BasicValueEnum<'ctx>, lanes: u32) -> VectorValue<'ctx> {
        match value {
            BasicValueEnum::VectorValue(vector) => vector,
            scalar => self.splat(scalar, lanes),
        }
    }

    /// Returns what an associative operation makes of all lanes: of halves, of halves of these, and so on.
    pub(super) fn total(&self, op: Op, vector: VectorValue<'ctx>) -> BasicValueEnum<'ctx> {
        self.lane(self.folded(op, vector, 1), 0)
    }

    /// Returns the same, until so many lanes are left.
    pub(super) fn folded(&self, op: Op, mut vector: VectorValue<'ctx>, width: u32) -> VectorValue<'ctx> {
        while vector.get_type().get_size() > width {
            let halves = self.split(vector, vector.get_type().get_size() / 2);
            vector = self.op(op, &[halves[0].into(), halves[1].into()]).into_vector_value();
        }
        vector
    }

    /// Returns, for each lane, the sum over the lanes before it.
    pub(super) fn sums_before(&self, op: Op, vector: VectorValue<'ctx>) -> VectorValue<'ctx> {
        let lanes = vector.get_type().get_size();
        let zeros = vector.get_type().const_zero();
        let shifted = |v, by: u32| {
            let places: Vec<u32> = (0..lanes).map(|l| if l < by { lanes } else { l - by }).collect();
            self.shuffle(v, zeros, &places)
        };
        let (mut sums, mut by) = (shifted(vector, 1), 1);
        while by < lanes {
            sums = self.op(op, &[sums.into(), shifted(sums, by).into()]).into_vector_value();
            by *= 2;
        }
        sums
    }

    /// Returns the lanes of a mask as the bits of a number.
    fn bits(&self, mask: VectorValue<'ctx>) -> IntValue<'ctx> {
        let ty = self.context.custom_width_int_type(mask.get_type().get_size().try_into().expect("lanes are few"));
        let ty = ty.expect("LLVM has integers of so many bits");
        built(self.builder.build_bit_cast(mask, ty, "")).into_int_value()
    }

    /// Returns whether a lane is on.
    pub(super) fn any(&self, mask: VectorValue<'ctx>) -> IntValue<'ctx> {
        let bits = self.bits(mask);
        built(self.builder.build_int_compare(IntPredicate::NE, bits, bits.get_type().const_zero(), ""))
    }

    /// Returns the first lane that is on, of a mask with one.
    pub(super) fn first(&self, mask: VectorValue<'ctx>) -> IntValue<'ctx> {
        let bits = self.bits(mask);
        let some = self.context.bool_type().const_all_ones();
        let number = self.intrinsic("llvm.cttz", &[bits.into(), some.into()], &[bits.get_type().into()]);
        built(self.builder.build_int_cast_sign_flag(number.into_int_value(), self.i64(), false, ""))
    }

    pub(super) fn both(&self, a: VectorValue<'ctx>, b: VectorValue<'ctx>) -> VectorValue<'ctx> {
        built(self.builder.build_and(a, b, ""))
    }

    pub(super) fn except(&self, a: VectorValue<'ctx>) -> VectorValue<'ctx> {
        built(self.builder.build_not(a, ""))
    }

    /// Returns the first where the mask is on, else the second.
    pub(super) fn select(
        &self,
        mask: VectorValue<'ctx>,
        on: BasicValueEnum<'ctx>,
        off: BasicValueEnum<'ctx>,
    ) -> BasicValueEnum<'ctx> {
        built(self.builder.build_select(mask, on, off, ""))
    }
}
