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
use crate::ir::{Block, LocalInfo, Stmt};
use rustc_hash::FxHashMap;

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
    let checks = Block { stmts: vec![only_checks(stmt, nest)?], results: vec![] };
    before.extend(checks.copy(locals, FxHashMap::default()).stmts);
    drop_checks(stmt);
    Some(())
}

/// Returns a statement with nothing but its checks, and what they depend on.
fn only_checks(stmt: &Stmt, nest: &Nest) -> Option<Stmt> {
    let block = |block: &Block| -> Option<Block> {
        let is_needed = |stmt: &&Stmt| match stmt {
            Stmt::Let(x, ..) => nest.is_made_of_indices(&(*x).into()),
            stmt => has_checks(stmt),
        };
        let stmts: Option<Vec<Stmt>> = block.stmts.iter().filter(is_needed).map(|stmt| only_checks(stmt, nest)).collect();
        Some(Block { stmts: stmts?, results: vec![] })
    };
    match stmt {
        Stmt::Let(..) => Some(stmt.clone()),
        Stmt::Check { .. } => stmt.operands().into_iter().all(|a| nest.is_made_of_indices(a)).then(|| stmt.clone()),
        Stmt::If(_, condition, then, other) if nest.is_made_of_indices(condition) => {
            Some(Stmt::If(vec![], condition.clone(), block(then)?, block(other)?))
        }
        Stmt::For(looped) if nest.indices.contains(&looped.index) => {
            let body = block(&looped.body)?;
            Some(Stmt::loop_over(looped.index, [looped.from.clone(), looped.to.clone()], body.stmts))
        }
        _ => None,
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
