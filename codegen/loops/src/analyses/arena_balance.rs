//! Tells whether a block gives back to the arena what it takes.

use crate::ir::{Block, Local, Memory, Stmt};
use rustc_hash::FxHashSet;

/// Returns whether the arena is at the end of a loop's body as it was at its start, and the body uses no mark from
/// outside. `set` holds the locals that the loop sets, and `takes` the functions that take from the arena.
pub fn gives_all_back(body: &Block, set: &FxHashSet<Local>, takes: &[bool]) -> bool {
    releases_to_own_marks(body, set) && is_balanced(body, takes)
}

/// Returns whether the body of a loop releases to no mark from outside: what was taken before the loop stays.
pub fn releases_to_own_marks(body: &Block, set: &FxHashSet<Local>) -> bool {
    let mut own = true;
    body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Release(m) | Memory::Slide(_, _, m)) = stmt {
            own &= m.local().is_some_and(|m| set.contains(&m));
        }
    });
    own
}

impl Block {
    /// Returns whether the arena is at the end as it was at the start, and no mark from outside is released to; `takes`
    /// tells which functions take from the arena.
    pub fn gives_back(&self, takes: &[bool]) -> bool {
        let mut set = FxHashSet::default();
        self.visit(&mut |stmt| set.extend(stmt.targets()));
        gives_all_back(self, &set, takes)
    }
}

fn is_balanced(block: &Block, takes: &[bool]) -> bool {
    let mut rest = block.stmts.iter();
    while let Some(stmt) = rest.next() {
        if let Stmt::Memory(Memory::Mark(m)) = stmt {
            let is_release = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Release(a)) if a.local() == Some(*m));
            if let Some(i) = rest.as_slice().iter().position(is_release) {
                rest = rest.as_slice()[i + 1..].iter();
            }
            continue;
        }
        let takes_itself = match stmt {
            Stmt::Call(_, callee, _) => takes[callee.0],
            stmt => stmt.takes_memory() || matches!(stmt, Stmt::Memory(Memory::Slide(..))),
        };
        if takes_itself || !stmt.blocks().all(|block| is_balanced(block, takes)) {
            return false;
        }
    }
    true
}
