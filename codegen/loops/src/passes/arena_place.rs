//! Makes a buffer that outlives its scope below the mark of the scope, where it stays.
//!
//! ```text
//! m = mark; s; b = alloc n; t; x = b above m; release m; y = if x { c = alloc n; move c <- b; yield c }
//!                                                               else { yield b }
//! =  b = alloc n; m = mark; s; t; release m;  y := b
//!
//! m = mark; s; b = alloc n; t; c = alloc k; u; y, z = if (both above m, in order) { release m; (copies) } else { .. }
//! =  b = alloc n; c = alloc k; m = mark; s; t; u; release m;  y := b; z := c       a buffer from before m just stays
//! ```
//!
//! n is known at the mark and is a size there, or a size times a number, or nothing is checked before b is made. m and
//! x are used for nothing else. So nothing moves, and later passes see that what is read of y is what was stored in b.
//! Memory may be exhausted earlier in a scope than before, but not by more.

use super::pass::FunctionCx;
use crate::analyses::scopes::{Kept, KeptSeveral, drop_question, kept, kept_several};
use crate::ir::{Block, Local, LocalInfo, MOST_ELEMENTS, Memory, Op, Operand, Stmt};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A size, so many times, is no more than memory can have where there is anything of that size.
const MOST_TIMES: i64 = 64;

pub(super) fn run(cx: &mut FunctionCx) {
    cx.rewrite(|body, function| {
        let uses = body.use_counts();
        let mut placer = Placer { uses, locals: &function.locals, replaced: FxHashMap::default() };
        placer.place_in_block(body);
        body.change_operands(&mut |a| placer.replace(a));
    });
}

struct Placer<'a> {
    locals: &'a [LocalInfo],
    /// How often each local is used.
    uses: FxHashMap<Local, usize>,
    /// Maps the results of scopes to their replacements.
    replaced: FxHashMap<Local, Operand>,
}

/// The end of a scope, by the places of its statements in the block.
struct Scope {
    mark: usize,
    /// The allocation of the buffer, after the statements that compute its size.
    made: MovedAlloc,
    above: usize,
    choice: usize,
    result: Local,
    buffer: Local,
}

/// The places of the statements that move with an allocation: the `alloc`, and the computation of its size if that
/// moves, too.
struct MovedAlloc {
    size: Option<usize>,
    alloc: usize,
}

impl MovedAlloc {
    fn statements(&self) -> impl Iterator<Item = usize> {
        self.size.into_iter().chain([self.alloc])
    }
}

/// Moves statements to a mark, in order.
fn to_mark(block: &mut Block, mark: usize, statements: impl IntoIterator<Item = usize>) {
    for (i, place) in statements.into_iter().enumerate() {
        let stmt = block.stmts.remove(place);
        block.stmts.insert(mark + i, stmt);
    }
}

