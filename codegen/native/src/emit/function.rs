//! Emits the body of a function.

use super::frame::{Frame, HIDDEN, Hidden};
use super::hotness::Hotness;
use super::lanes::differs_in_lanes;
use super::sums::sums;
use super::{Emitter, built};
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, IntValue, PhiValue};
use loops::analyses::alias::Aliases;
use loops::ir::{Block, For, Function, Local, Op, Operand, Stmt};
use std::rc::Rc;

/// A loop whose body is being emitted.
pub(super) struct OpenLoop<'ctx> {
    header: BasicBlock<'ctx>,
    index: PhiValue<'ctx>,
    carried: Vec<PhiValue<'ctx>>,
    exit: BasicBlock<'ctx>,
}

impl<'ctx> OpenLoop<'ctx> {
    pub(super) fn index(&self) -> IntValue<'ctx> {
        self.index.as_basic_value().into_int_value()
    }

    /// What it carries: in its body, the values so far; behind it, the last ones.
    pub(super) fn carried(&self) -> Vec<BasicValueEnum<'ctx>> {
        self.carried.iter().map(|phi| phi.as_basic_value()).collect()
    }
}

impl<'ctx> Emitter<'ctx, '_> {
    /// Fills in a declared function.
    pub(super) fn define_function(&mut self, index: usize, function: &Function) {
        let value = self.functions[index];
        let start = self.context.append_basic_block(value, "");
        let failed = self.context.append_basic_block(value, "");
        // The buffers of a function between may be one twice.
        let aliases = (!function.c_wrapper).then(|| Rc::new(Aliases::of(function, &self.summaries)));
        let param = |i| value.get_nth_param(i).expect("every function has the hidden parameters");
        let [ctx, limit, arena] = [0, 1, 3].map(|i| param(i).into_pointer_value());
        let hidden = Hidden { ctx, limit, depth: param(2).into_int_value(), arena };
        let mut frame = Frame::new(function, value, hidden, failed);
        frame.aliases = aliases;
        frame.sums = sums(&function.body);
        frame.likely = Rc::new(function.body.likely_conditions());
        frame.origin = self.request.slices.and_then(|slices| slices.origins.get(&index).copied());
        self.hotness = Hotness {
            repeats: self.repeated[index],
            nested: false,
            rare: function.cold,
            c_wrapper: function.c_wrapper,
        };
        for (param, x) in value.get_param_iter().skip(HIDDEN).zip(&function.params) {
            frame.set(*x, param);
        }
        self.builder.position_at_end(start);
        if function.recursive {
            self.watch_stack(&mut frame);
        }
        let results = match function.recursive {
            true => self.emit_block_at_end(&mut frame, &function.body),
            false => Some(self.emit_block(&mut frame, &function.body)),
        };
        self.give_back(function, value, results.as_deref(), frame.failed, &frame.errors);
    }

    /// Emits the statements; gives the values of the results.
    pub(super) fn emit_block(&mut self, frame: &mut Frame<'ctx, '_>, block: &Block) -> Vec<BasicValueEnum<'ctx>> {
        self.count(|| block.counts(frame.function()));
        block.stmts.iter().for_each(|stmt| self.emit_stmt(frame, stmt));
        block.results.iter().map(|result| self.operand(frame, result)).collect()
    }

    pub(super) fn emit_stmt(&mut self, frame: &mut Frame<'ctx, '_>, stmt: &Stmt) {
        let pace = self.pace_in(stmt, frame.lanes.is_none());
        let around = std::mem::replace(&mut self.hotness, pace);
        self.emit_stmt_at_pace(frame, stmt);
        self.hotness = around;
    }

    fn emit_stmt_at_pace(&mut self, frame: &mut Frame<'ctx, '_>, stmt: &Stmt) {
        if let Some(lanes) = frame.lanes.clone() {
            match stmt {
                Stmt::For(looped) if self.may_go_along_rows(frame, &lanes, looped) => {
                    return self.emit_loop_along_rows(frame, &lanes, looped);
                }
                stmt if differs_in_lanes(&lanes, stmt) => return self.emit_stmt_in_lanes(frame, &lanes, stmt),
                _ => {}
            }
        }
        match stmt {
            Stmt::Let(x, op, args) => {
                let args: Vec<_> = args.iter().map(|a| self.operand(frame, a)).collect();
                let value = self.op(*op, &args);
                if *op == Op::Chunks {
                    frame.single.insert(*x, self.is_one_chunk(&args));
                }
                if frame.sums.contains(x) {
                    self.may_reorder(value);
                }
                frame.set(*x, value);
            }
            Stmt::Call(xs, callee, args) => self.emit_call(frame, xs, callee.0, args),
            Stmt::If(xs, condition, then, other) => self.emit_conditional(frame, xs, condition, [then, other]),
            Stmt::Check { condition, failure, numbers, span } => {
                let condition = self.operand(frame, condition).into_int_value();
                let numbers: Vec<_> = numbers.iter().map(|n| self.operand(frame, n).into_int_value()).collect();
                self.check(frame, condition, *failure, *span, &numbers);
            }
            Stmt::For(looped) if frame.lanes.is_some() => self.emit_loop(frame, looped),
            Stmt::For(looped) => {
                let watched = self.before_loop(frame, looped);
                match **looped {
                    For { on_threads: true, .. } => self.emit_loop_on_threads(frame, looped),
                    For { lanes: 2.., .. } => self.emit_loop_in_lanes(frame, looped),
                    _ => self.emit_loop(frame, looped),
                }
                self.after_loop(watched);
            }
            Stmt::Bench { seconds, given, body } => self.timing_loop(frame, *seconds, given, body),
            Stmt::Memory(memory) => self.emit_memory(frame, memory),
            Stmt::External { .. } => self.emit_external_call(frame, stmt),
            Stmt::Write(value) => {
                let (ty, value) = (frame.function.ty(value), self.operand(frame, value));
                self.write(frame.ctx(), ty.as_scalar().expect("scalars are written"), value);
            }
        }
    }

    fn emit_call(&mut self, frame: &mut Frame<'ctx, '_>, xs: &[Local], callee: usize, args: &[Operand]) {
        let all = self.call_arguments(frame, args);
        let outcome = self.invoke(frame.value, callee, all);
        self.check_status(frame, outcome.status);
        for (i, x) in xs.iter().enumerate() {
            frame.set(*x, self.result(callee, &outcome, i));
        }
    }

    /// The arguments of a call, the hidden ones first.
    pub(super) fn call_arguments(
        &mut self,
        frame: &Frame<'ctx, '_>,
        args: &[Operand],
    ) -> Vec<BasicMetadataValueEnum<'ctx>> {
        let depth = built(self.builder.build_int_add(frame.depth(), self.i64().const_int(1, false), ""));
        let mut all: Vec<BasicMetadataValueEnum> =
            vec![frame.ctx().into(), frame.limit().into(), depth.into(), frame.arena().into()];
        all.extend(args.iter().map(|a| BasicMetadataValueEnum::from(self.operand(frame, a))));
        all
    }

    fn emit_conditional(&mut self, frame: &mut Frame<'ctx, '_>, xs: &[Local], condition: &Operand, arms: [&Block; 2]) {
        let is_likely = frame.is_likely(condition);
        let condition = self.operand(frame, condition).into_int_value();
        let [on, other] = self.branch(frame, condition);
        let join = self.context.append_basic_block(frame.value, "");
        let first = self.emit_arm(frame, xs, on, arms[0], join);
        let around = self.hotness;
        self.hotness.rare |= is_likely;
        let ends = [first, self.emit_arm(frame, xs, other, arms[1], join)];
        self.hotness = around;
        self.builder.position_at_end(join);
        for (i, x) in xs.iter().enumerate() {
            let ty = self.local_ty(frame, *x);
            let values: Vec<_> = ends.iter().map(|(end, values)| (values[i], *end)).collect();
            frame.set(*x, self.meet(ty, &values));
        }
    }

    /// Emits one side of a branch. Returns its last block, and its results.
    fn emit_arm(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        xs: &[Local],
        start: BasicBlock<'ctx>,
        arm: &Block,
        join: BasicBlock<'ctx>,
    ) -> (BasicBlock<'ctx>, Vec<BasicValueEnum<'ctx>>) {
        self.builder.position_at_end(start);
        let values = self.emit_block(frame, arm);
        let values = xs.iter().zip(values).map(|(x, value)| self.suited(frame, *x, value)).collect();
        (self.branch_to(join), values)
    }

    /// `header: i, carried = from, initial or from the body's end; i < to ? body : exit`.
    pub(super) fn emit_loop(&mut self, frame: &mut Frame<'ctx, '_>, looped: &For) {
        let bounds = [&looped.from, &looped.to].map(|a| self.operand(frame, a).into_int_value());
        let init = self.initial(frame, looped);
        let opened = self.enter_scopes(frame, &looped.body);
        let open = self.open_loop(frame, bounds, &init);
        let next = self.emit_body(frame, looped, open.index(), &open.carried());
        self.leave_scopes(frame, opened);
        self.close_loop(frame, looped, &open, &next);
        looped.results.iter().zip(open.carried()).for_each(|(x, value)| frame.set(*x, value));
    }

    /// The initial values of what a loop carries.
    pub(super) fn initial(&mut self, frame: &Frame<'ctx, '_>, looped: &For) -> Vec<BasicValueEnum<'ctx>> {
        let values: Vec<_> = looped.carried.iter().map(|(x, a)| (*x, self.operand(frame, a))).collect();
        values.into_iter().map(|(x, value)| self.suited(frame, x, value)).collect()
    }

    /// Begins a loop that carries such values, and stands in its body.
    pub(super) fn open_loop(
        &mut self,
        frame: &Frame<'ctx, '_>,
        [from, to]: [IntValue<'ctx>; 2],
        init: &[BasicValueEnum<'ctx>],
    ) -> OpenLoop<'ctx> {
        let header = self.context.append_basic_block(frame.value, "");
        let before = self.branch_to(header);
        self.builder.position_at_end(header);
        let index = built(self.builder.build_phi(self.i64(), ""));
        index.add_incoming(&[(&from, before)]);
        let phi = |value: &BasicValueEnum<'ctx>| {
            let phi = built(self.builder.build_phi(value.get_type(), ""));
            phi.add_incoming(&[(value, before)]);
            phi
        };
        let carried = init.iter().map(phi).collect();
        let i = index.as_basic_value().into_int_value();
        let goes_on = built(self.builder.build_int_compare(IntPredicate::SLT, i, to, ""));
        let [body, exit] = self.branch(frame, goes_on);
        self.builder.position_at_end(body);
        OpenLoop { header, index, carried, exit }
    }

    /// An iteration; gives the next values of what the loop carries.
    pub(super) fn emit_body(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        looped: &For,
        i: IntValue<'ctx>,
        carried: &[BasicValueEnum<'ctx>],
    ) -> Vec<BasicValueEnum<'ctx>> {
        frame.set(looped.index, i.into());
        looped.carried.iter().zip(carried).for_each(|((x, _), value)| frame.set(*x, *value));
        let next = self.emit_block(frame, &looped.body);
        looped.carried.iter().zip(next).map(|((x, _), next)| self.suited(frame, *x, next)).collect()
    }

    /// Ends the body of a loop, and stands behind the loop.
    pub(super) fn close_loop(
        &mut self,
        frame: &Frame<'ctx, '_>,
        looped: &For,
        open: &OpenLoop<'ctx>,
        next: &[BasicValueEnum<'ctx>],
    ) {
        let after = built(self.builder.build_int_nsw_add(open.index(), self.i64().const_int(1, false), ""));
        let end = self.branch_to(open.header);
        self.end_loop(frame.function(), looped, end);
        open.index.add_incoming(&[(&after, end)]);
        open.carried.iter().zip(next).for_each(|(phi, next)| phi.add_incoming(&[(next, end)]));
        self.builder.position_at_end(open.exit);
    }

    /// A recursive function must not run into the end of the stack.
    fn watch_stack(&mut self, frame: &mut Frame<'ctx, '_>) {
        let here = self.frame_address();
        let [here, limit] = [here, frame.limit()].map(|p| built(self.builder.build_ptr_to_int(p, self.i64(), "")));
        let fits = built(self.builder.build_int_compare(IntPredicate::UGE, here, limit, ""));
        let depth = frame.depth();
        self.check_depth(frame, fits, depth);
    }

    /// Tells what the accesses of a loop cannot touch, unless a loop around it has told that. Whether it was told here.
    pub(super) fn enter_scopes(&mut self, frame: &mut Frame<'ctx, '_>, body: &Block) -> bool {
        let outermost = frame.scopes.is_none();
        if outermost {
            frame.scopes = self.open_scopes(frame, body);
        }
        outermost
    }

    /// The loop that told it ends.
    pub(super) fn leave_scopes(&self, frame: &mut Frame<'ctx, '_>, opened: bool) {
        if opened {
            frame.scopes = None;
        }
    }

    pub(super) fn branch(&mut self, frame: &Frame<'ctx, '_>, condition: IntValue<'ctx>) -> [BasicBlock<'ctx>; 2] {
        let blocks = [(); 2].map(|()| self.context.append_basic_block(frame.value, ""));
        built(self.builder.build_conditional_branch(condition, blocks[0], blocks[1]));
        blocks
    }

    pub(super) fn operand(&mut self, frame: &Frame<'ctx, '_>, operand: &Operand) -> BasicValueEnum<'ctx> {
        match operand {
            Operand::Local(Local(i)) => frame.locals[*i as usize].expect("loops set a local before its use"),
            Operand::Float(x) => self.context.f64_type().const_float(*x).into(),
            Operand::Integer(i) => self.i64().const_int(*i as u64, true).into(),
            Operand::Bool(b) => self.context.bool_type().const_int(u64::from(*b), false).into(),
            Operand::Text(text) => self.text(text).into(),
        }
    }
}
