//! Emits entry points: the forms of a function that the outside sees.

use super::support::Cause;
use super::{Emitter, built, packed_name};
use crate::llvm;
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::BasicMetadataTypeEnum;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue};
use loops::interface::{CForm, Interface};
use loops::ir::{Failure, Function, Scalar, Ty};
use loops::symbol::Symbol;

impl<'ctx> Emitter<'ctx, '_> {
    /// Exports a function under its symbol and alias, and packed where asked.
    pub(super) fn export(&mut self, index: usize, symbol: &Symbol) {
        if let Ok(interface) = &self.request.interfaces[index] {
            let entry = self.define_entry(interface, symbol);
            if let Some(alias) = &symbol.alias {
                llvm::add_alias(&self.module, entry, alias);
            }
            if !self.request.packed {
                match self.request.slices.and_then(|slices| slices.queries[index].as_ref()) {
                    Some(query) => self.define_query(interface, symbol, query),
                    None => self.define_workspace(interface, symbol, entry),
                }
            }
        }
        if self.request.packed {
            self.define_packed(index, symbol);
            if let Some(query) = self.request.slices.and_then(|slices| slices.queries[index].as_ref()) {
                self.define_packed_query(index, symbol, query);
            }
        }
    }

    /// `int32_t f(lmc_context *ctx, inputs..., outputs...)`. Outputs are written when all went well.
    fn define_entry(&mut self, interface: &Interface, symbol: &Symbol) -> FunctionValue<'ctx> {
        let ptr = self.ptr();
        let mut types = self.input_types(interface);
        types.extend(interface.outputs.iter().map(|_| BasicMetadataTypeEnum::from(ptr)));
        let entry = self.add_function(&symbol.name, self.i32().fn_type(&types, false), Linkage::External);
        self.start(entry);
        let ctx = entry.get_params()[0].into_pointer_value();
        let mut fields = self.input_fields(interface, entry);
        let outputs: Vec<PointerValue> =
            entry.get_params()[1 + interface.inputs.len()..].iter().map(|output| output.into_pointer_value()).collect();
        for (i, (output, form)) in outputs.iter().zip(interface.outputs.iter().map(|output| &output.form)).enumerate() {
            if !matches!(form, CForm::Scalar(_)) {
                let number = 1 + interface.inputs.len() + i;
                let args = [(*output).into(), ctx.into(), self.flag_of(form.base().is_some())];
                let has_storage = self.runtime("lmc.has_storage", &args).into_int_value();
                self.check_structure(entry, interface, number, *output, has_storage);
                fields.push(has_storage.into());
                fields.extend(self.fields(form, *output));
            }
        }
        self.forward(interface.function.0, entry, fields, |emitter, results| {
            let mut results = results.into_iter();
            let mut next = || results.next().expect("there is a result for each field");
            for (output, form) in outputs.iter().zip(interface.outputs.iter().map(|output| &output.form)) {
                match form {
                    CForm::Scalar(scalar) => emitter.store_stored(*output, scalar.ty(), next()),
                    form => {
                        for (place, _) in emitter.places(form, *output) {
                            built(emitter.builder.build_store(place, next()));
                        }
                    }
                }
            }
        });
        entry
    }

    /// The fields of the inputs; the entry returns where one is wrong.
    pub(super) fn input_fields(
        &mut self,
        interface: &Interface,
        entry: FunctionValue<'ctx>,
    ) -> Vec<BasicValueEnum<'ctx>> {
        let mut fields = Vec::new();
        for (i, input) in interface.inputs.iter().enumerate() {
            let value = entry.get_params()[1 + i];
            match &input.form {
                CForm::Scalar(scalar) => fields.push(self.inward(scalar.ty(), value)),
                form => {
                    let given = self.context.bool_type().const_all_ones();
                    self.check_structure(entry, interface, 1 + i, value.into_pointer_value(), given);
                    fields.extend(self.fields(form, value.into_pointer_value()));
                }
            }
        }
        fields
    }

    /// Returns the types of the context and of the inputs.
    pub(super) fn input_types(&self, interface: &Interface) -> Vec<BasicMetadataTypeEnum<'ctx>> {
        let input = |form: &CForm| match form {
            CForm::Scalar(scalar) => BasicMetadataTypeEnum::from(self.stored(scalar.ty())),
            CForm::Tensor { .. } | CForm::Jagged { .. } => self.ptr().into(),
        };
        let inputs = interface.inputs.iter().map(|parameter| input(&parameter.form));
        std::iter::once(self.ptr().into()).chain(inputs).collect()
    }

    /// Returns the addresses of a structure's fields in the order of `lower::interface`, and their types.
    pub(super) fn places(&self, form: &CForm, structure: PointerValue<'ctx>) -> Vec<(PointerValue<'ctx>, Ty)> {
        let integer = Scalar::Integer.ty();
        let data = form.base().map(|base| (structure, base.ty().buffer()));
        match form {
            CForm::Scalar(_) => vec![],
            CForm::Tensor { rank, .. } => (1..=*rank).map(|i| (self.word(structure, i), integer)).chain(data).collect(),
            CForm::Jagged { rank, .. } => {
                let fields = [(self.word(structure, 2), integer), (self.word(structure, 1), integer.buffer())];
                let sizes = (*rank > 1).then(|| (self.word(structure, 3), integer.buffer()));
                fields.into_iter().chain(sizes).chain(data).collect()
            }
        }
    }

    /// Returns the types of a structure's fields, in the same order.
    pub(super) fn field_types(&self, form: &CForm) -> Vec<Ty> {
        self.places(form, self.ptr().const_null()).into_iter().map(|(_, ty)| ty).collect()
    }

    fn fields(&self, form: &CForm, structure: PointerValue<'ctx>) -> Vec<BasicValueEnum<'ctx>> {
        let load = |(place, ty)| built(self.builder.build_load(self.ty(ty), place, ""));
        self.places(form, structure).into_iter().map(load).collect()
    }

    /// Returns with an error where a structure is none; `given` says whether its data count.
    fn check_structure(
        &mut self,
        entry: FunctionValue<'ctx>,
        interface: &Interface,
        number: usize,
        structure: PointerValue<'ctx>,
        given: IntValue<'ctx>,
    ) {
        let form = &interface.parameter(number).expect("the parameter exists").form;
        let has_data = self.flag_of(form.base().is_some());
        let (check, rank) = match form {
            CForm::Scalar(_) => return,
            CForm::Tensor { rank, .. } => ("lmc.tensor_ok", rank),
            CForm::Jagged { rank, .. } => ("lmc.jagged_ok", rank),
        };
        let rank = self.i64().const_int(*rank as u64, false);
        let fine = self.runtime(check, &[structure.into(), rank.into(), has_data, given.into()]);
        let function = &self.request.module.functions[interface.function.0];
        let parameter = self.parameter_name(function, number);
        let cause = Cause { parameter, ..Cause::new(Failure::BadArgument, function.span) };
        let number = self.i64().const_int(number as u64, false);
        self.require(entry, fine.into_int_value(), &cause, &[number]);
    }

    fn flag_of(&self, holds: bool) -> BasicMetadataValueEnum<'ctx> {
        self.context.bool_type().const_int(u64::from(holds), false).into()
    }

    /// Returns with an error where the condition does not hold.
    fn require(
        &mut self,
        entry: FunctionValue<'ctx>,
        condition: IntValue<'ctx>,
        cause: &Cause,
        numbers: &[IntValue<'ctx>],
    ) {
        let [good, bad] = [(); 2].map(|()| self.context.append_basic_block(entry, ""));
        built(self.builder.build_conditional_branch(condition, good, bad));
        self.builder.position_at_end(bad);
        let status = self.fail(entry.get_params()[0].into_pointer_value(), cause, numbers);
        built(self.builder.build_return(Some(&status)));
        self.builder.position_at_end(good);
    }

    /// `int32_t f(lmc_context *ctx, const int64_t *in, int64_t *out)`.
    fn define_packed(&mut self, index: usize, symbol: &Symbol) {
        let function = &self.request.module.functions[index];
        let ptr = self.ptr().into();
        let ty = self.i32().fn_type(&[ptr, ptr, ptr], false);
        let entry = self.add_function(&packed_name(symbol), ty, Linkage::External);
        self.start(entry);
        let [input, output] = [1, 2].map(|i| entry.get_params()[i].into_pointer_value());
        let load = |(i, ty): (usize, &Ty)| self.load_stored(self.word(input, i), *ty);
        let inputs = parameter_types(function).iter().enumerate().map(load).collect();
        let types = function.results.clone();
        self.forward(index, entry, inputs, |emitter, results| {
            for (i, (ty, value)) in types.iter().zip(results).enumerate() {
                emitter.store_stored(emitter.word(output, i), *ty, value);
            }
        });
    }

    pub(super) fn start(&self, entry: FunctionValue<'ctx>) {
        self.mark_between(entry);
        self.builder.position_at_end(self.context.append_basic_block(entry, ""));
    }

    /// Calls the function itself, stores its results where all went well, returns its status.
    fn forward(
        &mut self,
        index: usize,
        entry: FunctionValue<'ctx>,
        inputs: Vec<BasicValueEnum<'ctx>>,
        store: impl Fn(&Self, Vec<BasicValueEnum<'ctx>>),
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
            let results = 0..self.request.module.functions[index].results.len();
            store(self, results.map(|i| self.result(index, &outcome, i)).collect());
        });
        if allocates {
            self.runtime_effect("lmc.close", &[ctx.into(), arena.into()]);
        }
        built(self.builder.build_return(Some(&outcome.status)));
    }

    /// The arena of the call; the entry returns where there is none.
    pub(super) fn open(
        &mut self,
        index: usize,
        entry: FunctionValue<'ctx>,
        ctx: PointerValue<'ctx>,
    ) -> PointerValue<'ctx> {
        let words = self.i64().array_type(5);
        let arena = built(self.builder.build_alloca(words, ""));
        let missing = self.runtime("lmc.open", &[ctx.into(), arena.into()]).into_int_value();
        let none = built(self.builder.build_int_compare(IntPredicate::EQ, missing, self.i64().const_zero(), ""));
        let numbers = [missing, self.i64().const_zero()];
        let span = self.request.module.functions[index].span;
        self.require(entry, none, &Cause::new(Failure::OutOfMemory, span), &numbers);
        arena
    }

    fn when_good(&self, entry: FunctionValue<'ctx>, status: IntValue<'ctx>, body: impl FnOnce()) {
        let zero = self.i32().const_zero();
        let bad = built(self.builder.build_int_compare(IntPredicate::NE, status, zero, ""));
        self.unless(entry, bad, |_| body());
    }

    /// Returns the limit of the stack, or null if nothing is recursive and the limit is unused.
    pub(super) fn limit(&self, entry: FunctionValue<'ctx>, ctx: PointerValue<'ctx>) -> PointerValue<'ctx> {
        let recursive = self.request.module.functions.iter().any(|function| function.recursive);
        if recursive { self.stack_limit(entry, ctx) } else { self.ptr().const_null() }
    }

    pub(super) fn word(&self, base: PointerValue<'ctx>, i: usize) -> PointerValue<'ctx> {
        let index = self.i64().const_int(i as u64, false);
        llvm::element(&self.builder, self.i64(), base, index)
    }
}

pub(super) fn parameter_types(function: &Function) -> Vec<Ty> {
    function.params.iter().map(|x| function.locals[x.0 as usize].ty).collect()
}
