//! Drops the checks of indices and sizes, for `--checks none`. A program that would stop there has no defined
//! behaviour.
//!
//! A program that would not stop must still make no invalid read. `licm` uses the checks before a load to see whether
//! it may run before a loop without iterations. So `licm` runs first.

use super::pass::FunctionCx;
use crate::ir::{Block, Failure, Stmt};

pub(super) fn run(cx: &mut FunctionCx) {
    drop_in_block(&mut cx.function.body);
}

fn drop_in_block(block: &mut Block) {
    block.stmts.retain_mut(|stmt| {
        stmt.blocks_mut().for_each(self::drop_in_block);
        !matches!(stmt, Stmt::Check { failure, .. } if is_left_out(*failure))
    });
}

fn is_left_out(failure: Failure) -> bool {
    match failure {
        Failure::IndexOutOfRange | Failure::NegativeSize | Failure::SizeMismatch | Failure::TooLarge => true,
        Failure::AssertFailed
        | Failure::DivisionByZero
        | Failure::RecursionTooDeep
        | Failure::ShapeUnknown
        | Failure::OutOfMemory
        | Failure::BadArgument
        | Failure::ShapeMismatch
        | Failure::ExternalFailed
        | Failure::NotSpecialised => false,
    }
}
