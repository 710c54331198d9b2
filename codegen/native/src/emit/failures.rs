//! Emits the ways in which a function is left with an error.
//!
//! ```text
//! check c else e, numbers     c ? on : report        report(site, numbers..): tell the context; status; failed
//! ```
//!
//! A function has one block that reports for each count of numbers, however many checks there are, and one for
//! `alloc`: a check costs a branch. Which error it is, and with what numbers, depends on where control comes from.

use super::frame::{Frame, Report};
use super::support::Cause;
use super::{Emitter, built};
use inkwell::basic_block::BasicBlock;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, IntValue, PhiValue, PointerValue};
use lm::term::Span;
use loops::ir::{Failure, Function};

impl<'ctx> Emitter<'ctx, '_> {
    /// Goes on where the condition holds.
    pub(super) fn check(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        condition: IntValue<'ctx>,
        failure: Failure,
        span: Span,
        numbers: &[IntValue<'ctx>],
    ) {
        let cause = self.cause(frame.function(), failure, span, numbers);
        let (report, differing) = self.told(&cause, numbers);
        let target = self.report(frame, report, &differing);
        self.unless_left(frame, condition, target);
    }

    /// As [`Emitter::check`], with numbers that are computed only where it fails.
    pub(super) fn check_with(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        condition: IntValue<'ctx>,
        failure: Failure,
        span: Span,
        numbers: impl FnOnce(&Self) -> Vec<IntValue<'ctx>>,
    ) {
        let [good, bad] = self.branch(frame, condition);
        self.builder.position_at_end(bad);
        let numbers = numbers(self);
        let cause = self.cause(frame.function(), failure, span, &numbers);
        let (report, differing) = self.told(&cause, &numbers);
        let target = self.report(frame, report, &differing);
        self.branch_to(target);
        self.builder.position_at_end(good);
    }

    /// Goes on where the arena gave memory, of which so many elements of so many bytes were asked for.
    pub(super) fn check_memory(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        taken: PointerValue<'ctx>,
        [count, bytes]: [IntValue<'ctx>; 2],
        span: Span,
    ) {
        let fine = built(self.builder.build_is_not_null(taken, ""));
        let site = self.site(&Cause::new(Failure::OutOfMemory, span), 2);
        let target = self.report(frame, Report::Exhausted, &[site.into(), count.into(), bytes.into()]);
        self.unless_left(frame, fine, target);
    }

    /// Goes on where a status is 0; it is that of a call, which has reported what it is about.
    pub(super) fn check_status(&mut self, frame: &mut Frame<'ctx, '_>, status: IntValue<'ctx>) {
        let fine =
            built(self.builder.build_int_compare(inkwell::IntPredicate::EQ, status, self.i32().const_zero(), ""));
        let here = self.builder.get_insert_block().expect("the builder stands in a block");
        let failed = frame.failed(status, here);
        self.unless_left(frame, fine, failed);
    }

    /// Emits the failure of a call that would be too deep, where the condition does not hold. The status is hidden from
    /// LLVM, which would otherwise see that an endless recursion can only fail. It would then drop the unreachable code
    /// after a recursive call, and make an endless loop of the call.
    pub(super) fn check_depth(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        condition: IntValue<'ctx>,
        depth: IntValue<'ctx>,
    ) {
        let [good, bad] = self.branch(frame, condition);
        self.builder.position_at_end(bad);
        let cause = Cause::new(Failure::RecursionTooDeep, frame.function().span);
        let status = self.fail(frame.ctx(), &cause, &[depth]);
        let status = self.hidden(status);
        let failed = frame.failed(status, bad);
        self.branch_to(failed);
        self.builder.position_at_end(good);
    }

    /// Returns the cause of a failure, with the parameter of the C function that it is about.
    fn cause(&self, function: &Function, failure: Failure, span: Span, numbers: &[IntValue<'ctx>]) -> Cause {
        let is_about_parameter = matches!(failure, Failure::BadArgument | Failure::ShapeMismatch);
        let number = numbers.first().filter(|_| is_about_parameter).and_then(|n| n.get_zero_extended_constant());
        let parameter = number.and_then(|number| self.parameter_name(function, number as usize));
        Cause { parameter, ..Cause::new(failure, span) }
    }

    /// Returns the name in C of a parameter of a function that C calls, by its number, from 1.
    pub(super) fn parameter_name(&self, function: &Function, number: usize) -> Option<String> {
        self.parameter_names.get(&function.name)?.get(number.checked_sub(1)?).cloned()
    }

    fn told(&mut self, cause: &Cause, numbers: &[IntValue<'ctx>]) -> (Report, Vec<BasicValueEnum<'ctx>>) {
        let status = self.i32().const_int(cause.failure as u64, false);
        let mut differing: Vec<BasicValueEnum> = vec![self.site(cause, numbers.len()).into(), status.into()];
        differing.extend(numbers.iter().map(|number| BasicValueEnum::from(*number)));
        (Report::Numbers(numbers.len()), differing)
    }

    fn unless_left(&mut self, frame: &Frame<'ctx, '_>, condition: IntValue<'ctx>, target: BasicBlock<'ctx>) {
        let good = self.context.append_basic_block(frame.llvm(), "");
        built(self.builder.build_conditional_branch(condition, good, target));
        self.builder.position_at_end(good);
    }

    /// The block that reports, for control that comes from here.
    fn report(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        report: Report,
        differing: &[BasicValueEnum<'ctx>],
    ) -> BasicBlock<'ctx> {
        let here = self.builder.get_insert_block().expect("the builder stands in a block");
        if !frame.reports().contains_key(&report) {
            let types: Vec<_> = differing.iter().map(|value| value.get_type()).collect();
            let made = self.define_report(frame, report, &types);
            frame.reports().insert(report, made);
            self.builder.position_at_end(here);
        }
        let (block, phis) = &frame.reports()[&report];
        phis.iter().zip(differing).for_each(|(phi, value)| phi.add_incoming(&[(value, here)]));
        *block
    }

    fn define_report(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        report: Report,
        types: &[BasicTypeEnum<'ctx>],
    ) -> (BasicBlock<'ctx>, Vec<PhiValue<'ctx>>) {
        let block = self.context.append_basic_block(frame.llvm(), "");
        self.builder.position_at_end(block);
        let phis: Vec<PhiValue> = types.iter().map(|ty| built(self.builder.build_phi(*ty, ""))).collect();
        let site = phis[0].as_basic_value().into_pointer_value();
        let number = |phi: &PhiValue<'ctx>| phi.as_basic_value().into_int_value();
        let status = match report {
            Report::Numbers(_) => {
                let numbers: Vec<_> = phis[2..].iter().map(number).collect();
                self.tell(frame.ctx(), site, &numbers);
                number(&phis[1])
            }
            Report::Exhausted => {
                let asked = built(self.builder.build_int_mul(number(&phis[1]), number(&phis[2]), ""));
                let free = self.runtime("lmc.free", &[frame.arena().into()]).into_int_value();
                self.tell(frame.ctx(), site, &[asked, free]);
                self.i32().const_int(Failure::OutOfMemory as u64, false)
            }
        };
        let failed = frame.failed(status, block);
        self.branch_to(failed);
        (block, phis)
    }
}
