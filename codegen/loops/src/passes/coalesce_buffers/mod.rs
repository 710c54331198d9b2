//! Makes one buffer of a copy and what it copies, and of a sum and a part of it.
//!
//! ```text
//! zero a; s; n = alloc k; move n <- a; t                   =   zero a; s; t, with a for n          t does not use a
//! b = alloc k; zero b; t; for i in 0..k { n[i] += b[i] }   =   t, with n for b                     t only adds to b and n
//! n = alloc k; zero n; n[j] = x; for i in 0..k { n[i] += b[i] }   =   b[j] += x, with b for n        b is not used again
//! ```
//!
//! Both buffers are made in one block with one number of elements, and nothing but loads, stores, additions, `zero` and
//! `move` used the one that goes before. So no other local shows it. The allocation that comes first stays: it is
//! released last. In the second and third line, terms are added up in another order. Lowering makes such buffers of sums of
//! tensors: a cotangent that comes from two uses of a value is one buffer. A copy of what was stored stays: `fusion` adds
//! to its elements in registers. `arms` does the same to buffers that conditionals give.

mod arms;

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
    if may_reorder {
        arms::split_sums(block);
    }
    coalesce_all(block, may_reorder, names);
    // A sum may be one of these by now, and what is left of another one.
    while may_reorder && arms::add_in_arms(block) {
        coalesce_all(block, may_reorder, names);
    }
}

fn coalesce_all(block: &mut Block, may_reorder: bool, names: &mut FxHashMap<Local, Local>) {
    // Uses are looked for in the blocks inside, too: that would take the square of the depth.
    if !block.stmts.iter().any(|stmt| alloc(stmt).is_some()) {
        return;
    }
    while let Some(found) = Uses::of(block).find(may_reorder) {
        let Coalesced { gone, added, buffer, by } = found;
        if let Some(Stmt::Memory(memory)) = added.map(|at| &mut block.stmts[at])
            && let Memory::Store(b, i, a) = memory.clone()
        {
            *memory = Memory::Add(b, i, a);
        }
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
    /// A store that is an addition then.
    added: Option<usize>,
    buffer: Local,
    by: Local,
}

/// The statements of a block that mention each local, in order, and those that allocate a buffer. A search that looked
/// through the block for each would take the third power of its length.
struct Uses<'a> {
    block: &'a Block,
    places: FxHashMap<Local, Vec<usize>>,
    allocs: FxHashMap<Local, usize>,
}

impl<'a> Uses<'a> {
    fn of(block: &'a Block) -> Uses<'a> {
        let mut uses = Uses { block, places: FxHashMap::default(), allocs: FxHashMap::default() };
        for (place, stmt) in block.stmts.iter().enumerate() {
            let places = &mut uses.places;
            let mut see = |a: &Operand| {
                if let Some(x) = a.local() {
                    let of = places.entry(x).or_default();
                    if of.last() != Some(&place) {
                        of.push(place);
                    }
                }
            };
            stmt.operands().into_iter().for_each(&mut see);
            stmt.blocks().for_each(|inner| inner.visit_operands(&mut see));
            if let Some((buffer, _)) = alloc(stmt) {
                uses.allocs.insert(buffer, place);
            }
        }
        uses
    }

    /// Returns what is found at the first allocation at which something is.
    fn find(&self, may_reorder: bool) -> Option<Coalesced> {
        let mut starts: Vec<usize> = self.allocs.values().copied().collect();
        starts.sort_unstable();
        starts.into_iter().find_map(|at| {
            let sum = || self.part(at).or_else(|| self.sum_of_part(at));
            self.copy(at).or_else(|| may_reorder.then(sum).flatten())
        })
    }

    /// Returns the statements between two that mention a local.
    fn between(&self, x: Local, start: usize, end: usize) -> impl Iterator<Item = &'a Stmt> {
        let places = self.places.get(&x).map(Vec::as_slice).unwrap_or_default();
        let places = &places[places.partition_point(|place| *place <= start)..];
        let block = self.block;
        places.iter().copied().take_while(move |place| *place < end).map(move |place| &block.stmts[place])
    }

    /// Returns whether a local is a result of the block.
    fn is_result(&self, x: Local) -> bool {
        self.block.results.iter().any(|a| a.local() == Some(x))
    }

    /// The allocation of a buffer in the block, if it has so many elements.
    fn made(&self, buffer: Local, count: &Operand) -> Option<usize> {
        let place = *self.allocs.get(&buffer)?;
        alloc(&self.block.stmts[place]).filter(|(_, n)| n.same(count)).map(|_| place)
    }

