//! Emits statements in lanes: operations, checks, and branches that only some lanes take.
//!
//! ```text
//! x = op a..                  on vectors; what is uniform is spread
//! check c else e              fails if c is false in a lane that is on; with the numbers of the first
//! x = if c s else t           s under the mask m and c, if any; t under m and not c, if any; x = c ? s : t
//! x = for i in a..b .. s      while any of m and i < b: s under that mask; the others keep what they carry
//! ```

use crate::emit::frame::{ActiveLanes, Frame, Mask};
use crate::emit::{Emitter, built};
use inkwell::values::{BasicValue, BasicValueEnum, VectorValue};
use loops::ir::{Block, For, Local, Op, Stmt};

/// Statements up to which both sides of an `if` are cheaper than a branch.
const LIGHT_ARM: usize = 8;

impl<'ctx> Emitter<'ctx, '_> {
    /// A statement of a loop in lanes.
    pub(in crate::emit) fn emit_stmt_in_lanes(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        stmt: &Stmt,
    ) {
        match stmt {
            Stmt::Let(x, op, args) => {
                let args: Vec<_> = args.iter().map(|a| self.operand(frame, a)).collect();
                let value = self.emit_op_in_lanes(lanes, *op, args);
                frame.set(*x, value);
            }
            Stmt::If(xs, condition, then, other) => {
                let condition = self.operand(frame, condition).into_vector_value();
                self.part(frame, lanes, xs, condition, [then, other]);
            }
            Stmt::For(looped) => self.emit_loop_while_any(frame, lanes, looped),
            Stmt::Check { .. } => self.emit_check_in_lanes(frame, lanes, stmt),
            Stmt::Memory(memory) => self.emit_memory_in_lanes(frame, lanes, memory),
            Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } | Stmt::Write(_) => {
                panic!("a statement that does not run in lanes")
            }
        }
    }

    fn emit_op_in_lanes(
        &self,
        lanes: &ActiveLanes<'ctx>,
        op: Op,
        mut args: Vec<BasicValueEnum<'ctx>>,
    ) -> BasicValueEnum<'ctx> {
        if args.iter().any(|a| a.is_vector_value()) {
            args.iter_mut().for_each(|a| *a = self.spread(*a, lanes.width).into());
            if op == Op::DivI
                && let Some(on) = lanes.mask.on
            {
                // A lane that is off may divide by 0.
                let one = self.i64().const_int(1, false);
                args[1] = self.select(on, args[1], self.splat(one.into(), lanes.width).into());
            }
        }
        self.op(op, &args)
    }

    fn emit_check_in_lanes(&mut self, frame: &mut Frame<'ctx, '_>, lanes: &ActiveLanes<'ctx>, stmt: &Stmt) {
        let Stmt::Check { condition, failure, numbers, span } = stmt else { panic!("no check") };
        let holds = self.operand(frame, condition);
        let numbers: Vec<_> = numbers.iter().map(|n| self.operand(frame, n)).collect();
        let holds = self.spread(holds, lanes.width);
        let fails = self.except(holds);
        let fails = lanes.mask.on.map_or(fails, |on| self.both(on, fails));
        let none = built(self.builder.build_not(self.any(fails), ""));
        self.check_with(frame, none, *failure, *span, |emitter| {
            let first = emitter.first(fails);
            let of_first = |number: &BasicValueEnum<'ctx>| match number {
                BasicValueEnum::VectorValue(v) => built(emitter.builder.build_extract_element(*v, first, "")),
                scalar => *scalar,
            };
            numbers.iter().map(|number| of_first(number).into_int_value()).collect()
        });
    }

    /// A conditional where lanes part.
    fn part(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        lanes: &ActiveLanes<'ctx>,
        xs: &[Local],
        condition: VectorValue<'ctx>,
        arms: [&Block; 2],
    ) {
        let chosen = [condition, self.except(condition)];
        let is_light = arms.iter().all(|arm| is_light(arm));
        let mut values = Vec::new();
        for (arm, chosen) in arms.into_iter().zip(chosen) {
            let on = lanes.mask.on.map_or(chosen, |on| self.both(on, chosen));
            frame.set_mask(Mask { on: Some(on), parted: true });
            values.push(match is_light {
                true => self.emit_block(frame, arm),
                false => self.if_any(frame, xs, on, arm),
            });
        }
        frame.set_mask(lanes.mask);
        for (i, x) in xs.iter().enumerate() {
            // What does not vary is the same operand of both sides.
            let value = match lanes.varies(*x) {
                true => {
                    let [then, other] = [0, 1].map(|side: usize| self.suited(frame, *x, values[side][i]));
                    self.select(condition, then, other)
                }
                false => self.operand(frame, &arms[0].results[i]),
            };
            frame.set(*x, value);
        }
    }

    /// Emits one side of a conditional where lanes diverge. It is skipped if no lane is active; its results are then
    /// unused zeros.
    fn if_any(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        xs: &[Local],
        on: VectorValue<'ctx>,
        arm: &Block,
    ) -> Vec<BasicValueEnum<'ctx>> {
        let any = self.any(on);
        let start = self.builder.get_insert_block().expect("the builder stands in a block");
        let [run, join] = self.branch(frame, any);
        self.builder.position_at_end(run);
        let values = self.emit_block(frame, arm);
        let values: Vec<_> = xs.iter().zip(values).map(|(x, value)| self.suited(frame, *x, value)).collect();
        let end = self.branch_to(join);
        self.builder.position_at_end(join);
        let meet = |value: &BasicValueEnum<'ctx>| {
            self.meet(value.get_type(), &[(value.get_type().const_zero(), start), (*value, end)])
        };
        values.iter().map(meet).collect()
    }

    /// A loop that runs as long as a lane is on.
    fn emit_loop_while_any(&mut self, frame: &mut Frame<'ctx, '_>, lanes: &ActiveLanes<'ctx>, looped: &For) {
        let [from, to] = [&looped.from, &looped.to].map(|a| self.operand(frame, a));
        let from = self.suited(frame, looped.index, from);
        let init: Vec<_> = looped.carried.iter().map(|(x, a)| (*x, self.operand(frame, a))).collect();
        let init: Vec<_> = init.into_iter().map(|(x, value)| self.suited(frame, x, value)).collect();
        let opened = self.enter_scopes(frame, &looped.body);
        let header = self.context.append_basic_block(frame.llvm(), "");
        let before = self.branch_to(header);
        self.builder.position_at_end(header);
        let index = built(self.builder.build_phi(from.get_type(), ""));
        let carried: Vec<_> = init.iter().map(|v| built(self.builder.build_phi(v.get_type(), ""))).collect();
        let i = index.as_basic_value();
        let goes_on = self.emit_op_in_lanes(lanes, Op::LtI, vec![i, to]).into_vector_value();
        let on = lanes.mask.on.map_or(goes_on, |on| self.both(on, goes_on));
        let any = self.any(on);
        let [body, exit] = self.branch(frame, any);
        self.builder.position_at_end(body);
        frame.set(looped.index, i);
        looped.carried.iter().zip(&carried).for_each(|((x, _), phi)| frame.set(*x, phi.as_basic_value()));
        frame.set_mask(Mask { on: Some(on), parted: true });
        let next = self.emit_block(frame, &looped.body);
        let kept = |((phi, x), next): ((BasicValueEnum<'ctx>, &Local), BasicValueEnum<'ctx>)| {
            let next = self.suited(frame, *x, next);
            self.select(on, next, phi)
        };
        let phis = carried.iter().map(|phi| phi.as_basic_value()).zip(looped.carried.iter().map(|(x, _)| x));
        let next: Vec<_> = phis.zip(next).map(kept).collect();
        let one = self.constant_like(i, self.i64().const_int(1, false).into());
        let after = self.op(Op::AddI, &[i, one]);
        let last = self.branch_to(header);
        frame.set_mask(lanes.mask);
        self.leave_scopes(frame, opened);
        index.add_incoming(&[(&from as &dyn BasicValue, before), (&after, last)]);
        for ((phi, init), next) in carried.iter().zip(&init).zip(&next) {
            phi.add_incoming(&[(init as &dyn BasicValue, before), (next, last)]);
        }
        self.builder.position_at_end(exit);
        looped.results.iter().zip(&carried).for_each(|(x, phi)| frame.set(*x, phi.as_basic_value()));
    }
}

/// Whether a statement is another one in lanes: a conditional or a loop is not, where lanes do not part.
pub(in crate::emit) fn differs_in_lanes(lanes: &ActiveLanes, stmt: &Stmt) -> bool {
    match stmt {
        Stmt::If(_, condition, _, _) => lanes.spread.varies(condition),
        Stmt::For(looped) => lanes.spread.varies(&looped.from) || lanes.spread.varies(&looped.to),
        Stmt::Let(..) | Stmt::Check { .. } | Stmt::Memory(_) => true,
        Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } | Stmt::Write(_) => true,
    }
}

/// Returns whether a block is short, and does nothing that could fail or take long in lanes that are off.
fn is_light(block: &Block) -> bool {
    let mut light = block.len() <= LIGHT_ARM;
    block.visit(&mut |stmt| light &= matches!(stmt, Stmt::Let(_, op, _) if op.has_vector_instructions()));
    light
}
