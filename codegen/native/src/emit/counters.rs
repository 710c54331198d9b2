//! Emits counters: code that tells what it did, by kind.
//!
//! The module has an array with a word for each kind of [`Work`]. A block adds to it what its own statements do when it
//! is entered; `zero`, `move` and `slide` add the bytes that they touch. The array belongs to the module: calls in
//! several threads would disturb each other. Without [`super::Request::counted`] nothing of this is there.

use super::{Emitter, built};
use crate::llvm;
use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};
use loops::analyses::counts::{Counts, Work};

/// The array's symbol.
pub(crate) const COUNTERS: &str = "lmc.counters";

impl<'ctx> Emitter<'ctx, '_> {
    pub(super) fn declare_counters(&self) {
        if self.request.counted {
            let ty = self.i64().array_type(Work::ALL.len() as u32);
            self.module.add_global(ty, None, COUNTERS).set_initializer(&ty.const_zero());
        }
    }

    /// Adds what is known when compiling.
    pub(super) fn count(&self, counts: impl FnOnce() -> Counts) {
        if !self.request.counted {
            return;
        }
        let counts = counts();
        for work in Work::ALL.into_iter().filter(|work| counts[*work] != 0) {
            self.add_to_counter(work, self.i64().const_int(counts[work], false));
        }
    }

    /// Adds bytes to each of the counters.
    pub(super) fn count_bytes(&self, works: &[Work], bytes: IntValue<'ctx>) {
        if self.request.counted {
            works.iter().for_each(|work| self.add_to_counter(*work, bytes));
        }
    }

    /// Counts what a `move` touches: nothing where it moves to where it is.
    pub(super) fn count_moved(&self, to: PointerValue<'ctx>, from: PointerValue<'ctx>, bytes: IntValue<'ctx>) {
        if !self.request.counted {
            return;
        }
        let stays = built(self.builder.build_int_compare(IntPredicate::EQ, to, from, ""));
        let moved = built(self.builder.build_select(stays, self.i64().const_zero(), bytes, ""));
        self.count_bytes(&[Work::Loaded, Work::Stored], moved.into_int_value());
    }

    /// Counts what a `slide` is about to touch: what lies between the piece and the top.
    pub(super) fn count_slid(&self, arena: PointerValue<'ctx>, piece: PointerValue<'ctx>, to: PointerValue<'ctx>) {
        if !self.request.counted {
            return;
        }
        let top = self.runtime("lmc.mark", &[arena.into()]).into_pointer_value();
        let [top, start] = [top, piece].map(|p| built(self.builder.build_ptr_to_int(p, self.i64(), "")));
        self.count_moved(to, piece, built(self.builder.build_int_sub(top, start, "")));
    }

    fn add_to_counter(&self, work: Work, amount: IntValue<'ctx>) {
        let array = self.module.get_global(COUNTERS).expect("counted code has counters").as_pointer_value();
        let counter = llvm::element(&self.builder, self.i64(), array, self.i64().const_int(work as u64, false));
        let before = built(self.builder.build_load(self.i64(), counter, "")).into_int_value();
        built(self.builder.build_store(counter, built(self.builder.build_int_add(before, amount, ""))));
    }
}
