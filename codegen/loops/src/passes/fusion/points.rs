//! Moves additions to one element behind the loops that change every element.
//!
//! ```text
//! zero b[0..n]; add b[k] += v; for i in 0..n { add b[i] += x }         =   zero b; for ..; add b[k] += v
//! add a[k] += v; zero b; for i in 0..n { x = load a[i]; add b[i] += x }
//!   =   zero b; for ..; add b[k] += v                                      if a is not used afterwards
//! ```
//!
//! Between loops that could be one nothing is left then: the derivative of a sum with a largest element in it adds to
//! all elements, and to that one. The result is the same to the bit. Each b[i] has begun as 0, and 0 + x is never -0.
//! So (0 + v) + x = (0 + x) + v, and 0 + (a + v) = (0 + a) + v. So only one such addition goes behind a loop; an
//! element that is stored is no -0.

use super::fuser::WINDOW;
use crate::analyses::alias::Aliases;
use crate::ir::{Block, For, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;

pub(super) fn points(body: &mut Block, aliases: &Aliases) {
    let mut counts = FxHashMap::default();
    let uses = body.use_counts();
    body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Alloc { buffer, count, .. }) = stmt {
            counts.insert(*buffer, count.clone());
        }
    });
    Points { aliases, counts, uses }.move_in_block(body)
}

struct Points<'a> {
    aliases: &'a Aliases,
    /// How many elements the buffers have that are made.
    counts: FxHashMap<Local, Operand>,
    /// How often each local is used.
    uses: FxHashMap<Local, usize>,
}

/// A loop that adds to each element of a buffer, and does nothing else with it.
struct ElementwiseSum {
    to: Local,
    /// The buffer of which it adds the elements as they are, if it does nothing else at all.
    from: Option<Local>,
}

impl Points<'_> {
    fn move_in_block(&mut self, block: &mut Block) {
        let mut i = 0;
        while i < block.stmts.len() {
            // The loop is one place nearer to the start then, and there may be more to move.
            i = if self.goes_behind(block, i) { i - 1 } else { i + 1 };
        }
        block.stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|inner| self.move_in_block(inner));
    }

    /// Returns whether an addition went behind the loop at a place of the block.
    fn goes_behind(&mut self, block: &mut Block, at: usize) -> bool {
        let Some(sum) = self.elementwise_sum(&block.stmts[at]) else { return false };
        let before = &block.stmts[at.saturating_sub(WINDOW)..at];
        let start = at - before.len();
        let Some(zero) = before.iter().rposition(|stmt| self.zeroes(stmt, sum.to)) else { return false };
        let touching = |b: Local, from: usize| -> Vec<usize> {
            (from..before.len()).filter(|i| self.touches(&before[*i], b)).collect()
        };
        let place = match &touching(sum.to, zero + 1)[..] {
            [one] => Some((*one, sum.to)),
            [] => sum.from.and_then(|from| Some((*touching(from, 0).last()?, from))),
            _ => None,
        };
        let Some((place, buffer)) = place else { return false };
        // A buffer of its own is made in this block, and used before the loop and there only.
        let is_done = || {
            let inside: usize = before.iter().map(|stmt| uses_in(stmt, buffer)).sum();
            let makes = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer: b, .. }) if *b == buffer);
            before.iter().any(makes) && self.uses.get(&buffer) == Some(&(inside + 1))
        };
        if buffer != sum.to && !is_done() {
            return false;
        }
        let Some(added) = point(&before[place], buffer, sum.to) else { return false };
        block.stmts.insert(at + 1, added);
        block.stmts.remove(start + place);
        // What was a use of the one is a use of the other now, behind the loop.
        *self.uses.entry(buffer).or_default() -= 1;
        *self.uses.entry(sum.to).or_default() += 1;
        true
    }

    /// Returns a loop over all elements of a buffer that adds to each, once.
    fn elementwise_sum(&self, stmt: &Stmt) -> Option<ElementwiseSum> {
        let Stmt::For(looped) = stmt else { return None };
        let For { index, from: Operand::Integer(0), to: count, body, .. } = &**looped else { return None };
        let at_index = |i: &Operand| i.local() == Some(*index);
        let is_whole = |b: Local| self.counts.get(&b).is_some_and(|all| all.same(count));
        let mut adds = body.stmts.iter().filter_map(|stmt| match stmt {
            Stmt::Memory(Memory::Add(Operand::Local(b), i, x)) if at_index(i) && is_whole(*b) => Some((*b, x)),
            _ => None,
        });
        let (to, x) = adds.next()?;
        if self.aliases.sharers(to).map(|x| uses_in(stmt, x)).sum::<usize>() != 1 {
            return None;
        }
        let is_plain = body.stmts.len() == 2 && looped.carried.is_empty();
        let from = body.stmts.iter().find_map(|stmt| match stmt {
            Stmt::Memory(Memory::Load(y, Operand::Local(a), i)) if is_plain && at_index(i) && x.local() == Some(*y) => {
                Some(*a)
            }
            _ => None,
        });
        Some(ElementwiseSum {
            to,
            from: from.filter(|a| is_whole(*a) && *a != to && self.aliases.sharers(*a).count() == 1),
        })
    }

    /// Returns whether a statement sets all elements of a buffer to 0.
    fn zeroes(&self, stmt: &Stmt, b: Local) -> bool {
        matches!(stmt, Stmt::Memory(Memory::Zero(c, count)) if c.local() == Some(b)
            && self.counts.get(&b).is_some_and(|all| all.same(count)))
    }

    /// Returns whether a statement uses anything that may be a part of the buffer.
    fn touches(&self, stmt: &Stmt, b: Local) -> bool {
        self.aliases.sharers(b).any(|x| uses_in(stmt, x) > 0)
    }
}

/// Returns how often a statement and those in it use a local.
fn uses_in(stmt: &Stmt, x: Local) -> usize {
    let mut count = 0;
    let mut see = |a: &Operand| count += usize::from(a.local() == Some(x));
    stmt.operands().into_iter().for_each(&mut see);
    stmt.blocks().for_each(|block| block.visit_operands(&mut see));
    count
}

/// Returns a statement that does nothing but add to one element of a buffer, or store what is no -0 there where 0 is;
/// as one that adds to another buffer.
fn point(stmt: &Stmt, from: Local, to: Local) -> Option<Stmt> {
    let is_it = |b: &Operand| b.local() == Some(from);
    match stmt {
        Stmt::Memory(Memory::Add(b, k, v)) if is_it(b) => {
            Some(Stmt::Memory(Memory::Add(to.into(), k.clone(), v.clone())))
        }
        Stmt::Memory(Memory::Store(b, k, v @ Operand::Float(x))) if is_it(b) && from == to => {
            (x.to_bits() != (-0.0f64).to_bits()).then(|| Stmt::Memory(Memory::Add(to.into(), k.clone(), v.clone())))
        }
        Stmt::If(results, c, then, other) if results.is_empty() && other.stmts.is_empty() => {
            let [inner] = &then.stmts[..] else { return None };
            let then = Block { stmts: vec![point(inner, from, to)?], results: vec![] };
            Some(Stmt::If(vec![], c.clone(), then, other.clone()))
        }
        _ => None,
    }
}
