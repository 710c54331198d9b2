//! Lets each element of a box take what iterations around it add to it, in place of each iteration adding to several
//! elements.
//!
//! ```text
//! for i in 0..n { for j in 0..m { s; add d[i m + j] += x; if 0 <= i - 1 { add d[(i - 1) m + j] += y } } }
//!   =  t = alloc n m
//!      for i in 0..n { for j in 0..m { s; add d[i m + j] += x; store t[i m + j] = y } }
//!      for p in 0..n { for q in 0..m {
//!        add d[p m + q] += if p + 1 < n { if 0 <= p + 1 - 1 { load t[(p + 1) m + q] } else { 0 } } else { 0 } } }
//! ```
//!
//! The derivative of a stencil adds to neighbours. Its iterations are not independent: they are neither for lanes nor
//! for threads, and go through d once for each row of neighbours. Both nests here are independent.
//!
//! All that the nest adds at other places is moved so, by offsets that do not change in the nest. Whether an iteration
//! adds is asked again, at the place of the iteration. So the conditions may depend on indices, but not on elements. An
//! index of d other than the first is known to lie in d, as two offsets could else give one place. Terms are added in
//! another order. A value that the nest loads at its own place, from a buffer that stays as it is, needs no table.
//!
//! An index that conditionals give has a case for each of their arms. One that is a border's has an offset where the
//! iteration's index is known to be the first or the last one.
//!
//! `gather_neighbours` does the same for single loops, with less memory, where the neighbours are near.
//!
//! Where all that is added to a buffer is quickly computed again, there is no table, and one nest (`again`). That is right
//! for single loops, too.

mod additions;
mod again;
mod checks;
mod storing;
mod taking;

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::extents::Extents;
use crate::analyses::nests::Nest;
use crate::analyses::places::Places;
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Operand, Scalar, Stmt};
use additions::{Addition, At};
use indexmap::IndexMap;
use lm::sizes::Polynomial;
use lm::term::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use storing::Storing;

/// The most values that are kept of each iteration: each goes through memory, beside the elements. With four of them,
/// stencils on squares are no faster than by `gather_neighbours`.
const MOST_VALUES: usize = 3;

/// The most terms of an element.
const MOST_TERMS: usize = 16;

/// A nest that is known to have so few iterations is for registers.
const FEW: i64 = 64;

pub(super) fn run(cx: &mut FunctionCx) {
    if cx.settings.keeps_order || !adds_twice(&cx.function.body) {
        return;
    }
    let (aliases, summaries) = (cx.aliases(), cx.summaries());
    let extents = Extents::of(cx.function, aliases.clone());
    let ranges = Ranges::new(cx.function);
    cx.rewrite(|body, function| {
        let places = Places::of(body);
        let locals = &mut function.locals;
        Gatherer { aliases, summaries, extents, places, ranges, locals }.gather_in_block(body);
    });
}

struct Gatherer<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    extents: Extents,
    places: Places,
    /// At the statement at hand.
    ranges: Ranges,
    locals: &'a mut Vec<LocalInfo>,
}

/// What a nest adds to a buffer at other places than its own.
struct Gathered<'a> {
    buffer: Local,
    /// The sizes of the buffer's dimensions.
    sizes: Vec<Operand>,
    terms: Vec<(&'a [Polynomial], &'a Addition)>,
}

