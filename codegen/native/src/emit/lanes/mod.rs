//! Emits loops in lanes (`docs/lanes.md`): W iterations at once, one in each lane of vectors.
//!
//! ```text
//! for i in a..b lanes W carrying (y = c) s
//!   = Y = (0, .., 0);  for I in a, a + W, .. < b { i = (I, I + 1, .., I + W - 1); y = Y; s; Y = next y };
//!     y = c + Y1 + .. + YW
//! ```
//!
//! Each lane has its own largest or smallest element, which starts from c. The best of them is found at the end
//! (`best`).
//!
//! The locals of s that vary hold vectors. In the last, incomplete W, the lanes beyond b are off. If s is short, a
//! second copy of s runs them under a mask. Otherwise the whole loop is under a mask. What a wide loop leaves runs in
//! fewer lanes, so that it costs less than W iterations would.

mod access;
mod best;
mod control;
mod exp;
mod math;
mod memory;
mod rows;
#[cfg(test)]
mod tests;
mod vectors;

pub(super) use memory::LINE;

pub(super) use control::differs_in_lanes;

use super::frame::{ActiveLanes, Frame, Mask};
use super::{Emitter, built};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, IntValue, VectorValue};
use loops::analyses::alias::Aliases;
use loops::analyses::divergence::Divergence;
use loops::analyses::independence::{Carried, bests, carried};
use loops::analyses::why_serial::WhySerial;
use loops::ir::{For, Local, Op, Operand, Scalar, Stmt};
use std::rc::Rc;

/// Statements beyond which a loop's body is not copied.
const LONG_BODY: usize = 60;

/// More than so many vectors side by side make a loop wide.
const ABREAST: u32 = 2;

