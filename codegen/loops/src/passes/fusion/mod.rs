//! Fuses loops that pass elements on to each other, and drops the buffers between them.
//!
//! ```text
//! for i { s; store b[i] = x }; for j { y = load b[j]; t }     =   for i { s; store b[i] = x; y := x; t[j := i] }
//! zero b[0..n]; for i in 0..n { add b[i] += x }               =   for i in 0..n { y = 0 + x; store b[i] = y }
//! move b[0..n] <- a[0..n]; for i in 0..n { add b[i] += x }    =   for i in 0..n { store b[i] = a[i] + x }
//! for i { store b[i] = e(i) }; .. load b[k] ..                =   .. e(k) ..           (`elements`)
//! zero b; add b[k] += v; for i { add b[i] += x }              =   zero b; for i { .. }; add b[k] += v  (`points`)
//! for i { r = alloc m; zero r; store b[i] = r }; x = load b[k]; .. load x[j] ..      =   .. 0 ..            (`rows`)
//! for i { r = alloc m; s; store b[i] = r }; for j { x = load b[j]; t }               =   for i { .. }  (`row_tables`)
//! ```
//!
//! `merge` fuses two loops, also two that make the same checks (`again`). `forward` forwards stored values to loads.
//! `elements` computes elements again that cost no more than a load, or are read once. `dce` drops the dead stores and
//! buffers that remain.
//!
//! Nothing is computed more often than before, but for what is as cheap as a load. Sums keep their order.

mod again;
mod elements;
mod equal;
mod forward;
mod fuser;
mod handed;
mod merge;
mod neighbours;
mod order;
mod points;
mod row_tables;
mod rows;
mod states;

use super::pass::FunctionCx;
use crate::analyses::alias::Aliases;
use crate::analyses::effects::{Callees, StmtEffects};
use crate::ir::{Block, LocalInfo, Memory, Stmt};
use equal::Equal;
use fuser::{Done, Fuser, WINDOW};
use neighbours::Way;
use row_tables::RowTable;
use rustc_hash::{FxHashMap, FxHashSet};

/// A buffer that is gone may let more go, a few times.
const ROUNDS: usize = 4;

pub(super) fn run(cx: &mut FunctionCx) {
    if !has_loops(&cx.function.body) {
        return;
    }
    let callees = cx.callees();
    let mut rounds = 0..ROUNDS;
    let mut changed = true;
    while changed && rounds.next().is_some() {
        let aliases = cx.aliases();
        changed = cx.rewrite(|body, function| {
            let locals = &mut function.locals;
            rows::rows(body, locals);
            points::points(body, &aliases);
            let (uses, made) = (body.use_counts(), row_tables::made(body));
            let mut fuser = Fuser { uses, made, ..Fuser::new(&aliases, callees, locals) };
            fuser.fuse_in_block(body);
            let mut changed = fuser.changed;
            changed |= forward::forward(body, locals, &aliases, callees);
            changed |= elements::elements(body, locals, &aliases, callees);
            changed
        });
    }
    neighbours(cx);
}

/// Merges loops that pass elements on to neighbours, when all others are merged: those that run down first, since few
/// can.
fn neighbours(cx: &mut FunctionCx) {
    let callees = cx.callees();
    for way in [Way::Down, Way::Up] {
        let aliases = cx.aliases();
        cx.rewrite(|body, function| {
            let mut fuser = Fuser { way: Some(way), ..Fuser::new(&aliases, callees, &mut function.locals) };
            fuser.fuse_in_block(body);
            if fuser.changed {
                fuser.hand_on(way, body);
                forward::forward(body, &mut function.locals, &aliases, callees);
            }
        });
    }
}

fn has_loops(block: &Block) -> bool {
    let mut found = false;
    block.visit(&mut |stmt| found |= matches!(stmt, Stmt::For(_)));
    found
}

