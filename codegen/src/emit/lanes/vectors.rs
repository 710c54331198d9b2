//! Vectors: their lanes, parts and sums.

use crate::emit::shape::vector_of;
use crate::emit::{Emitter, built};
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, VectorValue};

impl<'ctx> Emitter<'ctx, '_> {
    /// The element of a lane.
    pub(in crate::emit) fn lane(&self, vector: VectorValue<'ctx>, lane: u32) -> BasicValueEnum<'ctx> {
        let place = self.i32().const_int(u64::from(lane), false);
        built(self.builder.build_extract_element(vector, place, ""))
    }

    /// The same in all lanes.
    pub(super) fn splat(&self, value: BasicValueEnum<'ctx>, lanes: u32) -> VectorValue<'ctx> {
        let nothing = vector_of(value.get_type(), lanes).get_poison();
        let zero = self.i32().const_zero();
        let first = built(self.builder.build_insert_element(nothing, value, zero, ""));
        self.shuffle(first, nothing, &vec![0; lanes as usize])
    }

    /// The vector cut into vectors of a width that divides its own.
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

    /// The elements of both at these places, counted through.
    fn shuffle(&self, left: VectorValue<'ctx>, right: VectorValue<'ctx>, places: &[u32]) -> VectorValue<'ctx> {
        let places: Vec<_> = places.iter().map(|place| self.i32().const_int(u64::from(*place), false)).collect();
        built(self.builder.build_shuffle_vector(left, right, VectorType::const_vector(&places), ""))
    }
}
