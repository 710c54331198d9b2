//! Copies rows that lanes read again and again, so that their elements lie side by side.
//!
//! ```text
//! for k lanes W { r = load x[k]; for j { for c { .. load r[c] .. } } }
//!   =   for k lanes W { r = load x[k]; t = alloc m; for c in 0..m { t[c] = r[c] };
//!                       for j { for c { .. load t[c] .. } } }
//!
//! for k lanes W { r = load g[k]; for j { for c { add r[c] += a } } }
//!   =   for k lanes W { r = load g[k]; t = alloc m; zero t; for j { for c { add t[c] += a } };
//!                       for c in 0..m { r[c] += t[c] } }
//! ```
//!
//! The rows of a tensor of rows may lie anywhere. So the elements that W lanes read at one index are gathered, and the
//! lanes add to their rows one after the other. What is made in the loop lies side by side: one load or store for all
//! lanes. It is worth it where an iteration goes through a row more than once, that is, in a loop in a loop.
//!
//! The size of the row must be known before the loop: from `rectangular`, or because the rows were made with it. Rows
//! that are read are not written in the loop, and rows that are added to are not touched otherwise. The latter changes
//! the order of sums.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::arena_balance::gives_all_back;
use crate::analyses::effects::Callees;
use crate::analyses::roots::Root;
use crate::ir::{Block, Builder, For, Function, Local, LocalInfo, Memory, Operand, Scalar, Stmt};
use lm::term::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

pub(super) fn run(cx: &mut FunctionCx) {
    let (aliases, Callees { summaries, takes }) = (cx.aliases(), cx.callees());
    let keeps_order = cx.settings.keeps_order;
    let made = alloc_counts(cx.function);
    cx.rewrite(|body, function| {
        let sizes: FxHashMap<Local, Operand> = function.row_sizes.iter().cloned().collect();
        let scope = function.params.iter().copied().collect();
        let locals = &mut function.locals;
        RowPacker { aliases, summaries, takes, made, sizes, scope, keeps_order, locals }.pack_in_block(body);
    });
}

/// Maps each allocated buffer to its length.
fn alloc_counts(function: &Function) -> FxHashMap<Local, Operand> {
    let mut made = FxHashMap::default();
    function.body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Alloc { buffer, count, .. }) = stmt {
            made.insert(*buffer, count.clone());
        }
    });
    made
}

struct RowPacker<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    /// Which functions take from the arena.
    takes: &'a [bool],
    made: FxHashMap<Local, Operand>,
    /// The size of the rows in a buffer of rows.
    sizes: FxHashMap<Local, Operand>,
    /// The locals that outer blocks set before the current statement.
    scope: FxHashSet<Local>,
    keeps_order: bool,
    locals: &'a mut Vec<LocalInfo>,
}

/// The kind of access to a row in an iteration.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Read,
    Added,
}

