//! Makes the nest of a sum, with its loops in another order.
//!
//! ```text
//! for places { s = for terms (z = -0) { steps; z + x }; add b[e] += s }        if no loop over the terms is empty
//! ```
//!
//! Operations stand in the outermost loop where they can. Loads stand inside of all loops over places: only there is it
//! known that the program would load, too.

use super::nest::{LoopOrder, MemorySum, PerfectNest, runs};
use crate::ir;
use crate::ir::{Block, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashMap;

pub(super) struct NestBuilder<'a, 'n> {
    nest: &'a PerfectNest<'n>,
    order: &'a LoopOrder<'n>,
    lanes: u32,
    locals: &'a mut Vec<LocalInfo>,
}

impl<'a, 'n> NestBuilder<'a, 'n> {
    pub(super) fn new(
        nest: &'a PerfectNest<'n>,
        order: &'a LoopOrder<'n>,
        lanes: u32,
        locals: &'a mut Vec<LocalInfo>,
    ) -> Self {
        NestBuilder { nest, order, lanes, locals }
    }

    /// The nest of a sum.
    pub(super) fn build_nest(mut self, sum: &MemorySum, out: &mut Vec<Stmt>) {
        let mut levels: Vec<Vec<Stmt>> = vec![vec![]; self.order.loops.len() + 1];
        for stmt in self.nest.steps_of(sum) {
            levels[self.level(stmt)].push(stmt.clone());
        }
        let before = std::mem::take(&mut levels[0]);
        let mut levels = levels.split_off(1).into_iter();
        let mut inside: Vec<Vec<Stmt>> = levels.by_ref().take(self.places()).collect();
        let terms: Vec<Vec<Stmt>> = levels.collect();
        let mut stmts = inside.pop().unwrap_or_default();
        self.add(sum, terms, &mut stmts);
        for (i, looped) in self.order.loops[..self.places()].iter().enumerate().rev() {
            let body = Block { stmts, results: vec![] };
            let lanes = self.lanes_of(i);
            let looped = For { body, lanes, ..header(looped) };
            stmts = inside.pop().filter(|_| i > 0).unwrap_or_default();
            stmts.push(Stmt::For(Box::new(looped)));
        }
        let stmts = before.into_iter().chain(stmts).collect();
        // The other nests have locals of their own.
        let nest = Block { stmts, results: vec![] }.copy(self.locals, FxHashMap::default());
        self.where_there_are_terms(nest, sum.condition, out);
    }

    /// Returns how many loops are over the places of sums.
    fn places(&self) -> usize {
        self.order.loops.len() - self.order.terms
    }

    fn lanes_of(&self, place: usize) -> u32 {
        if self.order.in_lanes == Some(place) { self.lanes } else { 1 }
    }

    /// Returns the number of loops around a step.
    fn level(&self, stmt: &Stmt) -> usize {
        let target = Operand::Local(stmt.targets()[0]);
        let depends = self.nest.depends(&target);
        let level = self.order.loops.iter().rposition(|looped| depends.contains(&looped.index)).map_or(0, |i| i + 1);
        if self.loads(&target) { level.max(self.places()) } else { level }
    }

    /// Returns whether something is loaded, or depends on what is.
    fn loads(&self, a: &Operand) -> bool {
        let Some(x) = a.local() else { return false };
        match self.nest.steps.iter().find(|stmt| stmt.targets().contains(&x)) {
            Some(Stmt::Memory(_)) => true,
            Some(stmt) => stmt.operands().into_iter().any(|a| self.loads(a)),
            None => false,
        }
    }

    /// Adds up the terms, and adds the sum.
    fn add(&mut self, sum: &MemorySum, levels: Vec<Vec<Stmt>>, out: &mut Vec<Stmt>) {
        let total = if levels.is_empty() { sum.term.clone() } else { self.emit_total(sum, levels, out) };
        out.push(Stmt::Memory(Memory::Add(sum.buffer.clone(), sum.index.clone(), total)));
    }

    fn emit_total(&mut self, sum: &MemorySum, mut levels: Vec<Vec<Stmt>>, out: &mut Vec<Stmt>) -> Operand {
        let (neutral, op) = match sum.term.ty(self.locals).as_scalar() {
            Some(Scalar::Float) => (Operand::Float(-0.0), Op::AddF),
            _ => (Operand::Integer(0), Op::AddI),
        };
        let ty = op.result().ty();
        let sums: Vec<Local> = levels.iter().map(|_| self.builder().local(ty)).collect();
        let mut stmts = levels.pop().unwrap_or_default();
        let mut next =
            self.builder().op(op, [(*sums.last().expect("there is a loop")).into(), sum.term.clone()], &mut stmts);
        for i in (0..sums.len()).rev() {
            let place = self.places() + i;
            let total = self.builder().local(ty);
            let init = if i == 0 { neutral.clone() } else { sums[i - 1].into() };
            let body = Block { stmts, results: vec![next] };
            let (results, carried, lanes) = (vec![total], vec![(sums[i], init)], self.lanes_of(place));
            let looped = For { results, carried, body, lanes, ..header(self.order.loops[place]) };
            stmts = levels.pop().unwrap_or_default();
            stmts.push(Stmt::For(Box::new(looped)));
            next = total.into();
        }
        out.extend(stmts);
        next
    }

    /// The nest, unless one of the loops over the terms is empty: then the program does not reach the place of the sum.
    fn where_there_are_terms(&mut self, nest: Block, condition: Option<&Operand>, out: &mut Vec<Stmt>) {
        let mut some: Option<Operand> = condition.cloned();
        for looped in self.order.loops[self.places()..].iter().filter(|looped| !runs(looped)) {
            let runs = self.builder().op(Op::LtI, [looped.from.clone(), looped.to.clone()], out);
            some = Some(match some {
                Some(others) => self.builder().op(Op::And, [others, runs], out),
                None => runs,
            });
        }
        match some {
            Some(condition) => out.push(Stmt::If(vec![], condition, nest, Block::default())),
            None => out.extend(nest.stmts),
        }
    }

    fn builder(&mut self) -> ir::Builder<'_> {
        ir::Builder { locals: self.locals }
    }
}

/// Returns a loop of the same range, without a body.
fn header(looped: &For) -> For {
    For { results: vec![], carried: vec![], body: Block::default(), ..looped.clone() }
}
