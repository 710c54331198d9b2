//! Makes the checks of a nest before it.
//!
//! ```text
//! for i in 0..n { if c(i) { check d(i); s } else { t } }   =   for i in 0..n { if c(i) { check d(i) } }
//!                                                              for i in 0..n { if c(i) { s } else { t } }
//! ```
//!
//! The first check that fails is the same. Where all of them follow from a condition, `loop_versioning` drops the first
//! nest.

use crate::analyses::nests::Nest;
use crate::ir::{Block, Local, LocalInfo, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// Moves the checks of a nest to one of their own in `before`, if there are any. None if one depends on more than indices:
/// then nothing is changed.
pub(super) fn come_first(
    stmt: &mut Stmt,
    nest: &Nest,
    before: &mut Vec<Stmt>,
    locals: &mut Vec<LocalInfo>,
) -> Option<()> {
    if !has_checks(stmt) {
        return Some(());
    }
    let mut needed = FxHashSet::default();
    need_for_checks(stmt, nest, &mut needed)?;
    let checks = Block { stmts: vec![only_checks(stmt, &needed)], results: vec![] };
    before.extend(checks.copy(locals, FxHashMap::default()).stmts);
    drop_checks(stmt);
    Some(())
}

/// Collects what checks depend on; none if that is more than indices, operations, and choices by them.
fn need_for_checks(stmt: &Stmt, nest: &Nest, needed: &mut FxHashSet<Local>) -> Option<()> {
    match stmt {
        Stmt::Check { .. } => stmt.operands().into_iter().try_for_each(|a| need(a, nest, needed))?,
        Stmt::If(_, condition, ..) => need(condition, nest, needed)?,
        Stmt::For(looped) => nest.indices.contains(&looped.index).then_some(())?,
        _ => {}
    }
    let mut inner = stmt.blocks().flat_map(|block| &block.stmts).filter(|stmt| has_checks(stmt));
    inner.try_for_each(|stmt| need_for_checks(stmt, nest, needed))
}

fn need(a: &Operand, nest: &Nest, needed: &mut FxHashSet<Local>) -> Option<()> {
    let mut waiting: Vec<Local> = a.local().into_iter().collect();
    while let Some(x) = waiting.pop() {
        if !nest.set.contains(&x) || nest.indices.contains(&x) || !needed.insert(x) {
            continue;
        }
        match (nest.made.get(&x), nest.choices.get(&x)) {
            (Some((_, args)), _) => waiting.extend(args.iter().filter_map(Operand::local)),
            (None, Some(choice)) => waiting.extend(choice.iter().filter_map(Operand::local)),
            (None, None) => return None,
        }
    }
    Some(())
}

/// Returns a statement with nothing but its checks, and what they depend on.
fn only_checks(stmt: &Stmt, needed: &FxHashSet<Local>) -> Stmt {
    let block = |block: &Block, results: Vec<Operand>| {
        let is_needed = |stmt: &&Stmt| has_checks(stmt) || stmt.targets().iter().any(|x| needed.contains(x));
        let stmts = block.stmts.iter().filter(is_needed).map(|stmt| only_checks(stmt, needed)).collect();
        Block { stmts, results }
    };
    match stmt {
        Stmt::If(xs, condition, then, other) => {
            let chosen: Vec<usize> = (0..xs.len()).filter(|i| needed.contains(&xs[*i])).collect();
            let [then, other] =
                [then, other].map(|arm| block(arm, chosen.iter().map(|i| arm.results[*i].clone()).collect()));
            Stmt::If(chosen.iter().map(|i| xs[*i]).collect(), condition.clone(), then, other)
        }
        Stmt::For(looped) => {
            let body = block(&looped.body, vec![]);
            Stmt::loop_over(looped.index, [looped.from.clone(), looped.to.clone()], body.stmts)
        }
        stmt => stmt.clone(),
    }
}

fn has_checks(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Check { .. }) || stmt.blocks().flat_map(|block| &block.stmts).any(has_checks)
}

fn drop_checks(stmt: &mut Stmt) {
    for block in stmt.blocks_mut() {
        block.stmts.retain(|stmt| !matches!(stmt, Stmt::Check { .. }));
        block.stmts.iter_mut().for_each(drop_checks);
    }
}
