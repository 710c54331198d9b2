//! Updates the buffer that a loop carries in place, where a step makes a new one of it.
//!
//! ```text
//! for t in .. carrying (s = a) { N = alloc n; for x { store N[x] = if c { e } else { load s[x] } }; .. yield N }
//!   =  S = alloc n; move S <- a; for t in .. { for x { if c { store S[x] = e } } }
//!
//! for t in .. carrying (s = a) { N = alloc n; zero N; for x { v = load s[x]; if c { .. } else { add N[x] += v } }; .. yield N }
//!   =  S = alloc n; move S <- a; for t in .. { for x { v = load S[x]; if c { store S[x] = 0; .. } } }
//!
//! for t in .. carrying (s = a) { N = alloc n; move N <- s; .. yield N }
//!   =  S = alloc n; move S <- a; for t in .. { .. }
//! ```
//!
//! Where a step reads all of the old state it is made in two buffers in turn (`two_buffers`).
//!
//! a itself is S if its memory is made in the block and not used after the loop. The state may be one of several that
//! the end of a scope keeps (`apart`). `docs/loops.md` says when all this is right. Other elements than that of the iteration are reached as `others` decides. The second line adds up in another
//! order.

mod apart;
mod arms;
mod chain;
mod delay;
mod fillings;
mod kept_reads;
mod last_state;
mod lines;
mod log;
mod others;
mod reader;
mod rewrite;
mod skeleton;
mod step;
mod tables;
mod threading;
mod two_buffers;

use super::pass::FunctionCx;
use crate::analyses::extents::Extents;
use crate::analyses::ranges::Ranges;
use crate::analyses::scopes::{keeps_memory, released};
use crate::analyses::worked_on::{is_any, is_worked_on};
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use step::{Change, Step};
use two_buffers::{Pair, in_two_buffers};

pub(super) fn run(cx: &mut FunctionCx) {
    if !cx.function.carries_buffers() {
        return;
    }
    let aliases = cx.aliases();
    let extents = Extents::of(cx.function, aliases);
    let (may_reorder, takes) = (!cx.settings.keeps_order, cx.callees().takes);
    cx.rewrite(|body, function| {
        let ranges = Ranges::new(function);
        let params = function.params.clone();
        let fillings = fillings::fillings(body, &function.locals);
        let locals = &mut function.locals;
        let filled = FxHashSet::default();
        let is_recorded = false;
        Updater { locals, params, fillings, filled, is_recorded, extents, ranges, may_reorder, takes }
            .update_in_block(body);
    });
}

struct Updater<'a> {
    locals: &'a mut Vec<LocalInfo>,
    params: Vec<Local>,
    /// The loops that fill buffers of numbers.
    fillings: FxHashMap<Local, For>,
    /// The buffers that such a loop has filled before this place, in this block or one around it.
    filled: FxHashSet<Local>,
    /// Whether a loop around this place puts buffers into a table.
    is_recorded: bool,
    extents: Extents,
    ranges: Ranges,
    may_reorder: bool,
    /// Whether each function takes from the arena.
    takes: &'a [bool],
}

/// Where the memory of a state is before the loop.
enum First {
    /// In the buffer that this statement makes.
    Own(usize),
    /// Elsewhere: it is copied.
    Other,
}

