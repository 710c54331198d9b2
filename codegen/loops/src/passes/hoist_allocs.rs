//! Hoists a buffer that both arms of a conditional make, out of the conditional.
//!
//! ```text
//! x = if c { s; a = alloc n; t; yield a } else { u; b = alloc k; v; yield b }
//!   =  x = alloc n;  if c { s; t[a := x] } else { u; v[b := x] }
//! ```
//!
//! Either n is k, known before the conditional, or both are small numbers. Then x is as large as the larger one, and
//! nothing uses what is beyond the end of the smaller one. So x is one buffer, and not one of two. It can lie on the
//! stack (`alloc_to_stack`), and loops around it can run in lanes, since all lanes have it at one place. Later loads
//! know what was stored in it.
//!
//! Memory that one of the arms takes for itself is taken on top of x, not below. So if the sizes are no numbers, x must
//! be the first that its arm takes. Recursive functions stay: each level would hold an x while it calls the next one.

use super::pass::FunctionCx;
use crate::ir::{Block, Function, Local, LocalInfo, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Sizes up to this one may differ: that of the buffers that can lie on the stack.
const SMALL: i64 = 64;

pub(super) fn run(cx: &mut FunctionCx) {
    let mut joiner = Joiner { locals: &cx.function.locals, replaced: FxHashMap::default() };
    joiner.hoist_in_block(&mut cx.function.body);
    let replaced = joiner.replaced;
    if !replaced.is_empty() {
        rename(cx.function, &replaced);
    }
}

fn rename(function: &mut Function, replaced: &FxHashMap<Local, Local>) {
    function.body.change_operands(&mut |a| {
        while let Some(x) = a.local().and_then(|x| replaced.get(&x)) {
            *a = Operand::Local(*x);
        }
    });
}

struct Joiner<'a> {
    locals: &'a [LocalInfo],
    /// Maps the buffers of arms to the buffers made before the conditional.
    replaced: FxHashMap<Local, Local>,
}

impl Joiner<'_> {
    /// Inner conditionals first: what was made in their arms is then made in the arm around them.
    fn hoist_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.blocks_mut().for_each(|inner| self.hoist_in_block(inner));
            if let Stmt::If(xs, _, then, other) = &mut stmt {
                let mut i = 0;
                while i < xs.len() {
                    match self.join_allocs(xs[i], i, [then, other]) {
                        Some(made) => {
                            block.stmts.push(made);
                            xs.remove(i);
                            then.results.remove(i);
                            other.results.remove(i);
                        }
                        None => i += 1,
                    }
                }
            }
            block.stmts.push(stmt);
        }
    }

    /// The buffer that both arms give at a place, made before them; it is in neither of them then.
    fn join_allocs(&mut self, x: Local, place: usize, arms: [&mut Block; 2]) -> Option<Stmt> {
        self.locals[x.0 as usize].ty.element()?;
        if arms.iter().any(|arm| gives_back_more(arm)) {
            return None;
        }
        let made = [&arms[0], &arms[1]].map(|arm| find_alloc(arm, place));
        let [Some((at, n)), Some((other_at, k))] = made else { return None };
        let count = match (n, k) {
            (Operand::Integer(n @ 0..=SMALL), Operand::Integer(k @ 0..=SMALL)) => Operand::Integer(*n.max(k)),
            (n, k) if n.same(k) && self.may_be_first(arms[0], at, n) && self.may_be_first(arms[1], other_at, k) => {
                n.clone()
            }
            _ => return None,
        };
        let [alloc, _] = [(0, at), (1, other_at)].map(|(i, at)| {
            let alloc = arms[i].stmts.remove(at);
            self.replaced.extend(alloc.targets().into_iter().map(|buffer| (buffer, x)));
            alloc
        });
        let Stmt::Memory(Memory::Alloc { span, .. }) = alloc else { unreachable!("it makes the buffer") };
        Some(Stmt::Memory(Memory::Alloc { buffer: x, count, span }))
    }

    /// Returns whether a buffer of that size, made at some place in an arm, may be made before it.
    fn may_be_first(&self, arm: &Block, at: usize, count: &Operand) -> bool {
        let set: BTreeSet<Local> = arm.stmts[..at].iter().flat_map(Stmt::targets).collect();
        let is_size = |n: Local| self.locals[n.0 as usize].is_size && !set.contains(&n);
        count.local().is_none_or(is_size) && !arm.stmts[..at].iter().any(takes_or_leaves)
    }
}

/// Returns where an arm makes the buffer that it gives at a place and at no other, and how large.
fn find_alloc(arm: &Block, place: usize) -> Option<(usize, &Operand)> {
    let given = arm.results[place].local()?;
    if arm.results.iter().filter(|a| a.local() == Some(given)).count() > 1 {
        return None;
    }
    arm.stmts.iter().enumerate().find_map(|(at, stmt)| match stmt {
        Stmt::Memory(Memory::Alloc { buffer, count, .. }) if *buffer == given => Some((at, count)),
        _ => None,
    })
}

/// Returns whether an arm gives back memory that was taken before it, which would be that of the buffer, too.
fn gives_back_more(arm: &Block) -> bool {
    let (mut marks, mut before) = (BTreeSet::new(), BTreeSet::new());
    arm.visit(&mut |stmt| match stmt {
        Stmt::Memory(Memory::Mark(m)) => drop(marks.insert(*m)),
        Stmt::Memory(Memory::Release(m) | Memory::Slide(_, _, m)) => before.extend(m.local()),
        _ => {}
    });
    !before.is_subset(&marks)
}

/// Returns whether a statement may take memory, or stop with an error.
fn takes_or_leaves(stmt: &Stmt) -> bool {
    let itself = matches!(
        stmt,
        Stmt::Check { .. }
            | Stmt::Call(..)
            | Stmt::External { .. }
            | Stmt::Memory(Memory::Alloc { .. } | Memory::Mark(_) | Memory::Release(_) | Memory::Slide(..))
    );
    itself || stmt.blocks().flat_map(|block| &block.stmts).any(takes_or_leaves)
}
