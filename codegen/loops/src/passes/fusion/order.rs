//! Moves the statements between two loops before or behind the loop that both become.
//!
//! ```text
//! first; s1; ..; sn; second   =   those that need not follow the first; both in one; the others
//! ```
//!
//! What was checked before the second loop is checked before it still, and errors come in their order; but memory may
//! be exhausted before another error comes, or after it.

use super::fuser::Done;
use crate::analyses::alias::Aliases;
use crate::analyses::effects::StmtEffects;
use crate::ir::{Local, Memory, Stmt};
use rustc_hash::FxHashSet;

/// Returns, for each statement between two loops, whether it goes behind the merged loop; none if the second loop would
/// have to, too.
pub(super) fn behind(
    first: &StmtEffects,
    between: &[Done],
    second: &StmtEffects,
    aliases: &Aliases,
) -> Option<Vec<bool>> {
    let marks: FxHashSet<Local> = between.iter().filter_map(|done| mark(&done.stmt)).collect();
    let mut later: Vec<&StmtEffects> = Vec::new();
    let behind = between.iter().map(|Done { effects, .. }| {
        // What lies above an older mark is gone when that is released to.
        let ends = effects.releases.iter().any(|m| !marks.contains(m)) && !first.accesses.is_empty();
        let ends_later = |d: &StmtEffects| !effects.releases.is_empty() && !d.accesses.is_empty();
        let follows = ends
            || first.orders(effects, aliases)
            || later.iter().any(|d| ends_later(d) || d.orders(effects, aliases) || d.guards(effects));
        if follows {
            later.push(effects);
        }
        follows
    });
    let behind = behind.collect();
    let is_free = !later.iter().any(|d| d.orders(second, aliases) || d.guards(second));
    is_free.then_some(behind)
}

fn mark(stmt: &Stmt) -> Option<Local> {
    if let Stmt::Memory(Memory::Mark(m)) = stmt { Some(*m) } else { None }
}

/// Returns whether a buffer may lie where something else is made, after these statements: what is moved from there may
/// overlap with what it is moved to.
pub(super) fn is_released<'s>(b: Local, stmts: impl Iterator<Item = &'s Stmt> + Clone) -> bool {
    let mut is_made = !stmts.clone().any(|stmt| stmt.targets().contains(&b));
    let mut marks = FxHashSet::default();
    for stmt in stmts {
        match stmt {
            Stmt::Memory(Memory::Mark(m)) if is_made => drop(marks.insert(*m)),
            Stmt::Memory(Memory::Release(m) | Memory::Slide(_, _, m)) if is_made => {
                if m.local().is_none_or(|m| !marks.contains(&m)) {
                    return true;
                }
            }
            stmt => is_made |= stmt.targets().contains(&b),
        }
    }
    false
}