impl Updater<'_> {
    fn update_in_block(&mut self, block: &mut Block) {
        let mut rest: VecDeque<Stmt> = std::mem::take(&mut block.stmts).into();
        let mut out = Vec::with_capacity(rest.len());
        let mut filled_here = Vec::new();
        while let Some(mut stmt) = rest.pop_front() {
            self.ranges.know(self.locals);
            let was_recorded = self.is_recorded;
            self.is_recorded |= matches!(&stmt, Stmt::For(looped) if self.records(looped));
            for i in 0..stmt.blocks().count() {
                let mark = self.ranges.mark();
                self.ranges.enter(&stmt, i);
                self.update_in_block(stmt.block_mut(i));
                self.ranges.back_to(mark);
            }
            self.is_recorded = was_recorded;
            let is_used_later = |x: Local| {
                rest.iter().any(|stmt| stmt.mentions(x)) || block.results.iter().any(|a| a.local() == Some(x))
            };
            if let Stmt::For(nest) = &stmt
                && let Some(stmts) = self.update_again(nest, &mut out, &is_used_later)
            {
                self.ranges.know(self.locals);
                stmts.iter().for_each(|stmt| self.ranges.learn_from(stmt));
                out.extend(stmts);
                continue;
            }
            let mut after = vec![];
            if let Stmt::For(looped) = &mut stmt {
                last_state::load_early(looped, &out, &mut rest);
                self.keep_reads(looped, &mut out, &mut rest, &block.results);
                last_state::forget_others(looped, &mut out, &mut rest, &mut block.results);
                let is_used_later = |x: Local| {
                    rest.iter().any(|stmt| stmt.mentions(x)) || block.results.iter().any(|a| a.local() == Some(x))
                };
                after = self.update_loop(looped, &mut out, &is_used_later);
                self.delay_states(looped);
                self.log_loop(looped, &mut out, &mut rest, &block.results);
            }
            self.ranges.learn_from(&stmt);
            if let Stmt::For(looped) = &stmt {
                let stored = looped.body.stmts.iter().filter_map(Stmt::writes);
                filled_here.extend(stored.filter(|b| self.fillings.contains_key(b) && self.filled.insert(*b)));
            }
            out.push(stmt);
            out.extend(after);
        }
        for b in filled_here {
            self.filled.remove(&b);
        }
        block.stmts = out;
    }

    /// Returns whether a loop puts buffers into a table.
    fn records(&self, looped: &For) -> bool {
        looped.body.stmts.iter().any(|stmt| match stmt {
            Stmt::Memory(Memory::Store(_, _, a)) => a.local().is_some_and(|x| self.is_buffer(x)),
            _ => false,
        })
    }

    /// Updates what a loop carries in place. Returns the statements that come after the loop.
    fn update_loop(
        &mut self,
        looped: &mut For,
        out: &mut Vec<Stmt>,
        is_used_later: &dyn Fn(Local) -> bool,
    ) -> Vec<Stmt> {
        let mut pairs = vec![];
        for i in (0..looped.carried.len()).rev() {
            if !self.is_buffer(looped.carried[i].0)
                || self.update_state(looped, i, out, is_used_later, &mut pairs).is_some()
            {
                continue;
            }
            if let Some(body) = self.in_form(looped, i, out) {
                let before = std::mem::replace(&mut looped.body, body);
                if self.update_state(looped, i, out, is_used_later, &mut pairs).is_none() {
                    looped.body = before;
                }
            }
        }
        if pairs.is_empty() {
            return vec![];
        }
        let marks = released(&looped.body.stmts);
        let mark = in_two_buffers(looped, &pairs, self.locals, out);
        self.renew_marks(&mut looped.body, &marks, out);
        // What else the loop carries may lie above.
        let is_last = looped.carried.iter().all(|(x, _)| !self.is_buffer(*x));
        is_last.then(|| Stmt::Memory(Memory::Release(mark.into()))).into_iter().collect()
    }

    /// Returns the body of a loop, changed so that the i-th carried buffer may be updated in place; none if there is
    /// nothing to change.
    fn in_form(&mut self, looped: &For, i: usize, out: &[Stmt]) -> Option<Block> {
        let old = looped.carried[i].0;
        let kept = looped.body.results[i].local()?;
        let mut changed = apart::taken_out(&looped.body, kept, self.locals);
        let body = changed.as_ref().unwrap_or(&looped.body);
        let (state, _) = step::new_state(&body.stmts, body.results[i].local()?)?;
        changed = arms::in_one_nest(body, state, old, self.locals).or(changed);
        let body = changed.as_ref().unwrap_or(&looped.body);
        let (buffer, _) = step::new_state(&body.stmts, body.results[i].local()?)?;
        changed = delay::filled_later(body, [old, buffer], out).or(changed);
        if self.may_reorder {
            let body = changed.as_ref().unwrap_or(&looped.body);
            changed = delay::loaded_before(body, [old, buffer], self.locals).or(changed);
        }
        changed
    }

    /// Updates the i-th carried buffer in place, or adds it to those that are to have a second buffer; none if neither is
    /// possible.
    fn update_state(
        &mut self,
        looped: &mut For,
        i: usize,
        out: &mut Vec<Stmt>,
        is_used_later: &dyn Fn(Local) -> bool,
        pairs: &mut Vec<Pair>,
    ) -> Option<()> {
        let step = self.step(looped, i, None)?;
        let init = looped.carried[i].1.clone();
        let first = self.first(&init, &step.count, looped, out, is_used_later)?;
        let marks = released(&looped.body.stmts);
        let state = looped.results.remove(i);
        let (old, _) = looped.carried.remove(i);
        looped.body.results.remove(i);
        let elsewhere = matches!(first, First::Other).then(|| init.clone());
        self.place(first, &init, state, &step, out);
        if step.is_better_in_two_buffers(looped) {
            pairs.push(step.into_pair(looped, [old, state], elsewhere));
            return Some(());
        }
        out.extend(elsewhere.map(|init| step.first_state(state, init)));
        let names = FxHashMap::from_iter([(old, state), (step.buffer, state)]);
        self.rewrite(&mut looped.body, step, old, state);
        looped.body.rename(&names);
        self.renew_marks(&mut looped.body, &marks, out);
        Some(())
    }

    /// Makes the buffers of new states, and the marks behind them, as late as may be: what a log needs to know may then
    /// be known.
    fn delay_states(&self, looped: &mut For) {
        let stmts = &mut looped.body.stmts;
        for at in (0..stmts.len()).rev() {
            let Stmt::Memory(Memory::Alloc { buffer, .. }) = &stmts[at] else { continue };
            if !looped.body.results.iter().any(|a| a.local() == Some(*buffer)) {
                continue;
            }
            let marks = stmts[at + 1..].iter().take_while(|stmt| matches!(stmt, Stmt::Memory(Memory::Mark(_)))).count();
            let group = &stmts[at..=at + marks];
            let made: Vec<Local> = group.iter().flat_map(Stmt::targets).collect();
            let stays = |stmt: &Stmt| self.uses_arena(stmt) || made.iter().any(|x| stmt.mentions(*x));
            let later = stmts[at + marks + 1..].iter().take_while(|stmt| !stays(stmt)).count();
            stmts[at..=at + marks + later].rotate_left(marks + 1);
        }
    }

    /// Where the first state is, if it has as many elements as each step makes.
    fn first(
        &self,
        init: &Operand,
        count: &Operand,
        looped: &For,
        out: &[Stmt],
        is_used_later: &dyn Fn(Local) -> bool,
    ) -> Option<First> {
        let init = init.local().filter(|init| self.extents.has(*init, count))?;
        let is_made = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if *buffer == init);
        let uses = looped.carried.iter().filter(|(_, a)| a.local() == Some(init)).count();
        let is_free = uses == 1 && !looped.body.mentions(init) && !is_used_later(init);
        let own = out.iter().position(is_made).filter(|made| {
            let since = &out[made + 1..];
            is_free && keeps_memory(since) && since.iter().all(|stmt| is_worked_on(stmt, init, &is_any))
        });
        Some(own.map_or(First::Other, First::Own))
    }

    /// Makes the buffer of the state, in which the first one already is if that is its own.
    fn place(&mut self, first: First, init: &Operand, state: Local, step: &Step, out: &mut Vec<Stmt>) {
        self.extents.note(state, &step.count);
        match (first, init.local()) {
            (First::Own(made), Some(init)) => {
                if let Stmt::Memory(Memory::Alloc { buffer, .. }) = &mut out[made] {
                    *buffer = state;
                }
                let mut before = Block { stmts: std::mem::take(out), results: vec![] };
                before.rename(&FxHashMap::from_iter([(init, state)]));
                *out = before.stmts;
            }
            _ => {
                let count = step.count.clone();
                out.push(Stmt::Memory(Memory::Alloc { buffer: state, count, span: step.span }));
            }
        }
    }

    /// What the loop releases lies above the state.
    fn renew_marks(&mut self, body: &mut Block, marks: &[Local], out: &mut Vec<Stmt>) {
        if marks.is_empty() {
            return;
        }
        let mark = Builder { locals: self.locals }.local(Scalar::Mark.ty());
        out.push(Stmt::Memory(Memory::Mark(mark)));
        body.rename(&marks.iter().map(|m| (*m, mark)).collect());
    }

    /// The body without the new buffer.
    fn rewrite(&mut self, body: &mut Block, step: Step, old: Local, state: Local) {
        let Step { alloc, kept, change, buffer, .. } = step;
        let dropped: Vec<usize> = [alloc].into_iter().chain(kept.into_iter().flatten()).collect();
        let (first, nest) = match &change {
            Change::Copy { at, .. } => (Some(*at), None),
            Change::Stores { at, .. } => (None, Some(*at)),
            Change::Sums { zero, at, .. } => (Some(*zero), Some(*at)),
        };
        for (i, mut stmt) in std::mem::take(&mut body.stmts).into_iter().enumerate() {
            if dropped.contains(&i) || first == Some(i) {
                continue;
            }
            if nest != Some(i) {
                body.stmts.push(stmt);
                continue;
            }
            match &change {
                Change::Stores { nest, ways, .. } => {
                    let own = step::own_loads(&stmt, old, nest);
                    rewrite::sink_store(nest.innermost_mut(&mut stmt), buffer, old, &own);
                    rewrite::sink_loads(nest.innermost_mut(&mut stmt), &own, self.locals);
                    tables::read(self.locals, nest, ways, [old, state], &step.count, stmt, &mut body.stmts);
                }
                Change::Sums { nest, ways, loaded, .. } => {
                    rewrite::take_out(nest.innermost_mut(&mut stmt), buffer, *loaded, nest);
                    tables::add(self.locals, nest, ways, [buffer, state], &step.count, stmt, &mut body.stmts);
                }
                Change::Copy { .. } => unreachable!("a copy has no nest"),
            }
        }
    }
}
