//! Merges a loop that makes rows with the one that reads them, row by row: then there is no table of them.
//!
//! ```text
//! t = alloc n; for k in 0..n { r = alloc m; s; store t[k] = r }; for l in 0..n { x = load t[l]; u }
//!   =   for k in 0..n { a = mark; r = alloc m; s; u[x := r, l := k]; release a }
//! ```
//!
//! So it is with a sum of vectors that are made for it. Nothing else uses the table. The first loop stores one row in
//! each iteration, and does nothing else with it but to write and read its elements. The second one loads it once, and
//! only reads its elements. So each row is memory of one iteration, and gone after it.

use super::fuser::{Done, Fuser};
use crate::analyses::effects::StmtEffects;
use crate::ir::{Block, For, Local, LocalInfo, Memory, Operand, Scalar, Stmt};
use rustc_hash::FxHashSet;

/// A table, the row that the first loop makes, and the row that the second one loads.
pub(super) struct RowTable {
    table: Local,
    row: Local,
    loaded: Local,
}

/// Two loops without the tables between them.
pub(super) struct WithoutTables {
    pub(super) tables: Vec<RowTable>,
    pub(super) first: StmtEffects,
    pub(super) second: StmtEffects,
}

impl Fuser<'_> {
    /// Returns what two loops do apart from the tables of rows that the first one passes to the second one, if there
    /// are any.
    pub(super) fn without_tables(&self, first: &Done, second: &Done) -> Option<WithoutTables> {
        let [Stmt::For(p), Stmt::For(c)] = [&first.stmt, &second.stmt] else { return None };
        if !first.effects.arena || second.effects.arena {
            return None;
        }
        let tables: Vec<RowTable> = c.body.stmts.iter().filter_map(|stmt| self.row_table(p, c, stmt)).collect();
        if tables.is_empty() {
            return None;
        }
        let rows: FxHashSet<Local> = tables.iter().map(|t| t.row).collect();
        let passed: FxHashSet<Local> = tables.iter().flat_map(|t| [t.table, t.row, t.loaded]).collect();
        let mut others = p.body.clone();
        others.stmts.retain(|stmt| !stmt.targets().iter().any(|x| rows.contains(x)));
        let [mut first, mut second] = [first, second].map(|done| done.effects.clone());
        first.arena = !others.gives_back(self.callees.takes);
        let set = first.set.clone();
        first
            .accesses
            .retain(|access| !passed.contains(&access.buffer) && !self.aliases.is_made_among(access.buffer, &set));
        second.accesses.retain(|access| !passed.contains(&access.buffer));
        Some(WithoutTables { tables, first, second })
    }

    /// Returns the table of which a statement of the second loop loads a row.
    fn row_table(&self, p: &For, c: &For, load: &Stmt) -> Option<RowTable> {
        let Stmt::Memory(Memory::Load(loaded, Operand::Local(table), Operand::Local(i))) = load else { return None };
        let uses = |x: &Local| self.uses.get(x).copied().unwrap_or_default();
        if *i != c.index || uses(table) != 2 || elements_read(&c.body, *loaded) != uses(loaded) {
            return None;
        }
        let row = p.body.stmts.iter().find_map(|stmt| match stmt {
            Stmt::Memory(Memory::Store(Operand::Local(b), Operand::Local(i), Operand::Local(row)))
                if b == table && *i == p.index =>
            {
                Some(*row)
            }
            _ => None,
        })?;
        let is_made = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if *buffer == row);
        let is_own = elements_read(&p.body, row) + elements_written(&p.body, row) + 1 == uses(&row);
        (p.body.stmts.iter().any(is_made) && is_own).then_some(RowTable { table: *table, row, loaded: *loaded })
    }

    /// Takes the tables out of the loop that both have become.
    pub(super) fn drop_tables(&mut self, merged: &mut Stmt, tables: &[RowTable]) {
        let Stmt::For(looped) = merged else { panic!("it is the loop that both have become") };
        looped.body.stmts.retain(|stmt| {
            let memory = match stmt {
                Stmt::Memory(Memory::Store(b, ..) | Memory::Load(_, b, _)) => b.local(),
                _ => None,
            };
            !tables.iter().any(|t| memory == Some(t.table))
        });
        looped.body.rename(&tables.iter().map(|t| (t.loaded, t.row)).collect());
        let mark = Local(u32::try_from(self.locals.len()).expect("a function has fewer locals"));
        self.locals.push(LocalInfo { ty: Scalar::Mark.ty(), name: None, is_size: false });
        looped.body.stmts.insert(0, Stmt::Memory(Memory::Mark(mark)));
        looped.body.stmts.push(Stmt::Memory(Memory::Release(Operand::Local(mark))));
    }
}

/// Returns how often elements of a buffer are read.
fn elements_read(block: &Block, b: Local) -> usize {
    count(
        block,
        |memory| matches!(memory, Memory::Load(_, a, _) | Memory::Move { from: a, .. } if a.local() == Some(b)),
    )
}

/// Returns how often elements of a buffer are written.
fn elements_written(block: &Block, b: Local) -> usize {
    count(block, |memory| match memory {
        Memory::Store(a, ..) | Memory::Add(a, ..) | Memory::Zero(a, _) | Memory::Move { to: a, .. } => {
            a.local() == Some(b)
        }
        _ => false,
    })
}

fn count(block: &Block, is_one: impl Fn(&Memory) -> bool) -> usize {
    let mut count = 0;
    block.visit(&mut |stmt| count += usize::from(matches!(stmt, Stmt::Memory(memory) if is_one(memory))));
    count
}
