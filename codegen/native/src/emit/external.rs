//! Calls of functions that are implemented elsewhere: `int32_t f(lmc_context *, inputs.., outputs..)`, as our own
//! entry points are.
//!
//! Where there are tensors, the call gets a context of its own, whose arena is the free part of the arena. Results lie
//! there, and what the function says that it used is taken. Without tensors the context is null.

use super::frame::Frame;
use super::{Emitter, built};
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum, StructType};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, PointerValue};
use loops::ir::{Argument, Failure, Local, Operand, Returned, Stmt};

impl<'ctx> Emitter<'ctx, '_> {
    /// The statement is a call of an external function.
    pub(super) fn emit_external_call(&mut self, frame: &mut Frame<'ctx, '_>, stmt: &Stmt) {
        let Stmt::External { results, symbol, args, span } = stmt else { panic!("{stmt:?} calls nothing external") };
        let lent = stmt.takes_memory().then(|| self.lend(frame));
        let mut values: Vec<BasicMetadataValueEnum> = vec![lent.unwrap_or(self.ptr().const_null()).into()];
        let mut types: Vec<BasicMetadataTypeEnum> = vec![self.ptr().into()];
        for arg in args {
            let (ty, value) = self.argument(frame, arg);
            types.push(ty);
            values.push(value);
        }
        let outputs: Vec<_> = results.iter().map(|result| self.output(frame, result)).collect();
        for (_, slot) in &outputs {
            values.push((*slot).into());
            types.push(self.ptr().into());
        }
        let ty = self.i32().fn_type(&types, false);
        let known = self.module.get_function(symbol);
        let function = known.unwrap_or_else(|| self.module.add_function(symbol, ty, Some(Linkage::External)));
        let address = function.as_global_value().as_pointer_value();
        let call = built(self.builder.build_indirect_call(ty, address, &values, ""));
        let status = call.try_as_basic_value().unwrap_basic().into_int_value();
        let fine = built(self.builder.build_int_compare(IntPredicate::EQ, status, self.i32().const_zero(), ""));
        self.check_with(frame, fine, Failure::ExternalFailed, *span, |emitter| {
            vec![built(emitter.builder.build_int_s_extend(status, emitter.i64(), ""))]
        });
        if let Some(lent) = lent {
            self.take_lent(frame, lent);
        }
        for (result, (ty, slot)) in results.iter().zip(outputs) {
            match result {
                Returned::Scalar(x) => self.load_field(frame, ty, slot, 0, *x),
                Returned::Tensor(data, sizes) => {
                    self.load_field(frame, ty, slot, 0, *data);
                    (1..).zip(sizes).for_each(|(i, x)| self.load_field(frame, ty, slot, i, *x));
                }
            }
        }
    }

    fn argument(
        &mut self,
        frame: &Frame<'ctx, '_>,
        arg: &Argument,
    ) -> (BasicMetadataTypeEnum<'ctx>, BasicMetadataValueEnum<'ctx>) {
        match arg {
            Argument::Scalar(a) => {
                let ty = frame.function().ty(a);
                let value = self.operand(frame, a);
                (self.stored(ty).into(), self.outward(ty, value).into())
            }
            Argument::Tensor(data, sizes) => {
                let fields = [data].into_iter().chain(sizes).map(|a| self.operand(frame, a)).collect();
                (self.ptr().into(), self.tensor_of(frame, fields).1.into())
            }
        }
    }

    /// Returns the initial value and the address of a result. A tensor has no data yet.
    fn output(&mut self, frame: &Frame<'ctx, '_>, result: &Returned) -> (StructType<'ctx>, PointerValue<'ctx>) {
        match result {
            Returned::Scalar(x) => {
                let ty = self.stored(frame.function().ty(&Operand::Local(*x)));
                let ty = self.context.struct_type(&[ty], false);
                (ty, self.slot(frame.llvm(), ty))
            }
            Returned::Tensor(_, sizes) => {
                let null: BasicValueEnum = self.ptr().const_null().into();
                let zero: BasicValueEnum = self.i64().const_zero().into();
                self.tensor_of(frame, [null].into_iter().chain(sizes.iter().map(|_| zero)).collect())
            }
        }
    }

    /// `{ data, size[d] }` on the stack.
    fn tensor_of(
        &mut self,
        frame: &Frame<'ctx, '_>,
        fields: Vec<BasicValueEnum<'ctx>>,
    ) -> (StructType<'ctx>, PointerValue<'ctx>) {
        let types: Vec<BasicTypeEnum> = fields.iter().map(BasicValueEnum::get_type).collect();
        let ty = self.context.struct_type(&types, false);
        let slot = self.slot(frame.llvm(), ty);
        for (i, value) in (0..).zip(fields) {
            let address = built(self.builder.build_struct_gep(ty, slot, i, ""));
            built(self.builder.build_store(address, value));
        }
        (ty, slot)
    }

    fn load_field(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        ty: StructType<'ctx>,
        slot: PointerValue<'ctx>,
        i: u32,
        x: Local,
    ) {
        let address = built(self.builder.build_struct_gep(ty, slot, i, ""));
        let value = self.load_stored(address, frame.function().ty(&Operand::Local(x)));
        frame.set(x, value);
    }

    /// A context whose arena is what is free of ours.
    fn lend(&mut self, frame: &Frame<'ctx, '_>) -> PointerValue<'ctx> {
        let slot = self.slot(frame.llvm(), self.context_type());
        let size = self.context_type().size_of().expect("the structure is sized");
        const ALIGN: u32 = 8;
        built(self.builder.build_memset(slot, ALIGN, self.context.i8_type().const_zero(), size));
        self.runtime_effect("lmc.lend", &[frame.ctx().into(), frame.arena().into(), slot.into()]);
        slot
    }

    /// Takes the part of the arena that the function used.
    fn take_lent(&mut self, frame: &Frame<'ctx, '_>, lent: PointerValue<'ctx>) {
        self.runtime_effect("lmc.take_lent", &[frame.arena().into(), lent.into()]);
    }
}