impl Placer<'_> {
    fn replace(&self, a: &mut Operand) {
        while let Some(other) = a.local().and_then(|x| self.replaced.get(&x)) {
            *a = other.clone();
        }
    }

    fn place_in_block(&mut self, block: &mut Block) {
        let mut i = 0;
        while i < block.stmts.len() {
            block.stmts[i].operands_mut().into_iter().for_each(|a| self.replace(a));
            block.stmts[i].blocks_mut().for_each(|inner| self.place_in_block(inner));
            block.stmts[i].blocks_mut().flat_map(|b| &mut b.results).for_each(|a| self.replace(a));
            match self.scope(&block.stmts[..=i]) {
                Some(scope) => {
                    self.replaced.insert(scope.result, Operand::Local(scope.buffer));
                    block.stmts.remove(scope.choice);
                    block.stmts.remove(scope.above);
                    to_mark(block, scope.mark, scope.made.statements());
                    i -= 1;
                }
                None => {
                    i = self.place_several(block, i).unwrap_or(i) + 1;
                }
            }
        }
    }

    /// Handles a scope that ends with a statement that keeps several buffers. They are allocated before the scope,
    /// which releases the rest. Returns where it releases then.
    fn place_several(&mut self, block: &mut Block, choice: usize) -> Option<usize> {
        let KeptSeveral { mark: m, kept } = kept_several(&block.stmts[choice])?;
        let stmts = &block.stmts[..choice];
        let mark = stmts.iter().rposition(|s| matches!(s, Stmt::Memory(Memory::Mark(x)) if *x == m))?;
        // What was there before the mark stays where it is.
        let is_made = |buffer: &Local| stmts[mark..].iter().any(|stmt| stmt.targets().contains(buffer));
        let made: Vec<Local> = kept.iter().map(|(_, buffer)| *buffer).filter(is_made).collect();
        let places = made.iter().map(|buffer| self.movable(stmts, mark, *buffer)).collect::<Option<Vec<_>>>()?;
        let allocs: BTreeSet<usize> = places.iter().map(|made| made.alloc).collect();
        if allocs.len() != made.len() {
            return None;
        }
        let end = Stmt::Memory(Memory::Release(m.into()));
        let Stmt::If(_, condition, ..) = std::mem::replace(&mut block.stmts[choice], end) else { return None };
        to_mark(block, mark, places.iter().flat_map(MovedAlloc::statements).collect::<BTreeSet<_>>());
        self.replaced.extend(kept.into_iter().map(|(result, buffer)| (result, buffer.into())));
        Some(drop_question(&mut block.stmts, choice, &condition))
    }

    /// Returns where a buffer is made that may be made at a mark as well.
    fn movable(&self, stmts: &[Stmt], mark: usize, buffer: Local) -> Option<MovedAlloc> {
        let is_made = |stmt: &Stmt| matches!(stmt, Stmt::Memory(Memory::Alloc { buffer: b, .. }) if *b == buffer);
        let alloc = stmts.iter().rposition(is_made)?;
        let Stmt::Memory(Memory::Alloc { count, .. }) = &stmts[alloc] else { return None };
        let scope = stmts.get(mark..alloc)?;
        let is_known = |n: Local| !scope.iter().any(|stmt| stmt.targets().contains(&n));
        let is_known_size = |n: Local| self.locals[n.0 as usize].is_size && is_known(n);
        let (is_there, is_size) = match count {
            Operand::Local(n) => (is_known(*n), is_known_size(*n)),
            count => (true, matches!(count, Operand::Integer(0..=MOST_ELEMENTS))),
        };
        if is_there && (is_size || !scope.iter().any(may_leave)) {
            return Some(MovedAlloc { size: None, alloc });
        }
        let is_product = |stmt: &Stmt| match stmt {
            Stmt::Let(x, Op::Count, args) if Some(*x) == count.local() => match args[..] {
                [Operand::Integer(1..=MOST_TIMES), Operand::Local(n)]
                | [Operand::Local(n), Operand::Integer(1..=MOST_TIMES)] => is_known_size(n),
                _ => false,
            },
            _ => false,
        };
        let size = mark + scope.iter().position(is_product)?;
        Some(MovedAlloc { size: Some(size), alloc })
    }

    /// Returns the scope that ends with the last of these statements.
    fn scope(&self, stmts: &[Stmt]) -> Option<Scope> {
        let choice = stmts.len() - 1;
        let Kept { result, condition, buffer } = kept(&stmts[choice])?;
        let find = |f: &dyn Fn(&Stmt) -> bool| stmts.iter().rposition(f);
        let above = find(&|stmt| matches!(stmt, Stmt::Memory(Memory::Above(x, ..)) if *x == condition))?;
        let Stmt::Memory(Memory::Above(_, b, m)) = &stmts[above] else { return None };
        let m = m.local().filter(|_| b.local() == Some(buffer))?;
        let release = find(&|stmt| matches!(stmt, Stmt::Memory(Memory::Release(a)) if a.local() == Some(m)))?;
        let mark = find(&|stmt| matches!(stmt, Stmt::Memory(Memory::Mark(x)) if *x == m))?;
        let made = self.movable(stmts, mark, buffer)?;
        let in_order = made.alloc < above && above < release && release < choice;
        let alone = self.uses.get(&m) == Some(&2) && self.uses.get(&condition) == Some(&1);
        (in_order && alone).then_some(Scope { mark, made, above, choice, result, buffer })
    }
}

fn may_leave(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Check { .. } | Stmt::Call(..) | Stmt::External { .. })
        || stmt.blocks().flat_map(|block| &block.stmts).any(may_leave)
}
