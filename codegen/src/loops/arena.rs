//! What a block takes from the arena, and whether it gives it back.

use super::{Block, Local, Memory, Stmt};
use std::collections::HashSet;

impl Block {
    /// Whether the arena is at the end of a loop's body as it was at its start, and no mark from outside is used in it.
    /// Given are the locals that the body sets, and which functions take from the arena.
    pub fn gives_all_back(&self, set: &HashSet<Local>, takes: &[bool]) -> bool {
        let mut own = true;
        self.visit(&mut |stmt| {
            if let Stmt::Memory(Memory::Release(m) | Memory::Slide(_, _, m)) = stmt {
                own &= m.local().is_some_and(|m| set.contains(&m));
            }
        });
        own && self.is_balanced(takes)
    }

    fn is_balanced(&self, takes: &[bool]) -> bool {
        let mut rest = self.stmts.iter();
        while let Some(stmt) = rest.next() {
            if let Stmt::Memory(Memory::Mark(m)) = stmt {
                let is_release =
                    |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Release(a)) if a.local() == Some(*m));
                if let Some(i) = rest.as_slice().iter().position(is_release) {
                    rest = rest.as_slice()[i + 1..].iter();
                }
                continue;
            }
            let takes_itself = match stmt {
                Stmt::Call(_, callee, _) => takes[callee.0],
                stmt => stmt.takes_memory() || matches!(stmt, Stmt::Memory(Memory::Slide(..))),
            };
            if takes_itself || !stmt.blocks().into_iter().all(|block| block.is_balanced(takes)) {
                return false;
            }
        }
        true
    }
}
