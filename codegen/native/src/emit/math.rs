//! Emits functions of libm.
//!
//! Declares them as pure, since the code never reads `errno`: LLVM may share and move calls. They are also `nobuiltin`,
//! so that LLVM does not compute them in another way: `pow(x, 2)` as `x * x` differs in the last place. So native code
//! and the interpreter give the same bits, unless fast code is asked for. Then calls in loops that LLVM vectorises, and
//! those in lanes, go to libmvec (`lanes/math.rs`).

use super::{Emitter, built};
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue};
use lm::libm::Libm;

/// LLVM's encodings of memory effects: none, reads and writes through arguments.
pub(super) const NO_MEMORY: u64 = 0;
pub(super) const READS_ARGUMENTS: u64 = 1;
const WRITES_ARGUMENTS: u64 = 2;

impl<'ctx> Emitter<'ctx, '_> {
    /// Returns a function on Floats, or on vectors of them.
    pub(super) fn math(&self, f: Libm, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        if let BasicValueEnum::VectorValue(x) = args[0]
            && let Some(value) = self.vector_math(f, args, x.get_type().get_size())
        {
            return value;
        }
        self.lane_by_lane(args, self.context.f64_type().into(), |args| match f {
            Libm::Lgamma => self.lgamma(args[0]),
            f => self.libm(f, args),
        })
    }

    /// Returns a call of a function of libm on Floats.
    fn libm(&self, f: Libm, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let float = self.context.f64_type();
        let ty = float.fn_type(&vec![float.into(); args.len()], false);
        let function = self.module.get_function(f.name()).unwrap_or_else(|| {
            let function = self.external(f.name(), ty, NO_MEMORY);
            self.tell_variants(f, function);
            function
        });
        self.call_of(function, args)
    }

    pub(super) fn call_of(&self, function: FunctionValue<'ctx>, args: &[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        let args: Vec<BasicMetadataValueEnum> = args.iter().map(|a| (*a).into()).collect();
        built(self.builder.build_call(function, &args, "")).try_as_basic_value().unwrap_basic()
    }

    /// `lgamma` writes the global `signgam`; `lgamma_r` does not.
    fn lgamma(&self, x: BasicValueEnum<'ctx>) -> BasicValueEnum<'ctx> {
        let float = self.context.f64_type();
        let ty = float.fn_type(&[float.into()], false);
        let known = self.module.get_function("lmc.lgamma");
        let function =
            known.unwrap_or_else(|| self.define_lgamma(self.add_function("lmc.lgamma", ty, Linkage::Internal)));
        built(self.builder.build_call(function, &[x.into()], "")).try_as_basic_value().unwrap_basic()
    }

    fn define_lgamma(&self, function: FunctionValue<'ctx>) -> FunctionValue<'ctx> {
        let builder = self.context.create_builder();
        builder.position_at_end(self.context.append_basic_block(function, ""));
        let sign = built(builder.build_alloca(self.i32(), ""));
        let float = self.context.f64_type();
        let lgamma_r =
            self.external("lgamma_r", float.fn_type(&[float.into(), self.ptr().into()], false), WRITES_ARGUMENTS);
        let x = function.get_nth_param(0).expect("lgamma has an argument");
        let call = built(builder.build_call(lgamma_r, &[x.into(), sign.into()], ""));
        built(builder.build_return(Some(&call.try_as_basic_value().unwrap_basic())));
        function
    }

    pub(super) fn external(
        &self,
        name: &str,
        ty: inkwell::types::FunctionType<'ctx>,
        memory: u64,
    ) -> FunctionValue<'ctx> {
        self.module.get_function(name).unwrap_or_else(|| {
            let function = self.module.add_function(name, ty, Some(Linkage::External));
            let flags = ["nounwind", "willreturn", "nobuiltin"].map(|flag| self.flag(flag));
            let memory = self.attribute("memory", memory);
            flags.into_iter().chain([memory]).for_each(|a| function.add_attribute(AttributeLoc::Function, a));
            function
        })
    }
}
