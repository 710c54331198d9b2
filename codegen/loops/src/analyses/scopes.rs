//! Recognises the ends of scopes, as lowering makes them.

use crate::ir::{Local, Memory, Op, Operand, Stmt};

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

/// A conditional that ends a scope and gives several buffers. They are copied down to the mark one by one, where they
/// lie above it in order.
pub struct KeptSeveral {
    /// The mark.
    pub mark: Local,
    /// Each local that the conditional sets, with its buffer. In either case the values are the same.
    pub kept: Vec<(Local, Local)>,
}

/// Matches such a conditional.
pub fn kept_several(stmt: &Stmt) -> Option<KeptSeveral> {
    let Stmt::If(xs, _, then, _) = stmt else { return None };
    let (Stmt::Memory(Memory::Release(m)), copies) = then.stmts.split_first()? else { return None };
    let copied = |(pair, (x, result)): (&[Stmt], (&Local, &Operand))| {
        let [Stmt::Memory(Memory::Alloc { buffer, .. }), Stmt::Memory(Memory::Move { to, from, .. })] = pair else {
            return None;
        };
        let moves = to.local() == Some(*buffer) && result.local() == Some(*buffer);
        moves.then_some((*x, from.local()?))
    };
    let kept = copies.chunks(2).zip(xs.iter().zip(&then.results)).map(copied).collect::<Option<Vec<_>>>()?;
    (copies.len() == 2 * xs.len()).then_some(KeptSeveral { mark: m.local()?, kept })
}

/// Drops what only the condition of a choice needs, from the statements before its place. Returns the place then.
pub fn drop_question(stmts: &mut Vec<Stmt>, mut at: usize, condition: &Operand) -> usize {
    let mut waiting: Vec<Local> = condition.local().into_iter().collect();
    while let Some(x) = waiting.pop() {
        let Some(set) = stmts.iter().position(|stmt| stmt.targets().contains(&x)) else { continue };
        let is_question =
            matches!(stmts[set], Stmt::Let(_, Op::And, _) | Stmt::Memory(Memory::Above(..) | Memory::Before(..)));
        if is_question && !stmts.iter().any(|stmt| stmt.mentions(x)) {
            let gone = stmts.remove(set);
            at -= usize::from(set < at);
            if let Stmt::Let(_, _, args) = gone {
                waiting.extend(args.iter().filter_map(Operand::local));
            }
        }
    }
    at
}

/// Returns whether statements release nothing that was there before them.
pub fn keeps_memory(stmts: &[Stmt]) -> bool {
    released(stmts).is_empty()
}

/// Returns the marks from before some statements to which they release, or to which a piece slides.
pub fn released(stmts: &[Stmt]) -> Vec<Local> {
    let (mut own, mut released) = (Vec::new(), Vec::new());
    let mut see = |stmt: &Stmt| match stmt {
        Stmt::Memory(Memory::Mark(m)) => own.push(*m),
        Stmt::Memory(Memory::Release(m) | Memory::Slide(_, _, m)) => released.extend(m.local()),
        _ => {}
    };
    stmts.iter().for_each(|stmt| {
        see(stmt);
        stmt.blocks().for_each(|block| block.visit(&mut see));
    });
    released.retain(|m| !own.contains(m));
    released
}
