//! Computes once, into a table before an outer loop, what an inner loop computes again in each iteration of the outer
//! one.
//!
//! ```text
//! for i in a..b { for j in 0..m { x = exp (load v[j]); s } }
//!   =   t = alloc m; if a < b { for j in 0..m { store t[j] = exp (load v[j]) } };
//!       for i in a..b { for j in 0..m { x = load t[j]; s } }
//! ```
//!
//! Motion for values that depend on the indices of inner loops. It is worth it for functions of libm and for sums and
//! other loops, whose price is beyond that of a load. The table has an element for each iteration of the inner
//! loops that the value depends on, so no more than these loops have iterations.
//!
//! A value may stand behind checks, in conditionals, and in loops that may not run. The table is filled under the same
//! conditions. Where these do not hold, an element is neither set nor loaded. What is computed in a slice (see `slice`)
//! has no effect and reads nothing that the loop writes.

mod slice;

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::arena_balance::{gives_all_back, releases_to_own_marks};
use crate::analyses::effects::Callees;
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use slice::{SliceStep, TableSlice, slices};
use std::rc::Rc;

pub(super) fn run(cx: &mut FunctionCx) {
    let Callees { summaries, takes } = cx.callees();
    // What is new in a loop is not known for those in it before the next round.
    for _ in 0..MOST_ROUNDS {
        let aliases = cx.aliases();
        let is_new = cx.rewrite(|body, function| {
            let (likely, locals) = (body.likely_conditions(), &mut function.locals);
            Tabler { aliases, summaries, takes, likely, locals }.tabulate_in_block(body, 0)
        });
        if !is_new {
            break;
        }
    }
}

/// As deep in loops are those that get tables, at most.
const MOST_ROUNDS: usize = 16;

struct Tabler<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    /// Which functions take from the arena.
    takes: &'a [bool],
    /// The conditions that mostly hold: the other side is not worth tables.
    likely: FxHashSet<Local>,
    locals: &'a mut Vec<LocalInfo>,
}

/// A table: where it is, and what it is indexed with.
struct Table {
    buffer: Local,
    /// The numbers of iterations of the loops that it depends on, outermost first.
    counts: Vec<Operand>,
}

