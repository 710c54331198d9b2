//! Emits the query of the workspace, which runs a slice (`loops::analyses::slices`) in place of the call.
//!
//! The slice gets its own context, with an arena and as many workers as the caller has. The arena has invalid
//! addresses, unless the slice reads memory there. Then it has real addresses. If they are too few, the slice runs again
//! with more of them. Only what the slice writes takes memory.

use super::entry::parameter_types;
use super::{Emitter, built, query_name};
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, PointerValue};
use loops::analyses::slices::Query;
use loops::interface::{CForm, Interface};
use loops::ir::Scalar;
use loops::symbol::Symbol;

impl<'ctx> Emitter<'ctx, '_> {
    /// `int32_t f_workspace(lmc_context *ctx, inputs..., int64_t *bytes)`.
    pub(super) fn define_query(&mut self, interface: &Interface, symbol: &Symbol, query: &Query) {
        let Some(entry) = self.declare_workspace(interface, symbol) else { return };
        let mut fields = self.input_fields(interface, entry);
        for output in interface.outputs.iter().filter(|output| !matches!(output.form, CForm::Scalar(_))) {
            // No storage: its fields are unused.
            let types = [Scalar::Bool.ty()].into_iter().chain(self.field_types(&output.form));
            fields.extend(types.map(|ty| self.ty(ty).const_zero()).collect::<Vec<_>>());
        }
        let bytes = entry.get_last_param().expect("the place of the answer comes last").into_pointer_value();
        self.ask(entry, query, &fields, bytes);
    }

    /// `int32_t f(lmc_context *ctx, const int64_t *in, int64_t *bytes)`.
    pub(super) fn define_packed_query(&mut self, index: usize, symbol: &Symbol, query: &Query) {
        let ptr = self.ptr().into();
        let ty = self.i32().fn_type(&[ptr, ptr, ptr], false);
        let entry = self.add_function(&query_name(symbol), ty, Linkage::External);
        self.start(entry);
        let [input, bytes] = [1, 2].map(|i| entry.get_params()[i].into_pointer_value());
        let types = parameter_types(&self.request.module.functions[index]);
        let inputs: Vec<_> =
            types.iter().enumerate().map(|(i, ty)| self.load_stored(self.word(input, i), *ty)).collect();
        self.ask(entry, query, &inputs, bytes);
    }

    /// Calls the slice with what it needs of a function's arguments; tells the bytes where all went well.
    fn ask(
        &mut self,
        entry: FunctionValue<'ctx>,
        query: &Query,
        inputs: &[BasicValueEnum<'ctx>],
        bytes: PointerValue<'ctx>,
    ) {
        let ctx = entry.get_params()[0].into_pointer_value();
        let own = self.zeros(self.context_type());
        self.runtime_effect("lmc.like", &[ctx.into(), own.into()]);
        self.runtime_effect("lmc.run_in_order", &[own.into()]);
        let slice = query.function.0;
        let asked = self.context.append_basic_block(entry, "");
        built(self.builder.build_unconditional_branch(asked));
        self.builder.position_at_end(asked);
        let arena = if query.touches {
            self.open(slice, entry, own)
        } else {
            let arena = built(self.builder.build_alloca(self.i64().array_type(5), ""));
            self.runtime_effect("lmc.pretend", &[arena.into()]);
            arena
        };
        let limit = self.limit(entry, own);
        let depth = self.i64().const_zero();
        let mut args: Vec<BasicMetadataValueEnum> = vec![own.into(), limit.into(), depth.into(), arena.into()];
        args.extend(query.params.iter().map(|i| BasicMetadataValueEnum::from(inputs[*i])));
        let status = self.invoke(entry, slice, args).status;
        if query.touches {
            let told = self.context.append_basic_block(entry, "");
            let again = self.runtime("lmc.widen", &[own.into(), status.into()]).into_int_value();
            built(self.builder.build_conditional_branch(again, asked, told));
            self.builder.position_at_end(told);
        }
        let zero = self.i32().const_zero();
        let bad = built(self.builder.build_int_compare(IntPredicate::NE, status, zero, ""));
        self.unless(entry, bad, |emitter| emitter.runtime_effect("lmc.tell_use", &[arena.into(), bytes.into()]));
        self.hand_on(entry, bad, [ctx, own]);
        if query.touches {
            self.runtime_effect("lmc_context_free", &[own.into()]);
        }
        built(self.builder.build_return(Some(&status)));
    }
}
