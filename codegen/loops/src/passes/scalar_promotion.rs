//! Adds up in a register what all iterations of a loop add to one element.
//!
//! ```text
//! for i in a..n { s; add b[e] += x }
//!   =  z = for i in a..n carrying (y = -0.0) { s; y' = y + x; yield y' };  if a < n { add b[e] += z }
//! ```
//!
//! b and e are from outside of the loop, or e is computed from what is, which moves before it. The loop does nothing to
//! what b may share but adding. Then it waits for no store, and its iterations share nothing but a sum. Its other
//! additions, element by element, are no longer held up by this one. So it is in the derivative of what is divided by a
//! norm, or shifted by a largest element: each term goes into its own element, and all into one. Later, when loops are
//! split, those follow that load other elements of b: `ranges` knows that they lie before e, or behind it. (A sweep that
//! updates its cotangents in place has such loops.)
//!
//! The order of the terms changes: of Floats only where it may (`Module::keeps_order`). Where the loop does not run, e
//! may be no index of b.

use super::pass::FunctionCx;
use crate::analyses::alias::{Aliases, Summary};
use crate::analyses::apart::Places;
use crate::analyses::fixed::{Fixed, take_places};
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Builder, For, Local, Memory, Op, Operand, Scalar, Stmt};
use std::rc::Rc;

/// Promotes sums in loops that load nothing of what they add to.
pub(super) fn run(cx: &mut FunctionCx) {
    promote(cx, None);
}

/// Promotes sums in loops that load other elements of what they add to: no other pass can do anything with these.
pub(super) fn run_beside_loads(cx: &mut FunctionCx) {
    let aliases = cx.aliases();
    if loads_what_is_added_to(&cx.function.body, &aliases) {
        promote(cx, Some(Ranges::new(cx.function)));
    }
}

fn promote(cx: &mut FunctionCx, ranges: Option<Ranges>) {
    let (aliases, summaries, keeps_order) = (cx.aliases(), cx.summaries(), cx.settings.keeps_order);
    cx.rewrite(|body, function| {
        let builder = Builder { locals: &mut function.locals };
        let places = if ranges.is_some() { Places::of(body) } else { Places::default() };
        Carrier { aliases, summaries, keeps_order, builder, ranges, places }.promote_in_block(body);
    });
}

/// Returns whether a loop of the block loads from a buffer that it adds to, so that it matters from where.
fn loads_what_is_added_to(block: &Block, aliases: &Aliases) -> bool {
    let mut found = false;
    block.visit(&mut |stmt| {
        if let Stmt::For(looped) = stmt {
            let added = looped.body.stmts.iter().filter_map(|stmt| match stmt {
                Stmt::Memory(Memory::Add(b, ..)) => b.local(),
                _ => None,
            });
            let loads = |a: Local| looped.body.stmts.iter().any(|stmt| loads(stmt, a, aliases).is_some());
            found = found || added.into_iter().any(loads);
        }
    });
    found
}

/// Returns the buffer and the place that a statement loads from, if that may be a place of a buffer.
fn loads<'a>(stmt: &'a Stmt, b: Local, aliases: &Aliases) -> Option<(Local, &'a Operand)> {
    match stmt {
        Stmt::Memory(Memory::Load(_, a, e)) => a.local().filter(|a| aliases.may_share(*a, b)).map(|a| (a, e)),
        _ => None,
    }
}

struct Carrier<'a> {
    aliases: Rc<Aliases>,
    summaries: &'a [Summary],
    keeps_order: bool,
    builder: Builder<'a>,
    /// What is known of places, if sums beside loads are wanted.
    ranges: Option<Ranges>,
    /// How places are made, then.
    places: Places,
}

