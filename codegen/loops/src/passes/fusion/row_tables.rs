//! Merges a loop that makes rows with the one that reads them, row by row: then there is no table of them.
//!
//! ```text
//! t = alloc n; for k in 0..n { r = alloc m; s; store t[k] = r }; for l in 0..n { x = load t[l]; u }
//!   =   for k in 0..n { a = mark; r = alloc m; s; u[x := r, l := k]; release a }
//! ```
//!
//! So it is with a sum of vectors that are made for it. The function makes the table, and nothing else uses it. The first
//! loop stores one row in each iteration, and does nothing else with it but to write and read its elements. The second
//! one loads it once, and only reads its elements, and what lies in them. So each row, and all else that an iteration
//! makes, is gone after it.

use super::fuser::{Done, Fuser};
use crate::analyses::effects::StmtEffects;
use crate::analyses::roots::Root;
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
        let passed: FxHashSet<Local> = tables.iter().flat_map(|t| [t.table, t.row, t.loaded]).collect();
        let set = &first.effects.set;
        if self.keeps(&p.body, set, &tables) || self.keeps(&c.body, set, &[]) {
            return None;
        }
        let (mut first, mut second) = (first.effects.clone(), second.effects.clone());
        first.arena = false;
        let is_own = |b: Local| passed.contains(&b) || self.aliases.is_made_among(b, set);
        first.accesses.retain(|access| !is_own(access.buffer));
        second.accesses.retain(|access| !passed.contains(&access.buffer));
        Some(WithoutTables { tables, first, second })
    }

    /// Returns whether something that was made in the first loop may outlive an iteration, but for the rows in the
    /// tables; or whether the arena is used in another way than to take memory.
    fn keeps(&self, block: &Block, set: &FxHashSet<Local>, tables: &[RowTable]) -> bool {
        let is_made = |a: &Operand| {
            let is_one = |root: Root| matches!(root, Root::Made(x) if set.contains(&x));
            a.local()
                .is_some_and(|x| a.ty(self.locals).element().is_some() && self.aliases.roots_of(x).iter().any(is_one))
        };
        let is_own = |b: &Operand| b.local().is_some_and(|b| self.aliases.is_made_among(b, set));
        let is_table = |b: &Operand| tables.iter().any(|t| b.local() == Some(t.table));
        let mut keeps = block.results.iter().any(is_made);
        block.visit(&mut |stmt| {
            keeps |= match stmt {
                Stmt::Memory(Memory::Store(b, _, value)) => is_made(value) && !is_own(b) && !is_table(b),
                Stmt::Memory(Memory::Move { to, from, .. }) => {
                    let is_table = from.ty(self.locals).element().is_some_and(|ty| ty.element().is_some());
                    is_table && is_made(from) && !is_own(to)
                }
                Stmt::Memory(Memory::Release(m)) => m.local().is_none_or(|m| !set.contains(&m)),
                Stmt::Memory(Memory::Slide(..) | Memory::Slid { .. } | Memory::Above(..) | Memory::Before(..)) => true,
                Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } => {
                    stmt.operands().into_iter().any(is_made)
                        || stmt.targets().iter().any(|x| Operand::Local(*x).ty(self.locals).element().is_some())
                }
                _ => false,
            };
        });
        keeps
    }

    /// Returns the table of which a statement of the second loop loads a row.
    fn row_table(&self, p: &For, c: &For, load: &Stmt) -> Option<RowTable> {
        let Stmt::Memory(Memory::Load(loaded, Operand::Local(table), Operand::Local(i))) = load else { return None };
        let uses = |x: &Local| self.uses.get(x).copied().unwrap_or_default();
        let is_ours = self.made.contains(table) && uses(table) == 2;
        if *i != c.index || !is_ours || elements_read(&c.body, *loaded) != uses(loaded) {
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
        self.locals.push(LocalInfo::unnamed(Scalar::Mark.ty()));
        looped.body.stmts.insert(0, Stmt::Memory(Memory::Mark(mark)));
        looped.body.stmts.push(Stmt::Memory(Memory::Release(Operand::Local(mark))));
    }
}

/// Returns the buffers that a function body makes.
pub(super) fn made(body: &Block) -> FxHashSet<Local> {
    let mut made = FxHashSet::default();
    body.visit(&mut |stmt| {
        made.extend(if let Stmt::Memory(Memory::Alloc { buffer, .. }) = stmt { Some(*buffer) } else { None });
    });
    made
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
