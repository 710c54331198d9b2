//! Stores the first term of each element of a sum, in place of zeros and an addition.
//!
//! ```text
//! zero b[0..n m]; s; for i in 0..n { for j in 0..m { add b[i m + j] += x } }
//!   =   s; for i in 0..n { for j in 0..m { store b[i m + j] = 0 + x } }
//! zero b[0..n]; for i in 0..k { add b[i] += x }; t
//!   =   for i in 0..k { store b[i] = 0 + x }; for i in k..n { store b[i] = 0 }; t
//! zero b[0..n]; if c { for i in 0..n { add b[i] += x } } else { t }
//!   =   if c { for i in 0..n { store b[i] = 0 + x } } else { zero b[0..n]; t }
//! for i in 0..n { r = alloc m; zero r[0..m]; store t[i] = r }; for i in 0..n { for j in 0..m { add t[i][j] += x } }
//!   =   for i in 0..n { r = alloc m; store t[i] = r }; for i in 0..n { for j in 0..m { store t[i][j] = 0 + x } }
//! ```
//!
//! A reverse derivative adds all that it finds to sums that begin with zeros. Where the first statement that touches
//! them adds to each element once (`cover`), memory is written once, in place of being written, read, and written
//! again. Several statements may do so, one after the other: the parts of a loop that was split. Places are compared as
//! polynomials (`places`).
//!
//! A condition in such a loop may keep to the elements that there are. So the other arm stores zero only where all
//! elements are known to be covered, and no others.
//!
//! Invariant: each element is written where it was, before it is read.

mod cover;

use super::pass::FunctionCx;
use crate::analyses::alias::Aliases;
use crate::analyses::effects::Callees;
use crate::analyses::places::Places;
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Builder, Local, Memory, Operand, Scalar, Stmt, Ty};
use cover::{Covered, Coverer, Zeros};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// So many statements behind one that makes zero are looked at: so the work for a block grows with its length only.
const WINDOW: usize = 128;

pub(super) fn run(cx: &mut FunctionCx) {
    if !has_zeros(&cx.function.body) {
        return;
    }
    let (aliases, callees) = (cx.aliases(), cx.callees());
    cx.rewrite(|body, function| {
        let mut ranges = Ranges::new(function);
        let places = Places::of(body);
        let rows = loaded_rows(body);
        let builder = Builder { locals: &mut function.locals };
        Writer { aliases, callees, places, rows, builder }.write_in_block(body, &mut ranges);
    });
}

fn has_zeros(body: &Block) -> bool {
    let mut found = false;
    body.visit(&mut |stmt| found |= matches!(stmt, Stmt::Memory(Memory::Zero(..))));
    found
}

/// Returns the rows that are loaded: the table, and the place in it.
fn loaded_rows(body: &Block) -> FxHashMap<Local, (Local, Operand)> {
    let mut rows = FxHashMap::default();
    body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Load(row, Operand::Local(table), i)) = stmt {
            rows.insert(*row, (*table, i.clone()));
        }
    });
    rows
}

struct Writer<'a> {
    aliases: Rc<Aliases>,
    callees: Callees<'a>,
    places: Places,
    /// The rows that are loaded: the table, and the place in it.
    rows: FxHashMap<Local, (Local, Operand)>,
    builder: Builder<'a>,
}

/// What a statement makes zero.
struct Zeroed {
    zeros: Zeros,
    /// How many elements, or rows.
    count: Operand,
}

