//! Drops checks that always hold, by what sizes, loops, conditionals and earlier checks say.
//!
//! ```text
//! for i in 0..n { check below i n .. }                  the check goes, when n is a size
//! if lt j i { check below j n }, i < n known            the check goes
//! if c { .. } else { .. }, c known                      the branch is known
//! and c d, c known                                      what is known is a constant, also in `or` and `not`
//! ```
//!
//! Source: `ranges`. A check that is gone held in every run, so errors are the same.

use super::pass::FunctionCx;
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Op, Operand, Stmt};

pub(super) fn run(cx: &mut FunctionCx) {
    let mut ranges = Ranges::new(cx.function);
    eliminate_in_block(&mut cx.function.body, &mut ranges);
}

fn eliminate_in_block(block: &mut Block, ranges: &mut Ranges) {
    block.stmts.retain_mut(|stmt| is_needed(stmt, ranges));
}

fn is_needed(stmt: &mut Stmt, ranges: &mut Ranges) -> bool {
    if let Stmt::Check { condition, .. } = stmt
        && ranges.known(condition) == Some(true)
    {
        return false;
    }
    if let Stmt::If(_, condition, _, _) = stmt
        && let Some(known) = ranges.known(condition)
    {
        *condition = Operand::Bool(known);
    }
    if let Stmt::Let(_, Op::And | Op::Or | Op::Not, args) = stmt {
        for a in args {
            ranges.known(a).into_iter().for_each(|known| *a = Operand::Bool(known));
        }
    }
    for i in 0..stmt.blocks().count() {
        let mark = ranges.mark();
        ranges.enter(stmt, i);
        eliminate_in_block(stmt.block_mut(i), ranges);
        ranges.back_to(mark);
    }
    ranges.learn_from(stmt);
    true
}
