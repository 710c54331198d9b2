//! Emits an inner loop along rows of memory for one lane after the other, where the rows are long.
//!
//! ```text
//! s = for j in a..b ..     in lanes     =     if b - a is large { for each lane l that is on { s[l] = for j in a..b .. } }
//!                                             else { s = for j in a..b .. in lanes }
//! ```
//!
//! The loop for one lane is scalar, so that LLVM makes vectors along the row. Its prologue and its sums take some time,
//! which long rows are worth.

use crate::emit::frame::{ActiveLanes, Frame};
use crate::emit::{Emitter, built};
use crate::options::Math;
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, IntValue};
use loops::analyses::rows::goes_along_rows;
use loops::ir::{For, Local, Operand};

/// The least length of a long row.
const LONG_ROW: i64 = 24;

impl<'ctx> Emitter<'ctx, '_> {
    /// Returns whether lanes may run a loop one after the other. Where sums keep their order, lanes are faster.
    pub(in crate::emit) fn may_go_along_rows(
        &self,
        frame: &Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        looped: &For,
    ) -> bool {
        let is_short = matches!((&looped.from, &looped.to), (Operand::Integer(a), Operand::Integer(b)) if b.saturating_sub(*a) < LONG_ROW);
        let keeps_order = self.request.math == Math::Exact && !looped.carried.is_empty();
        !is_short && !keeps_order && goes_along_rows(frame.function(), &lanes.spread, looped)
    }

    /// A loop along rows: lane after lane, or in lanes.
    pub(in crate::emit) fn emit_loop_along_rows(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        looped: &For,
    ) {
        let [from, to] = [&looped.from, &looped.to].map(|a| self.operand(frame, a).into_int_value());
        let length = built(self.builder.build_int_sub(to, from, ""));
        let long = self.i64().const_int(LONG_ROW as u64, false);
        let is_long = built(self.builder.build_int_compare(IntPredicate::SGE, length, long, ""));
        let [apart, together] = self.branch(frame, is_long);
        let join = self.context.append_basic_block(frame.llvm(), "");
        self.builder.position_at_end(apart);
        let rows = self.lane_after_lane(frame, lanes, looped);
        let end_of_rows = self.branch_to(join);
        self.builder.position_at_end(together);
        self.emit_loop(frame, looped);
        let in_lanes: Vec<_> = looped.results.iter().map(|x| self.operand(frame, &Operand::Local(*x))).collect();
        let end_of_lanes = self.branch_to(join);
        self.builder.position_at_end(join);
        for ((x, rows), in_lanes) in looped.results.iter().zip(rows).zip(in_lanes) {
            let ty = self.local_ty(frame, *x);
            frame.set(*x, self.meet(ty, &[(rows, end_of_rows), (in_lanes, end_of_lanes)]));
        }
    }

    /// The loop for each lane that is on; gives the results of all lanes.
    fn lane_after_lane(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        looped: &For,
    ) -> Vec<BasicValueEnum<'ctx>> {
        let none: Vec<_> = looped.results.iter().map(|x| self.local_ty(frame, *x).const_zero()).collect();
        let header = self.context.append_basic_block(frame.llvm(), "");
        let before = self.branch_to(header);
        self.builder.position_at_end(header);
        let lane = built(self.builder.build_phi(self.i64(), ""));
        let found: Vec<_> = none.iter().map(|v| built(self.builder.build_phi(v.get_type(), ""))).collect();
        let l = lane.as_basic_value().into_int_value();
        let width = self.i64().const_int(u64::from(lanes.width), false);
        let goes_on = built(self.builder.build_int_compare(IntPredicate::ULT, l, width, ""));
        let [body, exit] = self.branch(frame, goes_on);
        self.builder.position_at_end(body);
        let next_lane = self.context.append_basic_block(frame.llvm(), "");
        let current: Vec<_> = found.iter().map(|phi| phi.as_basic_value()).collect();
        let mut ends = vec![];
        if let Some(on) = lanes.mask.on {
            let is_on = built(self.builder.build_extract_element(on, l, "")).into_int_value();
            let run = self.context.append_basic_block(frame.llvm(), "");
            let here = self.builder.get_insert_block().expect("the builder stands in a block");
            built(self.builder.build_conditional_branch(is_on, run, next_lane));
            ends.push((current.clone(), here));
            self.builder.position_at_end(run);
        }
        let results = self.one_lane(frame, lanes, looped, l);
        let with = |(all, one): (&BasicValueEnum<'ctx>, BasicValueEnum<'ctx>)| -> BasicValueEnum<'ctx> {
            built(self.builder.build_insert_element(all.into_vector_value(), one, l, "")).into()
        };
        let inserted: Vec<_> = current.iter().zip(results).map(with).collect();
        ends.push((inserted, self.branch_to(next_lane)));
        self.builder.position_at_end(next_lane);
        let meet = |i: usize| {
            let values: Vec<_> = ends.iter().map(|(values, end)| (values[i], *end)).collect();
            self.meet(none[i].get_type(), &values)
        };
        let next: Vec<_> = (0..none.len()).map(meet).collect();
        let after = built(self.builder.build_int_nuw_add(l, self.i64().const_int(1, false), ""));
        let last = self.branch_to(header);
        lane.add_incoming(&[(&self.i64().const_zero(), before), (&after, last)]);
        for ((phi, none), next) in found.iter().zip(&none).zip(&next) {
            phi.add_incoming(&[(none, before), (next, last)]);
        }
        self.builder.position_at_end(exit);
        current
    }

    /// The loop with the values of one lane; gives its results.
    fn one_lane(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        looped: &For,
        lane: IntValue<'ctx>,
    ) -> Vec<BasicValueEnum<'ctx>> {
        let all = frame.locals.clone();
        let is_set = |x: &Local| *x == looped.index || looped.carried.iter().any(|(y, _)| x == y);
        let used = looped.body.uses().into_iter().filter(|x| !is_set(x));
        let initial = looped.carried.iter().filter_map(|(_, a)| a.local());
        for Local(i) in used.chain(initial) {
            if let Some(BasicValueEnum::VectorValue(vector)) = all[i as usize] {
                frame.set(Local(i), built(self.builder.build_extract_element(vector, lane, "")));
            }
        }
        frame.set_lanes(None);
        self.emit_loop(frame, looped);
        let results = looped.results.iter().map(|x| self.operand(frame, &Operand::Local(*x))).collect();
        frame.set_lanes(Some(lanes.clone()));
        frame.locals = all;
        results
    }
}
