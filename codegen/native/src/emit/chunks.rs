//! Emits loops on threads: the body becomes a function, which the `parallel_for` of the context calls for each
//! iteration.
//!
//! ```text
//! for c in 0..n on threads { s }   =   env = { region, outer values of s }; status = lmc.chunks(.., body, env, n)
//! body(env, c, worker)             =   arena, context = those of the worker; s; tell how it went
//! ```
//!
//! The rest is in `chunks.ll`: who runs the iterations, where their arenas are, which error counts.

use super::frame::{Frame, Hidden};
use super::{Emitter, built};
use inkwell::basic_block::BasicBlock;
use inkwell::module::Linkage;
use inkwell::types::{BasicTypeEnum, StructType};
use inkwell::values::{FunctionValue, PointerValue};
use loops::ir::{For, Local};

/// The part of the environment that `chunks.ll` uses.
const REGION: u32 = 0;

/// The values from outside that a body gets.
struct Environment<'ctx> {
    /// Their locals, in the order of the fields after that of `chunks.ll`.
    used: Vec<Local>,
    ty: StructType<'ctx>,
}

impl<'ctx> Emitter<'ctx, '_> {
    /// A loop on threads.
    pub(super) fn emit_loop_on_threads(&mut self, frame: &mut Frame<'ctx, '_>, looped: &For) {
        let used = looped.body.uses().into_iter().filter(|x| *x != looped.index).collect();
        let outside = self.environment(frame, used);
        let env = self.slot(frame.llvm(), outside.ty);
        for (i, x) in (1..).zip(&outside.used) {
            let place = built(self.builder.build_struct_gep(outside.ty, env, i, ""));
            let value = self.operand(frame, &(*x).into());
            built(self.builder.build_store(place, value));
        }
        let count = self.operand(frame, &looped.to);
        let before = self.builder.get_insert_block().expect("the builder stands in a block");
        let body = self.define_body(frame, looped, &outside);
        self.builder.position_at_end(before);
        let body = body.as_global_value().as_pointer_value();
        let args = [frame.ctx().into(), frame.arena().into(), body.into(), env.into(), count.into()];
        let status = self.runtime("lmc.chunks", &args).into_int_value();
        self.check_status(frame, status);
    }

    fn environment(&self, frame: &Frame<'ctx, '_>, used: Vec<Local>) -> Environment<'ctx> {
        let (ptr, i64, i32) = (self.ptr().into(), self.i64().into(), self.i32().into());
        let region = self.context.struct_type(&[ptr, ptr, i64, i64, i64, i32, i32], false);
        let outside = used.iter().map(|x| self.ty(frame.function().ty(&(*x).into())));
        let fields: Vec<BasicTypeEnum> = [region.into()].into_iter().chain(outside).collect();
        Environment { ty: self.context.struct_type(&fields, false), used }
    }

    /// `void body(ptr env, i64 chunk, i64 worker)`.
    fn define_body(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        looped: &For,
        outside: &Environment<'ctx>,
    ) -> FunctionValue<'ctx> {
        let params = [self.ptr().into(), self.i64().into(), self.i64().into()];
        let name = format!("lmc.chunk.{}", frame.function().name);
        let body = self.add_function(&name, self.context.void_type().fn_type(&params, false), Linkage::Internal);
        self.spare(body, frame.function(), frame.origin().is_some());
        let [start, run, failed, done, skipped] = [(); 5].map(|()| self.context.append_basic_block(body, ""));
        self.builder.position_at_end(start);
        let env = body.get_params()[0].into_pointer_value();
        let chunk = body.get_params()[1].into_int_value();
        let region = built(self.builder.build_struct_gep(outside.ty, env, REGION, ""));
        let arena = built(self.builder.build_alloca(self.i64().array_type(5), ""));
        let own = built(self.builder.build_alloca(self.context_type(), ""));
        let args = [region.into(), chunk.into(), body.get_params()[2].into(), arena.into(), own.into()];
        let runs = self.runtime("lmc.enter", &args).into_int_value();
        let ctx = self.runtime("lmc.own", &[region.into(), own.into()]).into_pointer_value();
        built(self.builder.build_conditional_branch(runs, run, skipped));
        self.builder.position_at_end(run);
        // Nothing in here is recursive, so the limit of the stack is unused.
        let hidden = Hidden { ctx, limit: self.ptr().const_null(), depth: self.i64().const_zero(), arena };
        let mut part = frame.part(body, hidden, failed);
        self.load_environment(&mut part, outside, env);
        part.set(looped.index, chunk.into());
        self.emit_block(&mut part, &looped.body);
        let status = self.status_of(&part, done);
        let args = [region.into(), chunk.into(), arena.into(), own.into(), status];
        self.runtime_effect("lmc.leave", &args);
        built(self.builder.build_unconditional_branch(skipped));
        self.builder.position_at_end(skipped);
        built(self.builder.build_return(None));
        body
    }

    fn load_environment(&self, part: &mut Frame<'ctx, '_>, outside: &Environment<'ctx>, env: PointerValue<'ctx>) {
        for (i, x) in (1..).zip(&outside.used) {
            let place = built(self.builder.build_struct_gep(outside.ty, env, i, ""));
            let value = built(self.builder.build_load(self.ty(part.function().ty(&(*x).into())), place, ""));
            part.set(*x, value);
        }
    }

    /// Goes on where a chunk ends, well or not; gives its status.
    fn status_of(
        &self,
        part: &Frame<'ctx, '_>,
        done: BasicBlock<'ctx>,
    ) -> inkwell::values::BasicMetadataValueEnum<'ctx> {
        let good = self.branch_to(done);
        let (failed, errors) = part.failures();
        self.builder.position_at_end(failed);
        let error = self.meet(self.i32().into(), errors);
        self.branch_to(done);
        self.builder.position_at_end(done);
        self.meet(self.i32().into(), &[(self.i32().const_zero().into(), good), (error, failed)]).into()
    }
}
