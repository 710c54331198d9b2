//! Emits loops on threads: the body becomes a function. A loop that is one chunk calls it; for more, the `parallel_for` of
//! the context calls it for each of them.
//!
//! ```text
//! for c in 0..n on threads { s }   =   status = n = 1 ? part(ctx, arena, 0, used) : fork(ctx, arena, n, used)
//! part(ctx, arena, c, used)        =   s
//! fork(ctx, arena, n, used)        =   env = { region, used }; lmc.chunks(ctx, arena, chunk, env, n)
//! chunk(env, c, worker)            =   ctx, arena = those of the worker; tell how part(ctx, arena, c, used) went
//! ```
//!
//! where `used` are the values from outside that s uses. Most loops of a program over small data are one chunk, so this
//! way costs a call; what only long loops need is compiled for size, and apart.
//!
//! The rest is in `chunks.ll`: who runs the iterations, where their arenas are, which error counts.

use super::frame::{Frame, Hidden};
use super::{Emitter, FOR_SIZE, built};
use inkwell::IntPredicate;
use inkwell::module::Linkage;
use inkwell::types::{BasicTypeEnum, StructType};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, FunctionValue};
use loops::ir::{For, Local};

/// The part of the environment that `chunks.ll` uses.
const REGION: u32 = 0;
/// The parameters in front of the values from outside: the context, the arena, and the chunk or the number of them.
const FIRST: u32 = 3;

/// The values from outside that a body gets.
struct Outside<'ctx> {
    /// Their locals.
    used: Vec<Local>,
    types: Vec<BasicTypeEnum<'ctx>>,
}

