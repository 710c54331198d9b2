//! Finds what decides where a nest stores: the nest without values.

use super::rewrite::sink_store;
use super::step::{Step, own_loads};
use crate::analyses::nests::Nest;
use crate::ir::{Block, For, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashSet;

/// The nest without values, if what it changes depends on numbers alone.
pub(super) fn skeleton(looped: &For, carried: usize, at: usize, nest: &Nest, step: &Step) -> Option<Stmt> {
    let old = looped.carried[carried].0;
    let mut stmt = looped.body.stmts[at].clone();
    let own = own_loads(&stmt, old, nest);
    sink_store(nest.innermost_mut(&mut stmt), step.buffer, old, &own);
    let mut needed = FxHashSet::default();
    ask(&stmt, step.buffer, &mut needed);
    let mut waiting: Vec<Local> = needed.iter().copied().collect();
    while let Some(x) = waiting.pop() {
        if !nest.set.contains(&x) || nest.indices.contains(&x) {
            continue;
        }
        let (_, args) = nest.made.get(&x)?;
        waiting.extend(args.iter().filter_map(Operand::local).filter(|y| needed.insert(*y)));
    }
    strip(&mut stmt, step.buffer, &needed);
    Some(stmt)
}

/// Returns whether a nest stores in each iteration of its innermost loop.
pub(super) fn always_stores(stmt: &Stmt, buffer: Local) -> bool {
    match stmt {
        Stmt::If(..) => stmt.blocks().all(|arm| arm.stmts.iter().any(|stmt| always_stores(stmt, buffer))),
        Stmt::For(looped) => looped.body.stmts.iter().any(|stmt| always_stores(stmt, buffer)),
        stmt => stores_to(stmt, buffer),
    }
}

/// Returns the locals that a skeleton uses and that differ from step to step: what the loop carries, and what its body
/// sets.
pub(super) fn inputs(skeleton: &Stmt, looped: &For, buffer: Local) -> Vec<Local> {
    let used = Block { stmts: vec![skeleton.clone()], results: vec![] }.uses();
    let is_set = |x: &Local| *x != buffer && (is_bound(*x, looped) || sets(&looped.body.stmts, *x));
    used.into_iter().filter(is_set).collect()
}

/// Returns whether the inputs are known where the loop's body has run up to a statement.
pub(super) fn are_set_before(inputs: &[Local], looped: &For, at: usize) -> bool {
    inputs.iter().all(|x| is_bound(*x, looped) || sets(&looped.body.stmts[..at], *x))
}

fn is_bound(x: Local, looped: &For) -> bool {
    x == looped.index || looped.carried.iter().any(|(y, _)| *y == x)
}

fn sets(stmts: &[Stmt], x: Local) -> bool {
    stmts.iter().any(|stmt| stmt.targets().contains(&x))
}

pub(super) fn stores_to(stmt: &Stmt, buffer: Local) -> bool {
    matches!(stmt, Stmt::Memory(Memory::Store(b, ..)) if b.local() == Some(buffer))
}

pub(super) fn has_store(stmt: &Stmt, buffer: Local) -> bool {
    stores_to(stmt, buffer) || stmt.blocks().flat_map(|block| &block.stmts).any(|stmt| has_store(stmt, buffer))
}

/// Collects what decides where a statement stores.
pub(super) fn ask(stmt: &Stmt, buffer: Local, needed: &mut FxHashSet<Local>) {
    match stmt {
        Stmt::If(_, condition, ..) => needed.extend(condition.local()),
        Stmt::For(looped) => needed.extend([&looped.from, &looped.to].into_iter().filter_map(Operand::local)),
        Stmt::Memory(Memory::Store(_, i, _)) => needed.extend(i.local()),
        _ => {}
    }
    let inner = stmt.blocks().flat_map(|block| &block.stmts).filter(|stmt| has_store(stmt, buffer));
    inner.for_each(|stmt| ask(stmt, buffer, needed));
}

/// Drops all that is not needed to know where a statement stores.
pub(super) fn strip(stmt: &mut Stmt, buffer: Local, needed: &FxHashSet<Local>) {
    match stmt {
        Stmt::If(xs, ..) => xs.clear(),
        Stmt::For(looped) => {
            looped.carried.clear();
            looped.results.clear();
        }
        Stmt::Memory(Memory::Store(_, _, a)) => *a = Operand::Float(0.0),
        _ => {}
    }
    for block in stmt.blocks_mut() {
        block.results.clear();
        block.stmts.retain_mut(|stmt| {
            let stays = has_store(stmt, buffer) || matches!(stmt, Stmt::Let(x, ..) if needed.contains(x));
            strip(stmt, buffer, needed);
            stays
        });
    }
}

pub(super) fn change_stores(stmt: &mut Stmt, from: Local, to: Local) {
    if let Stmt::Memory(Memory::Store(b, ..)) = stmt
        && b.local() == Some(from)
    {
        *b = to.into();
    }
    stmt.blocks_mut().flat_map(|block| &mut block.stmts).for_each(|stmt| change_stores(stmt, from, to));
}
