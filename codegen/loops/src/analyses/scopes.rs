//! Recognises the ends of scopes, as lowering makes them.

use crate::ir::{Local, Memory, Operand, Stmt};

/// A conditional that gives a buffer, or a copy of it: `if above { c = alloc n; move c <- b; yield c } else { yield b }`.
pub struct Kept {
    /// The local that the conditional sets.
    pub result: Local,
    /// Whether the buffer must be copied.
    pub condition: Local,
    /// The buffer.
    pub buffer: Local,
}

/// Matches such a conditional.
pub fn kept(stmt: &Stmt) -> Option<Kept> {
    let Stmt::If(xs, Operand::Local(condition), then, other) = stmt else { return None };
    let ([x], [Operand::Local(copy)], [Operand::Local(b)]) = (&xs[..], &then.results[..], &other.results[..]) else {
        return None;
    };
    let [Stmt::Memory(Memory::Alloc { buffer: c, count, .. }), Stmt::Memory(Memory::Move { to, from, count: n })] =
        &then.stmts[..]
    else {
        return None;
    };
    let moves = c == copy && to.local() == Some(*c) && from.local() == Some(*b) && n.same(count);
    (moves && other.stmts.is_empty()).then_some(Kept { result: *x, condition: *condition, buffer: *b })
}

/// Returns whether statements release nothing that was there before them.
pub fn keeps_memory(stmts: &[Stmt]) -> bool {
    released(stmts).is_some_and(|marks| marks.is_empty())
}

/// Returns the marks from before some statements to which they release; none if a piece slides.
pub fn released(stmts: &[Stmt]) -> Option<Vec<Local>> {
    let (mut own, mut released, mut slides) = (Vec::new(), Vec::new(), false);
    let mut see = |stmt: &Stmt| match stmt {
        Stmt::Memory(Memory::Mark(m)) => own.push(*m),
        Stmt::Memory(Memory::Release(m)) => released.extend(m.local()),
        Stmt::Memory(Memory::Slide(..)) => slides = true,
        _ => {}
    };
    stmts.iter().for_each(|stmt| {
        see(stmt);
        stmt.blocks().for_each(|block| block.visit(&mut see));
    });
    released.retain(|m| !own.contains(m));
    (!slides).then_some(released)
}