impl RowPacker<'_> {
    fn pack_in_block(&mut self, block: &mut Block) {
        let mut own = Vec::new();
        for stmt in &mut block.stmts {
            if let Stmt::For(looped) = stmt
                && looped.lanes > 1
            {
                self.pack_in_loop(looped);
            } else {
                let bound = stmt.bound();
                self.scope.extend(bound.iter().copied());
                stmt.blocks_mut().for_each(|block| self.pack_in_block(block));
                bound.iter().for_each(|x| _ = self.scope.remove(x));
            }
            own.extend(stmt.targets());
            self.scope.extend(stmt.targets());
        }
        own.iter().for_each(|x| _ = self.scope.remove(x));
    }

    fn pack_in_loop(&mut self, looped: &mut For) {
        // All are judged before the first is copied: what is new is not known.
        let judged = rows(looped, self.locals).into_iter();
        let judged = judged.filter_map(|(row, rows)| Some((row, self.size(row, rows)?, self.kind(looped, row)?)));
        for (row, size, kind) in judged.collect::<Vec<_>>() {
            self.copy_row(&mut looped.body, row, &size, kind);
        }
    }

    /// Returns the number of elements of a row, where that is known before the loop.
    fn size(&self, row: Local, rows: Local) -> Option<Operand> {
        let is_known = |n: &Operand| n.local().is_none_or(|x| self.scope.contains(&x));
        if let Some(size) = self.sizes.get(&rows) {
            return Some(size.clone()).filter(is_known);
        }
        let roots = self.aliases.roots_of(row);
        let mut sizes = roots.iter().map(|root| match root {
            Root::Made(x) => self.made.get(&x),
            Root::Inside(_) => None,
        });
        let first = sizes.next()??;
        (sizes.all(|size| size.is_some_and(|size| size.same(first))) && is_known(first)).then(|| first.clone())
    }

    /// Returns what is done with a row, if it is one thing, and often.
    fn kind(&self, looped: &For, row: Local) -> Option<Use> {
        let mut uses = RowUses { row, kinds: vec![], deepest: 0, others: false };
        uses.count_in_block(&looped.body, 0);
        let kind = *uses.kinds.first()?;
        let is_one = uses.kinds.iter().all(|other| *other == kind) && !uses.others;
        let is_touched = |stmt: &Stmt| self.touches(stmt, row, kind);
        let mut is_alone = true;
        looped.body.visit(&mut |stmt| is_alone &= !is_touched(stmt));
        let may = kind == Use::Read || !self.keeps_order;
        (is_one && uses.deepest >= 2 && is_alone && may).then_some(kind)
    }

    /// Returns whether a statement does something to the memory of a row that it must not, by another name.
    fn touches(&self, stmt: &Stmt, row: Local, kind: Use) -> bool {
        let shares = |b: &Operand| b.local().is_none_or(|b| b != row && self.aliases.may_share(b, row));
        match (kind, stmt) {
            (_, Stmt::Call(..) | Stmt::External { .. }) => true,
            (Use::Read, stmt) => self.aliases.changes(stmt, row, self.summaries),
            (Use::Added, Stmt::Memory(memory)) => match memory {
                Memory::Load(_, b, _) | Memory::Store(b, ..) | Memory::Add(b, ..) | Memory::Zero(b, _) => shares(b),
                Memory::Move { to, from, .. } => shares(to) || shares(from),
                _ => false,
            },
            (Use::Added, _) => false,
        }
    }

    fn copy_row(&mut self, body: &mut Block, row: Local, size: &Operand, kind: Use) {
        let is_use = |stmt: &Stmt| mentions(stmt, row);
        let (Some(first), Some(last)) = (body.stmts.iter().position(is_use), body.stmts.iter().rposition(is_use))
        else {
            return;
        };
        let Some(own_mark) = self.release(body, first, last) else { return };
        let ty = self.locals[row.0 as usize].ty;
        let mut builder = Builder { locals: self.locals };
        let near = builder.local(ty);
        let mark = own_mark.then(|| builder.local(Scalar::Mark.ty()));
        let buffer = near;
        let mut before: Vec<Stmt> = mark.map(|m| Stmt::Memory(Memory::Mark(m))).into_iter().collect();
        before.push(Stmt::Memory(Memory::Alloc { buffer, count: size.clone(), span: Span::default() }));
        let mut after = Vec::new();
        match kind {
            Use::Read => before.push(each(&mut builder, size, |i, x| {
                [
                    Stmt::Memory(Memory::Load(x, Operand::Local(row), Operand::Local(i))),
                    Stmt::Memory(Memory::Store(Operand::Local(near), Operand::Local(i), Operand::Local(x))),
                ]
            })),
            Use::Added => {
                before.push(Stmt::Memory(Memory::Zero(Operand::Local(near), size.clone())));
                after.push(each(&mut builder, size, |i, x| {
                    [
                        Stmt::Memory(Memory::Load(x, Operand::Local(near), Operand::Local(i))),
                        Stmt::Memory(Memory::Add(Operand::Local(row), Operand::Local(i), Operand::Local(x))),
                    ]
                }));
            }
        }
        after.extend(mark.map(|m| Stmt::Memory(Memory::Release(Operand::Local(m)))));
        let names = FxHashMap::from_iter([(row, near)]);
        let stmts = std::mem::take(&mut body.stmts).into_iter().enumerate();
        for (i, mut stmt) in stmts {
            if i == first {
                body.stmts.append(&mut before);
            }
            if (first..=last).contains(&i) {
                stmt.blocks_mut().for_each(|block| block.rename(&names));
                stmt.operands_mut().into_iter().filter(|a| a.local() == Some(row)).for_each(|a| *a = near.into());
            }
            body.stmts.push(stmt);
            if i == last {
                body.stmts.append(&mut after);
            }
        }
    }

    /// Returns whether what is taken before one statement and used to another must be given back after it; none where
    /// that cannot be done, and nothing later does it.
    fn release(&self, body: &Block, first: usize, last: usize) -> Option<bool> {
        let region = Block { stmts: body.stmts[first..=last].to_vec(), results: vec![] };
        let mut set = FxHashSet::default();
        region.visit(&mut |stmt| set.extend(stmt.targets().into_iter().chain(stmt.bound())));
        if gives_all_back(&region, &set, self.takes) {
            return Some(true);
        }
        let marks: FxHashSet<Local> = body.stmts[..first].iter().flat_map(Stmt::targets).collect();
        let goes_back = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Release(m)) => m.local().is_some_and(|m| marks.contains(&m)),
            _ => false,
        };
        let mut in_between = false;
        region.visit(&mut |stmt| in_between |= goes_back(stmt) || matches!(stmt, Stmt::Memory(Memory::Slide(..))));
        (!in_between && body.stmts[last + 1..].iter().any(goes_back)).then_some(false)
    }
}

