//! Makes one loop of two that go through all elements of a matrix in order.
//!
//! ```text
//! for i in 0..n { r = i * m; for j in 0..m { k = r + j; s } }    =    for k in 0..(n * m) { s }
//! ```
//!
//! s uses neither i nor j. What the inner loop carries, the outer one passes on. So lanes and chunks need not end where
//! a row ends, and short rows make no short loops. Tensors of more dimensions are done two by two.

use super::pass::FunctionCx;
use crate::ir::{Block, Builder, For, Local, LocalInfo, Op, Operand, Stmt};
use rustc_hash::FxHashMap;

pub(super) fn run(cx: &mut FunctionCx) {
    cx.rewrite(|body, function| {
        let uses = body.use_counts();
        collapse_in_block(body, &uses, &mut function.locals);
    });
}

fn collapse_in_block(block: &mut Block, uses: &FxHashMap<Local, usize>, locals: &mut Vec<LocalInfo>) {
    for stmt in std::mem::take(&mut block.stmts) {
        let mut stmt = match stmt {
            Stmt::For(mut looped) => {
                while let Some(one) = collapsed(&looped, uses, locals, &mut block.stmts) {
                    *looped = one;
                }
                Stmt::For(looped)
            }
            stmt => stmt,
        };
        stmt.blocks_mut().for_each(|inner| collapse_in_block(inner, uses, locals));
        block.stmts.push(stmt);
    }
}

/// Returns the one loop of two, with its range computed before.
fn collapsed(
    outer: &For,
    uses: &FxHashMap<Local, usize>,
    locals: &mut Vec<LocalInfo>,
    out: &mut Vec<Stmt>,
) -> Option<For> {
    let is_simple = |looped: &For| {
        let starts = matches!(looped.from, Operand::Integer(0));
        starts && looped.lanes == 1 && looped.jam == 1 && !looped.on_threads
    };
    let [Stmt::Let(row, Op::MulI, product), Stmt::For(inner)] = &outer.body.stmts[..] else { return None };
    let is_once = |x: Local| uses.get(&x) == Some(&1);
    let is_local = |a: &Operand, x: Local| a.local() == Some(x);
    let columns = other(product, outer.index)?;
    let passes_on = outer.carried.len() == inner.carried.len()
        && outer.carried.iter().zip(&inner.carried).all(|((x, _), (_, init))| is_local(init, *x) && is_once(*x))
        && outer.body.results.iter().zip(&inner.results).all(|(a, x)| is_local(a, *x) && is_once(*x));
    let goes_through = is_simple(outer) && is_simple(inner) && columns.same(&inner.to) && columns.local() != Some(*row);
    if !goes_through || !passes_on || ![outer.index, *row, inner.index].into_iter().all(is_once) {
        return None;
    }
    let is_place = |stmt: &Stmt| match stmt {
        Stmt::Let(k, Op::AddI, sum) => {
            other(sum, *row).filter(|j| is_local(j, inner.index)).map(|_| *k).filter(|k| uses.contains_key(k))
        }
        _ => None,
    };
    let (at, place) = inner.body.stmts.iter().enumerate().find_map(|(at, stmt)| Some((at, is_place(stmt)?)))?;
    let mut builder = Builder { locals };
    let counts = [&outer.to, columns].map(|n| builder.times(n, out));
    let to = builder.product(&counts, out);
    let mut body = inner.body.clone();
    body.stmts.remove(at);
    let carried = inner.carried.iter().zip(&outer.carried).map(|((x, _), (_, init))| (*x, init.clone())).collect();
    Some(For { results: outer.results.clone(), index: place, to, carried, body, ..outer.clone() })
}

/// Returns the other one of two operands.
fn other(args: &[Operand], x: Local) -> Option<&Operand> {
    match args {
        [a, b] if a.local() == Some(x) => Some(b),
        [a, b] if b.local() == Some(x) => Some(a),
        _ => None,
    }
}
