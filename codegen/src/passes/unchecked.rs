//! Unchecked: what `--checks none` leaves out, indices and sizes. A program that would stop there does anything at all.

use crate::loops::{Block, Failure, Module, Stmt};

pub(super) fn unchecked(module: &mut Module) {
    module.functions.iter_mut().for_each(|function| block(&mut function.body));
}

fn block(block: &mut Block) {
    block.stmts.retain_mut(|stmt| {
        stmt.blocks_mut().into_iter().for_each(self::block);
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
