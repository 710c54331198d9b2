//! Calls of functions that are implemented elsewhere: `int32_t f(lmc_context *, inputs.., outputs..)`, as our own
//! entry points are.

use super::function::Frame;
use super::{Emitter, built};
use crate::loops::{Argument, Failure, Local, Operand};
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, PointerValue};
use lm::term::Span;

impl<'ctx> Emitter<'ctx, '_> {
    /// The context is null: the arena of this call is in use, and its owner would start it anew.
    pub(super) fn call_external(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        results: &[Local],
        symbol: &str,
        args: &[Argument],
        span: Span,
    ) {
        let mut values: Vec<BasicMetadataValueEnum> = vec![self.ptr().const_null().into()];
        let mut types: Vec<BasicMetadataTypeEnum> = vec![self.ptr().into()];
        for arg in args {
            match arg {
                Argument::Scalar(a) => {
                    let ty = frame.function().ty(a);
                    let value = self.operand(frame, a);
                    values.push(self.outward(ty, value).into());
                    types.push(self.stored(ty).into());
                }
                Argument::Tensor(data, sizes) => {
                    values.push(self.tensor_argument(frame, data, sizes).into());
                    types.push(self.ptr().into());
                }
            }
        }
        let outputs: Vec<(BasicTypeEnum<'ctx>, PointerValue<'ctx>)> = results
            .iter()
            .map(|x| {
                let ty = self.stored(frame.function().ty(&Operand::Local(*x)));
                (ty, self.slot(frame.llvm(), self.context.struct_type(&[ty], false)))
            })
            .collect();
        for (_, slot) in &outputs {
            values.push((*slot).into());
            types.push(self.ptr().into());
        }
        let ty = self.i32().fn_type(&types, false);
        let known = self.module.get_function(symbol);
        let function = known.unwrap_or_else(|| self.module.add_function(symbol, ty, Some(Linkage::External)));
        let call =
            built(self.builder.build_indirect_call(ty, function.as_global_value().as_pointer_value(), &values, ""));
        let status = call.try_as_basic_value().unwrap_basic().into_int_value();
        let fine = built(self.builder.build_int_compare(IntPredicate::EQ, status, self.i32().const_zero(), ""));
        self.check(frame, fine, Failure::ExternalFailed, span, |emitter| {
            vec![built(emitter.builder.build_int_s_extend(status, emitter.i64(), ""))]
        });
        for (x, (ty, slot)) in results.iter().zip(outputs) {
            let value = built(self.builder.build_load(ty, slot, ""));
            let value = self.inward(frame.function().ty(&Operand::Local(*x)), value);
            frame.set(*x, value);
        }
    }

    /// `{ data, size[d] }` on the stack.
    fn tensor_argument(&mut self, frame: &Frame<'ctx, '_>, data: &Operand, sizes: &[Operand]) -> PointerValue<'ctx> {
        let mut fields: Vec<BasicTypeEnum> = vec![self.ptr().into()];
        fields.extend(sizes.iter().map(|_| BasicTypeEnum::from(self.i64())));
        let ty = self.context.struct_type(&fields, false);
        let slot = self.slot(frame.llvm(), ty);
        for (i, field) in std::iter::once(data).chain(sizes).enumerate() {
            let value = self.operand(frame, field);
            let address = built(self.builder.build_struct_gep(ty, slot, i as u32, ""));
            built(self.builder.build_store(address, value));
        }
        slot
    }
}
