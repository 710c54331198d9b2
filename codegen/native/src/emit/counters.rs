//! Emits counters: code that tells what it did.
//!
//! The module has an array of words, to which code adds what [`Telling`] says:
//!
//! ```text
//! Work          word k: how much of the kind k of `loops::analyses::counts::Work`
//! Iterations    words 2k and 2k + 1: how often the loop k ran, and how many iterations it made in all
//! Seconds       the same, with the seconds that it took in all, a double
//! ```
//!
//! A block adds to `Work` what its own statements do when it is entered; `zero`, `move` and `slide` add the bytes that
//! they touch. Of loops, those are watched that have numbers (`loops::analyses::watch`), where they run outside of lanes.
//! The array belongs to the module: calls in several threads would disturb each other.

use super::frame::Frame;
use super::{Emitter, built};
use crate::llvm;
use inkwell::IntPredicate;
use inkwell::values::{FloatValue, IntValue, PointerValue};
use loops::analyses::counts::{Counts, Work};
use loops::ir::For;

/// The array's symbol.
pub(crate) const COUNTERS: &str = "lmc.counters";

/// What code tells of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Telling {
    Nothing,
    /// What it did, by kind.
    Work,
    /// The iterations of so many loops.
    Iterations(usize),
    /// The time that so many loops took.
    Seconds(usize),
}

impl Telling {
    /// Returns the number of words.
    pub(crate) fn words(self) -> usize {
        match self {
            Telling::Nothing => 0,
            Telling::Work => Work::ALL.len(),
            Telling::Iterations(loops) | Telling::Seconds(loops) => 2 * loops,
        }
    }
}

/// A loop that is watched: its words, and when it began.
pub(super) struct Watched<'ctx> {
    first: u64,
    start: Option<FloatValue<'ctx>>,
}

impl<'ctx> Emitter<'ctx, '_> {
    pub(super) fn declare_counters(&self) {
        let words = self.request.telling.words();
        if words > 0 {
            let ty = self.i64().array_type(u32::try_from(words).expect("a module has fewer loops"));
            self.module.add_global(ty, None, COUNTERS).set_initializer(&ty.const_zero());
        }
    }

    fn counts_work(&self) -> bool {
        self.request.telling == Telling::Work
    }

    /// Adds what is known when compiling.
    pub(super) fn count(&self, counts: impl FnOnce() -> Counts) {
        if !self.counts_work() {
            return;
        }
        let counts = counts();
        for work in Work::ALL.into_iter().filter(|work| counts[*work] != 0) {
            self.add_to_counter(work as u64, self.i64().const_int(counts[work], false));
        }
    }

    /// Adds bytes to each of the counters.
    pub(super) fn count_bytes(&self, works: &[Work], bytes: IntValue<'ctx>) {
        if self.counts_work() {
            works.iter().for_each(|work| self.add_to_counter(*work as u64, bytes));
        }
    }

    /// Counts what a `move` touches: nothing where it moves to where it is.
    pub(super) fn count_moved(&self, to: PointerValue<'ctx>, from: PointerValue<'ctx>, bytes: IntValue<'ctx>) {
        if !self.counts_work() {
            return;
        }
        let stays = built(self.builder.build_int_compare(IntPredicate::EQ, to, from, ""));
        let moved = built(self.builder.build_select(stays, self.i64().const_zero(), bytes, ""));
        self.count_bytes(&[Work::Loaded, Work::Stored], moved.into_int_value());
    }

    /// Counts what a `slide` is about to touch: what lies between the piece and the top.
    pub(super) fn count_slid(&self, arena: PointerValue<'ctx>, piece: PointerValue<'ctx>, to: PointerValue<'ctx>) {
        if !self.counts_work() {
            return;
        }
        let top = self.runtime("lmc.mark", &[arena.into()]).into_pointer_value();
        let [top, start] = [top, piece].map(|p| built(self.builder.build_ptr_to_int(p, self.i64(), "")));
        self.count_moved(to, piece, built(self.builder.build_int_sub(top, start, "")));
    }

    /// Stands before a loop, which may be watched.
    pub(super) fn before_loop(&mut self, frame: &Frame<'ctx, '_>, looped: &For) -> Option<Watched<'ctx>> {
        let number = frame.function.locals[looped.index.0 as usize].watched?;
        let first = 2 * u64::from(number);
        let start = match self.request.telling {
            Telling::Iterations(_) => {
                let [from, to] = [&looped.from, &looped.to].map(|a| self.operand(frame, a).into_int_value());
                let runs = built(self.builder.build_int_compare(IntPredicate::SLT, from, to, ""));
                let count = built(self.builder.build_int_sub(to, from, ""));
                let count = built(self.builder.build_select(runs, count, self.i64().const_zero(), ""));
                self.add_to_counter(first + 1, count.into_int_value());
                None
            }
            Telling::Seconds(_) => Some(self.runtime("lmc.now", &[]).into_float_value()),
            Telling::Nothing | Telling::Work => return None,
        };
        self.add_to_counter(first, self.i64().const_int(1, false));
        Some(Watched { first, start })
    }

    /// Stands behind it.
    pub(super) fn after_loop(&mut self, watched: Option<Watched<'ctx>>) {
        let Some(Watched { first, start: Some(start) }) = watched else { return };
        let now = self.runtime("lmc.now", &[]).into_float_value();
        let counter = self.counter_at(first + 1);
        let before = built(self.builder.build_load(self.context.f64_type(), counter, "")).into_float_value();
        let took = built(self.builder.build_float_sub(now, start, ""));
        built(self.builder.build_store(counter, built(self.builder.build_float_add(before, took, ""))));
    }

    fn add_to_counter(&self, word: u64, amount: IntValue<'ctx>) {
        let counter = self.counter_at(word);
        let before = built(self.builder.build_load(self.i64(), counter, "")).into_int_value();
        built(self.builder.build_store(counter, built(self.builder.build_int_add(before, amount, ""))));
    }

    fn counter_at(&self, word: u64) -> PointerValue<'ctx> {
        let array = self.module.get_global(COUNTERS).expect("code that tells has counters").as_pointer_value();
        llvm::element(&self.builder, self.i64(), array, self.i64().const_int(word, false))
    }
}