/// Returns a loop over the elements of a row.
fn each(builder: &mut Builder, size: &Operand, stmts: impl FnOnce(Local, Local) -> [Stmt; 2]) -> Stmt {
    let index = builder.local(Scalar::Integer.ty());
    let x = builder.local(Scalar::Float.ty());
    Stmt::For(Box::new(For {
        results: vec![],
        index,
        from: Operand::Integer(0),
        to: size.clone(),
        carried: vec![],
        body: Block { stmts: stmts(index, x).into(), results: vec![] },
        lanes: 1,
        jam: 1,
        on_threads: false,
    }))
}

/// Returns the rows of Floats that are loaded at the index of a loop from buffers that were there before, and these
/// buffers.
fn rows(looped: &For, locals: &[LocalInfo]) -> Vec<(Local, Local)> {
    let set: FxHashSet<Local> = looped.body.stmts.iter().flat_map(Stmt::targets).collect();
    let row = |stmt: &Stmt| match stmt {
        Stmt::Memory(Memory::Load(x, b, i)) if i.local() == Some(looped.index) => {
            let is_row = locals[x.0 as usize].ty == Scalar::Float.ty().buffer();
            b.local().filter(|b| is_row && !set.contains(b)).map(|b| (*x, b))
        }
        _ => None,
    };
    looped.body.stmts.iter().filter_map(row).collect()
}

/// Counts the uses of a row.
struct RowUses {
    row: Local,
    kinds: Vec<Use>,
    /// The largest number of loops around a use.
    deepest: usize,
    /// Whether something else is done.
    others: bool,
}

impl RowUses {
    fn count_in_block(&mut self, block: &Block, depth: usize) {
        for stmt in &block.stmts {
            let is_row = |a: &Operand| a.local() == Some(self.row);
            let count = stmt.operands().into_iter().filter(|a| is_row(a)).count();
            let kind = match stmt {
                Stmt::Memory(Memory::Load(_, b, _)) if is_row(b) => Some(Use::Read),
                Stmt::Memory(Memory::Add(b, ..)) if is_row(b) => Some(Use::Added),
                _ => None,
            };
            if kind.is_some() {
                self.deepest = self.deepest.max(depth);
            }
            self.others |= count > usize::from(kind.is_some());
            self.kinds.extend(kind);
            let inner = depth + usize::from(matches!(stmt, Stmt::For(_)));
            stmt.blocks().for_each(|block| self.count_in_block(block, inner));
        }
        self.others |= block.results.iter().any(|a| a.local() == Some(self.row));
    }
}

fn mentions(stmt: &Stmt, x: Local) -> bool {
    let is_x = |a: &Operand| a.local() == Some(x);
    let inside = |block: &Block| block.results.iter().any(is_x) || block.stmts.iter().any(|stmt| mentions(stmt, x));
    stmt.operands().into_iter().any(is_x) || stmt.blocks().any(inside)
}
