//! Finds loops that read one buffer and write another one element by element: both may be the same memory.
//!
//! ```text
//! for i in a..b { .. x = load old[i]; .. store new[i] = e .. }
//! ```
//!
//! Each iteration reads what it needs of `old` before it writes, at its own index, and nothing else is done to the two.
//! So no iteration sees what another one wrote, in lanes as well: the lanes read together before they write together.
//! Chunks on threads have ranges of their own, as `parallelize` makes them.

use crate::analyses::alias::Aliases;
use crate::analyses::roots::Root;
use crate::ir::{Block, For, Local, Memory, Op, Operand, Stmt};

/// Returns whether the statement is such a loop.
pub(super) fn is_in_place(stmt: &Stmt, old: Local, new: Local, aliases: &Aliases) -> bool {
    let Stmt::For(looped) = stmt else { return false };
    let in_place = InPlace { old, new, aliases };
    if looped.on_threads {
        return in_place.in_chunks(looped);
    }
    in_place.elementwise(looped)
}

struct InPlace<'a> {
    old: Local,
    new: Local,
    aliases: &'a Aliases,
}

impl InPlace<'_> {
    /// for c in 0..k on threads { start = c l; end = min(start + l, n); for i in start..end { .. } }
    fn in_chunks(&self, chunks: &For) -> bool {
        let (loops, others): (Vec<&Stmt>, Vec<&Stmt>) =
            chunks.body.stmts.iter().partition(|stmt| self.touches(self.old, stmt) || self.touches(self.new, stmt));
        let [Stmt::For(looped)] = &loops[..] else { return false };
        let set_by =
            |a: &Operand| others.iter().copied().find(|stmt| a.local().is_some_and(|x| stmt.targets().contains(&x)));
        let Some(Stmt::Let(start, Op::MulI, factors)) = set_by(&looped.from) else { return false };
        let [c, length] = &factors[..] else { return false };
        let Some(Stmt::If(_, fits, then, other)) = set_by(&looped.to) else { return false };
        let [whole] = &then.results[..] else { return false };
        let (Some(Stmt::Let(_, Op::AddI, sum)), Some(Stmt::Let(_, Op::LeI, order))) = (set_by(whole), set_by(fits))
        else {
            return false;
        };
        c.local() == Some(chunks.index)
            && sum[0].local() == Some(*start)
            && sum[1].same(length)
            && order[0].same(whole)
            && other.results.len() == 1
            && order[1].same(&other.results[0])
            && self.elementwise(looped)
    }

    fn elementwise(&self, looped: &For) -> bool {
        let carried = looped.carried.iter().map(|(_, init)| init).chain(&looped.body.results);
        let ends = [&looped.from, &looped.to].into_iter().chain(carried);
        let none = |a: &Operand| !self.meets(self.old, a) && !self.meets(self.new, a);
        let last = looped.body.stmts.iter().rposition(|stmt| self.touches(self.old, stmt));
        let first = looped.body.stmts.iter().position(|stmt| self.touches(self.new, stmt));
        let in_order = last.zip(first).is_some_and(|(last, first)| last < first);
        in_order && ends.into_iter().all(none) && self.is_plain(&looped.body, looped.index)
    }

    /// Returns whether the two are touched at this index only, the one read, the other written.
    fn is_plain(&self, block: &Block, index: Local) -> bool {
        block.stmts.iter().all(|stmt| {
            let is = |a: &Operand, x: Local| a.local() == Some(x);
            let at = |i: &Operand| is(i, index);
            let used: Vec<&Operand> = match stmt {
                Stmt::Memory(Memory::Load(_, b, i)) if at(i) && (is(b, self.old) || is(b, self.new)) => vec![i],
                Stmt::Memory(Memory::Store(b, i, a) | Memory::Add(b, i, a)) if at(i) && is(b, self.new) => {
                    vec![i, a]
                }
                stmt => stmt.operands(),
            };
            let given = stmt.blocks().flat_map(|block| &block.results);
            let none = |a: &Operand| !self.meets(self.old, a) && !self.meets(self.new, a);
            used.into_iter().chain(given).all(none) && stmt.blocks().all(|inner| self.is_plain(inner, index))
        })
    }

    fn touches(&self, buffer: Local, stmt: &Stmt) -> bool {
        stmt.operands().into_iter().any(|a| self.meets(buffer, a))
            || stmt.blocks().any(|block| {
                block.results.iter().any(|a| self.meets(buffer, a))
                    || block.stmts.iter().any(|stmt| self.touches(buffer, stmt))
            })
    }

    /// Returns whether the buffer can be reached by an operand.
    fn meets(&self, buffer: Local, a: &Operand) -> bool {
        a.local().is_some_and(|x| self.aliases.reach(x).contains(&Root::Made(buffer)))
    }
}