    /// Matches a copy that is made of what is then done.
    fn copy(&self, at: usize) -> Option<Coalesced> {
        let stmts = &self.block.stmts;
        let (buffer, count) = alloc(&stmts[at])?;
        let first = *self.places.get(&buffer)?.iter().find(|place| **place > at)?;
        let Stmt::Memory(Memory::Move { to, from, count: moved }) = &stmts[first] else { return None };
        let by = from.local().filter(|_| to.local() == Some(buffer) && moved.same(count))?;
        let start = self.made(by, count).filter(|start| *start < first)?;
        let is_zero =
            |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Zero(b, n)) if b.local() == Some(by) && n.same(count));
        let is_sum = self.between(by, start, first).next().is_some_and(is_zero);
        let is_done = self.between(by, first, stmts.len()).next().is_none() && !self.is_result(by);
        if !is_sum || !is_done || !self.between(by, start, first).all(|stmt| is_worked_on(stmt, by, &is_any)) {
            return None;
        }
        let stays = keeps_memory(&stmts[at.min(start)..first]);
        // What was allocated first is released last.
        let (later, buffer, by) = if start < at { (at, buffer, by) } else { (start, by, buffer) };
        stays.then(|| Coalesced { gone: vec![later, first], added: None, buffer, by })
    }

    /// Matches terms that are added up in a buffer of their own, and then added to another one.
    fn part(&self, at: usize) -> Option<Coalesced> {
        let stmts = &self.block.stmts;
        let (buffer, count) = alloc(&stmts[at])?;
        let uses = self.places.get(&buffer)?;
        let uses = &uses[uses.partition_point(|place| *place <= at)..];
        let (first, last) = (*uses.first()?, *uses.last()?);
        let is_zero = matches!(&stmts[first],
            Stmt::Memory(Memory::Zero(b, n)) if b.local() == Some(buffer) && n.same(count));
        let Stmt::For(looped) = &stmts[last] else { return None };
        let by = adds_all(looped, count).filter(|(part, _)| is_zero && first < last && *part == buffer)?.1;
        let start = self.made(by, count).filter(|start| *start < at)?;
        let added = self.stored_first(buffer, uses);
        let only_adds = [(buffer, added.unwrap_or(first)), (by, first)]
            .into_iter()
            .all(|(x, start)| self.between(x, start, last).all(|stmt| is_worked_on(stmt, x, &is_add)));
        let is_set = self.between(by, start, first).next().is_some();
        let alone = || self.between(by, start, first).all(|stmt| is_worked_on(stmt, by, &is_any));
        let stays = || keeps_memory(&stmts[start..last]) && !self.is_result(buffer);
        (only_adds && is_set && alone() && stays()).then(|| Coalesced {
            gone: vec![at, first, last],
            added,
            buffer,
            by,
        })
    }

    /// Returns the store of the first term of a sum, which was zero before, where that is the second of its uses.
    fn stored_first(&self, sum: Local, uses: &[usize]) -> Option<usize> {
        let place = *uses.get(1)?;
        let stmt = &self.block.stmts[place];
        let is_store = matches!(stmt, Stmt::Memory(Memory::Store(b, ..)) if b.local() == Some(sum));
        (is_store && is_worked_on(stmt, sum, &is_any)).then_some(place)
    }

    /// Matches a sum that begins with a few terms, and to which all of a buffer is then added that was made before.
    fn sum_of_part(&self, at: usize) -> Option<Coalesced> {
        let stmts = &self.block.stmts;
        let (sum, count) = alloc(&stmts[at])?;
        let uses = self.places.get(&sum)?;
        let uses = &uses[uses.partition_point(|place| *place <= at)..];
        let first = *uses.first()?;
        let is_zero = matches!(&stmts[first],
            Stmt::Memory(Memory::Zero(b, n)) if b.local() == Some(sum) && n.same(count));
        let whole = |place: &usize| match &stmts[*place] {
            Stmt::For(looped) => adds_all(looped, count).filter(|(_, to)| *to == sum).map(|(part, _)| (*place, part)),
            _ => None,
        };
        let (last, part) = uses.iter().find_map(whole).filter(|_| is_zero)?;
        let start = self.made(part, count).filter(|start| *start < at)?;
        let added = self.stored_first(sum, uses);
        let only_adds = self.between(sum, added.unwrap_or(first), last).all(|stmt| is_worked_on(stmt, sum, &is_add))
            && self.between(part, at, last).all(|stmt| is_worked_on(stmt, part, &is_add));
        let is_done = self.between(part, last, stmts.len()).next().is_none() && !self.is_result(part);
        let alone = || self.between(part, start, at).all(|stmt| is_worked_on(stmt, part, &is_any));
        let stays = || keeps_memory(&stmts[start..last]);
        (only_adds && is_done && alone() && stays()).then(|| Coalesced {
            gone: vec![at, first, last],
            added,
            buffer: sum,
            by: part,
        })
    }
}

fn alloc(stmt: &Stmt) -> Option<(Local, &Operand)> {
    match stmt {
        Stmt::Memory(Memory::Alloc { buffer, count, .. }) => Some((*buffer, count)),
        _ => None,
    }
}

/// Matches `for i in 0..count { x = load part[i]; add sum[i] += x }`; gives the part and the sum.
fn adds_all(looped: &For, count: &Operand) -> Option<(Local, Local)> {
    let [Stmt::Memory(Memory::Load(x, b, i)), Stmt::Memory(Memory::Add(sum, j, a))] = &looped.body.stmts[..] else {
        return None;
    };
    let is_index = |i: &Operand| i.local() == Some(looped.index);
    let is_whole = looped.from.same(&Operand::Integer(0)) && looped.to.same(count) && looped.carried.is_empty();
    let adds = is_index(i) && is_index(j) && a.local() == Some(*x);
    b.local().zip(sum.local()).filter(|(part, sum)| is_whole && adds && sum != part)
}
