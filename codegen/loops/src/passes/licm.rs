//! Loop-invariant code motion: computes before a loop what is the same in every iteration.
//!
//! ```text
//! for i { x = op a..; s }              =   x = op a..; for i { s }
//! for i { x = load b[k]; s }           =   x = load b[k]; for i { s }            s does not write what b shares
//! for i { x = for j { .. }; s }        =   x = for j { .. }; for i { s }         nothing in it has an effect
//! for i { b = alloc n; fill b; s }     =   m = mark; b = alloc n; fill b; for i { s }; release m
//! ```
//!
//! Operations cannot fail, so they may move even if the loop does not run at all. What loads, or divides, moves only
//! from in front of the first check in the loop: what makes it right was known before the loop then. (So this comes
//! before `check_elimination`, which drops checks because a loop runs, and before `drop_checks`.) A buffer moves if the
//! loop gives back all that it takes, and its address does not escape. The arena is then in the end as it was.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::arena_balance::gives_all_back;
use crate::analyses::effects::Callees;
use crate::ir::{Block, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) fn run(cx: &mut FunctionCx) {
    let (aliases, Callees { summaries, takes }) = (cx.aliases(), cx.callees());
    cx.rewrite(|body, function| Mover { aliases, summaries, takes, locals: &mut function.locals }.hoist_in_block(body));
}

struct Mover<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    /// Which functions take from the arena.
    takes: &'a [bool],
    locals: &'a mut Vec<LocalInfo>,
}

impl Mover<'_> {
    fn hoist_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.blocks_mut().for_each(|block| self.hoist_in_block(block));
            match stmt {
                Stmt::For(mut looped) => {
                    let moved = self.hoist_from_loop(&mut looped);
                    let takes = moved.iter().any(|stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { .. })));
                    let mark = takes.then(|| self.mark());
                    block.stmts.extend(mark.map(|m| Stmt::Memory(Memory::Mark(m))));
                    block.stmts.extend(moved);
                    block.stmts.push(Stmt::For(looped));
                    block.stmts.extend(mark.map(|m| Stmt::Memory(Memory::Release(Operand::Local(m)))));
                }
                stmt => block.stmts.push(stmt),
            }
        }
    }

    fn mark(&mut self) -> Local {
        self.locals.push(LocalInfo::unnamed(Scalar::Mark.ty()));
        Local(u32::try_from(self.locals.len() - 1).expect("a function has fewer locals"))
    }

    /// Takes out of a loop what can be done before it. What moves may let more move.
    fn hoist_from_loop(&self, looped: &mut For) -> Vec<Stmt> {
        let mut moved = Vec::new();
        loop {
            let before = moved.len();
            let mut round = Round::new(self, looped);
            for stmt in std::mem::take(&mut looped.body.stmts) {
                if round.moves(&stmt) {
                    moved.push(stmt);
                } else {
                    looped.body.stmts.push(stmt);
                }
            }
            if moved.len() == before {
                return moved;
            }
        }
    }
}

/// A look at a loop's own block, from its start.
struct Round<'a> {
    mover: &'a Mover<'a>,
    /// The locals set in the loop that do not move.
    set: FxHashSet<Local>,
    /// The buffers that move, if what fills them does.
    buffers: FxHashSet<Local>,
    /// The statements that may change memory in the loop, except those that fill moved buffers.
    changes: Vec<Stmt>,
    /// Whether there was a check, or what else may leave the loop.
    is_checked: bool,
}

