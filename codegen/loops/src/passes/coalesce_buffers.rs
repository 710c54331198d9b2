//! Makes one buffer of a copy and what it copies, and of a sum and a part of it.
//!
//! ```text
//! zero a; s; n = alloc k; move n <- a; t                   =   zero a; s; t, with a for n          t does not use a
//! b = alloc k; zero b; t; for i in 0..k { n[i] += b[i] }   =   t, with n for b                     t only adds to b and n
//! ```
//!
//! Both buffers are made in one block with one number of elements, and nothing but loads, stores, additions, `zero` and
//! `move` used the one that goes before. So no other local shows it. The allocation that comes first stays: it is
//! released last. In the second line, terms are added up in another order. Lowering makes such buffers of sums of
//! tensors: a cotangent that comes from two uses of a value is one buffer. A copy of what was stored stays: `fusion` adds
//! to its elements in registers.

use super::pass::FunctionCx;
use crate::analyses::scopes::keeps_memory;
use crate::analyses::worked_on::{is_add, is_any, is_worked_on};
use crate::ir::{Block, For, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;

pub(super) fn run(cx: &mut FunctionCx) {
    let may_reorder = !cx.settings.keeps_order;
    let mut names = FxHashMap::default();
    coalesce_in_block(&mut cx.function.body, may_reorder, &mut names);
}

fn coalesce_in_block(block: &mut Block, may_reorder: bool, names: &mut FxHashMap<Local, Local>) {
    block.stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|inner| coalesce_in_block(inner, may_reorder, names));
    while let Some(found) =
        find(block, |block, at| copy(block, at).or_else(|| may_reorder.then(|| part(block, at)).flatten()))
    {
        let Coalesced { gone, buffer, by } = found;
        let mut at = 0;
        block.stmts.retain(|_| {
            at += 1;
            !gone.contains(&(at - 1))
        });
        names.clear();
        names.insert(buffer, by);
        block.rename(names);
    }
}

/// A buffer that another one replaces, and the statements that are then gone.
struct Coalesced {
    gone: Vec<usize>,
    buffer: Local,
    by: Local,
}

/// Returns the first allocation of a block at which something is found.
fn find(block: &Block, at: impl Fn(&Block, usize) -> Option<Coalesced>) -> Option<Coalesced> {
    (0..block.stmts.len()).find_map(|i| at(block, i))
}

fn alloc(stmt: &Stmt) -> Option<(Local, &Operand)> {
    match stmt {
        Stmt::Memory(Memory::Alloc { buffer, count, .. }) => Some((*buffer, count)),
        _ => None,
    }
}

/// The allocation of a buffer in a block, if it has so many elements.
fn made(block: &Block, buffer: Local, count: &Operand) -> Option<usize> {
    block.stmts.iter().position(|stmt| alloc(stmt).is_some_and(|(b, n)| b == buffer && n.same(count)))
}

/// Matches a copy that is made of what is then done.
fn copy(block: &Block, at: usize) -> Option<Coalesced> {
    let (buffer, count) = alloc(&block.stmts[at])?;
    let first = at + 1 + block.stmts[at + 1..].iter().position(|stmt| stmt.mentions(buffer))?;
    let Stmt::Memory(Memory::Move { to, from, count: moved }) = &block.stmts[first] else { return None };
    let by = from.local().filter(|_| to.local() == Some(buffer) && moved.same(count))?;
    let start = made(block, by, count).filter(|start| *start < first)?;
    let is_sum = block.stmts[start + 1..first]
        .iter()
        .find(|stmt| stmt.mentions(by))
        .is_some_and(|stmt| matches!(stmt, Stmt::Memory(Memory::Zero(b, n)) if b.local() == Some(by) && n.same(count)));
    let is_done = !block.stmts[first + 1..].iter().any(|stmt| stmt.mentions(by))
        && !block.results.iter().any(|a| a.local() == Some(by));
    let alone = block.stmts[start + 1..first].iter().all(|stmt| is_worked_on(stmt, by, &is_any));
    // What was allocated first is released last.
    let (later, buffer, by) = if start < at { (at, buffer, by) } else { (start, by, buffer) };
    let stays = keeps_memory(&block.stmts[at.min(start)..first]);
    (is_sum && is_done && alone && stays).then(|| Coalesced { gone: vec![later, first], buffer, by })
}

/// Matches terms that are added up in a buffer of their own, and then added to another one.
fn part(block: &Block, at: usize) -> Option<Coalesced> {
    let (buffer, count) = alloc(&block.stmts[at])?;
    let uses: Vec<usize> = (at + 1..block.stmts.len()).filter(|i| block.stmts[*i].mentions(buffer)).collect();
    let (first, last) = (*uses.first()?, *uses.last()?);
    let is_zero = matches!(&block.stmts[first],
        Stmt::Memory(Memory::Zero(b, n)) if b.local() == Some(buffer) && n.same(count));
    let Stmt::For(looped) = &block.stmts[last] else { return None };
    let by = adds_all(looped, buffer, count).filter(|_| is_zero && first < last)?;
    let start = made(block, by, count).filter(|start| *start < at)?;
    let between = &block.stmts[first + 1..last];
    let only_adds = between.iter().all(|stmt| is_worked_on(stmt, buffer, &is_add) && is_worked_on(stmt, by, &is_add));
    let is_set = block.stmts[start + 1..first].iter().any(|stmt| stmt.mentions(by));
    let alone = block.stmts[start + 1..first].iter().all(|stmt| is_worked_on(stmt, by, &is_any));
    let stays = keeps_memory(&block.stmts[start..last]) && !block.results.iter().any(|a| a.local() == Some(buffer));
    (only_adds && is_set && alone && stays).then(|| Coalesced { gone: vec![at, first, last], buffer, by })
}

/// Matches `for i in 0..count { x = load part[i]; add sum[i] += x }`; gives the sum.
fn adds_all(looped: &For, part: Local, count: &Operand) -> Option<Local> {
    let [Stmt::Memory(Memory::Load(x, b, i)), Stmt::Memory(Memory::Add(sum, j, a))] = &looped.body.stmts[..] else {
        return None;
    };
    let is_index = |i: &Operand| i.local() == Some(looped.index);
    let is_whole = looped.from.same(&Operand::Integer(0)) && looped.to.same(count) && looped.carried.is_empty();
    let adds = b.local() == Some(part) && is_index(i) && is_index(j) && a.local() == Some(*x);
    sum.local().filter(|sum| is_whole && adds && *sum != part)
}