impl Writer<'_> {
    fn write_in_block(&mut self, block: &mut Block, ranges: &mut Ranges) {
        let mut i = 0;
        while i < block.stmts.len() {
            if let Some(zeroed) = self.zeroed(&block.stmts[i]) {
                let mark = ranges.mark();
                let is_written = self.write(block, i + 1, &zeroed, ranges);
                ranges.back_to(mark);
                if is_written {
                    if !self.without_zeros(&mut block.stmts[i]) {
                        block.stmts.remove(i);
                    }
                    continue;
                }
            }
            ranges.know(self.builder.locals);
            ranges.learn_from(&block.stmts[i]);
            for inner in 0..block.stmts[i].blocks().count() {
                let mark = ranges.mark();
                ranges.enter(&block.stmts[i], inner);
                self.write_in_block(block.stmts[i].block_mut(inner), ranges);
                ranges.back_to(mark);
            }
            i += 1;
        }
    }

    /// Returns what a statement makes zero.
    fn zeroed(&self, stmt: &Stmt) -> Option<Zeroed> {
        let looped = match stmt {
            Stmt::Memory(Memory::Zero(Operand::Local(b), count)) => {
                return Some(Zeroed { zeros: Zeros::Elements(*b), count: count.clone() });
            }
            Stmt::For(looped) if looped.from.same(&Operand::Integer(0)) => looped,
            _ => return None,
        };
        let stmts = &looped.body.stmts;
        let (row, length) = stmts.iter().find_map(|stmt| match stmt {
            Stmt::Memory(Memory::Zero(Operand::Local(row), length)) => Some((*row, length)),
            _ => None,
        })?;
        let table = stmts.iter().find_map(|stmt| match stmt {
            Stmt::Memory(Memory::Store(Operand::Local(table), i, a))
                if a.local() == Some(row) && i.local() == Some(looped.index) =>
            {
                Some(*table)
            }
            _ => None,
        })?;
        let is_simple = |stmt: &Stmt| match stmt {
            Stmt::Let(..) => true,
            Stmt::Memory(Memory::Alloc { .. } | Memory::Zero(..)) => true,
            Stmt::Memory(Memory::Store(_, _, a)) => {
                a.local() == Some(row) || a.ty(self.builder.locals).as_scalar().is_some()
            }
            _ => false,
        };
        let makes =
            stmts.iter().any(|stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if *buffer == row));
        let set: FxHashSet<Local> = stmts.iter().flat_map(Stmt::targets).chain([looped.index]).collect();
        let is_fixed = length.local().is_none_or(|x| !set.contains(&x));
        let suits = makes && is_fixed && stmts.iter().all(is_simple);
        let zeros = Zeros::Rows { table, row, length: length.clone() };
        suits.then(|| Zeroed { zeros, count: looped.to.clone() })
    }

    /// Takes what makes zero out of a statement; returns whether anything is left.
    fn without_zeros(&self, stmt: &mut Stmt) -> bool {
        let Stmt::For(looped) = stmt else { return false };
        let zero = looped.body.stmts.iter().position(|stmt| matches!(stmt, Stmt::Memory(Memory::Zero(..))));
        looped.body.stmts.remove(zero.expect("the rows are zero"));
        true
    }

    /// Makes the statements from one on write what was zero before them; returns whether they do.
    fn write(&mut self, block: &mut Block, start: usize, zeroed: &Zeroed, ranges: &mut Ranges) -> bool {
        for i in (start..block.stmts.len()).take(WINDOW) {
            ranges.know(self.builder.locals);
            ranges.learn_from(&block.stmts[i]);
            if self.coverer(ranges).touches(&block.stmts[i], &zeroed.zeros) {
                return self.write_parts(block, i, zeroed, ranges)
                    || self.write_in_arms(&mut block.stmts[i], zeroed, ranges);
            }
        }
        false
    }

    /// Lets statements write one part after the other, and what is left of the elements be zero.
    fn write_parts(&mut self, block: &mut Block, start: usize, zeroed: &Zeroed, ranges: &mut Ranges) -> bool {
        let count = self.places.polynomial(&zeroed.count);
        let mut parts: Vec<(usize, Vec<Stmt>)> = Vec::new();
        let mut all = Covered::nothing(matches!(zeroed.zeros, Zeros::Rows { .. }));
        for i in (start..block.stmts.len()).take(WINDOW) {
            ranges.learn_from(&block.stmts[i]);
            let mut coverer = self.coverer(ranges);
            if !coverer.touches(&block.stmts[i], &zeroed.zeros) {
                continue;
            }
            let mut part = Vec::new();
            let next = coverer.cover(block.stmts[i].clone(), &zeroed.zeros, &mut part);
            let Some(more) = next.and_then(|next| all.and(next)) else { break };
            parts.push((i, part));
            all = more;
            if all.to == count {
                break;
            }
        }
        let rest = if all.to == count {
            vec![]
        } else if let (Some(end), false, Zeros::Elements(buffer)) = (&all.end, all.is_chosen, &zeroed.zeros) {
            vec![self.zero_from(*buffer, end.clone(), zeroed.count.clone())]
        } else {
            return false;
        };
        let Some((last, _)) = parts.last() else { return false };
        block.stmts.splice(last + 1..last + 1, rest);
        parts.into_iter().rev().for_each(|(i, part)| drop(block.stmts.splice(i..=i, part)));
        true
    }

    /// Lets the arms of a conditional write, if one of them does; what does not begins with zeros.
    fn write_in_arms(&mut self, stmt: &mut Stmt, zeroed: &Zeroed, ranges: &mut Ranges) -> bool {
        if !matches!(stmt, Stmt::If(..)) {
            return false;
        }
        let writes = [0, 1].map(|arm| {
            let mark = ranges.mark();
            ranges.enter(stmt, arm);
            let writes = self.write(stmt.block_mut(arm), 0, zeroed, ranges);
            ranges.back_to(mark);
            writes
        });
        if writes == [false, false] {
            return false;
        }
        for arm in (0..2).filter(|arm| !writes[*arm]) {
            let zeros = self.zeros(zeroed);
            stmt.block_mut(arm).stmts.insert(0, zeros);
        }
        true
    }

    /// Returns a statement that makes the same zero.
    fn zeros(&mut self, Zeroed { zeros, count }: &Zeroed) -> Stmt {
        let (table, row, length) = match zeros {
            Zeros::Elements(buffer) => return Stmt::Memory(Memory::Zero((*buffer).into(), count.clone())),
            Zeros::Rows { table, row, length } => (*table, *row, length.clone()),
        };
        let index = self.builder.local(Scalar::Integer.ty());
        let row = self.builder.local(Operand::Local(row).ty(self.builder.locals));
        let load = Stmt::Memory(Memory::Load(row, table.into(), index.into()));
        let zero = Stmt::Memory(Memory::Zero(row.into(), length));
        Stmt::loop_over(index, [Operand::Integer(0), count.clone()], vec![load, zero])
    }

    fn zero_from(&mut self, buffer: Local, from: Operand, to: Operand) -> Stmt {
        let index = self.builder.local(Scalar::Integer.ty());
        let element = Operand::Local(buffer).ty(self.builder.locals).element();
        let zero = element.and_then(Ty::zero).expect("it is of numbers");
        let store = Memory::Store(buffer.into(), index.into(), zero);
        Stmt::loop_over(index, [from, to], vec![Stmt::Memory(store)])
    }

    fn coverer<'b>(&'b mut self, ranges: &'b mut Ranges) -> Coverer<'b> {
        Coverer {
            aliases: &self.aliases,
            callees: self.callees,
            places: &self.places,
            rows: &self.rows,
            ranges,
            locals: self.builder.locals,
        }
    }
}
