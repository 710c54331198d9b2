//! Emits how functions of the module give back their status and results.
//!
//! ```text
//! few results   { i32, r.. } f(ctx, limit, depth, arena, x..)        poison where the status is not 0
//! more          i32 f(ctx, limit, depth, arena, x.., ptr r)           written where the status is 0
//! ```
//!
//! Few travel in registers. The work that LLVM has with structures as values grows with the cube of
//! their size (1,000 results took minutes), with memory it grows as it should.

use super::frame::Incoming;
use super::{Emitter, built};
use inkwell::basic_block::BasicBlock;
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum, FunctionType, StructType};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue, IntValue, PointerValue, StructValue};
use loops::ir::{Function, Ty};

/// How many results are few.
const FEW: usize = 3;

/// The outcome of a call: the status, and the places of the results.
pub(super) struct CallOutcome<'ctx> {
    pub(super) status: IntValue<'ctx>,
    results: ResultPlace<'ctx>,
}

enum ResultPlace<'ctx> {
    Registers(StructValue<'ctx>),
    Memory(PointerValue<'ctx>),
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Returns the type of the function inside the module.
    pub(super) fn signature(&self, function: &Function) -> FunctionType<'ctx> {
        let mut params: Vec<BasicMetadataTypeEnum> =
            vec![self.ptr().into(), self.ptr().into(), self.i64().into(), self.ptr().into()];
        let types = function.params.iter().map(|x| self.ty(function.locals[x.0 as usize].ty));
        params.extend(types.map(BasicMetadataTypeEnum::from));
        if in_registers(function) {
            return self.registers(function).fn_type(&params, false);
        }
        params.push(self.ptr().into());
        self.i32().fn_type(&params, false)
    }

    /// Calls a function of the module.
    pub(super) fn invoke(
        &self,
        caller: FunctionValue<'ctx>,
        callee: usize,
        mut args: Vec<BasicMetadataValueEnum<'ctx>>,
    ) -> CallOutcome<'ctx> {
        let function = &self.request.module.functions[callee];
        let slot = (!in_registers(function)).then(|| self.slot(caller, self.memory(function)));
        args.extend(slot.map(BasicMetadataValueEnum::from));
        let call = built(self.builder.build_call(self.functions[callee], &args, ""));
        self.keep_long_apart(call, callee);
        let value = call.try_as_basic_value().unwrap_basic();
        match slot {
            Some(slot) => CallOutcome { status: value.into_int_value(), results: ResultPlace::Memory(slot) },
            None => {
                let whole = value.into_struct_value();
                let status = built(self.builder.build_extract_value(whole, 0, "")).into_int_value();
                CallOutcome { status, results: ResultPlace::Registers(whole) }
            }
        }
    }

    /// Calls a function that gives what its caller gives, as its caller gives it: in registers, or to the place that
    /// the caller has for its own results. Gives what the caller returns.
    pub(super) fn invoke_last(
        &self,
        caller: FunctionValue<'ctx>,
        callee: usize,
        mut args: Vec<BasicMetadataValueEnum<'ctx>>,
    ) -> BasicValueEnum<'ctx> {
        if !in_registers(&self.request.module.functions[callee]) {
            args.push(caller.get_last_param().expect("the place of the results comes last").into());
        }
        let call = built(self.builder.build_call(self.functions[callee], &args, ""));
        self.keep_long_apart(call, callee);
        call.try_as_basic_value().unwrap_basic()
    }

    /// Returns a result of a call that went well.
    pub(super) fn result(&self, callee: usize, outcome: &CallOutcome<'ctx>, i: usize) -> BasicValueEnum<'ctx> {
        let function = &self.request.module.functions[callee];
        match outcome.results {
            ResultPlace::Registers(whole) => built(self.builder.build_extract_value(whole, i as u32 + 1, "")),
            ResultPlace::Memory(slot) => {
                let field = built(self.builder.build_struct_gep(self.memory(function), slot, i as u32, ""));
                built(self.builder.build_load(self.ty(function.results[i]), field, ""))
            }
        }
    }

    /// The one return, where status and results meet. They meet one by one, not as the structure: so
    /// LLVM sees through the structure where the call is inlined. Errors meet among themselves first,
    /// in the block `failed`, so that the size does not grow with errors times results. There are no results
    /// where each way ends in a tail call.
    pub(super) fn give_back(
        &self,
        function: &Function,
        value: FunctionValue<'ctx>,
        results: Option<&[BasicValueEnum<'ctx>]>,
        failed: BasicBlock<'ctx>,
        errors: &[Incoming<'ctx>],
    ) {
        let exit = self.context.append_basic_block(value, "");
        let good = results.map(|results| {
            if !in_registers(function) {
                self.store_results(function, value, results);
            }
            (self.branch_to(exit), results)
        });
        self.builder.position_at_end(failed);
        let error = self.meet(self.i32().into(), errors);
        built(self.builder.build_unconditional_branch(exit));
        self.builder.position_at_end(exit);
        let fine = good.map(|(good, _)| (self.i32().const_zero().into(), good));
        let statuses: Vec<Incoming> = fine.into_iter().chain([(error, failed)]).collect();
        let status = self.meet(self.i32().into(), &statuses);
        if !in_registers(function) {
            built(self.builder.build_return(Some(&status)));
            return;
        }
        let meet = |(i, ty): (usize, &Ty)| {
            let result = good.map(|(good, results)| (results[i], good));
            let values: Vec<Incoming> = result.into_iter().chain([(self.poison(*ty), failed)]).collect();
            self.meet(self.ty(*ty), &values)
        };
        let results: Vec<_> = function.results.iter().enumerate().map(meet).collect();
        let mut whole = self.registers(function).get_poison();
        for (i, field) in [status].into_iter().chain(results).enumerate() {
            whole = built(self.builder.build_insert_value(whole, field, i as u32, "")).into_struct_value();
        }
        built(self.builder.build_return(Some(&whole)));
    }

    fn store_results(&self, function: &Function, value: FunctionValue<'ctx>, results: &[BasicValueEnum<'ctx>]) {
        let target = value.get_last_param().expect("the place of the results comes last").into_pointer_value();
        for (i, result) in results.iter().enumerate() {
            let field = built(self.builder.build_struct_gep(self.memory(function), target, i as u32, ""));
            built(self.builder.build_store(field, *result));
        }
    }

    /// Returns the value that comes from the block which ran.
    pub(super) fn meet(&self, ty: BasicTypeEnum<'ctx>, values: &[Incoming<'ctx>]) -> BasicValueEnum<'ctx> {
        let phi = built(self.builder.build_phi(ty, ""));
        values.iter().for_each(|(value, from)| phi.add_incoming(&[(value, *from)]));
        phi.as_basic_value()
    }

    /// Goes on elsewhere; gives the block that is left.
    pub(super) fn branch_to(&self, target: BasicBlock<'ctx>) -> BasicBlock<'ctx> {
        built(self.builder.build_unconditional_branch(target));
        self.builder.get_insert_block().expect("the builder stands in a block")
    }

    /// Memory in the frame of a function: taken at its start, so that no loop takes it again.
    pub(super) fn slot(&self, function: FunctionValue<'ctx>, ty: StructType<'ctx>) -> PointerValue<'ctx> {
        let start = function.get_first_basic_block().expect("the function has a body");
        let builder = self.context.create_builder();
        match start.get_first_instruction() {
            Some(first) => builder.position_before(&first),
            None => builder.position_at_end(start),
        }
        built(builder.build_alloca(ty, ""))
    }

    fn registers(&self, function: &Function) -> StructType<'ctx> {
        let mut fields: Vec<BasicTypeEnum> = vec![self.i32().into()];
        fields.extend(function.results.iter().map(|ty| self.ty(*ty)));
        self.context.struct_type(&fields, false)
    }

    fn memory(&self, function: &Function) -> StructType<'ctx> {
        let fields: Vec<BasicTypeEnum> = function.results.iter().map(|ty| self.ty(*ty)).collect();
        self.context.struct_type(&fields, false)
    }

    fn poison(&self, ty: Ty) -> BasicValueEnum<'ctx> {
        match self.ty(ty) {
            BasicTypeEnum::FloatType(ty) => ty.get_poison().into(),
            BasicTypeEnum::IntType(ty) => ty.get_poison().into(),
            BasicTypeEnum::PointerType(ty) => ty.get_poison().into(),
            other => panic!("{other:?} is the type of no local"),
        }
    }
}

fn in_registers(function: &Function) -> bool {
    function.results.len() <= FEW
}