impl<'ctx> Emitter<'ctx, '_> {
    /// Returns the type of a local: a vector where it varies.
    pub(super) fn local_ty(&self, frame: &Frame<'ctx, '_>, x: Local) -> BasicTypeEnum<'ctx> {
        let ty = self.ty(frame.function().ty(&Operand::Local(x)));
        match frame.lanes() {
            Some(lanes) if lanes.varies(x) => super::shape::vector_of(ty, lanes.width).into(),
            _ => ty,
        }
    }

    /// Returns a value of a local's type: the same for all lanes, where it varies.
    pub(super) fn suited(
        &self,
        frame: &Frame<'ctx, '_>,
        x: Local,
        value: BasicValueEnum<'ctx>,
    ) -> BasicValueEnum<'ctx> {
        match frame.lanes() {
            Some(lanes) if lanes.varies(x) => self.spread(value, lanes.width).into(),
            _ => value,
        }
    }

    /// A loop whose iterations run in lanes.
    pub(super) fn emit_loop_in_lanes(&mut self, frame: &mut Frame<'ctx, '_>, looped: &For) {
        let here = self.builder.get_insert_block().and_then(BasicBlock::get_parent).expect("a function is emitted");
        self.align_stack(here);
        let [from, to] = [&looped.from, &looped.to].map(|a| self.operand(frame, a).into_int_value());
        let init: Vec<_> = looped.carried.iter().map(|(_, a)| self.operand(frame, a)).collect();
        let spread = match (frame.origin(), frame.aliases()) {
            (Some(origin), _) => self.spread_of_origin(origin, looped),
            (None, Some(aliases)) => Divergence::of(frame.function(), aliases, looped),
            (None, None) => Divergence::of(frame.function(), &Aliases::of(frame.function(), &self.summaries), looped),
        };
        let spread = Rc::new(spread.expect("a loop with lanes can run in them"));
        let opened = self.enter_scopes(frame, &looped.body);
        let mask = Mask { on: None, parted: false };
        frame.set_lanes(Some(ActiveLanes { width: looped.lanes, spread, mask }));
        looped.carried.iter().zip(&init).for_each(|((x, _), init)| frame.set(*x, *init));
        let own = own(frame, looped);
        let start = |own: &LaneAccumulator| {
            self.spread(own.addition.map_or(init[own.place], |op| self.neutral(op)), looped.lanes)
        };
        let none: Vec<_> = own.iter().map(start).collect();
        let totals = self.all_chunks(frame, looped, &own, [from, to], none);
        frame.set_lanes(None);
        self.leave_scopes(frame, opened);
        looped.results.iter().zip(init.iter()).for_each(|(x, init)| frame.set(*x, *init));
        for (own, lanes) in own.iter().zip(&totals) {
            if let Some(op) = own.addition {
                let total = self.total(op, *lanes);
                frame.set(looped.results[own.place], self.op(op, &[init[own.place], total]));
            }
        }
        for best in bests(&frame.function().locals, looped) {
            let lanes = |place: usize| own.iter().position(|own| own.place == place).map(|i| totals[i]);
            let members: Vec<_> = best.members().map(|i| lanes(i).expect("each lane has its own")).collect();
            for (place, value) in best.members().zip(self.best_lane(&best, members)) {
                frame.set(looped.results[place], value);
            }
        }
    }

    /// All iterations; gives what lanes carry after them.
    fn all_chunks(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        looped: &For,
        own: &[LaneAccumulator],
        [from, to]: [IntValue<'ctx>; 2],
        none: Vec<VectorValue<'ctx>>,
    ) -> Vec<VectorValue<'ctx>> {
        let narrow = ABREAST * self.request.module.vectors.floats;
        let sums: Option<Vec<Op>> = own.iter().map(|own| own.addition).collect();
        match sums.filter(|_| looped.lanes > narrow) {
            Some(sums) => {
                let (rest, wide) = self.whole_chunks(frame, looped, own, [from, to], none);
                frame.set_width(narrow);
                let folded = sums.into_iter().zip(wide).map(|(op, lanes)| self.folded(op, lanes, narrow)).collect();
                self.masked_chunks(frame, looped, own, [rest, to], folded)
            }
            None if looped.body.len() > LONG_BODY => self.masked_chunks(frame, looped, own, [from, to], none),
            None => {
                let (rest, whole) = self.whole_chunks(frame, looped, own, [from, to], none);
                self.rest(frame, looped, own, [rest, to], whole)
            }
        }
    }

    /// Returns the divergence of the whole loop of which a slice has a part, so that the slice allocates as the loop
    /// does.
    fn spread_of_origin(&mut self, origin: usize, part: &For) -> Result<Divergence, WhySerial> {
        let function = &self.request.module.functions[origin];
        let summaries = &self.summaries;
        let aliases = self.aliases.entry(origin).or_insert_with(|| Rc::new(Aliases::of(function, summaries))).clone();
        let mut spread = None;
        function.body.visit(&mut |stmt| match stmt {
            Stmt::For(whole) if whole.index == part.index => spread = Some(Divergence::of(function, &aliases, whole)),
            _ => {}
        });
        spread.expect("a slice has only loops of the function")
    }

    /// The chunks of W iterations; gives the index after them, and what lanes carry.
    fn whole_chunks(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        looped: &For,
        own: &[LaneAccumulator],
        [from, to]: [IntValue<'ctx>; 2],
        init: Vec<VectorValue<'ctx>>,
    ) -> (IntValue<'ctx>, Vec<VectorValue<'ctx>>) {
        let count = built(self.builder.build_int_sub(to, from, ""));
        let multiples = self.i64().const_int(u64::from(frame.width()).wrapping_neg(), false);
        let whole = built(self.builder.build_and(count, multiples, ""));
        let end = built(self.builder.build_int_add(from, whole, ""));
        let all = Mask { on: None, parted: false };
        self.chunks(frame, looped, own, [from, end], init, |_, _| all)
    }

    /// All iterations in chunks, each under a mask.
    fn masked_chunks(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        looped: &For,
        own: &[LaneAccumulator],
        [from, to]: [IntValue<'ctx>; 2],
        init: Vec<VectorValue<'ctx>>,
    ) -> Vec<VectorValue<'ctx>> {
        let width = frame.width();
        self.chunks(frame, looped, own, [from, to], init, |emitter, i| emitter.up_to(i, to, width)).1
    }

    /// The iterations that are left, fewer than W.
    fn rest(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        looped: &For,
        own: &[LaneAccumulator],
        [from, to]: [IntValue<'ctx>; 2],
        before: Vec<VectorValue<'ctx>>,
    ) -> Vec<VectorValue<'ctx>> {
        let some = built(self.builder.build_int_compare(IntPredicate::SLT, from, to, ""));
        let start = self.builder.get_insert_block().expect("the builder stands in a block");
        let [run, skip] = self.branch(frame, some);
        self.builder.position_at_end(run);
        let mask = self.up_to(from, to, frame.width());
        let after = self.chunk(frame, looped, own, from, &before, mask);
        let end = self.branch_to(skip);
        self.builder.position_at_end(skip);
        let meet = |(a, b): (&VectorValue<'ctx>, &VectorValue<'ctx>)| {
            self.meet(a.get_type().into(), &[((*a).into(), start), ((*b).into(), end)]).into_vector_value()
        };
        before.iter().zip(&after).map(meet).collect()
    }

    /// Returns the lanes of a chunk from i on whose index is less than an end.
    fn up_to(&self, i: IntValue<'ctx>, end: IntValue<'ctx>, lanes: u32) -> Mask<'ctx> {
        let left = built(self.builder.build_int_sub(end, i, ""));
        let [left, numbers] = [self.splat(left.into(), lanes), self.numbers(lanes)];
        let on = built(self.builder.build_int_compare(IntPredicate::SLT, numbers, left, ""));
        Mask { on: Some(on), parted: false }
    }

    /// A loop over chunks; gives the index after the last, and what lanes carry.
    fn chunks(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        looped: &For,
        own: &[LaneAccumulator],
        [from, end]: [IntValue<'ctx>; 2],
        init: Vec<VectorValue<'ctx>>,
        mask: impl Fn(&Self, IntValue<'ctx>) -> Mask<'ctx>,
    ) -> (IntValue<'ctx>, Vec<VectorValue<'ctx>>) {
        let header = self.context.append_basic_block(frame.llvm(), "");
        let before = self.branch_to(header);
        self.builder.position_at_end(header);
        let index = built(self.builder.build_phi(self.i64(), ""));
        let carried: Vec<_> = init.iter().map(|v| built(self.builder.build_phi(v.get_type(), ""))).collect();
        let i = index.as_basic_value().into_int_value();
        let goes_on = built(self.builder.build_int_compare(IntPredicate::SLT, i, end, ""));
        let [body, exit] = self.branch(frame, goes_on);
        self.builder.position_at_end(body);
        let values: Vec<_> = carried.iter().map(|phi| phi.as_basic_value().into_vector_value()).collect();
        let mask = mask(self, i);
        let next = self.chunk(frame, looped, own, i, &values, mask);
        let step = self.i64().const_int(u64::from(frame.width()), false);
        let after = built(self.builder.build_int_nsw_add(i, step, ""));
        let last = self.branch_to(header);
        index.add_incoming(&[(&from, before), (&after, last)]);
        for ((phi, init), next) in carried.iter().zip(&init).zip(&next) {
            phi.add_incoming(&[(init, before), (next, last)]);
        }
        self.builder.position_at_end(exit);
        (i, values)
    }

    /// W iterations from i on; gives what lanes carry after them.
    fn chunk(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        looped: &For,
        own: &[LaneAccumulator],
        i: IntValue<'ctx>,
        before: &[VectorValue<'ctx>],
        mask: Mask<'ctx>,
    ) -> Vec<VectorValue<'ctx>> {
        let width = frame.width();
        let first = self.splat(i.into(), width);
        let index = built(self.builder.build_int_add(first, self.numbers(width), ""));
        frame.set(looped.index, index.into());
        own.iter().zip(before).for_each(|(own, value)| frame.set(looped.carried[own.place].0, (*value).into()));
        frame.set_mask(mask);
        let results = self.emit_block(frame, &looped.body);
        let next = |(own, before): (&LaneAccumulator, &VectorValue<'ctx>)| {
            let next = self.spread(results[own.place], width);
            let kept = |on| self.select(on, next.into(), (*before).into()).into_vector_value();
            mask.on.map_or(next, kept)
        };
        own.iter().zip(before).map(next).collect()
    }

    /// Returns what changes nothing when it is added.
    pub(super) fn neutral(&self, op: Op) -> BasicValueEnum<'ctx> {
        match op {
            Op::AddF => self.context.f64_type().const_float(-0.0).into(),
            _ => self.i64().const_zero().into(),
        }
    }
}

/// Returns the operation that adds up numbers of a type.
pub(super) fn addition(scalar: Option<Scalar>) -> Op {
    match scalar {
        Some(Scalar::Float) => Op::AddF,
        Some(Scalar::Integer) => Op::AddI,
        other => panic!("sums are of numbers, not {other:?}"),
    }
}

/// A carried value that each lane has its own of; the others stay what they are.
struct LaneAccumulator {
    place: usize,
    /// The operation of a sum; none for other values.
    addition: Option<Op>,
}

fn own(frame: &Frame, looped: &For) -> Vec<LaneAccumulator> {
    let carried = carried(&frame.function().locals, looped).expect("a loop with lanes can run in them");
    let op = |i: usize| addition(frame.function().ty(&Operand::Local(looped.results[i])).as_scalar());
    let own = |(place, carried): (usize, &Carried)| match carried {
        Carried::Sum => Some(LaneAccumulator { place, addition: Some(op(place)) }),
        Carried::Best(_) => Some(LaneAccumulator { place, addition: None }),
        Carried::Same => None,
    };
    carried.iter().enumerate().filter_map(own).collect()
}