impl Gatherer<'_> {
    fn gather_in_block(&mut self, block: &mut Block) {
        let mut made = FxHashSet::default();
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Stmt::Memory(Memory::Alloc { buffer, .. }) = &stmt {
                made.insert(*buffer);
            }
            self.take_at_once(&mut stmt, &mut block.stmts);
            if let Some(gathered) = self.gathered(&stmt, &made) {
                self.ranges.know(self.locals);
                gathered.iter().for_each(|stmt| self.ranges.learn_from(stmt));
                block.stmts.extend(gathered);
                continue;
            }
            for i in 0..stmt.blocks().count() {
                let mark = self.ranges.mark();
                self.ranges.enter(&stmt, i);
                self.gather_in_block(stmt.block_mut(i));
                self.ranges.back_to(mark);
            }
            self.ranges.learn_from(&stmt);
            block.stmts.push(stmt);
        }
    }

    /// Returns the nests in place of one that adds to neighbours; `made` has the buffers that its block makes before it.
    fn gathered(&mut self, stmt: &Stmt, made: &FxHashSet<Local>) -> Option<Vec<Stmt>> {
        let nest = adding_nest(stmt).filter(|nest| nest.indices.len() > 1)?;
        let additions = self.additions(stmt, &nest);
        let added = additions.iter().filter_map(|addition| addition.value.local()).collect();
        let there = self.values_there(stmt, &nest, made, &added);
        let gathered =
            |(buffer, additions): (Local, Vec<_>)| self.gathered_buffer(stmt, buffer, &additions, &nest, &there);
        let buffers: Vec<Gathered> = by_buffer(&additions).into_iter().filter_map(gathered).collect();
        (!buffers.is_empty()).then(|| self.rewritten(stmt, &nest, &buffers, there))
    }

    /// Returns which values a nest loads at its own place, and stay there: where each is loaded from. A state is left out,
    /// since its step may be updated in place.
    fn values_there(
        &self,
        stmt: &Stmt,
        nest: &Nest,
        made: &FxHashSet<Local>,
        added: &FxHashSet<Local>,
    ) -> FxHashMap<Local, Local> {
        let mut values = FxHashMap::default();
        let mut see = |stmt: &Stmt| {
            if let Stmt::Memory(Memory::Load(x, Operand::Local(b), place)) = stmt
                && added.contains(x)
                && made.contains(b)
                && nest.is_place(place)
            {
                values.insert(*x, *b);
            }
        };
        stmt.blocks().for_each(|block| block.visit(&mut see));
        let mut changed: FxHashSet<Local> = FxHashSet::default();
        let mut see = |stmt: &Stmt| {
            changed.extend(values.values().filter(|b| self.aliases.changes(stmt, **b, self.summaries)));
        };
        stmt.blocks().for_each(|block| block.visit(&mut see));
        values.retain(|_, b| !changed.contains(b));
        values
    }

    /// Returns what a nest adds to a buffer, if all of it can be gathered and some of it should be.
    fn gathered_buffer<'a>(
        &self,
        stmt: &Stmt,
        buffer: Local,
        additions: &[&'a Addition],
        nest: &Nest,
        there: &FxHashMap<Local, Local>,
    ) -> Option<Gathered<'a>> {
        let only_adds = || stmt.blocks().all(|block| self.aliases.only_adds(block, buffer, self.summaries));
        (!nest.set.contains(&buffer) && only_adds()).then_some(())?;
        let mut terms = Vec::new();
        let mut rows: Option<&[Operand]> = None;
        for addition in additions {
            let At::Offset(offsets, sizes) = addition.at.as_ref()? else { continue };
            let is_same = rows.is_none_or(|rows| rows.iter().zip(sizes).all(|(a, b)| a.same(b)));
            let is_known = addition.conditions.iter().all(|(condition, _)| nest.is_made_of_indices(condition));
            (is_same && is_known).then_some(())?;
            rows = Some(sizes);
            terms.push((&offsets[..], *addition));
        }
        let distinct: FxHashSet<&[Polynomial]> = terms.iter().map(|(offsets, _)| *offsets).collect();
        let has_own = terms.len() < additions.len();
        let is_kept = |x: &Local| nest.set.contains(x) && !there.contains_key(x);
        let values = terms.iter().filter_map(|(_, addition)| addition.value.local()).filter(is_kept);
        let is_cheap = values.collect::<FxHashSet<Local>>().len() <= MOST_VALUES && terms.len() <= MOST_TERMS;
        (is_cheap && distinct.len() + usize::from(has_own) > 1).then_some(())?;
        let rows = rows?;
        let first = self.extents.rows(buffer, rows)?;
        Some(Gathered { buffer, sizes: [&[first], rows].concat(), terms })
    }

    /// Returns the two nests; `there` has values that are in buffers already.
    fn rewritten(
        &mut self,
        stmt: &Stmt,
        nest: &Nest,
        buffers: &[Gathered],
        there: FxHashMap<Local, Local>,
    ) -> Vec<Stmt> {
        let mut build = Builder { locals: self.locals };
        let mut out = Vec::new();
        let mark = build.local(Scalar::Mark.ty());
        out.push(Stmt::Memory(Memory::Mark(mark)));
        let sizes: Vec<Operand> = nest.sizes.iter().map(|n| build.times(n, &mut out)).collect();
        let count = build.product(&sizes, &mut out);
        // Values from outside of the nest need no table.
        let mut tables = there.clone();
        let values = buffers.iter().flat_map(|gathered| &gathered.terms).map(|(_, addition)| &addition.value);
        for value in values {
            if let Some(x) = value.local().filter(|x| nest.set.contains(x) && !tables.contains_key(x)) {
                let buffer = build.local(value.ty(build.locals).buffer());
                let (count, span) = (count.clone(), Span::default());
                out.push(Stmt::Memory(Memory::Alloc { buffer, count, span }));
                tables.insert(x, buffer);
            }
        }
        let mut changed = stmt.clone();
        let innermost = nest.innermost_mut(&mut changed);
        let mut inside = FxHashSet::default();
        innermost.stmts.iter().flat_map(Stmt::blocks).for_each(|arm| {
            arm.visit(&mut |stmt| inside.extend(stmt.targets()));
        });
        let mut own = Vec::new();
        let place = build.place(&nest.indices, &nest.sizes, &mut own);
        let filled: FxHashMap<Local, Local> =
            tables.iter().filter(|(x, _)| !there.contains_key(x)).map(|(x, table)| (*x, *table)).collect();
        Storing { buffers, tables: filled, inside, place }.store_values(innermost, own);
        out.push(changed);
        buffers.iter().for_each(|gathered| self.gather(gathered, nest, &tables, &mut out));
        out.push(Stmt::Memory(Memory::Release(mark.into())));
        out
    }
}

