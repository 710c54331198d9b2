//! Dead code elimination: drops values that are not used, and stores that are not read.
//!
//! ```text
//! x = op a.., x = load b[i], x = if .., x = for ..      gone, if x is not used and nothing in it has an effect
//! b = alloc n; store b[i] = a                           gone, if nothing is loaded of what b may share
//! y, of carrying (y = a)                                gone, if it is used for nothing but itself
//! m = mark; ..; release m                               gone, if nothing between the two takes from the arena
//! ```
//!
//! Checks, output, calls and additions stay. Errors are the same, except that a dropped buffer cannot exhaust the
//! memory.

use super::pass::FunctionCx;
use crate::analyses::alias::Aliases;
use crate::analyses::roots::Roots;
use crate::ir::{Block, Function, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) fn run(cx: &mut FunctionCx) {
    let takes = cx.callees().takes;
    let mut before = usize::MAX;
    while cx.function.body.len() < before {
        before = cx.function.body.len();
        idle_marks(&mut cx.function.body, takes);
        let aliases = cx.aliases();
        let needed = Needed::of(cx.function, aliases);
        needed.sweep_block(&mut cx.function.body);
    }
}

/// Drops the releases to a mark if nothing is taken between the mark and the last of them. The mark itself is then
/// unused, and dropped like other unused code.
fn idle_marks(block: &mut Block, takes: &[bool]) {
    let marks = block.stmts.iter().enumerate().filter_map(|(i, stmt)| match stmt {
        Stmt::Memory(Memory::Mark(m)) => Some((i, *m)),
        _ => None,
    });
    // From the last one on: releases are behind their mark, so the places of earlier marks stay valid.
    for (start, m) in marks.collect::<Vec<_>>().into_iter().rev() {
        let Some(last) = block.stmts.iter().rposition(|stmt| releases(stmt, m)) else { continue };
        if !block.stmts[start..=last].iter().any(|stmt| takes_memory(stmt, takes)) {
            drop_releases(block, m);
        }
    }
    block.stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|block| idle_marks(block, takes));
}

fn is_release(stmt: &Stmt, m: Local) -> bool {
    matches!(stmt, Stmt::Memory(Memory::Release(a)) if a.local() == Some(m))
}

fn releases(stmt: &Stmt, m: Local) -> bool {
    is_release(stmt, m) || stmt.blocks().flat_map(|block| &block.stmts).any(|stmt| releases(stmt, m))
}

fn takes_memory(stmt: &Stmt, takes: &[bool]) -> bool {
    let own = match stmt {
        Stmt::Call(_, callee, _) => takes[callee.0],
        Stmt::Memory(Memory::Slide(..)) => true,
        stmt => stmt.takes_memory(),
    };
    own || stmt.blocks().flat_map(|block| &block.stmts).any(|stmt| takes_memory(stmt, takes))
}

fn drop_releases(block: &mut Block, m: Local) {
    block.stmts.retain_mut(|stmt| {
        stmt.blocks_mut().for_each(|block| drop_releases(block, m));
        !is_release(stmt, m)
    });
}

/// Holds the used locals of a function, and the roots of memory that is read.
struct Needed {
    used: FxHashSet<Local>,
    read: Roots,
    aliases: Rc<Aliases>,
}

impl Needed {
    fn of(function: &Function, aliases: Rc<Aliases>) -> Needed {
        let mut needed = Needed { used: FxHashSet::default(), read: Roots::new(), aliases };
        // What others see of memory, and what comes back, is needed; the rest follows.
        function.params.iter().for_each(|x| needed.mark_reached(&Operand::Local(*x)));
        needed.mark_results(&function.body);
        loop {
            let before = (needed.used.len(), needed.read.len());
            needed.mark_block(&function.body);
            if before == (needed.used.len(), needed.read.len()) {
                return needed;
            }
        }
    }

    /// Marks what the statements that are needed use. Returns whether there are any. It goes backwards, and from the
    /// results of conditionals into their arms, so that most uses are seen before what they use.
    fn mark_block(&mut self, block: &Block) -> bool {
        block.stmts.iter().rev().fold(false, |any, stmt| self.mark_stmt(stmt) | any)
    }