impl Tabler<'_> {
    /// The loops of a block, outer ones before those in them; `depth` is the number of loops around it. Whether there
    /// is something new.
    fn tabulate_in_block(&mut self, block: &mut Block, depth: usize) -> bool {
        let mut is_new = false;
        for mut stmt in std::mem::take(&mut block.stmts) {
            let (mut before, mut mark) = (Vec::new(), None);
            if let Stmt::For(looped) = &mut stmt {
                mark = self.hoist_table(looped, depth, &mut before);
                is_new |= !before.is_empty();
            }
            let inner = depth + usize::from(matches!(stmt, Stmt::For(_)));
            let is_likely = matches!(&stmt, Stmt::If(_, c, ..) if c.local().is_some_and(|c| self.likely.contains(&c)));
            if before.is_empty() {
                let blocks = stmt.blocks_mut().take(if is_likely { 1 } else { 2 });
                blocks.for_each(|block| is_new |= self.tabulate_in_block(block, inner));
            }
            block.stmts.extend(before);
            block.stmts.push(stmt);
            block.stmts.extend(mark.map(|m| Stmt::Memory(Memory::Release(Operand::Local(m)))));
        }
        is_new
    }

    /// Makes the tables of a loop: what comes before it, and the mark to release after it.
    fn hoist_table(&mut self, looped: &mut For, depth: usize, before: &mut Vec<Stmt>) -> Option<Local> {
        let set = set_in(looped);
        let is_balanced = gives_all_back(&looped.body, &set, self.takes);
        // Each iteration of a loop around takes a table of its own; a release to a mark from outside takes it away.
        if !is_balanced && (depth > 0 || !releases_to_own_marks(&looped.body, &set)) {
            return None;
        }
        let slices = slices(looped, &set, &self.likely, (&self.aliases, self.summaries), self.locals);
        if slices.is_empty() {
            return None;
        }
        let mark = is_balanced.then(|| self.builder().local(Scalar::Mark.ty()));
        before.extend(mark.map(|m| Stmt::Memory(Memory::Mark(m))));
        let mut known: FxHashMap<String, Table> = FxHashMap::default();
        let mut replaced = FxHashMap::default();
        for slice in slices {
            let table = known.remove(&slice.key).unwrap_or_else(|| self.fill_table(&slice, looped, before));
            replaced.insert(slice.value, self.emit_lookup(&slice, &table));
            known.insert(slice.key, table);
        }
        let names: FxHashMap<Local, Local> = replaced.iter().map(|(x, (y, _))| (*x, *y)).collect();
        looped.body.put_after(&mut replaced.into_iter().map(|(x, (_, stmts))| (x, stmts)).collect());
        looped.body.rename(&names);
        mark
    }

    /// Allocates and fills the table of a slice.
    fn fill_table(&mut self, slice: &TableSlice, looped: &For, out: &mut Vec<Stmt>) -> Table {
        let mut builder = self.builder();
        let counts: Vec<Operand> = slice.dims().map(|inner| builder.times(&inner.to, out)).collect();
        let count = builder.product(&counts, out);
        let buffer = builder.local(builder.locals[slice.value.0 as usize].ty.buffer());
        out.push(Stmt::Memory(Memory::Alloc { buffer, count, span: slice.span }));
        let table = Table { buffer, counts };
        let runs = self.builder().op(Op::LtI, [looped.from.clone(), looped.to.clone()], out);
        let steps = self.emit_steps(&slice.steps, slice, &table);
        let fill = Block { stmts: steps, results: vec![] }.copy(self.locals, FxHashMap::default());
        out.push(Stmt::If(vec![], runs, fill, Block::default()));
        table
    }

    /// The steps of a slice, and the store at their end.
    fn emit_steps(&mut self, steps: &[SliceStep], slice: &TableSlice, table: &Table) -> Vec<Stmt> {
        let mut out = Vec::new();
        let Some((step, rest)) = steps.split_first() else {
            let place = self.builder().place(&indices(slice), &table.counts, &mut out);
            let (buffer, value) = (Operand::Local(table.buffer), Operand::Local(slice.value));
            out.push(Stmt::Memory(Memory::Store(buffer, place, value)));
            return out;
        };
        match step {
            SliceStep::Stmt(stmt) => {
                out.push(stmt.clone());
                out.extend(self.emit_steps(rest, slice, table));
            }
            SliceStep::When(condition, holds) => {
                let mut arms = [self.emit_steps(rest, slice, table), vec![]];
                if !holds {
                    arms.reverse();
                }
                let [then, other] = arms.map(|stmts| Block { stmts, results: vec![] });
                out.push(Stmt::If(vec![], condition.clone(), then, other));
            }
            SliceStep::Runs(from, to) => {
                let runs = self.builder().op(Op::LtI, [from.clone(), to.clone()], &mut out);
                let then = Block { stmts: self.emit_steps(rest, slice, table), results: vec![] };
                out.push(Stmt::If(vec![], runs, then, Block::default()));
            }
            SliceStep::Each(inner) => {
                let body = Block { stmts: self.emit_steps(rest, slice, table), results: vec![] };
                let (index, to) = (inner.index, inner.to.clone());
                let (results, carried) = (vec![], vec![]);
                out.push(Stmt::For(Box::new(For {
                    results,
                    index,
                    from: Operand::Integer(0),
                    to,
                    carried,
                    body,
                    lanes: 1,
                    jam: 1,
                    on_threads: false,
                })));
            }
        }
        out
    }

    /// Returns the statements that replace the computation of the value, with its new name.
    fn emit_lookup(&mut self, slice: &TableSlice, table: &Table) -> (Local, Vec<Stmt>) {
        let mut stmts = Vec::new();
        let mut builder = self.builder();
        let place = builder.place(&indices(slice), &table.counts, &mut stmts);
        let x = builder.local(builder.locals[slice.value.0 as usize].ty);
        stmts.push(Stmt::Memory(Memory::Load(x, Operand::Local(table.buffer), place)));
        // The same place is computed at several tables, each time in locals of its own.
        (x, stmts)
    }

    fn builder(&mut self) -> Builder<'_> {
        Builder { locals: self.locals }
    }
}

fn indices(slice: &TableSlice) -> Vec<Local> {
    slice.dims().map(|inner| inner.index).collect()
}

/// Returns what is set by a loop for its body, and in it.
fn set_in(looped: &For) -> FxHashSet<Local> {
    let mut set: FxHashSet<Local> = looped.carried.iter().map(|(x, _)| *x).chain([looped.index]).collect();
    looped.body.visit(&mut |stmt| set.extend(stmt.targets().into_iter().chain(stmt.bound())));
    set
}
