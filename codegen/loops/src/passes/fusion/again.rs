//! Finds loops that check again what an earlier loop has checked.
//!
//! ```text
//! for i { x = load b[i]; check x < n; s }; for j { y = load b[j]; check y < n; t }
//!   =   for i { x = load b[i]; check x < n; s; y = load b[i]; t[j := i] }
//! ```
//!
//! Where the second loop begins, the first one has ended without an error. So the conditions that it checked hold in
//! each iteration, and the second loop cannot stop. A value and its derivative, or two derivatives, are such loops.
//! Fusing them pays even if they pass nothing on: they load the same elements, and `loop_versioning` versions one loop,
//! not two.

use super::fuser::Done;
use crate::analyses::alias::Aliases;
use crate::analyses::effects::{Access, StmtEffects};
use crate::ir::{For, Local, Memory, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The greatest depth to which the computation of an operand is compared.
const DEEPEST: usize = 8;

/// Returns whether the second loop may stop, but only where the first one has stopped before it.
pub(super) fn asks_again(first: &Done, between: &[Done], second: &Done, aliases: &Aliases) -> bool {
    if !first.effects.may_leave || !second.effects.may_leave {
        return false;
    }
    let (Stmt::For(p), Stmt::For(c)) = (&first.stmt, &second.stmt) else { return false };
    let Some(asked) = RepeatedChecks::of(c).filter(|_| leaves_by_own_checks(c)) else { return false };
    let Some(before) = RepeatedChecks::of(p) else { return false };
    asked.keys.iter().all(|key| key.as_ref().is_some_and(|key| before.keys.contains(&Some(key.clone()))))
        && [first, second].into_iter().chain(between).all(|done| asked.stays(&done.effects, aliases))
}

/// Returns the loop without its checks.
pub(super) fn unchecked(mut looped: For) -> For {
    looped.body.stmts.retain(|stmt| !matches!(stmt, Stmt::Check { .. }));
    looped
}

/// Returns whether a loop may stop by checks of its body only, not of blocks in it.
fn leaves_by_own_checks(looped: &For) -> bool {
    let leaves = |stmt: &Stmt| match stmt {
        Stmt::Check { .. } | Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } | Stmt::Write(_) => true,
        Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Memory(_) => false,
    };
    looped.body.stmts.iter().filter(|stmt| !matches!(stmt, Stmt::Check { .. })).all(|stmt| {
        let mut inner = false;
        stmt.blocks().for_each(|block| block.visit(&mut |stmt| inner |= leaves(stmt)));
        !leaves(stmt) && !inner
    })
}

/// The checks of a loop's body.
struct RepeatedChecks {
    /// One key for each check, made of the index and of outer values; none if that is not possible.
    keys: FxHashSet<Option<String>>,
    /// The buffers from which the conditions load.
    loaded: BTreeSet<Local>,
}

impl RepeatedChecks {
    /// Returns none where there are no checks.
    fn of(looped: &For) -> Option<RepeatedChecks> {
        let stmts = &looped.body.stmts;
        let made: FxHashMap<Local, &Stmt> =
            stmts.iter().flat_map(|stmt| stmt.targets().into_iter().map(move |x| (x, stmt))).collect();
        let bound = looped.carried.iter().map(|(x, _)| *x).collect();
        let mut maker = Maker { index: looped.index, made, bound, loaded: BTreeSet::new() };
        let conditions = stmts.iter().filter_map(|stmt| match stmt {
            Stmt::Check { condition, .. } => Some(condition),
            _ => None,
        });
        let keys: FxHashSet<Option<String>> = conditions.map(|condition| maker.key(condition, DEEPEST)).collect();
        (!keys.is_empty()).then_some(RepeatedChecks { keys, loaded: maker.loaded })
    }

    /// Returns whether the buffers that were asked stay as they are.
    fn stays(&self, effects: &StmtEffects, aliases: &Aliases) -> bool {
        self.loaded.iter().all(|b| {
            let read = Access { buffer: *b, at: None, writes: false, deep: false };
            !effects.accesses.iter().any(|access| access.meets(&read, aliases))
        })
    }
}

struct Maker<'a> {
    index: Local,
    /// Maps each local of the body to the statement that sets it.
    made: FxHashMap<Local, &'a Stmt>,
    /// The index and the carried values of the loop.
    bound: FxHashSet<Local>,
    loaded: BTreeSet<Local>,
}

impl Maker<'_> {
    /// Returns a key that is equal for equal values in the same iteration of any loop.
    fn key(&mut self, a: &Operand, depth: usize) -> Option<String> {
        let Some(x) = a.local() else { return Some(format!("{a:?}")) };
        if x == self.index {
            return Some("index".to_string());
        }
        let Some(stmt) = self.made.get(&x).copied() else {
            return (!self.bound.contains(&x)).then(|| format!("{x:?}"));
        };
        let depth = depth.checked_sub(1)?;
        match stmt {
            Stmt::Let(_, op, args) => {
                let args: Option<Vec<String>> = args.iter().map(|a| self.key(a, depth)).collect();
                Some(format!("({op:?} {})", args?.join(" ")))
            }
            Stmt::Memory(Memory::Load(_, Operand::Local(b), i)) if !self.made.contains_key(b) => {
                self.loaded.insert(*b);
                Some(format!("{b:?}[{}]", self.key(i, depth)?))
            }
            _ => None,
        }
    }
}
