//! The query of the workspace: `int32_t f_workspace(lmc_context *ctx, inputs..., int64_t *bytes)`, of functions that
//! have no slice; the others have `query`.
//!
//! Calls f with a context of its own, and without storage for results. So all that f takes is in the arena that this
//! context reserves, whose peak is the answer.

use super::{Emitter, built};
use crate::llvm;
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::BasicType;
use inkwell::values::{BasicMetadataValueEnum, FunctionValue, IntValue, PointerValue};
use loops::interface::{CForm, Interface};
use loops::symbol::Symbol;

const ALIGN: u32 = 8;

impl<'ctx> Emitter<'ctx, '_> {
    /// The query under all of its names, still empty; none where the function has no tensors.
    pub(super) fn declare_workspace(&mut self, interface: &Interface, symbol: &Symbol) -> Option<FunctionValue<'ctx>> {
        let (name, aliases) = symbol.workspace.split_first()?;
        let mut types = self.input_types(interface);
        types.push(self.ptr().into());
        let query = self.add_function(name, self.i32().fn_type(&types, false), Linkage::External);
        aliases.iter().for_each(|alias| llvm::add_alias(&self.module, query, alias));
        self.start(query);
        Some(query)
    }

    pub(super) fn define_workspace(&mut self, interface: &Interface, symbol: &Symbol, entry: FunctionValue<'ctx>) {
        let Some(query) = self.declare_workspace(interface, symbol) else { return };
        let params = query.get_params();
        let ctx = params[0].into_pointer_value();
        let bytes = params[params.len() - 1].into_pointer_value();
        let own = self.zeros(self.context_type());
        self.runtime_effect("lmc.like", &[ctx.into(), own.into()]);
        let mut args: Vec<BasicMetadataValueEnum> = vec![own.into()];
        args.extend(params[1..params.len() - 1].iter().map(|param| BasicMetadataValueEnum::from(*param)));
        let output = |form: &CForm| match form {
            CForm::Scalar(scalar) => self.zeros(self.stored(scalar.ty())),
            CForm::Tensor { rank, .. } => self.zeros(self.i64().array_type(1 + *rank as u32)),
            CForm::Jagged { .. } => self.zeros(self.i64().array_type(3)),
        };
        args.extend(interface.outputs.iter().map(|parameter| BasicMetadataValueEnum::from(output(&parameter.form))));
        let call = built(self.builder.build_call(entry, &args, ""));
        let status = call.try_as_basic_value().unwrap_basic().into_int_value();
        let zero = self.i32().const_zero();
        let bad = built(self.builder.build_int_compare(IntPredicate::NE, status, zero, ""));
        self.unless(query, bad, |emitter| emitter.runtime_effect("lmc.tell_peak", &[own.into(), bytes.into()]));
        self.hand_on(query, bad, [ctx, own]);
        self.runtime_effect("lmc_context_free", &[own.into()]);
        built(self.builder.build_return(Some(&status)));
    }

    /// Copies the error of a query to the caller's context, if there is one.
    pub(super) fn hand_on(&self, query: FunctionValue<'ctx>, bad: IntValue<'ctx>, [ctx, own]: [PointerValue<'ctx>; 2]) {
        let good = built(self.builder.build_not(bad, ""));
        let absent = built(self.builder.build_is_null(ctx, ""));
        let nothing_to_say = built(self.builder.build_or(good, absent, ""));
        self.unless(query, nothing_to_say, |emitter| emitter.copy_error(ctx, own));
    }

    /// Zeros on the stack.
    pub(super) fn zeros(&self, ty: impl BasicType<'ctx>) -> PointerValue<'ctx> {
        let place = built(self.builder.build_alloca(ty.as_basic_type_enum(), ""));
        let size = ty.size_of().expect("the type is sized");
        built(self.builder.build_memset(place, ALIGN, self.context.i8_type().const_zero(), size));
        place
    }
}
