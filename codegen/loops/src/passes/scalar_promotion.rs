//! Adds up in a register what all iterations of a loop add to one element.
//!
//! ```text
//! for i in a..n { s; add b[e] += x }
//!   =  z = for i in a..n carrying (y = -0.0) { s; y' = y + x; yield y' };  if a < n { add b[e] += z }
//! ```
//!
//! b and e are from outside of the loop, which does nothing to what b may share but adding. Then the loop waits for no
//! store, and its iterations share nothing but a sum. Its other additions, element by element, are no longer held up by
//! this one. So it is in the derivative of what is divided by a norm, or shifted by a largest element: each term goes
//! into its own element, and all into one.
//!
//! The order of the terms changes: of Floats only where it may (`Module::keeps_order`). Where the loop does not run, e
//! may be no index of b.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::ir::{Block, Builder, For, Local, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashSet;
use std::rc::Rc;

pub(super) fn run(cx: &mut FunctionCx) {
    let (aliases, summaries, keeps_order) = (cx.aliases(), cx.summaries(), cx.settings.keeps_order);
    cx.rewrite(|body, function| {
        let builder = Builder { locals: &mut function.locals };
        Carrier { aliases, summaries, keeps_order, builder }.promote_in_block(body);
    });
}

struct Carrier<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    keeps_order: bool,
    builder: Builder<'a>,
}

impl Carrier<'_> {
    fn promote_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.blocks_mut().for_each(|block| self.promote_in_block(block));
            match stmt {
                Stmt::For(looped) if !looped.on_threads => self.promote_in_loop(*looped, &mut block.stmts),
                stmt => block.stmts.push(stmt),
            }
        }
    }

    fn promote_in_loop(&mut self, mut looped: For, out: &mut Vec<Stmt>) {
        let mut set: FxHashSet<Local> = looped.carried.iter().map(|(y, _)| *y).chain([looped.index]).collect();
        looped.body.visit(&mut |stmt| set.extend(stmt.targets().into_iter().chain(stmt.bound())));
        let is_outside = |a: &Operand| a.local().is_none_or(|x| !set.contains(&x));
        let is_sum = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Add(b, e, x)) => is_outside(b) && is_outside(e) && self.is_sum(&looped, b, x),
            _ => false,
        };
        let is_sum: Vec<bool> = looped.body.stmts.iter().map(is_sum).collect();
        let mut sums = Vec::new();
        for (stmt, is_sum) in std::mem::take(&mut looped.body.stmts).into_iter().zip(is_sum) {
            match stmt {
                Stmt::Memory(Memory::Add(b, e, x)) if is_sum => sums.push((b, e, x)),
                stmt => looped.body.stmts.push(stmt),
            }
        }
        let ends: Vec<Stmt> = sums.into_iter().map(|(b, e, x)| self.carry_sum(&mut looped, b, e, x)).collect();
        let [from, to] = [looped.from.clone(), looped.to.clone()];
        out.push(Stmt::For(Box::new(looped)));
        if ends.is_empty() {
            return;
        }
        let runs = self.builder.op(Op::LtI, [from, to], out);
        out.push(Stmt::If(vec![], runs, Block { stmts: ends, results: vec![] }, Block::default()));
    }

    /// Returns whether what a loop adds to a buffer may be added later, and together.
    fn is_sum(&self, looped: &For, b: &Operand, x: &Operand) -> bool {
        let Some(b) = b.local() else { return false };
        if self.keeps_order && x.ty(self.builder.locals) == Scalar::Float.ty() {
            return false;
        }
        let shares = |a: &Operand| a.local().is_some_and(|a| self.aliases.may_share(a, b));
        let mut only_adds = true;
        looped.body.visit(&mut |stmt| {
            only_adds &= match stmt {
                Stmt::Memory(Memory::Add(..)) => true,
                Stmt::Memory(Memory::Load(_, a, _) | Memory::Move { from: a, .. }) if shares(a) => false,
                Stmt::Memory(Memory::Slide(..) | Memory::Slid { .. }) => false,
                Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } => false,
                stmt => !self.aliases.changes(stmt, b, self.summaries),
            };
        });
        only_adds
    }

    /// Carries the sum; gives what adds it.
    fn carry_sum(&mut self, looped: &mut For, b: Operand, e: Operand, x: Operand) -> Stmt {
        let ty = x.ty(self.builder.locals);
        let is_float = ty == Scalar::Float.ty();
        let (op, nothing) = if is_float { (Op::AddF, Operand::Float(-0.0)) } else { (Op::AddI, Operand::Integer(0)) };
        let [y, z] = [(); 2].map(|()| self.builder.local(ty));
        let next = self.builder.op(op, [y.into(), x], &mut looped.body.stmts);
        looped.carried.push((y, nothing));
        looped.body.results.push(next);
        looped.results.push(z);
        Stmt::Memory(Memory::Add(b, e, z.into()))
    }
}