impl<'a> Round<'a> {
    fn new(mover: &'a Mover<'a>, looped: &For) -> Round<'a> {
        let mut set: FxHashSet<Local> = looped.carried.iter().map(|(x, _)| *x).chain([looped.index]).collect();
        let mut changes = Vec::new();
        looped.body.visit(&mut |stmt| {
            set.extend(stmt.targets().into_iter().chain(stmt.bound()));
            if stmt.writes().is_some() || matches!(stmt, Stmt::Call(..)) {
                changes.push(stmt.clone());
            }
        });
        let mut round = Round { mover, set, buffers: FxHashSet::default(), changes, is_checked: false };
        round.buffers = round.movable_buffers(looped);
        let Round { buffers, changes, .. } = &mut round;
        changes.retain(|stmt| stmt.writes().is_none_or(|b| !buffers.contains(&b)));
        round
    }

    fn moves(&mut self, stmt: &Stmt) -> bool {
        let parts = Parts::of(stmt);
        let moves = match stmt {
            Stmt::Memory(Memory::Alloc { buffer, .. }) => self.buffers.contains(buffer),
            _ => parts.written.iter().all(|b| self.buffers.contains(b)) && self.may_move(&parts, &self.set),
        };
        self.is_checked |= parts.may_leave;
        if moves {
            self.set.retain(|x| !stmt.targets().contains(x));
        }
        moves
    }

    /// Returns whether what a statement does is the same in each iteration, what it writes aside.
    fn may_move(&self, parts: &Parts, set: &FxHashSet<Local>) -> bool {
        let is_changed = |b: &Local| {
            let changes = |stmt: &Stmt| self.mover.aliases.changes(stmt, *b, self.mover.summaries);
            self.changes.iter().any(|stmt| !stmt.writes().is_some_and(|w| parts.written.contains(&w)) && changes(stmt))
        };
        parts.used.is_disjoint(set)
            && !parts.may_leave
            && !parts.needs_arena
            && (parts.loaded.is_empty() && !parts.divides || !self.is_checked)
            && !parts.loaded.iter().any(is_changed)
    }

    /// The buffers that can be made and filled before the loop.
    fn movable_buffers(&mut self, looped: &For) -> FxHashSet<Local> {
        if !gives_all_back(&looped.body, &self.set, self.mover.takes) {
            return FxHashSet::default();
        }
        let mut buffers = FxHashSet::default();
        let mut is_checked = false;
        for (i, stmt) in looped.body.stmts.iter().enumerate() {
            if let Stmt::Memory(Memory::Alloc { buffer, count, .. }) = stmt
                && count.local().is_none_or(|n| !self.set.contains(&n))
                && !is_checked
                && self.is_filled_alike(*buffer, &looped.body.stmts[i + 1..])
            {
                buffers.insert(*buffer);
            }
            is_checked |= Parts::of(stmt).may_leave;
        }
        buffers
    }

    /// Returns whether each iteration fills a buffer with the same elements, and the buffer does not escape.
    fn is_filled_alike(&mut self, buffer: Local, rest: &[Stmt]) -> bool {
        if self.mover.aliases.sharers(buffer).count() != 1 {
            return false;
        }
        self.set.remove(&buffer);
        self.is_checked = false;
        let mut alike = true;
        for stmt in rest {
            let parts = Parts::of(stmt);
            if parts.written.contains(&buffer) || parts.handed.contains(&buffer) {
                alike &= parts.written.iter().all(|b| *b == buffer) && self.may_move(&parts, &self.set);
            }
            self.is_checked |= parts.may_leave;
            alike &= !looks_at(stmt, buffer);
        }
        self.is_checked = false;
        self.set.insert(buffer);
        alike
    }
}

/// Holds what a statement and its blocks use and do.
#[derive(Default)]
struct Parts {
    /// The outer locals that the statement uses.
    used: FxHashSet<Local>,
    loaded: FxHashSet<Local>,
    written: FxHashSet<Local>,
    /// The buffers that calls get.
    handed: FxHashSet<Local>,
    divides: bool,
    /// Whether it checks, calls or prints.
    may_leave: bool,
    needs_arena: bool,
}

impl Parts {
    fn of(stmt: &Stmt) -> Parts {
        let mut parts = Parts::default();
        let mut set = FxHashSet::default();
        parts.add(stmt, &mut set);
        parts.used.retain(|x| !set.contains(x));
        parts
    }

    fn add(&mut self, stmt: &Stmt, set: &mut FxHashSet<Local>) {
        self.used.extend(stmt.operands().into_iter().filter_map(Operand::local));
        self.written.extend(stmt.writes());
        self.needs_arena |= stmt.uses_arena();
        match stmt {
            Stmt::Memory(Memory::Load(_, b, _) | Memory::Move { from: b, .. }) => self.loaded.extend(b.local()),
            // What is added to is read.
            Stmt::Memory(Memory::Add(b, ..)) => self.loaded.extend(b.local()),
            Stmt::Let(_, Op::DivI, args) => self.divides |= !matches!(args[1], Operand::Integer(k) if k != 0),
            Stmt::Call(_, _, args) => {
                self.handed.extend(args.iter().filter_map(Operand::local));
                self.may_leave = true;
            }
            Stmt::Check { .. } | Stmt::External { .. } | Stmt::Write(_) | Stmt::Bench { .. } => self.may_leave = true,
            Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Memory(_) => {}
        }
        set.extend(stmt.bound());
        for block in stmt.blocks() {
            block.stmts.iter().for_each(|stmt| self.add(stmt, set));
            self.used.extend(block.results.iter().filter_map(Operand::local));
        }
        set.extend(stmt.targets());
    }
}

/// Returns whether an address is looked at, not only what is there.
fn looks_at(stmt: &Stmt, buffer: Local) -> bool {
    let is_buffer = |a: &Operand| a.local() == Some(buffer);
    let own = match stmt {
        Stmt::Memory(Memory::Above(_, b, _) | Memory::Slid { buffer: b, .. }) => is_buffer(b),
        Stmt::Memory(Memory::Before(_, b, c)) => is_buffer(b) || is_buffer(c),
        Stmt::External { .. } => stmt.operands().into_iter().any(is_buffer),
        _ => false,
    };
    own || stmt.blocks().flat_map(|block| &block.stmts).any(|stmt| looks_at(stmt, buffer))
}
