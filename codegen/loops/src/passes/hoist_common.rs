//! Moves loads and additions that both arms of a conditional begin with before it.
//!
//! ```text
//! if c { x = load b[i]; add d[i] += x; s } else { y = load b[i]; add d[i] += y; t }
//!   =  x = load b[i]; add d[i] += x;  if c { s } else { t[y := x] }
//! ```
//!
//! Both are in both arms, with the same operands, which are set before the conditional. What comes before them in an
//! arm is arithmetic, loads of other memory, and conditionals of such. Nothing may stop in between: an index that a
//! check looks at stays behind it. The arms load no element again that was loaded so. A loop that does one thing for
//! each element, and another one for a few, is seen as the copy or the sum that it is (`coalesce_buffers`,
//! `update_in_place`). The order of additions stays.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::ir::{Block, Local, Memory, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// An arm begins with so many statements.
const BEGINNING: usize = 16;

pub(super) fn run(cx: &mut FunctionCx) {
    let aliases = cx.aliases();
    let mut hoister = Hoister { aliases, summaries: cx.summaries(), replaced: FxHashMap::default() };
    hoister.hoist_in_block(&mut cx.function.body);
    let replaced = hoister.replaced;
    if !replaced.is_empty() {
        cx.function.body.change_operands(&mut |a| replace(a, &replaced));
    }
}

fn replace(a: &mut Operand, replaced: &FxHashMap<Local, Local>) {
    while let Some(x) = a.local().and_then(|x| replaced.get(&x)) {
        *a = Operand::Local(*x);
    }
}

struct Hoister<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    /// Maps what the second arm loaded to what is loaded before the conditional.
    replaced: FxHashMap<Local, Local>,
}

impl Hoister<'_> {
    /// Inner conditionals first: what both of their arms do, the arm around them does.
    fn hoist_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.blocks_mut().for_each(|inner| self.hoist_in_block(inner));
            if let Stmt::If(_, _, then, other) = &mut stmt {
                while let Some([at, other_at]) = self.find_common(then, other) {
                    let removed = other.stmts.remove(other_at);
                    let common = then.stmts.remove(at);
                    self.replaced.extend(removed.targets().into_iter().zip(common.targets()));
                    [&mut *then, &mut *other].into_iter().for_each(|arm| self.drop_again(arm, &common));
                    block.stmts.push(common);
                }
            }
            block.stmts.push(stmt);
        }
    }

    /// Drops loads of what was loaded before, up to the first statement that does more than read.
    fn drop_again(&mut self, arm: &mut Block, loaded: &Stmt) {
        let Some(x) = loaded.targets().first().copied() else { return };
        let mut reads = true;
        arm.stmts.retain_mut(|stmt| {
            reads &= only_reads(stmt);
            if reads && self.are_equal(loaded, stmt) {
                self.replaced.extend(stmt.targets().into_iter().map(|again| (again, x)));
                return false;
            }
            if reads {
                stmt.blocks_mut().for_each(|inner| self.drop_again(inner, loaded));
            }
            true
        });
    }

    /// Returns the places of a statement that both arms may begin with.
    fn find_common(&self, then: &Block, other: &Block) -> Option<[usize; 2]> {
        self.first(then).into_iter().find_map(|at| {
            let is_same = |other_at: &usize| self.are_equal(&then.stmts[at], &other.stmts[*other_at]);
            let other_at = self.first(other).into_iter().find(is_same)?;
            Some([at, other_at])
        })
    }

    /// Returns the places of the statements that may come first in an arm.
    fn first(&self, arm: &Block) -> Vec<usize> {
        let mut set: FxHashSet<Local> = FxHashSet::default();
        let mut found = Vec::new();
        for (at, stmt) in arm.stmts.iter().enumerate().take(BEGINNING) {
            let is_moved = match stmt {
                Stmt::Memory(Memory::Load(..)) => true,
                Stmt::Memory(Memory::Add(buffer, ..)) => {
                    let before = &arm.stmts[..at];
                    buffer.local().is_some() && !before.iter().any(|earlier| self.reads_what_changes(earlier, stmt))
                }
                _ => false,
            };
            let is_outer = stmt.operands().iter().all(|a| a.local().is_none_or(|x| !set.contains(&x)));
            if is_moved && is_outer {
                found.push(at);
            }
            if !only_reads(stmt) {
                break;
            }
            set.extend(stmt.targets());
        }
        found
    }

    /// Returns whether a statement, or one in its blocks, loads what another one changes.
    fn reads_what_changes(&self, stmt: &Stmt, change: &Stmt) -> bool {
        let itself = match stmt {
            Stmt::Memory(Memory::Load(_, buffer, _)) => {
                buffer.local().is_none_or(|buffer| self.aliases.changes(change, buffer, self.summaries))
            }
            _ => false,
        };
        itself || stmt.blocks().flat_map(|block| &block.stmts).any(|inner| self.reads_what_changes(inner, change))
    }

    fn are_equal(&self, stmt: &Stmt, other: &Stmt) -> bool {
        let same = |a: &Operand, b: &Operand| {
            let mut b = b.clone();
            replace(&mut b, &self.replaced);
            a.same(&b)
        };
        match (stmt, other) {
            (Stmt::Memory(Memory::Load(_, b, i)), Stmt::Memory(Memory::Load(_, c, j))) => same(b, c) && same(i, j),
            (Stmt::Memory(Memory::Add(b, i, x)), Stmt::Memory(Memory::Add(c, j, y))) => {
                same(b, c) && same(i, j) && same(x, y)
            }
            _ => false,
        }
    }
}

/// Returns whether a statement computes and loads, and nothing else.
fn only_reads(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Let(..) | Stmt::Memory(Memory::Load(..)) => true,
        Stmt::If(_, _, then, other) => then.stmts.iter().chain(&other.stmts).all(only_reads),
        _ => false,
    }
}
