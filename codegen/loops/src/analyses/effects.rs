//! Tells what a statement and its blocks do. A pass that swaps statements asks for it.

use crate::analyses::alias::{Aliases, Summary};
use crate::ir::{FunId, Local, Memory, Op, Operand, Stmt};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Holds the effects of a statement and of its blocks.
#[derive(Clone, Debug, Default)]
pub struct StmtEffects {
    /// The locals from outside that it uses.
    pub used: FxHashSet<Local>,
    /// The locals that it sets, in its blocks, too.
    pub set: FxHashSet<Local>,
    /// The memory that it touches, but for buffers of its own.
    pub accesses: BTreeSet<Access>,
    /// Whether it may end the function with an error, or prints.
    pub may_leave: bool,
    /// Whether it is right only behind what was checked before it: it loads, stores, divides or allocates.
    pub needs_checks: bool,
    /// Whether it leaves the arena other than it was, or looks at its top.
    pub arena: bool,
    /// The marks from outside to which it releases.
    pub releases: BTreeSet<Local>,
}

/// One access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The buffer through which memory is accessed.
    pub buffer: Local,
    /// Which element, when the index is a local; otherwise any.
    pub at: Option<Local>,
    /// Whether it is written.
    pub writes: bool,
    /// Whether what lies in the buffer, however deep, may be meant, too.
    pub deep: bool,
}

/// Holds what is known of a module's functions, to find the effects of calls.
#[derive(Clone, Copy)]
pub struct Callees<'a> {
    /// The parameters that each writes to.
    pub summaries: &'a [Summary],
    /// Whether each takes from the arena.
    pub takes: &'a [bool],
}

impl StmtEffects {
    /// Returns those of a statement.
    pub fn of(stmt: &Stmt, aliases: &Aliases, callees: Callees) -> StmtEffects {
        let mut effects = StmtEffects::default();
        effects.add_stmt(stmt, callees);
        let StmtEffects { used, set, accesses, releases, .. } = &mut effects;
        used.retain(|x| !set.contains(x));
        releases.retain(|m| !set.contains(m));
        let is_own = |x: Local| aliases.is_made_among(x, set);
        let balanced = stmt.blocks().all(|block| block.gives_back(callees.takes));
        if balanced && stmt.has_blocks() {
            accesses.retain(|access| !is_own(access.buffer));
        }
        effects.arena = if !stmt.has_blocks() { takes_or_looks(stmt, callees.takes) } else { !balanced };
        effects
    }

    fn add_stmt(&mut self, stmt: &Stmt, callees: Callees) {
        self.used.extend(stmt.operands().into_iter().filter_map(Operand::local));
        self.set.extend(stmt.bound().into_iter().chain(stmt.targets()));
        match stmt {
            Stmt::Memory(memory) => self.add_memory(memory),
            Stmt::Let(_, Op::DivI, args) => self.needs_checks |= !matches!(args[1], Operand::Integer(k) if k != 0),
            Stmt::Call(_, callee, args) => {
                self.may_leave = true;
                for (i, a) in args.iter().enumerate() {
                    self.add_deep_access(a, callees.summaries[callee.0].written.contains(&i));
                }
            }
            Stmt::External { .. } => {
                self.may_leave = true;
                stmt.operands().into_iter().for_each(|a| self.add_deep_access(a, false));
            }
            Stmt::Bench { .. } => {
                self.may_leave = true;
                stmt.operands().into_iter().for_each(|a| self.add_deep_access(a, true));
            }
            Stmt::Check { .. } | Stmt::Write(_) => self.may_leave = true,
            Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) => {}
        }
        for block in stmt.blocks() {
            block.stmts.iter().for_each(|stmt| self.add_stmt(stmt, callees));
            self.used.extend(block.results.iter().filter_map(Operand::local));
        }
    }

    fn add_memory(&mut self, memory: &Memory) {
        match memory {
            Memory::Load(_, b, i) => self.add_access(b, Some(i), false),
            Memory::Store(b, i, _) => self.add_access(b, Some(i), true),
            Memory::Add(b, i, _) => self.add_access(b, Some(i), true),
            Memory::Zero(b, _) => self.add_access(b, None, true),
            Memory::Move { to, from, .. } => {
                self.add_access(from, None, false);
                self.add_access(to, None, true);
            }
            Memory::Release(m) => self.releases.extend(m.local()),
            Memory::Slide(_, from, to) => self.releases.extend(from.local().into_iter().chain(to.local())),
            // What is taken is no negative number of elements.
            Memory::Alloc { .. } => self.needs_checks = true,
            Memory::Stack(..)
            | Memory::View(..)
            | Memory::Cast(..)
            | Memory::Mark(_)
            | Memory::Above(..)
            | Memory::Before(..)
            | Memory::Slid { .. } => {}
        }
    }

    fn add_access(&mut self, buffer: &Operand, at: Option<&Operand>, writes: bool) {
        self.needs_checks = true;
        let at = at.and_then(Operand::local);
        self.accesses.extend(buffer.local().map(|buffer| Access { buffer, at, writes, deep: false }));
    }

    fn add_deep_access(&mut self, a: &Operand, writes: bool) {
        self.accesses.extend(a.local().map(|buffer| Access { buffer, at: None, writes, deep: true }));
    }

    /// Returns whether a later statement must come after this one, because of what it uses, the memory, the arena or
    /// errors.
    pub fn orders(&self, later: &StmtEffects, aliases: &Aliases) -> bool {
        !later.used.is_disjoint(&self.set)
            || self.may_leave && later.may_leave
            || self.arena && later.arena
            || self.touches(later, aliases)
    }

    /// Returns whether a later statement may be right only because this one left the function otherwise.
    pub fn guards(&self, later: &StmtEffects) -> bool {
        self.may_leave && later.needs_checks
    }

    /// Returns whether the order of what the two do to memory matters.
    pub fn touches(&self, later: &StmtEffects, aliases: &Aliases) -> bool {
        self.accesses.iter().any(|a| later.accesses.iter().any(|b| a.meets(b, aliases)))
    }
}

impl Access {
    /// Returns whether the two may touch the same memory, of which one is a write.
    pub fn meets(&self, other: &Access, aliases: &Aliases) -> bool {
        let shows = |a: &Access, b: &Access| a.deep && aliases.shows(b.buffer, &aliases.reach(a.buffer));
        let both_deep = || {
            let reach = aliases.reach(other.buffer);
            !aliases.reach(self.buffer).is_disjoint(&reach)
        };
        (self.writes || other.writes)
            && (aliases.may_share(self.buffer, other.buffer)
                || shows(self, other)
                || shows(other, self)
                || self.deep && other.deep && both_deep())
    }
}

/// Returns whether a statement without blocks takes from the arena, gives back, or looks at its top.
fn takes_or_looks(stmt: &Stmt, takes: &[bool]) -> bool {
    match stmt {
        Stmt::Call(_, FunId(callee), _) => takes[*callee],
        stmt => stmt.uses_arena(),
    }
}
