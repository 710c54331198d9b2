//! Emits an inner loop along rows of memory for one lane after the other, or for a few at once, where the rows are long.
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
use crate::llvm;
use crate::options::Math;
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue, VectorValue};
use loops::analyses::rows::goes_along_rows;
use loops::ir::{For, Local, Operand};

/// So many rows go side by side where all lanes are on: they share what they all read, and their sums do not wait for each
/// other.
const ROWS_ABREAST: u32 = 4;

/// A row is long from so many vectors on: before that, LLVM's loop along it has nothing to gain.
const VECTORS_IN_LONG_ROW: i64 = 2;

impl<'ctx> Emitter<'ctx, '_> {
    /// Returns whether lanes may run a loop one after the other. Where sums keep their order, lanes are faster.
    pub(in crate::emit) fn may_go_along_rows(
        &self,
        frame: &Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        looped: &For,
    ) -> bool {
        let long = self.long_row();
        let is_short = matches!((&looped.from, &looped.to), (Operand::Integer(a), Operand::Integer(b)) if b.saturating_sub(*a) < long);
        let keeps_order = self.request.math == Math::Exact && !looped.carried.is_empty();
        !is_short && !keeps_order && goes_along_rows(frame.function(), &lanes.spread, looped)
    }

    /// Returns the least length of a long row.
    fn long_row(&self) -> i64 {
        VECTORS_IN_LONG_ROW * i64::from(self.request.module.vectors.floats)
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
        let long = self.i64().const_int(self.long_row() as u64, false);
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
    ///
    /// What differs from lane to lane goes through memory: an element of a vector is not read or replaced in a register
    /// where its place is no constant.
    fn lane_after_lane(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        looped: &For,
    ) -> Vec<BasicValueEnum<'ctx>> {
        let abreast = if lanes.mask.on.is_some() { 1 } else { lanes.width.min(ROWS_ABREAST) };
        let given = self.in_memory(frame, looped);
        let types: Vec<_> = looped.results.iter().map(|x| self.local_ty(frame, *x)).collect();
        let space = self.slot(frame.llvm(), self.context.struct_type(&types, false));
        if lanes.mask.on.is_some() {
            built(self.builder.build_store(space, self.context.struct_type(&types, false).const_zero()));
        }
        let found: Vec<_> = (0..types.len()).map(|i| self.field(space, &types, i)).collect();
        let header = self.context.append_basic_block(frame.llvm(), "");
        let before = self.branch_to(header);
        self.builder.position_at_end(header);
        let lane = built(self.builder.build_phi(self.i64(), ""));
        let l = lane.as_basic_value().into_int_value();
        let width = self.i64().const_int(u64::from(lanes.width), false);
        let goes_on = built(self.builder.build_int_compare(IntPredicate::ULT, l, width, ""));
        let [body, exit] = self.branch(frame, goes_on);
        self.builder.position_at_end(body);
        let next_lane = self.context.append_basic_block(frame.llvm(), "");
        if let Some(on) = lanes.mask.on {
            let is_on = built(self.builder.build_extract_element(on, l, "")).into_int_value();
            let run = self.context.append_basic_block(frame.llvm(), "");
            built(self.builder.build_conditional_branch(is_on, run, next_lane));
            self.builder.position_at_end(run);
        }
        let place = |k: u32| built(self.builder.build_int_nuw_add(l, self.i64().const_int(u64::from(k), false), ""));
        let group: Vec<_> = (0..abreast).map(place).collect();
        for (l, results) in group.iter().zip(self.rows_abreast(frame, lanes, looped, &given, &group)) {
            for (space, one) in found.iter().zip(results) {
                let element = llvm::element(&self.builder, one.get_type(), *space, *l);
                built(self.builder.build_store(element, one));
            }
        }
        self.branch_to(next_lane);
        self.builder.position_at_end(next_lane);
        let after = built(self.builder.build_int_nuw_add(l, self.i64().const_int(u64::from(abreast), false), ""));
        let last = self.branch_to(header);
        lane.add_incoming(&[(&self.i64().const_zero(), before), (&after, last)]);
        self.builder.position_at_end(exit);
        types.iter().zip(found).map(|(ty, space)| built(self.builder.build_load(*ty, space, ""))).collect()
    }

    /// Puts the vectors of numbers that a loop uses into memory.
    fn in_memory(&mut self, frame: &Frame<'ctx, '_>, looped: &For) -> InMemory<'ctx> {
        let is_set = |x: &Local| *x == looped.index || looped.carried.iter().any(|(y, _)| x == y);
        let used = looped.body.uses().into_iter().filter(|x| !is_set(x));
        let initial = looped.carried.iter().filter_map(|(_, a)| a.local());
        let vector = |x: Local| match frame.locals[x.0 as usize] {
            Some(BasicValueEnum::VectorValue(vector)) => Some((x, vector)),
            _ => None,
        };
        let vectors: Vec<_> = used.chain(initial).filter_map(vector).collect();
        let spaces = vectors.iter().map(|(_, vector)| {
            let is_bool = vector.get_type().get_element_type() == self.context.bool_type().into();
            (!is_bool).then(|| {
                let types = [vector.get_type().into()];
                let space = self.slot(frame.llvm(), self.context.struct_type(&types, false));
                built(self.builder.build_store(space, *vector));
                space
            })
        });
        vectors.iter().zip(spaces).map(|((x, vector), space)| (*x, *vector, space)).collect()
    }

    /// The address of a field of a structure.
    fn field(&self, base: PointerValue<'ctx>, types: &[BasicTypeEnum<'ctx>], i: usize) -> PointerValue<'ctx> {
        built(self.builder.build_struct_gep(self.context.struct_type(types, false), base, i as u32, ""))
    }

    /// One loop with the values of some lanes, iteration by iteration; gives the results of each.
    fn rows_abreast(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        looped: &For,
        given: &InMemory<'ctx>,
        group: &[IntValue<'ctx>],
    ) -> Vec<Vec<BasicValueEnum<'ctx>>> {
        let all = frame.locals.clone();
        let rows: Vec<_> = group.iter().map(|lane| self.values_of_lane(&all, given, *lane)).collect();
        frame.set_lanes(None);
        let bounds = [&looped.from, &looped.to].map(|a| self.operand(frame, a).into_int_value());
        let mut init = vec![];
        for row in &rows {
            frame.locals.clone_from(row);
            init.extend(self.initial(frame, looped));
        }
        let opened = self.enter_scopes(frame, &looped.body);
        let open = self.open_loop(frame, bounds, &init);
        let (carried, each) = (open.carried(), looped.carried.len());
        let mut next = vec![];
        for (k, row) in rows.iter().enumerate() {
            frame.locals.clone_from(row);
            next.extend(self.emit_body(frame, looped, open.index(), &carried[k * each..(k + 1) * each]));
        }
        self.leave_scopes(frame, opened);
        self.close_loop(frame, looped, &open, &next);
        frame.set_lanes(Some(lanes.clone()));
        frame.locals = all;
        (0..rows.len()).map(|k| carried[k * each..(k + 1) * each].to_vec()).collect()
    }

    /// The locals with those of one lane for the vectors that a loop uses.
    fn values_of_lane(
        &mut self,
        all: &[Option<BasicValueEnum<'ctx>>],
        given: &InMemory<'ctx>,
        lane: IntValue<'ctx>,
    ) -> Vec<Option<BasicValueEnum<'ctx>>> {
        let mut values = all.to_vec();
        for (Local(i), vector, space) in given {
            let value = match space {
                Some(space) => {
                    let ty = vector.get_type().get_element_type();
                    let element = llvm::element(&self.builder, ty, *space, lane);
                    built(self.builder.build_load(ty, element, ""))
                }
                None => built(self.builder.build_extract_element(*vector, lane, "")),
            };
            values[*i as usize] = Some(value);
        }
        values
    }
}

/// Vectors that a loop uses, with their addresses; Bools have none.
type InMemory<'ctx> = Vec<(Local, VectorValue<'ctx>, Option<PointerValue<'ctx>>)>;
