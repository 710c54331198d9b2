//! Tells scalars from vectors with an element for each lane: the operations of LLVM are the same on both.

use super::{Emitter, built};
use inkwell::builder::Builder;
use inkwell::types::{BasicType, BasicTypeEnum, VectorType};
use inkwell::values::{BasicValueEnum, FloatMathValue, FloatValue, IntMathValue, IntValue, VectorValue};

/// Scalars or vectors.
pub(super) trait Shape<'ctx> {
    /// A Float, or one for each lane.
    type Float: FloatMathValue<'ctx> + Copy;
    /// An Integer or a Bool, or one for each lane.
    type Int: IntMathValue<'ctx> + Copy;

    /// Returns the value as Floats.
    fn float(value: BasicValueEnum<'ctx>) -> Self::Float;

    /// Returns the value as Integers or Bools.
    fn int(value: BasicValueEnum<'ctx>) -> Self::Int;

    /// Integers as Floats, which have that type.
    fn to_float(
        builder: &Builder<'ctx>,
        value: BasicValueEnum<'ctx>,
        is_signed: bool,
        ty: BasicTypeEnum<'ctx>,
    ) -> BasicValueEnum<'ctx>;
}

/// Numbers.
pub(super) struct Scalars;

/// One value for each lane.
pub(super) struct Vectors;

impl<'ctx> Shape<'ctx> for Scalars {
    type Float = FloatValue<'ctx>;
    type Int = IntValue<'ctx>;

    fn float(value: BasicValueEnum<'ctx>) -> FloatValue<'ctx> {
        value.into_float_value()
    }

    fn int(value: BasicValueEnum<'ctx>) -> IntValue<'ctx> {
        value.into_int_value()
    }

    fn to_float(
        builder: &Builder<'ctx>,
        value: BasicValueEnum<'ctx>,
        is_signed: bool,
        ty: BasicTypeEnum<'ctx>,
    ) -> BasicValueEnum<'ctx> {
        let (value, ty) = (value.into_int_value(), ty.into_float_type());
        match is_signed {
            true => built(builder.build_signed_int_to_float(value, ty, "")).into(),
            false => built(builder.build_unsigned_int_to_float(value, ty, "")).into(),
        }
    }
}

impl<'ctx> Shape<'ctx> for Vectors {
    type Float = VectorValue<'ctx>;
    type Int = VectorValue<'ctx>;

    fn float(value: BasicValueEnum<'ctx>) -> VectorValue<'ctx> {
        value.into_vector_value()
    }

    fn int(value: BasicValueEnum<'ctx>) -> VectorValue<'ctx> {
        value.into_vector_value()
    }

    fn to_float(
        builder: &Builder<'ctx>,
        value: BasicValueEnum<'ctx>,
        is_signed: bool,
        ty: BasicTypeEnum<'ctx>,
    ) -> BasicValueEnum<'ctx> {
        let (value, ty) = (value.into_vector_value(), ty.into_vector_type());
        match is_signed {
            true => built(builder.build_signed_int_to_float(value, ty, "")).into(),
            false => built(builder.build_unsigned_int_to_float(value, ty, "")).into(),
        }
    }
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Returns the type with the shape of a value: itself, or a vector with as many lanes as the value.
    pub(super) fn shaped(&self, like: BasicValueEnum<'ctx>, ty: BasicTypeEnum<'ctx>) -> BasicTypeEnum<'ctx> {
        match like {
            BasicValueEnum::VectorValue(vector) => vector_of(ty, vector.get_type().get_size()).into(),
            _ => ty,
        }
    }

    /// Returns a constant with the shape of a value.
    pub(super) fn constant_like(&self, like: BasicValueEnum<'ctx>, x: BasicValueEnum<'ctx>) -> BasicValueEnum<'ctx> {
        match like {
            BasicValueEnum::VectorValue(vector) => {
                VectorType::const_vector(&vec![x; vector.get_type().get_size() as usize]).into()
            }
            _ => x,
        }
    }
}

/// Returns the vectors of so many elements of a scalar type.
pub(super) fn vector_of<'ctx>(ty: BasicTypeEnum<'ctx>, lanes: u32) -> VectorType<'ctx> {
    match ty.as_basic_type_enum() {
        BasicTypeEnum::FloatType(ty) => ty.vec_type(lanes),
        BasicTypeEnum::IntType(ty) => ty.vec_type(lanes),
        BasicTypeEnum::PointerType(ty) => ty.vec_type(lanes),
        other => panic!("lanes hold numbers, Bools and addresses, not {other}"),
    }
}
