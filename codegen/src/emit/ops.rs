//! The scalar operations.

use super::math::READS_ARGUMENTS;
use super::{Emitter, built};
use crate::loops::Op;
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FloatValue, IntValue, PointerValue};
use inkwell::{FloatPredicate, IntPredicate};

impl<'ctx> Emitter<'ctx, '_> {
    /// The value of an operation on values of its operand types.
    pub(super) fn op(&self, op: Op, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let float = |i: usize| args[i].into_float_value();
        let integer = |i: usize| args[i].into_int_value();
        let b = &self.builder;
        match op {
            Op::AddF => built(b.build_float_add(float(0), float(1), "")).into(),
            Op::SubF => built(b.build_float_sub(float(0), float(1), "")).into(),
            Op::MulF => built(b.build_float_mul(float(0), float(1), "")).into(),
            Op::DivF => built(b.build_float_div(float(0), float(1), "")).into(),
            Op::NegF => built(b.build_float_neg(float(0), "")).into(),
            Op::AbsF => self.intrinsic("llvm.fabs", args, &[args[0].get_type()]),
            Op::Sqrt => self.intrinsic("llvm.sqrt", args, &[args[0].get_type()]),
            Op::MinF => self.choose(FloatPredicate::OLE, args),
            Op::MaxF => self.choose(FloatPredicate::OGE, args),
            Op::Log | Op::Exp | Op::Sin | Op::Cos | Op::Tan | Op::Sinh | Op::Cosh | Op::Tanh => {
                self.libm(op.name(), args)
            }
            Op::Asin | Op::Acos | Op::Atan | Op::Atan2 | Op::Erf | Op::Pow => self.libm(op.name(), args),
            Op::Lgamma => self.lgamma(args[0]),
            Op::EqF => self.compare_floats(FloatPredicate::OEQ, float(0), float(1)),
            Op::LtF => self.compare_floats(FloatPredicate::OLT, float(0), float(1)),
            Op::LeF => self.compare_floats(FloatPredicate::OLE, float(0), float(1)),
            Op::AddI => built(b.build_int_add(integer(0), integer(1), "")).into(),
            Op::SubI => built(b.build_int_sub(integer(0), integer(1), "")).into(),
            Op::MulI => built(b.build_int_mul(integer(0), integer(1), "")).into(),
            Op::DivI => self.divide(integer(0), integer(1)),
            Op::NegI => built(b.build_int_neg(integer(0), "")).into(),
            Op::AbsI => {
                let wraps = self.context.bool_type().const_zero();
                self.intrinsic("llvm.abs", &[args[0], wraps.into()], &[args[0].get_type()])
            }
            Op::EqI | Op::EqB => self.compare_integers(IntPredicate::EQ, integer(0), integer(1)),
            Op::LtI => self.compare_integers(IntPredicate::SLT, integer(0), integer(1)),
            Op::LeI => self.compare_integers(IntPredicate::SLE, integer(0), integer(1)),
            Op::Below => self.compare_integers(IntPredicate::ULT, integer(0), integer(1)),
            Op::Count => self.saturating_product(integer(0), integer(1)),
            Op::EqT => self.compare_texts(args),
            Op::And => built(b.build_and(integer(0), integer(1), "")).into(),
            Op::Or => built(b.build_or(integer(0), integer(1), "")).into(),
            Op::Not => built(b.build_not(integer(0), "")).into(),
            Op::Likely => {
                let yes = self.context.bool_type().const_all_ones();
                self.intrinsic("llvm.expect", &[args[0], yes.into()], &[args[0].get_type()])
            }
            Op::ToFloat => built(b.build_signed_int_to_float(integer(0), self.context.f64_type(), "")).into(),
            Op::ToInteger => self.intrinsic("llvm.fptosi.sat", args, &[self.i64().into(), args[0].get_type()]),
            Op::BoolToFloat => built(b.build_unsigned_int_to_float(integer(0), self.context.f64_type(), "")).into(),
            Op::Hash => self.hash(integer(0)),
            Op::Chunk => self.runtime("lmc.chunk", &[args[0].into(), args[1].into(), args[2].into()]),
        }
    }

    /// The lowest address of the frame at hand.
    pub(super) fn frame_address(&self) -> PointerValue<'ctx> {
        let zero = self.i32().const_zero();
        self.intrinsic("llvm.frameaddress", &[zero.into()], &[self.ptr().into()]).into_pointer_value()
    }

    pub(super) fn intrinsic(
        &self,
        name: &str,
        args: &[BasicValueEnum<'ctx>],
        over: &[BasicTypeEnum<'ctx>],
    ) -> BasicValueEnum<'ctx> {
        let intrinsic = Intrinsic::find(name).expect("LLVM has the intrinsic");
        let function = intrinsic.get_declaration(&self.module, over).expect("the intrinsic is made for these types");
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|a| (*a).into()).collect();
        built(self.builder.build_call(function, &args, "")).try_as_basic_value().unwrap_basic()
    }

    fn compare_floats(&self, p: FloatPredicate, x: FloatValue<'ctx>, y: FloatValue<'ctx>) -> BasicValueEnum<'ctx> {
        built(self.builder.build_float_compare(p, x, y, "")).into()
    }

    fn compare_integers(&self, p: IntPredicate, x: IntValue<'ctx>, y: IntValue<'ctx>) -> BasicValueEnum<'ctx> {
        built(self.builder.build_int_compare(p, x, y, "")).into()
    }

    fn compare_texts(&self, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let ty = self.i32().fn_type(&[self.ptr().into(), self.ptr().into()], false);
        let strcmp = self.external("strcmp", ty, READS_ARGUMENTS);
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|a| (*a).into()).collect();
        let order = built(self.builder.build_call(strcmp, &args, "")).try_as_basic_value().unwrap_basic();
        self.compare_integers(IntPredicate::EQ, order.into_int_value(), self.i32().const_zero())
    }

    /// The first where it compares so, else the second: not LLVM's minnum, which treats NaN otherwise.
    fn choose(&self, p: FloatPredicate, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let first =
            built(self.builder.build_float_compare(p, args[0].into_float_value(), args[1].into_float_value(), ""));
        built(self.builder.build_select(first, args[0], args[1], ""))
    }

    /// LLVM leaves MIN / -1 undefined; x / -1 is -x, which wraps.
    fn divide(&self, x: IntValue<'ctx>, y: IntValue<'ctx>) -> BasicValueEnum<'ctx> {
        let (one, minus_one) = (self.i64().const_int(1, false), self.i64().const_all_ones());
        let negates = built(self.builder.build_int_compare(IntPredicate::EQ, y, minus_one, ""));
        let safe = built(self.builder.build_select(negates, one, y, "")).into_int_value();
        let quotient = built(self.builder.build_int_signed_div(x, safe, ""));
        let negated = built(self.builder.build_int_neg(x, ""));
        built(self.builder.build_select(negates, negated, quotient, ""))
    }

    fn saturating_product(&self, x: IntValue<'ctx>, y: IntValue<'ctx>) -> BasicValueEnum<'ctx> {
        let both = self.intrinsic("llvm.smul.with.overflow", &[x.into(), y.into()], &[self.i64().into()]);
        let [product, overflows] =
            [0, 1].map(|i| built(self.builder.build_extract_value(both.into_struct_value(), i, "")));
        let most = self.i64().const_int(i64::MAX as u64, false);
        built(self.builder.build_select(overflows.into_int_value(), BasicValueEnum::from(most), product, ""))
    }

    /// The finaliser of SplitMix64, its upper 53 bits as a fraction.
    fn hash(&self, k: IntValue<'ctx>) -> BasicValueEnum<'ctx> {
        let b = &self.builder;
        let word = |w: u64| self.i64().const_int(w, false);
        let fold = |z, by| {
            let shifted = built(b.build_right_shift(z, word(by), false, ""));
            built(b.build_xor(z, shifted, ""))
        };
        let z = built(b.build_int_add(k, word(0x9E37_79B9_7F4A_7C15), ""));
        let z = built(b.build_int_mul(fold(z, 30), word(0xBF58_476D_1CE4_E5B9), ""));
        let z = built(b.build_int_mul(fold(z, 27), word(0x94D0_49BB_1331_11EB), ""));
        let upper = built(b.build_right_shift(fold(z, 31), word(11), false, ""));
        let float = built(b.build_unsigned_int_to_float(upper, self.context.f64_type(), ""));
        let scale = self.context.f64_type().const_float(1.0 / (1u64 << 53) as f64);
        built(b.build_float_mul(float, scale, "")).into()
    }
}
