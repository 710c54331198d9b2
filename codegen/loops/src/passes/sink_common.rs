//! Moves stores and additions that both arms of a conditional end with behind it.
//!
//! ```text
//! if c { s; store b[i] = x } else { t; store b[i] = y }   =   z = if c { s; yield x } else { t; yield y };  store b[i] = z
//! ```
//!
//! Both go to the same element of the same buffer, which is known before the conditional. What follows them in an arm is
//! arithmetic, and loads of other memory. Then the arms have no effect, as when one of two formulas holds for each
//! element: lanes compute both and choose, and store once.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::ir::{Block, Builder, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) fn run(cx: &mut FunctionCx) {
    let (aliases, summaries) = (cx.aliases(), cx.summaries());
    cx.rewrite(|body, function| {
        Sinker { aliases, summaries, builder: Builder { locals: &mut function.locals } }.sink_in_block(body);
    });
}

struct Sinker<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    builder: Builder<'a>,
}

impl Sinker<'_> {
    /// Inner conditionals first: what follows them in both arms ends the arm around them.
    fn sink_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.blocks_mut().for_each(|inner| self.sink_in_block(inner));
            let mut sunk = Vec::new();
            if let Stmt::If(xs, _, then, other) = &mut stmt {
                while let Some(places) = self.find_common(then, other) {
                    sunk.push(self.sink(xs, [then, other], places));
                }
            }
            block.stmts.push(stmt);
            block.stmts.extend(sunk.into_iter().rev());
        }
    }

    /// Takes a statement out of both arms, which yield what it writes.
    fn sink(&mut self, xs: &mut Vec<Local>, arms: [&mut Block; 2], places: [usize; 2]) -> Stmt {
        let [mut sunk, other] = [0, 1].map(|i| arms[i].stmts.remove(places[i]));
        let [value, other_value] =
            [&sunk, &other].map(|stmt| written(stmt).expect("it was found as such").value.clone());
        let z = self.builder.local(value.ty(self.builder.locals));
        xs.push(z);
        arms.into_iter().zip([value, other_value]).for_each(|(arm, value)| arm.results.push(value));
        if let Stmt::Memory(Memory::Store(.., value) | Memory::Add(.., value)) = &mut sunk {
            *value = Operand::Local(z);
        }
        sunk
    }

    /// Returns the places of what both arms may end with.
    fn find_common(&self, then: &Block, other: &Block) -> Option<[usize; 2]> {
        let [at, other_at] = [self.last(then)?, self.last(other)?];
        let [a, b] = [written(&then.stmts[at])?, written(&other.stmts[other_at])?];
        let is_same = a.adds == b.adds && a.buffer.same(b.buffer) && a.index.same(b.index);
        is_same.then_some([at, other_at])
    }

    /// Returns the place of the last statement of an arm that writes, if it writes a number to a place that is known
    /// before the arm, and nothing after it can tell.
    fn last(&self, arm: &Block) -> Option<usize> {
        let at = arm.stmts.iter().rposition(|stmt| !only_reads(stmt))?;
        let Written { buffer, index, value, .. } = written(&arm.stmts[at])?;
        let set: FxHashSet<Local> = arm.stmts.iter().flat_map(Stmt::targets).collect();
        let is_outer = |a: &Operand| a.local().is_none_or(|x| !set.contains(&x));
        let is_seen = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Load(_, b, _)) => {
                b.local().is_none_or(|b| self.aliases.changes(&arm.stmts[at], b, self.summaries))
            }
            _ => false,
        };
        let is_number = value.ty(self.builder.locals).as_scalar().is_some();
        let suits = is_number && is_outer(buffer) && is_outer(index) && !arm.stmts[at + 1..].iter().any(is_seen);
        suits.then_some(at)
    }
}

fn only_reads(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Let(..) | Stmt::Memory(Memory::Load(..)))
}

/// A store or an addition.
struct Written<'a> {
    adds: bool,
    buffer: &'a Operand,
    index: &'a Operand,
    value: &'a Operand,
}

fn written(stmt: &Stmt) -> Option<Written<'_>> {
    match stmt {
        Stmt::Memory(Memory::Store(buffer, index, value)) => Some(Written { adds: false, buffer, index, value }),
        Stmt::Memory(Memory::Add(buffer, index, value)) => Some(Written { adds: true, buffer, index, value }),
        _ => None,
    }
}