impl<'ctx> Emitter<'ctx, '_> {
    /// A loop on threads.
    pub(super) fn emit_loop_on_threads(&mut self, frame: &mut Frame<'ctx, '_>, looped: &For) {
        let used: Vec<Local> = looped.body.uses().into_iter().filter(|x| *x != looped.index).collect();
        let types = used.iter().map(|x| self.ty(frame.function().ty(&(*x).into()))).collect();
        let outside = Outside { used, types };
        let count = self.operand(frame, &looped.to).into_int_value();
        let before = self.builder.get_insert_block().expect("the builder stands in a block");
        let part = self.define_part(frame, looped, &outside);
        let chunk = self.define_chunk(frame, part, &outside);
        let fork = self.define_fork(frame, chunk, &outside);
        self.builder.position_at_end(before);
        let (zero, one) = (self.i64().const_zero(), self.i64().const_int(1, false));
        let known = looped.to.local().and_then(|x| frame.single.get(&x).copied());
        let compared = || built(self.builder.build_int_compare(IntPredicate::EQ, count, one, ""));
        // Beside starting several chunks, a branch that was not foreseen is nothing.
        let is_one = self.likely(known.unwrap_or_else(compared).into()).into_int_value();
        let [alone, several] = self.branch(frame, is_one);
        let join = self.context.append_basic_block(frame.llvm(), "");
        let ways = [(alone, part, zero), (several, fork, count)].map(|(block, function, number)| {
            self.builder.position_at_end(block);
            let mut args = vec![frame.ctx().into(), frame.arena().into(), number.into()];
            args.extend(outside.used.iter().map(|x| BasicMetadataValueEnum::from(self.operand(frame, &(*x).into()))));
            let status = self.call_part(function, &args);
            (status, self.branch_to(join))
        });
        self.builder.position_at_end(join);
        let status = self.meet(self.i32().into(), &ways).into_int_value();
        self.check_status(frame, status);
    }

    /// A function of this module for a part of another one's work, which gives a status.
    fn add_part(&self, kind: &str, frame: &Frame<'ctx, '_>, outside: &Outside<'ctx>) -> FunctionValue<'ctx> {
        let (ptr, i64) = (self.ptr().into(), self.i64().into());
        let params: Vec<_> = [ptr, ptr, i64].into_iter().chain(outside.types.iter().map(|ty| (*ty).into())).collect();
        let name = format!("lmc.{kind}.{}", frame.function().name);
        self.add_function(&name, self.i32().fn_type(&params, false), Linkage::Internal)
    }

    /// `i32 part(ptr ctx, ptr arena, i64 chunk, used)`: what it takes of the arena, it gives back.
    fn define_part(&mut self, frame: &Frame<'ctx, '_>, looped: &For, outside: &Outside<'ctx>) -> FunctionValue<'ctx> {
        let function = self.add_part("part", frame, outside);
        self.spare(function, frame.function(), frame.origin().is_some());
        let [start, failed] = [(); 2].map(|()| self.context.append_basic_block(function, ""));
        self.builder.position_at_end(start);
        let param = |i: u32| function.get_nth_param(i).expect("it has the parameters of parts");
        let [ctx, arena] = [0, 1].map(|i| param(i).into_pointer_value());
        // Nothing in here is recursive, so the limit of the stack is unused.
        let hidden = Hidden { ctx, limit: self.ptr().const_null(), depth: self.i64().const_zero(), arena };
        let mut part = frame.part(function, hidden, failed);
        part.set(looped.index, param(2));
        for (i, x) in (FIRST..).zip(&outside.used) {
            part.set(*x, param(i));
        }
        // A long loop may be rare; its iterations are not.
        let around = self.hotness;
        self.hotness.rare = frame.function().cold;
        let mark = frame.function().allocates.then(|| self.runtime("lmc.mark", &[arena.into()]));
        self.emit_block(&mut part, &looped.body);
        if let Some(mark) = mark {
            self.runtime_effect("lmc.release", &[arena.into(), mark.into()]);
        }
        self.hotness = around;
        built(self.builder.build_return(Some(&self.i32().const_zero())));
        self.builder.position_at_end(failed);
        let (_, errors) = part.failures();
        match errors {
            [] => built(self.builder.build_unreachable()),
            errors => {
                let status = self.meet(self.i32().into(), errors);
                built(self.builder.build_return(Some(&status)))
            }
        };
        function
    }

    /// `void chunk(ptr env, i64 chunk, i64 worker)`.
    fn define_chunk(
        &self,
        frame: &Frame<'ctx, '_>,
        part: FunctionValue<'ctx>,
        outside: &Outside<'ctx>,
    ) -> FunctionValue<'ctx> {
        let params = [self.ptr().into(), self.i64().into(), self.i64().into()];
        let name = format!("lmc.chunk.{}", frame.function().name);
        let function = self.add_function(&name, self.context.void_type().fn_type(&params, false), Linkage::Internal);
        self.add_flags(function, &FOR_SIZE);
        let [start, run, skipped] = [(); 3].map(|()| self.context.append_basic_block(function, ""));
        self.builder.position_at_end(start);
        let env = function.get_params()[0].into_pointer_value();
        let chunk = function.get_params()[1].into_int_value();
        let ty = self.environment(outside);
        let region = built(self.builder.build_struct_gep(ty, env, REGION, ""));
        let arena = built(self.builder.build_alloca(self.i64().array_type(5), ""));
        let own = built(self.builder.build_alloca(self.context_type(), ""));
        let args = [region.into(), chunk.into(), function.get_params()[2].into(), arena.into(), own.into()];
        let runs = self.runtime("lmc.enter", &args).into_int_value();
        let ctx = self.runtime("lmc.own", &[region.into(), own.into()]).into_pointer_value();
        built(self.builder.build_conditional_branch(runs, run, skipped));
        self.builder.position_at_end(run);
        let mut args: Vec<BasicMetadataValueEnum> = vec![ctx.into(), arena.into(), chunk.into()];
        for (i, field) in (1..).zip(&outside.types) {
            let place = built(self.builder.build_struct_gep(ty, env, i, ""));
            args.push(built(self.builder.build_load(*field, place, "")).into());
        }
        let status = self.call_part(part, &args);
        let args = [region.into(), chunk.into(), arena.into(), own.into(), status.into()];
        self.runtime_effect("lmc.leave", &args);
        built(self.builder.build_unconditional_branch(skipped));
        self.builder.position_at_end(skipped);
        built(self.builder.build_return(None));
        function
    }

    /// `i32 fork(ptr ctx, ptr arena, i64 chunks, used)`.
    fn define_fork(
        &self,
        frame: &Frame<'ctx, '_>,
        chunk: FunctionValue<'ctx>,
        outside: &Outside<'ctx>,
    ) -> FunctionValue<'ctx> {
        let function = self.add_part("fork", frame, outside);
        self.add_flags(function, &FOR_SIZE);
        let start = self.context.append_basic_block(function, "");
        self.builder.position_at_end(start);
        let param = |i: u32| function.get_nth_param(i).expect("it has the parameters of parts");
        let ty = self.environment(outside);
        let env = built(self.builder.build_alloca(ty, ""));
        for i in 0..outside.used.len() as u32 {
            let place = built(self.builder.build_struct_gep(ty, env, i + 1, ""));
            built(self.builder.build_store(place, param(FIRST + i)));
        }
        let chunk = chunk.as_global_value().as_pointer_value();
        let args = [param(0).into(), param(1).into(), chunk.into(), env.into(), param(2).into()];
        let status = self.runtime("lmc.chunks", &args);
        built(self.builder.build_return(Some(&status)));
        function
    }

    /// Calls a part; gives its status.
    fn call_part(&self, part: FunctionValue<'ctx>, args: &[BasicMetadataValueEnum<'ctx>]) -> BasicValueEnum<'ctx> {
        built(self.builder.build_call(part, args, "")).try_as_basic_value().unwrap_basic()
    }

    fn environment(&self, outside: &Outside<'ctx>) -> StructType<'ctx> {
        let (ptr, i64, i32) = (self.ptr().into(), self.i64().into(), self.i32().into());
        let region = self.context.struct_type(&[ptr, ptr, i64, i64, i64, i32, i32], false);
        let fields: Vec<BasicTypeEnum> = [region.into()].into_iter().chain(outside.types.iter().copied()).collect();
        self.context.struct_type(&fields, false)
    }
}
