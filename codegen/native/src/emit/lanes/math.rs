//! Functions of libm on vectors, where Floats need not be exact: exp in line (`exp.rs`), the others by libmvec, where
//! it has them.

use crate::emit::math::NO_MEMORY;
use crate::emit::shape::vector_of;
use crate::emit::{Emitter, built};
use crate::libmvec::{PREFIX, variants};
use crate::options::Math;
use inkwell::attributes::AttributeLoc;
use inkwell::module::Linkage;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, FunctionValue, VectorValue};
use lm::libm::Libm;

/// The attribute that tells LLVM's vectoriser of a function's variants on vectors.
const VARIANTS: &str = "vector-function-abi-variant";

impl<'ctx> Emitter<'ctx, '_> {
    /// A function of libm on vectors of so many lanes: exp in line, others by as many calls of libmvec as that takes;
    /// none where it lacks the function.
    pub(in crate::emit) fn vector_math(
        &self,
        f: Libm,
        args: &[BasicValueEnum<'ctx>],
        lanes: u32,
    ) -> Option<BasicValueEnum<'ctx>> {
        if f == Libm::Exp && self.request.math == Math::Fast {
            return Some(self.vector_exp(args[0].into_vector_value()).into());
        }
        let variants = self.math_variants(f);
        let (width, symbol) = variants.into_iter().find(|(width, _)| *width <= lanes)?;
        let function = self.vector_function(&symbol, args.len(), width);
        let split = |a: &BasicValueEnum<'ctx>| self.split(a.into_vector_value(), width);
        let columns: Vec<Vec<VectorValue>> = args.iter().map(split).collect();
        let call = |i: usize| {
            let args: Vec<BasicValueEnum> = columns.iter().map(|column| column[i].into()).collect();
            self.call_of(function, &args).into_vector_value()
        };
        Some(self.join((0..columns[0].len()).map(call).collect()).into())
    }

    /// Tells LLVM's vectoriser of what libmvec has for a function of libm.
    pub(in crate::emit) fn tell_variants(&self, f: Libm, function: FunctionValue<'ctx>) {
        let variants = self.math_variants(f);
        if variants.is_empty() {
            return;
        }
        for (width, symbol) in &variants {
            self.vector_function(symbol, f.arity(), *width);
        }
        let list: Vec<String> = variants.iter().map(|(_, symbol)| format!("{symbol}({symbol})")).collect();
        let attribute = self.context.create_string_attribute(VARIANTS, &list.join(","));
        function.add_attribute(AttributeLoc::Function, attribute);
    }

    /// Keeps the functions of libmvec, which nothing may call before LLVM's vectoriser does.
    pub(in crate::emit) fn keep_variants(&self) {
        let is_kept = |f: &FunctionValue| f.get_name().to_bytes().starts_with(PREFIX.as_bytes());
        let kept: Vec<_> =
            self.module.get_functions().filter(is_kept).map(|f| f.as_global_value().as_pointer_value()).collect();
        if kept.is_empty() {
            return;
        }
        let list = self.module.add_global(self.ptr().array_type(kept.len() as u32), None, "llvm.compiler.used");
        list.set_linkage(Linkage::Appending);
        list.set_section(Some("llvm.metadata"));
        list.set_initializer(&self.ptr().const_array(&kept));
    }

    fn math_variants(&self, f: Libm) -> Vec<(u32, String)> {
        match self.request.math {
            Math::Exact => vec![],
            Math::Fast => variants(f, self.request.target.doubles()),
        }
    }

    fn vector_function(&self, symbol: &str, arguments: usize, width: u32) -> FunctionValue<'ctx> {
        let vector = self.context.f64_type().vec_type(width);
        self.external(symbol, vector.fn_type(&vec![vector.into(); arguments], false), NO_MEMORY)
    }

    /// Calls a scalar function, for vectors lane by lane.
    pub(in crate::emit) fn lane_by_lane(
        &self,
        args: &[BasicValueEnum<'ctx>],
        ty: BasicTypeEnum<'ctx>,
        f: impl Fn(&[BasicValueEnum<'ctx>]) -> BasicValueEnum<'ctx>,
    ) -> BasicValueEnum<'ctx> {
        let BasicValueEnum::VectorValue(first) = args[0] else { return f(args) };
        let lanes = first.get_type().get_size();
        let mut result = vector_of(ty, lanes).get_poison();
        for lane in 0..lanes {
            let args: Vec<BasicValueEnum> = args.iter().map(|a| self.lane(a.into_vector_value(), lane)).collect();
            let place = self.i32().const_int(u64::from(lane), false);
            result = built(self.builder.build_insert_element(result, f(&args), place, ""));
        }
        result.into()
    }
}
