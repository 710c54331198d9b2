//! Entry points: the forms of a function that the outside sees.

use super::{Emitter, built, packed_name};
use crate::llvm;
use crate::loops::{Failure, Function, Ty};
use crate::symbol::Symbol;
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue};

impl<'ctx> Emitter<'ctx, '_> {
    /// Exports a function under its symbol and alias, and packed where asked.
    pub(super) fn export(&mut self, index: usize, symbol: &Symbol) {
        let function = &self.request.module.functions[index];
        let mut types = parameter_types(function).into_iter().chain(function.results.iter().copied());
        if types.all(|ty| ty.as_scalar().is_some()) {
            let entry = self.define_entry(index, symbol);
            if let Some(alias) = &symbol.alias {
                llvm::add_alias(&self.module, entry, alias);
            }
        }
        if self.request.packed {
            self.define_packed(index, symbol);
        }
    }

    /// `int32_t f(lmc_context *ctx, inputs..., outputs...)`. Outputs are written when all went well.
    fn define_entry(&mut self, index: usize, symbol: &Symbol) -> FunctionValue<'ctx> {
        let function = &self.request.module.functions[index];
        let params: Vec<Ty> = parameter_types(function);
        let mut types: Vec<BasicMetadataTypeEnum> = vec![self.ptr().into()];
        types.extend(params.iter().map(|ty| BasicMetadataTypeEnum::from(self.stored(*ty))));
        types.extend(function.results.iter().map(|_| BasicMetadataTypeEnum::from(self.ptr())));
        let entry = self.function(&symbol.name, self.i32().fn_type(&types, false), Linkage::External);
        self.start(entry);
        let values = entry.get_params();
        let inputs = params.iter().zip(&values[1..]).map(|(ty, value)| self.inward(*ty, *value)).collect();
        let outputs: Vec<_> = values[1 + params.len()..].iter().map(|output| output.into_pointer_value()).collect();
        self.forward(index, entry, inputs, |emitter, i, ty, value| {
            emitter.store_stored(outputs[i], ty, value);
        });
        entry
    }

    /// `int32_t f(lmc_context *ctx, const int64_t *in, int64_t *out)`.
    fn define_packed(&mut self, index: usize, symbol: &Symbol) {
        let function = &self.request.module.functions[index];
        let ptr = self.ptr().into();
        let ty = self.i32().fn_type(&[ptr, ptr, ptr], false);
        let entry = self.function(&packed_name(symbol), ty, Linkage::External);
        self.start(entry);
        let [input, output] = [1, 2].map(|i| entry.get_params()[i].into_pointer_value());
        let load = |(i, ty): (usize, &Ty)| self.load_stored(self.word(input, i), *ty);
        let inputs = parameter_types(function).iter().enumerate().map(load).collect();
        self.forward(index, entry, inputs, |emitter, i, ty, value| {
            emitter.store_stored(emitter.word(output, i), ty, value);
        });
    }

    fn start(&self, entry: FunctionValue<'ctx>) {
        self.builder.position_at_end(self.context.append_basic_block(entry, ""));
    }

    /// Calls the function itself, stores its results where all went well, returns its status.
    fn forward(
        &mut self,
        index: usize,
        entry: FunctionValue<'ctx>,
        inputs: Vec<BasicValueEnum<'ctx>>,
        store: impl Fn(&Self, usize, Ty, BasicValueEnum<'ctx>),
    ) {
        let ctx = entry.get_params()[0].into_pointer_value();
        let allocates = self.request.module.functions[index].allocates;
        let arena = if allocates { self.open(index, entry, ctx) } else { self.ptr().const_null() };
        let limit = self.limit(entry, ctx);
        let depth = self.i64().const_zero();
        let mut args: Vec<BasicMetadataValueEnum> = vec![ctx.into(), limit.into(), depth.into(), arena.into()];
        args.extend(inputs.into_iter().map(BasicMetadataValueEnum::from));
        let outcome = self.invoke(entry, index, args);
        self.when_good(entry, outcome.status, || {
            for (i, ty) in self.request.module.functions[index].results.iter().enumerate() {
                store(self, i, *ty, self.result(index, &outcome, i));
            }
        });
        if allocates {
            self.runtime_effect("lmc.close", &[ctx.into(), arena.into()]);
        }
        built(self.builder.build_return(Some(&outcome.status)));
    }

    /// The arena of the call; the entry returns where there is none.
    fn open(&mut self, index: usize, entry: FunctionValue<'ctx>, ctx: PointerValue<'ctx>) -> PointerValue<'ctx> {
        let words = self.i64().array_type(5);
        let arena = built(self.builder.build_alloca(words, ""));
        let missing = self.runtime("lmc.open", &[ctx.into(), arena.into()]).into_int_value();
        let none = built(self.builder.build_int_compare(IntPredicate::EQ, missing, self.i64().const_zero(), ""));
        let [good, bad] = [(); 2].map(|()| self.context.append_basic_block(entry, ""));
        built(self.builder.build_conditional_branch(none, good, bad));
        self.builder.position_at_end(bad);
        let numbers = [missing, self.i64().const_zero()];
        let status = self.fail(ctx, Failure::OutOfMemory, &numbers, self.request.module.functions[index].span);
        built(self.builder.build_return(Some(&status)));
        self.builder.position_at_end(good);
        arena
    }

    fn when_good(&self, entry: FunctionValue<'ctx>, status: IntValue<'ctx>, body: impl FnOnce()) {
        let zero = self.i32().const_zero();
        let bad = built(self.builder.build_int_compare(IntPredicate::NE, status, zero, ""));
        self.unless(entry, bad, |_| body());
    }

    /// Null where nothing is recursive: then nobody looks at it.
    fn limit(&self, entry: FunctionValue<'ctx>, ctx: PointerValue<'ctx>) -> PointerValue<'ctx> {
        let recursive = self.request.module.functions.iter().any(|function| function.recursive);
        if recursive { self.stack_limit(entry, ctx) } else { self.ptr().const_null() }
    }

    fn word(&self, base: PointerValue<'ctx>, i: usize) -> PointerValue<'ctx> {
        let index = self.i64().const_int(i as u64, false);
        llvm::element(&self.builder, self.i64(), base, index)
    }
}

fn parameter_types(function: &Function) -> Vec<Ty> {
    function.params.iter().map(|x| function.locals[x.0 as usize].ty).collect()
}