    fn mark_stmt(&mut self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::If(xs, condition, then, other) => {
                for (i, _) in xs.iter().enumerate().filter(|(_, x)| self.used.contains(x)).collect::<Vec<_>>() {
                    [then, other].into_iter().for_each(|arm| self.mark_used(&arm.results[i]));
                }
                let is_needed = self.mark_block(then) | self.mark_block(other) | self.is_needed_itself(stmt);
                if is_needed {
                    self.mark_used(condition);
                }
                is_needed
            }
            Stmt::For(looped) => {
                for (i, (y, init)) in looped.carried.iter().enumerate() {
                    if self.used.contains(y) || self.used.contains(&looped.results[i]) {
                        self.mark_used(init);
                        self.mark_used(&looped.body.results[i]);
                    }
                }
                let is_needed = self.mark_block(&looped.body) | self.is_needed_itself(stmt);
                if is_needed {
                    [&looped.from, &looped.to].into_iter().for_each(|a| self.mark_used(a));
                }
                is_needed
            }
            Stmt::Bench { given, body, .. } => {
                self.mark_results(body);
                self.mark_block(body);
                given.iter().for_each(|(_, a)| self.mark_used(a));
                true
            }
            stmt if self.is_needed_itself(stmt) => {
                stmt.operands().into_iter().for_each(|a| self.mark_used(a));
                self.mark_seen(stmt);
                true
            }
            _ => false,
        }
    }

    /// The elements of buffers that a statement sees.
    fn mark_seen(&mut self, stmt: &Stmt) {
        match stmt {
            // Where an addition may go to one of several buffers, all of them are read.
            Stmt::Memory(Memory::Load(_, b, _) | Memory::Move { from: b, .. } | Memory::Add(b, ..)) => {
                self.mark_read(b)
            }
            Stmt::Call(..) | Stmt::External { .. } => stmt.operands().into_iter().for_each(|a| self.mark_reached(a)),
            _ => {}
        }
    }

    /// The results of a block go where they may be looked at in any way.
    fn mark_results(&mut self, block: &Block) {
        for a in &block.results {
            self.mark_used(a);
            self.mark_reached(a);
        }
    }

    fn mark_used(&mut self, a: &Operand) {
        self.used.extend(a.local());
    }

    fn mark_read(&mut self, a: &Operand) {
        a.local().into_iter().for_each(|x| self.read.extend(&self.aliases.roots_of(x)));
    }

    /// Marks the memory that can be reached from a buffer as read.
    fn mark_reached(&mut self, a: &Operand) {
        a.local().into_iter().for_each(|x| self.read.extend(&self.aliases.reach(x)));
    }

    /// Returns whether a statement is needed for more than the statements in it.
    fn is_needed_itself(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Check { .. }
            | Stmt::Write(_)
            | Stmt::Call(..)
            | Stmt::External { .. }
            | Stmt::Bench { .. }
            | Stmt::Memory(Memory::Release(_) | Memory::Slide(..)) => true,
            stmt => match stmt.writes() {
                Some(buffer) => self.aliases.shows(buffer, &self.read),
                None => stmt.targets().into_iter().any(|x| self.used.contains(&x)),
            },
        }
    }

    /// Drops what is not needed.
    fn sweep_block(&self, block: &mut Block) {
        block.stmts.retain_mut(|stmt| {
            stmt.blocks_mut().for_each(|block| self.sweep_block(block));
            let is_needed = self.is_needed_itself(stmt) || stmt.blocks().any(|block| !block.stmts.is_empty());
            if is_needed {
                self.sweep_results(stmt);
            }
            is_needed
        });
    }

    fn sweep_results(&self, stmt: &mut Stmt) {
        match stmt {
            Stmt::If(xs, _, then, other) => {
                let used: Vec<bool> = xs.iter().map(|x| self.used.contains(x)).collect();
                keep_those(xs, &used);
                [then, other].into_iter().for_each(|arm| keep_those(&mut arm.results, &used));
            }
            Stmt::For(looped) => {
                let pairs = looped.carried.iter().zip(&looped.results);
                let used: Vec<bool> = pairs.map(|((y, _), x)| self.used.contains(y) || self.used.contains(x)).collect();
                keep_those(&mut looped.carried, &used);
                keep_those(&mut looped.results, &used);
                keep_those(&mut looped.body.results, &used);
            }
            _ => {}
        }
    }
}

fn keep_those<T>(all: &mut Vec<T>, used: &[bool]) {
    let mut used = used.iter();
    all.retain(|_| *used.next().expect("there is one for each"));
}
