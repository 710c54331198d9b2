//! Ends a scope together with the scope around it, if its value would have to be copied.
//!
//! ```text
//! m = mark; s; p = mark; y = if x above m { (copy) } else { x }; d = slide p to m; z = y after slide p by d; t;
//! release l
//! =  s; t[z := x]; release l
//! ```
//!
//! Such values are several buffers in any order, or buffers of buffers. Inlined functions give them: a step of a
//! recurrent network gives the states of all its layers. To release what else the scope took, the value is copied to
//! the top of the arena and back. Only the running code knows where it is then. So what was stored in it, and how long
//! its rows are, is forgotten. The value stays where it is if the mark l is older and the release runs once for each
//! run of the scope, in the same iteration of all loops around. The rest goes with the scope around. A function that
//! only wrappers for C call is such a scope: they copy its value to where the caller wants it.
//!
//! A scope that keeps one buffer ends with the scope around it as well, if nothing is taken between their ends:
//!
//! ```text
//! l = mark; r; m = mark; s; release m; z = if x above m { (copy) } else { x }; t; release l
//! =  l = mark; r; s; t[z := x]; release l
//! ```
//!
//! A step of a loop that calls a function, which is inlined, has two such ends. `update_in_place` looks for one.
//!
//! Cost model: what else the scope took lives as long as the scope around; the copy, which took the value's size once
//! more, is saved. Iterations release what they took, as before: so memory grows by a factor that depends on the
//! program alone. Not in recursive functions, where each level would hold what it took until the levels below are done.

use super::pass::{ModuleCx, NOT_RECURSIVE};
use crate::analyses::scopes::kept;
use crate::ir::{Block, FunId, Local, Memory, Module, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) fn run(cx: &mut ModuleCx) {
    let inner = called_by_ours(cx.module);
    for (i, function) in cx.module.functions.iter_mut().enumerate().filter(|(_, function)| NOT_RECURSIVE(function)) {
        let mut ended = FxHashSet::default();
        find_ended(&function.body, !inner.contains(&FunId(i)), &mut ended);
        if !ended.is_empty() {
            let (replaced, unasked) = (FxHashMap::default(), FxHashSet::default());
            let mut opener = Opener { ended: &ended, replaced, unasked };
            opener.end_scopes_in_block(&mut function.body);
            opener.drop_unasked(&mut function.body);
            function.body.change_operands(&mut |a| opener.replace(a));
        }
    }
}

/// Returns the functions that others than wrappers for C call. All that any other function takes is released behind its
/// only call.
fn called_by_ours(module: &Module) -> FxHashSet<FunId> {
    let mut called = FxHashSet::default();
    for function in module.functions.iter().filter(|function| !function.c_wrapper) {
        function.body.visit(&mut |stmt| {
            if let Stmt::Call(_, callee, _) = stmt {
                called.insert(*callee);
            }
        });
    }
    called
}

/// The marks of the scopes that end with those around them, and those of the pieces that slide to them. `is_inside`:
/// what the block takes is released behind it, in the same iteration.
fn find_ended(block: &Block, is_inside: bool, ended: &mut FxHashSet<Local>) {
    let mut set: FxHashMap<Local, usize> = FxHashMap::default();
    for (i, stmt) in block.stmts.iter().enumerate() {
        set.extend(stmt.targets().into_iter().map(|x| (x, i)));
    }
    // For each statement, the oldest mark that those behind it release to: 0 for one from before the block, and else one
    // more than the number of the statement that sets it.
    let mut oldest = vec![usize::MAX; block.stmts.len() + 1];
    for (i, stmt) in block.stmts.iter().enumerate().rev() {
        let released = end(stmt).map(|end| set.get(&end.mark).map_or(0, |at| at + 1));
        oldest[i] = released.map_or(oldest[i + 1], |mark| mark.min(oldest[i + 1]));
    }
    let is_older = |mark: usize, at: usize| oldest[at + 1] <= mark;
    for (i, stmt) in block.stmts.iter().enumerate() {
        if let Some(End { mark, piece: Some(piece) }) = end(stmt)
            && let Some(at) = set.get(&mark)
            && (set.contains_key(&piece) || stmt.blocks().any(|arm| marks(arm, piece)))
            && (is_inside || is_older(*at, i))
        {
            ended.extend([mark, piece]);
        }
        if let Stmt::Memory(Memory::Release(Operand::Local(mark))) = stmt
            && let Some(at) = set.get(mark)
            && next_end(&block.stmts[i + 1..]).is_some_and(|around| set.get(&around).is_none_or(|around| around < at))
        {
            ended.insert(*mark);
        }
        let is_loop = matches!(stmt, Stmt::For(_) | Stmt::Bench { .. });
        let is_inside = !is_loop && (is_inside || is_older(i, i));
        stmt.blocks().for_each(|inner| find_ended(inner, is_inside, ended));
    }
}