impl<'a> Fuser<'a> {
    fn new(aliases: &'a Aliases, callees: Callees<'a>, locals: &'a mut Vec<LocalInfo>) -> Fuser<'a> {
        Fuser {
            aliases,
            callees,
            locals,
            equal: Equal::default(),
            uses: FxHashMap::default(),
            made: FxHashSet::default(),
            changed: false,
            way: None,
            merged: FxHashSet::default(),
        }
    }

    /// Merges loops of a block, then of those inside: what was merged brings inner loops together.
    fn fuse_in_block(&mut self, block: &mut Block) {
        let now = self.equal.now();
        let mut done: Vec<Done> = Vec::with_capacity(block.stmts.len());
        for stmt in std::mem::take(&mut block.stmts) {
            self.equal.learn_from(&stmt);
            let next = self.with_effects(stmt);
            self.push_or_merge(&mut done, next);
        }
        block.stmts = done.into_iter().map(|done| done.stmt).collect();
        for stmt in &mut block.stmts {
            let condition = if let Stmt::If(_, condition, _, _) = &*stmt { Some(condition.clone()) } else { None };
            for (i, inner) in stmt.blocks_mut().enumerate() {
                let now = self.equal.now();
                condition.iter().filter(|_| i == 0).for_each(|condition| self.equal.learn(condition));
                self.fuse_in_block(inner);
                self.equal.forget_since(now);
            }
        }
        self.equal.forget_since(now);
    }

    fn with_effects(&self, stmt: Stmt) -> Done {
        let effects = StmtEffects::of(&stmt, self.aliases, self.callees);
        let len = 1 + stmt.blocks().map(Block::len).sum::<usize>();
        Done { stmt, effects, len }
    }

    /// Adds a statement to those of its block, or makes one loop of it and an earlier one.
    fn push_or_merge(&mut self, done: &mut Vec<Done>, next: Done) {
        if merge::is_loop(&next.stmt) {
            let start = done.len().saturating_sub(WINDOW);
            for i in (start..done.len()).rev() {
                let asks_again = self.way.is_none() && again::asks_again(&done[i], &done[i + 1..], &next, self.aliases);
                let Some((order, tables)) = self.order(done, i, &next, asks_again) else { continue };
                let mut rest = done.split_off(i).into_iter();
                let first = rest.next().expect("there is an i-th statement");
                let mut later = Vec::new();
                for (done_before, stays_behind) in rest.zip(order) {
                    if stays_behind { later.push(done_before) } else { done.push(done_before) }
                }
                let second = match next.stmt {
                    Stmt::For(looped) if asks_again => Stmt::For(Box::new(again::unchecked(*looped))),
                    stmt => stmt,
                };
                let mut merged = self.merge_loops(first.stmt, second);
                if !tables.is_empty() {
                    self.drop_tables(&mut merged, &tables);
                }
                self.merged.extend(if let Stmt::For(looped) = &merged { Some(looped.index) } else { None });
                let merged = self.with_effects(merged);
                self.changed = true;
                self.push_or_merge(done, merged);
                later.into_iter().for_each(|later| self.push_or_merge(done, later));
                return;
            }
        }
        done.push(next);
    }

    /// Returns which statements between two loops come after the one that is made of them, if one can be, and the
    /// tables of rows that are then gone.
    fn order(&self, done: &[Done], i: usize, next: &Done, asks_again: bool) -> Option<(Vec<bool>, Vec<RowTable>)> {
        let stays = |one: &Done| {
            let from = if let Stmt::Memory(Memory::Move { from, .. }) = &one.stmt { from.local() } else { None };
            from.is_none_or(|from| !order::is_released(from, done.iter().map(|done| &done.stmt)))
        };
        let first = &done[i];
        let without = if self.way.is_none() { self.without_tables(first, next) } else { None };
        let fits = match self.way {
            None => self.fit(first, next, without.as_ref(), asks_again),
            Some(way) => self.fit_neighbours(way, done, i, next),
        };
        if !fits || !stays(first) || !stays(next) {
            return None;
        }
        let (tables, effects, second) = match without {
            Some(without) => (without.tables, without.first, without.second),
            None => (vec![], first.effects.clone(), next.effects.clone()),
        };
        let second = StmtEffects { may_leave: second.may_leave && !asks_again, ..second };
        let order = order::behind(&effects, &done[i + 1..], &second, self.aliases)?;
        Some((order, tables))
    }
}