/// Returns whether there are two additions to one buffer.
fn adds_twice(body: &Block) -> bool {
    let (mut seen, mut found) = (FxHashSet::default(), false);
    body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Add(Operand::Local(b), ..)) = stmt {
            found |= !seen.insert(*b);
        }
    });
    found
}

/// Returns a nest that adds to buffers, and that elements may take from.
fn adding_nest(stmt: &Stmt) -> Option<Nest> {
    let nest = Nest::of(stmt, &adds, &|stmt| adds_within(stmt))?;
    (!has_few_iterations(&nest) && is_simple(stmt)).then_some(nest)
}

fn by_buffer(additions: &[Addition]) -> IndexMap<Local, Vec<&Addition>> {
    let mut found: IndexMap<Local, Vec<&Addition>> = IndexMap::default();
    additions.iter().for_each(|addition| found.entry(addition.buffer).or_default().push(addition));
    found
}

fn has_few_iterations(nest: &Nest) -> bool {
    let iterations = nest.sizes.iter().try_fold(1_i64, |product, size| match size {
        Operand::Integer(n) => product.checked_mul(*n),
        _ => None,
    });
    iterations.is_some_and(|n| n <= FEW)
}

/// Returns whether a statement adds to a buffer, but not in a loop.
fn adds(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Memory(Memory::Add(..)) => true,
        Stmt::If(..) => stmt.blocks().flat_map(|block| &block.stmts).any(adds),
        _ => false,
    }
}

/// Returns whether a statement adds to a buffer.
fn adds_within(stmt: &Stmt) -> bool {
    adds(stmt) || stmt.blocks().flat_map(|block| &block.stmts).any(adds_within)
}

/// Returns whether a nest only computes, asks, and works on elements.
fn is_simple(stmt: &Stmt) -> bool {
    let is_simple = |stmt: &Stmt| match stmt {
        Stmt::Let(..) | Stmt::If(..) | Stmt::Check { .. } => true,
        Stmt::For(looped) => !looped.on_threads,
        Stmt::Memory(Memory::Load(..) | Memory::Store(..) | Memory::Add(..)) => true,
        // Of what takes no memory.
        Stmt::Memory(Memory::Mark(_) | Memory::Release(_)) => true,
        Stmt::Memory(_) => false,
        Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } | Stmt::Write(_) => false,
    };
    let mut all = true;
    stmt.blocks().for_each(|block| block.visit(&mut |stmt| all &= is_simple(stmt)));
    all
}
