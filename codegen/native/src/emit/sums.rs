//! Marks Floats that may be computed in another order, or with one rounding less (`Math::Fast`).

use super::Emitter;
use crate::options::Math;
use inkwell::values::{BasicValue, BasicValueEnum, FastMathFlags};
use loops::ir::{Block, For, Local, Op, Operand, Stmt};
use rustc_hash::FxHashSet;

impl<'ctx> Emitter<'ctx, '_> {
    /// The rounding of a product that goes into a sum may be left out.
    pub(super) fn may_contract(&self, value: BasicValueEnum<'ctx>) {
        self.allow(value, FastMathFlags::AllowContract);
    }

    /// The terms of a sum may be added up in any order.
    pub(super) fn may_reorder(&self, value: BasicValueEnum<'ctx>) {
        self.allow(value, FastMathFlags::AllowContract | FastMathFlags::AllowReassoc);
    }

    fn allow(&self, value: BasicValueEnum<'ctx>, flags: FastMathFlags) {
        // What LLVM has computed already is no instruction, and an operation may have given one of its operands.
        if self.request.math == Math::Fast
            && let Some(instruction) = value.as_instruction_value()
            && instruction.can_use_fast_math_flags()
        {
            instruction.set_fast_math_flags(flags).expect("it was asked whether it can");
        }
    }
}

/// Returns the locals that are set to `y + e` as the next value of the y that a loop carries.
pub(super) fn sums(body: &Block) -> FxHashSet<Local> {
    let mut found = FxHashSet::default();
    body.visit(&mut |stmt| {
        if let Stmt::For(looped) = stmt {
            found.extend(sums_of(looped));
        }
    });
    found
}

fn sums_of(looped: &For) -> impl Iterator<Item = Local> {
    let is_sum = |(y, next): (Local, Local)| {
        looped.body.stmts.iter().any(|stmt| match stmt {
            Stmt::Let(x, Op::AddF, args) => *x == next && args.iter().filter_map(Operand::local).any(|a| a == y),
            _ => false,
        })
    };
    let nexts = looped.body.results.iter().map(Operand::local);
    let pairs = looped.carried.iter().zip(nexts).filter_map(|((y, _), next)| Some((*y, next?)));
    pairs.filter(move |pair| is_sum(*pair)).map(|(_, next)| next)
}
