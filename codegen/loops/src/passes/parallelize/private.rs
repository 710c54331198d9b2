//! Copies what all iterations add to: each chunk but the first gets a copy of zeros, made like the buffer.
//!
//! ```text
//! b = alloc n                                               a buffer of numbers
//! b = alloc m; for t in 0..m { r = alloc n; store b[t] = r }  rows, each of a number of its own
//! ```

use super::planner::{Planner, Private};
use super::slice::IndexSlice;
use crate::ir::{Block, For, Local, Memory, Operand, Scalar, Stmt};
use rustc_hash::FxHashSet;

impl Planner<'_> {
    /// Returns how to copy a buffer that a loop adds to, or to what lies in it.
    pub(super) fn private(&self, buffer: Local, looped: &For) -> Option<Private> {
        let visible: Vec<&Stmt> = self.before.iter().copied().flatten().collect();
        let count = visible.iter().find_map(|stmt| allocated(stmt, buffer))?.clone();
        let ty = self.function.ty(&buffer.into());
        let element = ty.element()?;
        let rows = element.element().is_some();
        let row = if rows { Some(self.row(buffer, &count, &visible, looped)?) } else { None };
        let number = if rows { element.element()? } else { element };
        let is_number = matches!(number.as_scalar(), Some(Scalar::Float | Scalar::Integer));
        is_number.then_some(Private { buffer, ty, count, row })
    }

    /// Returns how long the rows of a buffer are that one loop sets, and nothing else.
    fn row(&self, buffer: Local, count: &Operand, visible: &[&Stmt], looped: &For) -> Option<IndexSlice> {
        let mut changes = 0;
        let mut look = |stmt: &Stmt| changes += usize::from(self.changes(stmt, buffer));
        if self.is_in_loop {
            // What comes later may have been before.
            self.function.body.visit(&mut look);
        } else {
            looped.body.visit(&mut look);
            for stmt in visible {
                look(stmt);
                stmt.blocks().for_each(|block| block.visit(&mut look));
            }
        }
        let (made, rows) = visible.iter().enumerate().find_map(|(i, stmt)| match stmt {
            Stmt::For(rows) => stored_row(rows, buffer).map(|length| (i, (rows, length))),
            _ => None,
        })?;
        let (rows, length) = rows;
        let is_full = rows.from.same(&Operand::Integer(0)) && rows.to.same(count);
        let mut used = FxHashSet::default();
        looped.body.visit(&mut |stmt| used.extend(stmt.targets().into_iter().chain(stmt.bound())));
        let is_fixed = |b: Local| {
            let since = visible[made..].iter().any(|stmt| self.changes_within(stmt, b));
            !since && !used.contains(&b) && !looped.body.stmts.iter().any(|stmt| self.changes_within(stmt, b))
        };
        (changes == 1 && is_full).then(|| IndexSlice::find_for(rows.index, &rows.body, length, &is_fixed))?
    }

    fn changes(&self, stmt: &Stmt, buffer: Local) -> bool {
        self.aliases.changes(stmt, buffer, &self.world.effects.summaries)
    }

    fn changes_within(&self, stmt: &Stmt, buffer: Local) -> bool {
        let within = |block: &Block| block.stmts.iter().any(|stmt| self.changes_within(stmt, buffer));
        self.changes(stmt, buffer) || stmt.blocks().any(within)
    }
}

/// Returns how many elements a statement allocates a buffer with.
fn allocated(stmt: &Stmt, wanted: Local) -> Option<&Operand> {
    match stmt {
        Stmt::Memory(Memory::Alloc { buffer, count, .. }) if *buffer == wanted => Some(count),
        _ => None,
    }
}

/// n, of `for t { .. r = alloc n .. store b[t] = r .. }`.
fn stored_row(looped: &For, base: Local) -> Option<&Operand> {
    let stmts = &looped.body.stmts;
    let stored = stmts.iter().find_map(|stmt| match stmt {
        Stmt::Memory(Memory::Store(b, t, row)) if b.local() == Some(base) && t.local() == Some(looped.index) => {
            row.local()
        }
        _ => None,
    })?;
    stmts.iter().find_map(|stmt| allocated(stmt, stored))
}
