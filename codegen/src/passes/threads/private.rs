//! What all iterations add to: each chunk but the first gets a copy, of zeros, made as the buffer itself was.
//!
//!   b = alloc n                                               a buffer of numbers
//!   b = alloc m; for t in 0..m { r = alloc n; store b[t] = r }  rows, each of a number of its own

use super::slice::Slice;
use super::{Planner, places::Places};
use crate::loops::{For, Local, Memory, Operand, Scalar, Stmt, Ty};

/// How to make a copy of zeros.
#[derive(Clone, Debug)]
pub(super) struct Private {
    /// What is added to.
    pub(super) buffer: Local,
    pub(super) ty: Ty,
    /// Its elements.
    pub(super) count: Operand,
    /// How many numbers are in the element at an index, where elements are buffers.
    pub(super) row: Option<Slice>,
}

/// The one loop that sets the rows of a buffer.
pub(super) struct Rows<'a> {
    looped: &'a For,
    row: Local,
}

impl<'a> Planner<'a> {
    /// What a loop sets the elements of a buffer to, each to a new one; and nothing else sets them.
    pub(super) fn rows(&self, base: Local, places: &Places<'a>) -> Option<Rows<'a>> {
        places.allocated(base)?;
        let mut changes = 0;
        self.function.body.visit(&mut |stmt| {
            changes += usize::from(self.aliases.changes(stmt, base, &self.world.written));
        });
        let found = find_rows(&self.function.body.stmts, base)?;
        (changes == 1).then_some(found)
    }

    /// How to copy a buffer that a loop adds to.
    pub(super) fn private(&self, base: Local, is_in_row: bool, looped: &For, places: &Places<'a>) -> Option<Private> {
        let ty = self.function.ty(&base.into());
        let count = places.allocated(base)?.clone();
        let visible: Vec<&Stmt> = self.before.iter().copied().flatten().collect();
        let numbers = |ty: Option<Ty>| matches!(ty.and_then(Ty::as_scalar), Some(Scalar::Float | Scalar::Integer));
        if !visible.iter().any(|stmt| stmt.targets().contains(&base)) {
            return None;
        }
        if !is_in_row {
            return numbers(ty.element()).then_some(Private { buffer: base, ty, count, row: None });
        }
        let rows = self.rows(base, places)?;
        let made = visible.iter().position(|stmt| matches!(stmt, Stmt::For(f) if f.index == rows.looped.index))?;
        let is_full = rows.looped.from.same(&Operand::Integer(0)) && rows.looped.to.same(&count);
        let is_fixed = |b: Local| {
            let is_outside = !looped.body.stmts.iter().any(|stmt| stmt.targets().contains(&b));
            let mut changes = false;
            let mut look = |stmt: &Stmt| changes |= self.aliases.changes(stmt, b, &self.world.written);
            looped.body.visit(&mut look);
            for stmt in &visible[made..] {
                look(stmt);
                stmt.blocks().into_iter().for_each(|block| block.visit(&mut look));
            }
            is_outside && !changes
        };
        let length = places.allocated(rows.row)?;
        let row = Slice::of(rows.looped.index, &rows.looped.body, length, &is_fixed)?;
        let fine = is_full && numbers(ty.element().and_then(Ty::element));
        fine.then_some(Private { buffer: base, ty, count, row: Some(row) })
    }
}

fn find_rows(stmts: &[Stmt], base: Local) -> Option<Rows<'_>> {
    stmts.iter().find_map(|stmt| {
        let own = match stmt {
            Stmt::For(looped) => stored_row(looped, base).map(|row| Rows { looped, row }),
            _ => None,
        };
        own.or_else(|| stmt.blocks().into_iter().find_map(|block| find_rows(&block.stmts, base)))
    })
}

/// `for t { .. r = alloc n .. store b[t] = r .. }`
fn stored_row(looped: &For, base: Local) -> Option<Local> {
    let stmts = &looped.body.stmts;
    let stored = stmts.iter().find_map(|stmt| match stmt {
        Stmt::Memory(Memory::Store(b, t, row)) if b.local() == Some(base) && t.local() == Some(looped.index) => {
            row.local()
        }
        _ => None,
    })?;
    let is_made = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if *buffer == stored);
    stmts.iter().any(is_made).then_some(stored)
}
