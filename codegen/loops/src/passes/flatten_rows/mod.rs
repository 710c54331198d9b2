//! Makes one buffer of the rows of a table that a loop carries, where all rows have one size.
//!
//! ```text
//! t = alloc [T] n; for k in 0..n { r = alloc m; s; store t[k] = r }; .. x = load t[i]; y = load x[j] ..
//!   =  t = alloc (n m); for k in 0..n { r = t[k m..]; s }; .. y = load t[i m + j] ..
//! ```
//!
//! So a state that is a vector of vectors is a matrix to the passes that follow: its step changes it in place. The table
//! of the sizes, which are all the same, is gone. A row that is put into a table is copied, as it is at the end of each
//! step where the state stays a table. A parameter is copied into a matrix where it is the first state; a result gets a
//! table of its rows.

mod arms;
mod keeps;
mod plan;
mod results;
mod rewrite;
mod sink;
mod whole;

use super::pass::FunctionCx;
use crate::ir::{Block, Op, Operand, Stmt};
use plan::Plan;
use rewrite::flatten;

pub(super) fn run(cx: &mut FunctionCx) {
    if !cx.function.carries_buffers() {
        return;
    }
    cx.rewrite(|body, function| {
        let block = likely(body);
        let before = if std::ptr::eq(block, body) { &[] } else { &body.stmts[..body.stmts.len() - 1] };
        let Some(plan) = Plan::of(function, before, block) else { return };
        flatten(plan, function, likely_mut(body));
    });
}

/// Returns what runs where parameters are as they mostly are; the whole body where that is not asked.
fn likely(body: &Block) -> &Block {
    match body.stmts.last() {
        Some(Stmt::If(_, condition, then, _)) if is_likely(body, condition) => then,
        _ => body,
    }
}

fn likely_mut(body: &mut Block) -> &mut Block {
    if std::ptr::eq(likely(body), body) {
        return body;
    }
    body.stmts.last_mut().expect("it ends with a conditional").block_mut(0)
}

fn is_likely(body: &Block, condition: &Operand) -> bool {
    let sets = |stmt: &Stmt| matches!(stmt, Stmt::Let(x, Op::Likely, _) if condition.local() == Some(*x));
    body.stmts.iter().any(sets)
}