/// Returns the mark of the scope that ends next, if nothing is taken until then but the copy of what a scope keeps.
fn next_end(stmts: &[Stmt]) -> Option<Local> {
    let takes = |stmt: &Stmt| {
        let mut takes = false;
        let mut see = |stmt: &Stmt| takes |= stmt.takes_memory() || matches!(stmt, Stmt::Call(..));
        see(stmt);
        stmt.blocks().for_each(|block| block.visit(&mut see));
        takes && kept(stmt).is_none()
    };
    let stops = |stmt: &&Stmt| end(stmt).is_some() || takes(stmt);
    Some(end(stmts.iter().find(stops)?)?.mark)
}

/// The end of a scope: its mark, and that of the piece that slides to it.
struct End {
    mark: Local,
    piece: Option<Local>,
}

/// Returns the scope that a statement ends: where values may lie in order, one arm moves each of them by itself.
fn end(stmt: &Stmt) -> Option<End> {
    match stmt {
        Stmt::Memory(Memory::Release(m)) => Some(End { mark: m.local()?, piece: None }),
        Stmt::Memory(Memory::Slide(_, piece, m)) => Some(End { mark: m.local()?, piece: piece.local() }),
        Stmt::If(_, _, then, other) => {
            let End { mark, .. } = then.stmts.first().and_then(end)?;
            other.stmts.iter().filter_map(end).find(|end| end.mark == mark && end.piece.is_some())
        }
        _ => None,
    }
}

fn marks(block: &Block, piece: Local) -> bool {
    block.stmts.iter().any(|stmt| matches!(stmt, Stmt::Memory(Memory::Mark(m)) if *m == piece))
}

struct Opener<'a> {
    ended: &'a FxHashSet<Local>,
    /// Maps the locals set at the ends of removed scopes to their values.
    replaced: FxHashMap<Local, Operand>,
    /// What only a question asked that is answered.
    unasked: FxHashSet<Local>,
}

impl Opener<'_> {
    fn replace(&self, a: &mut Operand) {
        while let Some(other) = a.local().and_then(|x| self.replaced.get(&x)) {
            *a = other.clone();
        }
    }

    fn is_ended(&self, m: &Operand) -> bool {
        m.local().is_some_and(|m| self.ended.contains(&m))
    }

    fn end_scopes_in_block(&mut self, block: &mut Block) {
        block.stmts.retain_mut(|stmt| {
            stmt.operands_mut().into_iter().for_each(|a| self.replace(a));
            stmt.blocks_mut().for_each(|inner| self.end_scopes_in_block(inner));
            match stmt {
                Stmt::Memory(Memory::Mark(m)) => return !self.ended.contains(m),
                Stmt::Memory(Memory::Release(m)) if self.is_ended(m) => {}
                Stmt::Memory(memory) => match self.known(memory) {
                    Some(known) => self.replaced.extend([known]),
                    None => return true,
                },
                Stmt::Let(x, Op::Or, args) if args.iter().all(is_false) => {
                    self.replaced.insert(*x, Operand::Bool(false));
                }
                Stmt::Let(x, Op::And, args) if args.iter().any(is_false) => {
                    self.replaced.insert(*x, Operand::Bool(false));
                    self.unasked.extend(args.iter().filter_map(Operand::local));
                }
                Stmt::If(xs, condition, _, other) if is_false(condition) && other.stmts.is_empty() => {
                    self.replaced.extend(xs.iter().copied().zip(other.results.iter().cloned()));
                }
                _ => return true,
            }
            false
        });
    }

    /// Drops questions whose answers nothing uses: other passes would take them for uses of the buffers.
    fn drop_unasked(&self, block: &mut Block) {
        block.stmts.retain_mut(|stmt| {
            stmt.blocks_mut().for_each(|inner| self.drop_unasked(inner));
            !matches!(stmt, Stmt::Memory(Memory::Before(x, ..)) if self.unasked.contains(x))
        });
    }

    /// Returns what a statement sets to something that is known if the scope does not end. Nothing is taken any more
    /// between the mark, which is that of the piece, and the question.
    fn known(&self, memory: &Memory) -> Option<(Local, Operand)> {
        match memory {
            Memory::Above(x, _, m) if self.is_ended(m) => Some((*x, Operand::Bool(false))),
            Memory::Slide(d, _, m) if self.is_ended(m) => Some((*d, Operand::Integer(0))),
            Memory::Slid { target, buffer, piece, .. } if self.is_ended(piece) => Some((*target, buffer.clone())),
            Memory::Before(x, a, b) if a.same(b) => Some((*x, Operand::Bool(false))),
            _ => None,
        }
    }
}

fn is_false(a: &Operand) -> bool {
    matches!(a, Operand::Bool(false))
}
