//! Emits the scalar operations.

use super::math::READS_ARGUMENTS;
use super::shape::{Scalars, Shape, Vectors};
use super::{Emitter, built};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, FunctionValue, InstructionValue, IntValue, PointerValue,
};
use inkwell::{FloatPredicate, IntPredicate};
use loops::ir::Op;

impl<'ctx> Emitter<'ctx, '_> {
    /// Returns the value of an operation on values of its operand types, or in lanes: on vectors of them, all of one
    /// width.
    pub(super) fn op(&self, op: Op, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let value = match args[0].is_vector_value() {
            true => self.op_on::<Vectors>(op, args),
            false => self.op_on::<Scalars>(op, args),
        };
        if matches!(op, Op::AddF | Op::SubF | Op::MulF) {
            self.may_contract(value);
        }
        value
    }

    fn op_on<S: Shape<'ctx>>(&self, op: Op, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let float = |i: usize| S::float(args[i]);
        let integer = |i: usize| S::int(args[i]);
        let to_float = |is_signed| S::to_float(&self.builder, args[0], is_signed, self.floats_like(args[0]));
        let b = &self.builder;
        match op {
            Op::AddF => built(b.build_float_add(float(0), float(1), "")).as_basic_value_enum(),
            Op::SubF => built(b.build_float_sub(float(0), float(1), "")).as_basic_value_enum(),
            Op::MulF => built(b.build_float_mul(float(0), float(1), "")).as_basic_value_enum(),
            Op::DivF => built(b.build_float_div(float(0), float(1), "")).as_basic_value_enum(),
            Op::NegF => built(b.build_float_neg(float(0), "")).as_basic_value_enum(),
            Op::AbsF => self.intrinsic("llvm.fabs", args, &[args[0].get_type()]),
            Op::Sqrt => self.intrinsic("llvm.sqrt", args, &[args[0].get_type()]),
            Op::MinF => self.choose::<S>(FloatPredicate::OLE, args),
            Op::MaxF => self.choose::<S>(FloatPredicate::OGE, args),
            Op::Libm(f) => self.math(f, args),
            Op::EqF => self.compare_floats::<S>(FloatPredicate::OEQ, args),
            Op::LtF => self.compare_floats::<S>(FloatPredicate::OLT, args),
            Op::LeF => self.compare_floats::<S>(FloatPredicate::OLE, args),
            Op::AddI => built(b.build_int_add(integer(0), integer(1), "")).as_basic_value_enum(),
            Op::SubI => built(b.build_int_sub(integer(0), integer(1), "")).as_basic_value_enum(),
            Op::MulI => built(b.build_int_mul(integer(0), integer(1), "")).as_basic_value_enum(),
            Op::DivI => self.divide::<S>(args),
            Op::NegI => built(b.build_int_neg(integer(0), "")).as_basic_value_enum(),
            Op::AbsI => {
                let wraps = self.context.bool_type().const_zero();
                self.intrinsic("llvm.abs", &[args[0], wraps.into()], &[args[0].get_type()])
            }
            Op::EqI | Op::EqB => self.compare_integers::<S>(IntPredicate::EQ, args),
            Op::LtI => self.compare_integers::<S>(IntPredicate::SLT, args),
            Op::LeI => self.compare_integers::<S>(IntPredicate::SLE, args),
            Op::Below => self.compare_integers::<S>(IntPredicate::ULT, args),
            Op::Count => self.saturating_product::<S>(args),
            Op::EqT => self.compare_texts(args),
            Op::And => built(b.build_and(integer(0), integer(1), "")).as_basic_value_enum(),
            Op::Or => built(b.build_or(integer(0), integer(1), "")).as_basic_value_enum(),
            Op::Not => built(b.build_not(integer(0), "")).as_basic_value_enum(),
            Op::Likely => self.likely(args[0]),
            Op::ToFloat => to_float(true),
            Op::ToInteger => {
                let to = self.shaped(args[0], self.i64().into());
                self.intrinsic("llvm.fptosi.sat", args, &[to, args[0].get_type()])
            }
            Op::BoolToFloat => to_float(false),
            Op::Hash => self.hash::<S>(args[0]),
            Op::Chunk => {
                let grain = self.i64().const_int(self.request.grain, false);
                let args: Vec<_> = args.iter().map(|a| (*a).into()).chain([grain.into()]).collect();
                self.runtime("lmc.chunk", &args)
            }
            Op::Chunks => {
                let [n, length] = [0, 1].map(|i: usize| args[i].into_int_value());
                let one = self.i64().const_int(1, false);
                let less = built(b.build_int_sub(n, one, ""));
                let full = built(b.build_int_unsigned_div(less, length, ""));
                let several = built(b.build_int_add(full, one, ""));
                built(b.build_select(self.is_one_chunk(args), one, several, ""))
            }
        }
    }

    /// Returns whether a loop is one chunk, given its number of iterations and the length of a chunk.
    pub(super) fn is_one_chunk(&self, args: &[BasicValueEnum<'ctx>]) -> IntValue<'ctx> {
        let [n, length] = [0, 1].map(|i: usize| args[i].into_int_value());
        built(self.builder.build_int_compare(IntPredicate::SLE, n, length, ""))
    }

    fn floats_like(&self, like: BasicValueEnum<'ctx>) -> BasicTypeEnum<'ctx> {
        self.shaped(like, self.context.f64_type().into())
    }

    /// Returns a constant Integer with the shape of a value.
    fn word_like(&self, like: BasicValueEnum<'ctx>, word: u64) -> BasicValueEnum<'ctx> {
        self.constant_like(like, self.i64().const_int(word, false).into())
    }

    /// Only branches make use of it, and no branch is on a vector.
    pub(super) fn likely(&self, condition: BasicValueEnum<'ctx>) -> BasicValueEnum<'ctx> {
        if condition.is_vector_value() {
            return condition;
        }
        let yes = self.context.bool_type().const_all_ones();
        self.intrinsic("llvm.expect", &[condition, yes.into()], &[condition.get_type()])
    }

    /// Returns the lowest address of the frame at hand.
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
        self.call_of(self.declared(name, over), args)
    }

    /// Calls an intrinsic for what it does.
    pub(super) fn effect(
        &self,
        name: &str,
        args: &[BasicValueEnum<'ctx>],
        over: &[BasicTypeEnum<'ctx>],
    ) -> InstructionValue<'ctx> {
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|a| (*a).into()).collect();
        let call = built(self.builder.build_call(self.declared(name, over), &args, ""));
        call.try_as_basic_value().unwrap_instruction()
    }

    fn declared(&self, name: &str, over: &[BasicTypeEnum<'ctx>]) -> FunctionValue<'ctx> {
        let intrinsic = Intrinsic::find(name).expect("LLVM has the intrinsic");
        intrinsic.get_declaration(&self.module, over).expect("the intrinsic is made for these types")
    }

    fn compare_floats<S: Shape<'ctx>>(&self, p: FloatPredicate, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        built(self.builder.build_float_compare(p, S::float(args[0]), S::float(args[1]), "")).as_basic_value_enum()
    }

    fn compare_integers<S: Shape<'ctx>>(&self, p: IntPredicate, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        built(self.builder.build_int_compare(p, S::int(args[0]), S::int(args[1]), "")).as_basic_value_enum()
    }

    fn compare_texts(&self, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        self.lane_by_lane(args, self.context.bool_type().into(), |args| {
            let ty = self.i32().fn_type(&[self.ptr().into(), self.ptr().into()], false);
            let strcmp = self.external("strcmp", ty, READS_ARGUMENTS);
            let order = self.call_of(strcmp, args);
            self.compare_integers::<Scalars>(IntPredicate::EQ, &[order, self.i32().const_zero().into()])
        })
    }

    /// Returns the first where it compares so, else the second: not LLVM's minnum, which treats NaN otherwise.
    fn choose<S: Shape<'ctx>>(&self, p: FloatPredicate, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let first = self.compare_floats::<S>(p, args);
        built(self.builder.build_select(S::int(first), args[0], args[1], ""))
    }

    /// LLVM leaves MIN / -1 undefined; x / -1 is -x, which wraps.
    fn divide<S: Shape<'ctx>>(&self, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let [x, y] = [args[0], args[1]];
        let (one, minus_one) = (self.word_like(y, 1), self.word_like(y, u64::MAX));
        let negates = S::int(self.compare_integers::<S>(IntPredicate::EQ, &[y, minus_one]));
        let safe = built(self.builder.build_select(negates, one, y, ""));
        let quotient = built(self.builder.build_int_signed_div(S::int(x), S::int(safe), ""));
        let negated = built(self.builder.build_int_neg(S::int(x), ""));
        let choice = [negated, quotient].map(|value| value.as_basic_value_enum());
        built(self.builder.build_select(negates, choice[0], choice[1], ""))
    }

    fn saturating_product<S: Shape<'ctx>>(&self, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let both = self.intrinsic("llvm.smul.with.overflow", args, &[args[0].get_type()]);
        let [product, overflows] =
            [0, 1].map(|i| built(self.builder.build_extract_value(both.into_struct_value(), i, "")));
        let most = self.word_like(args[0], i64::MAX as u64);
        built(self.builder.build_select(S::int(overflows), most, product, ""))
    }

    /// Returns the finaliser of SplitMix64, its upper 53 bits as a fraction.
    fn hash<S: Shape<'ctx>>(&self, k: BasicValueEnum<'ctx>) -> BasicValueEnum<'ctx> {
        let b = &self.builder;
        let word = |w: u64| S::int(self.word_like(k, w));
        let fold = |z, by| {
            let shifted = built(b.build_right_shift(z, word(by), false, ""));
            built(b.build_xor(z, shifted, ""))
        };
        let z = built(b.build_int_add(S::int(k), word(0x9E37_79B9_7F4A_7C15), ""));
        let z = built(b.build_int_mul(fold(z, 30), word(0xBF58_476D_1CE4_E5B9), ""));
        let z = built(b.build_int_mul(fold(z, 27), word(0x94D0_49BB_1331_11EB), ""));
        let upper = built(b.build_right_shift(fold(z, 31), word(11), false, "")).as_basic_value_enum();
        let float = S::to_float(b, upper, false, self.floats_like(k));
        let scale = self.constant_like(k, self.context.f64_type().const_float(1.0 / (1u64 << 53) as f64).into());
        built(b.build_float_mul(S::float(float), S::float(scale), "")).as_basic_value_enum()
    }
}
