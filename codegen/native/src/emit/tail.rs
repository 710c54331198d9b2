//! Emits tail calls of recursive functions.
//!
//! ```text
//! x = call f(a); yield x, at the end of a function     =     return f(a)
//! ```
//!
//! Status and results of the last call are those of the function: nothing is looked at between. So LLVM makes a loop of
//! a function that calls itself last, and a jump of a last call of another function. A test of the status would keep a
//! frame for each call, and the processor would not foresee the returns.

use super::frame::{Frame, Incoming};
use super::{Emitter, built};
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum};
use loops::ir::{Block, Local, Operand, Stmt};

/// The last block of a side of a branch, and its results.
type ArmEnd<'ctx> = (BasicBlock<'ctx>, Vec<BasicValueEnum<'ctx>>);

impl<'ctx> Emitter<'ctx, '_> {
    /// Emits a block at the end of a recursive function; gives the values of the results, or nothing, where each way
    /// through it ends in a tail call.
    pub(super) fn emit_block_at_end(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        block: &Block,
    ) -> Option<Vec<BasicValueEnum<'ctx>>> {
        let Some((last, before)) = block.stmts.split_last().filter(|(last, _)| gives_all(last, block)) else {
            return Some(self.emit_block(frame, block));
        };
        self.count(|| block.counts(frame.function()));
        before.iter().for_each(|stmt| self.emit_stmt(frame, stmt));
        match last {
            Stmt::If(_, condition, then, other) => self.emit_conditional_at_end(frame, block, condition, [then, other]),
            Stmt::Call(_, callee, args) if self.gives_what(frame, callee.0) => {
                self.emit_tail_call(frame, callee.0, args);
                None
            }
            _ => {
                self.emit_stmt(frame, last);
                Some(block.results.iter().map(|result| self.operand(frame, result)).collect())
            }
        }
    }

    fn emit_conditional_at_end(
        &mut self,
        frame: &mut Frame<'ctx, '_>,
        block: &Block,
        condition: &Operand,
        arms: [&Block; 2],
    ) -> Option<Vec<BasicValueEnum<'ctx>>> {
        let is_likely = frame.is_likely(condition);
        let condition = self.operand(frame, condition).into_int_value();
        let starts = self.branch(frame, condition);
        let around = self.hotness;
        let mut ends: Vec<ArmEnd> = Vec::new();
        for (k, (start, arm)) in starts.into_iter().zip(arms).enumerate() {
            self.hotness.rare |= is_likely && k == 1;
            self.builder.position_at_end(start);
            if let Some(values) = self.emit_block_at_end(frame, arm) {
                ends.push((self.builder.get_insert_block().expect("the builder stands in a block"), values));
            }
            self.hotness = around;
        }
        self.join_ends(frame, block, &ends)
    }

    /// Goes on after the sides of a branch that come to their ends, if any does.
    fn join_ends(
        &mut self,
        frame: &Frame<'ctx, '_>,
        block: &Block,
        ends: &[ArmEnd<'ctx>],
    ) -> Option<Vec<BasicValueEnum<'ctx>>> {
        if ends.is_empty() {
            return None;
        }
        let join = self.context.append_basic_block(frame.llvm(), "");
        for (end, _) in ends {
            self.builder.position_at_end(*end);
            self.branch_to(join);
        }
        self.builder.position_at_end(join);
        let meet = |(i, result): (usize, &Operand)| {
            let values: Vec<Incoming> = ends.iter().map(|(end, values)| (values[i], *end)).collect();
            self.meet(self.ty(frame.function().ty(result)), &values)
        };
        Some(block.results.iter().enumerate().map(meet).collect())
    }

    /// Returns whether a function gives values of the types that this one gives, and calls itself.
    fn gives_what(&self, frame: &Frame<'ctx, '_>, callee: usize) -> bool {
        let callee = &self.request.module.functions[callee];
        callee.recursive && callee.results == frame.function().results
    }

    fn emit_tail_call(&mut self, frame: &mut Frame<'ctx, '_>, callee: usize, args: &[Operand]) {
        let args: Vec<BasicMetadataValueEnum> = self.call_arguments(frame, args);
        let value = self.invoke_last(frame.llvm(), callee, args);
        built(self.builder.build_return(Some(&value)));
    }
}

/// Returns whether what a statement sets is all that a block gives.
fn gives_all(stmt: &Stmt, block: &Block) -> bool {
    let (Stmt::If(xs, ..) | Stmt::Call(xs, ..)) = stmt else { return false };
    let is = |(x, result): (&Local, &Operand)| result.local() == Some(*x);
    xs.len() == block.results.len() && xs.iter().zip(&block.results).all(is)
}
