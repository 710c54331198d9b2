//! Unrolls loops with few iterations, whose bounds are numbers.
//!
//! ```text
//! x = for i in 0..2 carrying (y = a) { s; yield r }     =     s[i := 0, y := a]; s[i := 1, y := r0];  x := r1
//! ```
//!
//! Outer loops first: then the bounds of inner ones may be numbers, too. Afterwards `gvn` computes with the indices.

use super::pass::FunctionCx;
use crate::ir::{Block, For, Local, LocalInfo, Operand, Stmt};
use rustc_hash::FxHashMap;

/// A loop of so many iterations is unrolled.
const MOST_ITERATIONS: i64 = 16;

/// Unless it becomes longer than so many statements,
const MOST_STATEMENTS: usize = 400;

/// or its function would grow by more.
const MOST_GROWTH: usize = 2000;

pub(super) fn run(cx: &mut FunctionCx) {
    cx.rewrite(|body, function| {
        let mut unroller =
            Unroller { locals: &mut function.locals, budget: MOST_GROWTH, replaced: FxHashMap::default() };
        unroller.unroll_in_block(body);
        let replaced = unroller.replaced;
        if !replaced.is_empty() {
            body.change_operands(&mut |a| resolve(a, &replaced));
        }
    });
}

struct Unroller<'a> {
    locals: &'a mut Vec<LocalInfo>,
    /// The number of statements that may still be added to the function.
    budget: usize,
    /// Maps the results of unrolled loops to operands.
    replaced: FxHashMap<Local, Operand>,
}

fn resolve(a: &mut Operand, replaced: &FxHashMap<Local, Operand>) {
    while let Some(other) = a.local().and_then(|x| replaced.get(&x)) {
        *a = other.clone();
    }
}

impl Unroller<'_> {
    fn unroll_in_block(&mut self, block: &mut Block) {
        for stmt in std::mem::take(&mut block.stmts) {
            self.unroll_in_stmt(stmt, &mut block.stmts);
        }
    }

    fn unroll_in_stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) {
        match stmt {
            Stmt::For(looped) if self.is_short(&looped) => self.unroll_loop(*looped, out),
            _ => {
                stmt.blocks_mut().for_each(|inner| self.unroll_in_block(inner));
                out.push(stmt);
            }
        }
    }

    fn is_short(&mut self, looped: &For) -> bool {
        let (Operand::Integer(from), Operand::Integer(to)) = (&looped.from, &looped.to) else { return false };
        let Some(iterations) = to.checked_sub(*from).filter(|n| *n <= MOST_ITERATIONS) else { return false };
        let length = looped.body.len() * usize::try_from(iterations).unwrap_or(0);
        let fits = length <= MOST_STATEMENTS && length <= self.budget;
        self.budget -= if fits { length } else { 0 };
        fits
    }

    fn unroll_loop(&mut self, looped: For, out: &mut Vec<Stmt>) {
        let (Operand::Integer(from), Operand::Integer(to)) = (&looped.from, &looped.to) else { return };
        let mut carried: Vec<Operand> = looped.carried.iter().map(|(_, init)| init.clone()).collect();
        for i in *from..*to {
            let names = looped.carried.iter().map(|(y, _)| *y).chain([looped.index]);
            let values = carried.iter().cloned().chain([Operand::Integer(i)]);
            let copy = looped.body.copy(self.locals, names.zip(values).collect());
            copy.stmts.into_iter().for_each(|stmt| self.unroll_in_stmt(stmt, out));
            carried = copy.results;
        }
        self.replaced.extend(looped.results.into_iter().zip(carried));
    }
}