impl Carrier<'_> {
    fn promote_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            for i in 0..stmt.blocks().count() {
                let mark = self.ranges.as_ref().map(Ranges::mark);
                self.ranges.iter_mut().for_each(|ranges| ranges.enter(&stmt, i));
                self.promote_in_block(stmt.block_mut(i));
                self.ranges.iter_mut().zip(mark).for_each(|(ranges, mark)| ranges.back_to(mark));
            }
            let before = block.stmts.len();
            match stmt {
                Stmt::For(looped) if !looped.on_threads => self.promote_in_loop(*looped, &mut block.stmts),
                stmt => block.stmts.push(stmt),
            }
            if let Some(ranges) = &mut self.ranges {
                ranges.know(self.builder.locals);
                block.stmts[before..].iter().for_each(|stmt| ranges.learn_from(stmt));
            }
        }
    }

    fn promote_in_loop(&mut self, mut looped: For, out: &mut Vec<Stmt>) {
        let fixed = Fixed::of(&looped);
        let is_sum = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Add(b, e, x)) => {
                fixed.is_outside(b) && fixed.is_fixed(e) && self.is_sum(&looped, b, e, x)
            }
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
        let places: Vec<Local> = sums.iter().filter_map(|(_, e, _)| e.local()).collect();
        out.extend(take_places(&mut looped.body.stmts, places, &fixed));
        let ends: Vec<Stmt> = sums.into_iter().map(|(b, e, x)| self.carry_sum(&mut looped, b, e, x)).collect();
        let [from, to] = [looped.from.clone(), looped.to.clone()];
        out.push(Stmt::For(Box::new(looped)));
        if ends.is_empty() {
            return;
        }
        let runs = self.builder.op(Op::LtI, [from, to], out);
        out.push(Stmt::If(vec![], runs, Block { stmts: ends, results: vec![] }, Block::default()));
    }

    /// Returns whether what a loop adds to an element may be added later, and together.
    fn is_sum(&mut self, looped: &For, b: &Operand, e: &Operand, x: &Operand) -> bool {
        let Some(b) = b.local() else { return false };
        if self.keeps_order && x.ty(self.builder.locals) == Scalar::Float.ty() {
            return false;
        }
        let shares = |a: &Operand| a.local().is_some_and(|a| self.aliases.may_share(a, b));
        let mut only_adds = true;
        let mut see = |stmt: &Stmt| {
            only_adds &= match stmt {
                Stmt::Memory(Memory::Add(..)) => true,
                Stmt::Memory(Memory::Load(_, a, _) | Memory::Move { from: a, .. }) if shares(a) => false,
                Stmt::Memory(Memory::Slide(..) | Memory::Slid { .. }) => false,
                Stmt::Call(..) | Stmt::External { .. } | Stmt::Bench { .. } => false,
                stmt => !self.aliases.changes(stmt, b, self.summaries),
            };
        };
        for stmt in looped.body.stmts.iter().filter(|stmt| loads(stmt, b, &self.aliases).is_none()) {
            see(stmt);
            stmt.blocks().for_each(|block| block.visit(&mut see));
        }
        only_adds && self.loads_apart(looped, b, e)
    }

    /// Returns whether the loop's own block loads nothing of what a buffer may share; or, if such sums are wanted, elements
    /// of the buffer other than e.
    fn loads_apart(&mut self, looped: &For, b: Local, e: &Operand) -> bool {
        let loaded = looped.body.stmts.iter().filter_map(|stmt| loads(stmt, b, &self.aliases));
        let (own, views): (Vec<_>, Vec<_>) = loaded.partition(|(a, _)| *a == b);
        let Some(ranges) = &mut self.ranges else { return own.is_empty() && views.is_empty() };
        if !views.is_empty() {
            return false;
        }
        ranges.know(self.builder.locals);
        let mark = ranges.mark();
        ranges.enter(&Stmt::For(Box::new(looped.clone())), 0);
        looped.body.stmts.iter().for_each(|stmt| ranges.learn_from(stmt));
        let is_apart = own.into_iter().all(|(_, f)| self.places.are_apart([e, f], ranges));
        ranges.back_to(mark);
        is_apart
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
