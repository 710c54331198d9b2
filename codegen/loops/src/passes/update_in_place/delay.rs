//! Moves what fills a new state behind the last statement that reads the old one, and reads of the old one before the
//! conditional in which they are.
//!
//! ```text
//! N = alloc n; for x { store N[x] = .. }; t      =   N = alloc n; t; for x { store N[x] = .. }      t reads s, not N
//! for x { if c { .. } else { v = load s[x]; .. } }   =   for x { v = load s[x]; if c { .. } else { .. } }
//! ```

use crate::analyses::nests::{Nest, Slice};
use crate::analyses::worked_on::{is_any, is_worked_on};
use crate::ir::{Block, Local, LocalInfo, Memory, Operand, Stmt};

/// Returns the body of a loop with the new state filled later; none if it is the last that is done to the old one. `out`
/// comes before the loop.
pub(super) fn filled_later(body: &Block, [old, buffer]: [Local; 2], out: &[Stmt]) -> Option<Block> {
    let stmts = &body.stmts;
    let is_alloc = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer: b, .. }) if *b == buffer);
    let alloc = stmts.iter().position(is_alloc)?;
    let nest = alloc + 1 + stmts[alloc + 1..].iter().position(|stmt| stmt.mentions(buffer))?;
    let last = stmts.iter().rposition(|stmt| stmt.mentions(old)).filter(|last| *last > nest)?;
    let (moved, between) = (&stmts[nest], &stmts[nest + 1..=last]);
    let targets = moved.targets();
    let is_apart = |stmt: &Stmt| !stmt.mentions(buffer) && !targets.iter().any(|x| stmt.mentions(*x));
    let is_own = |b: Local| is_own(b, out, &stmts[..=last]);
    let writes_apart = between.iter().all(|stmt| only_writes(stmt, &|b| !moved.mentions(b) && is_own(b)));
    let is_unread = |b: Local| b == buffer || !between.iter().any(|stmt| stmt.mentions(b)) && is_own(b);
    let may_stop = may_stop(moved) && between.iter().any(may_stop);
    if !matches!(moved, Stmt::For(_)) || may_stop || !between.iter().all(is_apart) {
        return None;
    }
    if !writes_apart || !only_writes(moved, &is_unread) {
        return None;
    }
    let mut body = body.clone();
    body.stmts[nest..=last].rotate_left(1);
    Some(body)
}

/// Returns whether a buffer is made here, and no other local shows it by the end of these statements.
fn is_own(b: Local, out: &[Stmt], stmts: &[Stmt]) -> bool {
    let mut all = out.iter().chain(stmts);
    let is_made = all.any(|stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer, .. }) if *buffer == b));
    is_made && all.all(|stmt| is_worked_on(stmt, b, &is_any))
}

/// Returns whether a statement calls nothing, leaves the arena's top above what there is, and writes only allowed
/// buffers.
fn only_writes(stmt: &Stmt, is_allowed: &dyn Fn(Local) -> bool) -> bool {
    let own = match stmt {
        Stmt::Let(..) | Stmt::Check { .. } | Stmt::If(..) | Stmt::For(_) => true,
        Stmt::Memory(Memory::Load(..) | Memory::Alloc { .. } | Memory::Stack(..)) => true,
        Stmt::Memory(Memory::Store(b, ..) | Memory::Add(b, ..) | Memory::Zero(b, _) | Memory::Move { to: b, .. }) => {
            b.local().is_some_and(is_allowed)
        }
        _ => false,
    };
    own && stmt.blocks().flat_map(|block| &block.stmts).all(|inner| only_writes(inner, is_allowed))
}

/// Returns whether a statement may end the call.
pub(super) fn may_stop(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Check { .. } | Stmt::Call(..) | Stmt::External { .. } | Stmt::Write(..))
        || stmt.blocks().flat_map(|block| &block.stmts).any(may_stop)
}

/// Returns the body of a loop whose nest that fills the new state loads its own element of the old one before
/// conditionals, where only one arm does; none if there is nothing to move. This is right only if both have the same
/// elements, through which the nest goes: as it does in a step that is then updated in place.
pub(super) fn loaded_before(body: &Block, [old, buffer]: [Local; 2], locals: &mut Vec<LocalInfo>) -> Option<Block> {
    let mut body = body.clone();
    let mut is_changed = false;
    for stmt in body.stmts.iter_mut().filter(|stmt| stmt.mentions(old) && stmt.mentions(buffer)) {
        let is_leaf = |stmt: &Stmt| matches!(stmt, Stmt::If(..)) && stmt.mentions(old);
        let Some(nest) = Nest::of(stmt, &is_leaf, &|stmt| stmt.mentions(old)) else { continue };
        let innermost = nest.innermost_mut(stmt);
        let mut users = innermost.stmts.iter().enumerate().filter(|(_, stmt)| stmt.mentions(old));
        let (Some((at, _)), None) = (users.next(), users.next()) else { continue };
        let mut found = Vec::new();
        let loads = own_loads(&innermost.stmts[at], old, &nest, &mut found);
        let (Some(()), [(first, place), ..]) = (loads, &found[..]) else { continue };
        let mut before = Vec::new();
        let here = nest.indices.iter().map(|i| (*i, Operand::Local(*i))).collect();
        let Some(place) = Slice::new(&nest, here).value(place, locals, &mut before) else { continue };
        let first = *first;
        drop_loads(&mut innermost.stmts[at], old);
        let names = found.iter().map(|(x, _)| (*x, first)).collect();
        innermost.rename(&names);
        before.push(Stmt::Memory(Memory::Load(first, old.into(), place)));
        innermost.stmts.splice(at..at, before);
        is_changed = true;
    }
    is_changed.then_some(body)
}

/// Finds the loads of the iteration's own element; none if there is any other use of the state.
fn own_loads(stmt: &Stmt, old: Local, nest: &Nest, found: &mut Vec<(Local, Operand)>) -> Option<()> {
    match stmt {
        Stmt::Memory(Memory::Load(x, b, y)) if b.local() == Some(old) && nest.is_place(y) => {
            found.push((*x, y.clone()));
        }
        Stmt::If(..) => {
            stmt.blocks().flat_map(|arm| &arm.stmts).try_for_each(|inner| own_loads(inner, old, nest, found))?;
        }
        stmt if stmt.mentions(old) => return None,
        _ => {}
    }
    Some(())
}

fn drop_loads(stmt: &mut Stmt, old: Local) {
    for arm in stmt.blocks_mut() {
        let is_load = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Load(_, b, _)) if b.local() == Some(old));
        arm.stmts.retain(|stmt| !is_load(stmt));
        arm.stmts.iter_mut().for_each(|inner| drop_loads(inner, old));
    }
}
