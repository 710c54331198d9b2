//! Emits `$BENCH`: a loop that runs a block over and over, and takes the time.
//!
//! ```text
//! start = now; batch = 1; total = 0
//! batch:  run the block `batch` times; total += batch; seconds = now - start
//!         goes on with twice the batch where that was too short, else the result is seconds / total
//! ```
//!
//! LLVM must neither move the work out of the loop nor drop it. So inputs and outputs pass through memory that an empty
//! piece of assembly may have changed, for all that LLVM knows.

use super::frame::Frame;
use super::{Emitter, built};
use inkwell::values::{BasicValueEnum, IntValue, PhiValue};
use inkwell::{FloatPredicate, IntPredicate};
use lm::interp::BENCH_TIME;
use loops::ir::{Block, Local, Operand};

impl<'ctx> Emitter<'ctx, '_> {
    pub(super) fn timing_loop(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        seconds: Local,
        given: &[(Local, Operand)],
        body: &Block,
    ) {
        let given: Vec<_> = given.iter().map(|(x, a)| (*x, self.operand(frame, a))).collect();
        let [batches, runs, done, exit] = [(); 4].map(|()| self.context.append_basic_block(frame.llvm(), ""));
        let start = self.runtime("lmc.now", &[]).into_float_value();
        let before = self.branch_to(batches);
        self.builder.position_at_end(batches);
        let (batch, total) = (self.counter(), self.counter());
        self.branch_to(runs);
        self.builder.position_at_end(runs);
        let run = self.counter();
        for (x, value) in &given {
            let value = self.opaque(frame, *value);
            frame.set(*x, value);
        }
        let results = self.emit_block(frame, body);
        for result in results {
            self.opaque(frame, result);
        }
        let one = self.i64().const_int(1, false);
        let next = built(self.builder.build_int_add(number(run), one, ""));
        let more = built(self.builder.build_int_compare(IntPredicate::ULT, next, number(batch), ""));
        let end = self.builder.get_insert_block().expect("the builder stands in a block");
        built(self.builder.build_conditional_branch(more, runs, done));
        self.builder.position_at_end(done);
        let now = self.runtime("lmc.now", &[]).into_float_value();
        let took = built(self.builder.build_float_sub(now, start, ""));
        let sum = built(self.builder.build_int_add(number(total), number(batch), ""));
        let double = built(self.builder.build_int_add(number(batch), number(batch), ""));
        let enough = self.context.f64_type().const_float(BENCH_TIME.as_secs_f64());
        let short = built(self.builder.build_float_compare(FloatPredicate::OLT, took, enough, ""));
        built(self.builder.build_conditional_branch(short, batches, exit));
        let zero = self.i64().const_zero();
        run.add_incoming(&[(&zero, batches), (&next, end)]);
        batch.add_incoming(&[(&one, before), (&double, done)]);
        total.add_incoming(&[(&zero, before), (&sum, done)]);
        self.builder.position_at_end(exit);
        let runs = built(self.builder.build_unsigned_int_to_float(sum, self.context.f64_type(), ""));
        let each = built(self.builder.build_float_div(took, runs, ""));
        frame.set(seconds, each.into());
    }

    fn counter(&self) -> PhiValue<'ctx> {
        built(self.builder.build_phi(self.i64(), ""))
    }

    /// Returns the value, but LLVM does not know that.
    fn opaque(&self, frame: &Frame<'ctx, '_>, value: BasicValueEnum<'ctx>) -> BasicValueEnum<'ctx> {
        let slot = self.slot(frame.llvm(), self.context.struct_type(&[value.get_type()], false));
        built(self.builder.build_store(slot, value));
        let ty = self.context.void_type().fn_type(&[self.ptr().into()], false);
        let nothing = self.context.create_inline_asm(ty, "".into(), "r,~{memory}".into(), true, false, None, false);
        built(self.builder.build_indirect_call(ty, nothing, &[slot.into()], ""));
        built(self.builder.build_load(value.get_type(), slot, ""))
    }
}

fn number<'ctx>(counter: PhiValue<'ctx>) -> IntValue<'ctx> {
    counter.as_basic_value().into_int_value()
}
