//! Replaces a load, an addition and a store of one element by one addition in memory.
//!
//! ```text
//! x = load b[i]; s; y = x + e; t; store b[i] = y     =     s; t; add b[i] += e
//! ```
//!
//! x and y are used for nothing else, and neither s nor t writes what b shares. Sums of numbers that a function gets
//! and gives back (`lower::into`) look like that where it is inlined. The bits are the same. What only adds may run in
//! lanes and on threads where what stores may not: other iterations may add to the same element.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::ir::{Block, Local, Memory, Op, Operand, Stmt};
use rustc_hash::FxHashMap;
use std::rc::Rc;

pub(super) fn run(cx: &mut FunctionCx) {
    let aliases = cx.aliases();
    let uses = cx.function.body.use_counts();
    Adder { aliases, summaries: cx.summaries(), uses }.fuse_in_block(&mut cx.function.body);
}

struct Adder<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    /// How often each local is used.
    uses: FxHashMap<Local, usize>,
}

impl Adder<'_> {
    fn fuse_in_block(&self, block: &mut Block) {
        let mut i = 0;
        while i < block.stmts.len() {
            block.stmts[i].blocks_mut().for_each(|inner| self.fuse_in_block(inner));
            match self.find_sum(&block.stmts[..=i]) {
                Some((load, sum, term)) => {
                    if let Stmt::Memory(Memory::Store(b, index, _)) = &block.stmts[i] {
                        block.stmts[i] = Stmt::Memory(Memory::Add(b.clone(), index.clone(), term));
                    }
                    block.stmts.remove(sum);
                    block.stmts.remove(load);
                    i -= 1;
                }
                None => i += 1,
            }
        }
    }

    /// Returns where what the last of these statements stores is loaded and added, and what is added.
    fn find_sum(&self, stmts: &[Stmt]) -> Option<(usize, usize, Operand)> {
        let (last, before) = stmts.split_last()?;
        let Stmt::Memory(Memory::Store(b, index, y)) = last else { return None };
        let y = self.used_once(y)?;
        let sum = before.iter().rposition(|stmt| stmt.targets().contains(&y))?;
        let Stmt::Let(_, Op::AddF | Op::AddI, args) = &before[sum] else { return None };
        let [first, second] = &args[..] else { return None };
        let loaded = |x: &Operand| {
            let x = self.used_once(x)?;
            let is_it = |stmt: &Stmt| match stmt {
                Stmt::Memory(Memory::Load(to, c, i)) => *to == x && c.same(b) && i.same(index),
                _ => false,
            };
            before[..sum].iter().rposition(is_it)
        };
        let (load, term) = match (loaded(first), loaded(second)) {
            (Some(load), _) => (load, second),
            (None, Some(load)) => (load, first),
            (None, None) => return None,
        };
        let buffer = b.local()?;
        let changes = before[load..].iter().any(|stmt| self.changes(stmt, buffer));
        (!changes).then(|| (load, sum, term.clone()))
    }

    /// Returns whether a statement, or one in its blocks, may change what a buffer shows.
    fn changes(&self, stmt: &Stmt, buffer: Local) -> bool {
        let inside = |block: &Block| block.stmts.iter().any(|stmt| self.changes(stmt, buffer));
        self.aliases.changes(stmt, buffer, self.summaries) || stmt.blocks().any(inside)
    }

    fn used_once(&self, a: &Operand) -> Option<Local> {
        a.local().filter(|x| self.uses.get(x) == Some(&1))
    }
}
