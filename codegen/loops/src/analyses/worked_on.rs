//! Tells how statements use a buffer. One that is only worked on is known by no other local.

use crate::ir::{Block, Local, Memory, Operand, Stmt};

/// Allows all work on a buffer.
pub fn is_any(_: &Memory) -> bool {
    true
}

/// Allows additions.
pub fn is_add(memory: &Memory) -> bool {
    matches!(memory, Memory::Add(..))
}

/// Allows loads.
pub fn is_load(memory: &Memory) -> bool {
    matches!(memory, Memory::Load(..))
}

/// Returns whether a statement, and those in its blocks, use a buffer only to load, store, add, set to zero or copy
/// elements, in ways that are allowed.
pub fn is_worked_on(stmt: &Stmt, x: Local, allowed: &impl Fn(&Memory) -> bool) -> bool {
    let is_it = |a: &Operand| a.local() == Some(x);
    let others = match stmt {
        Stmt::Memory(memory) => {
            let (buffers, others) = parts(memory);
            if buffers.into_iter().any(is_it) && !allowed(memory) {
                return false;
            }
            others
        }
        stmt => stmt.operands(),
    };
    let inside = |block: &Block| {
        block.stmts.iter().all(|stmt| is_worked_on(stmt, x, allowed)) && !block.results.iter().any(is_it)
    };
    !others.into_iter().any(is_it) && stmt.blocks().all(inside)
}

/// Returns the buffers that a statement works on, and what else it uses.
fn parts(memory: &Memory) -> (Vec<&Operand>, Vec<&Operand>) {
    match memory {
        Memory::Load(_, b, i) => (vec![b], vec![i]),
        Memory::Store(b, i, a) | Memory::Add(b, i, a) => (vec![b], vec![i, a]),
        Memory::Zero(b, n) => (vec![b], vec![n]),
        Memory::Move { to, from, count } => (vec![to, from], vec![count]),
        memory => (vec![], memory.operands()),
    }
}
