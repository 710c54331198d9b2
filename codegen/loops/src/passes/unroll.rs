//! Unrolls loops with few iterations, whose bounds are numbers, and those of one.
//!
//! ```text
//! x = for i in 0..2 carrying (y = a) { s; yield r }     =     s[i := 0, y := a]; s[i := 1, y := r0];  x := r1
//! x = for i in j..j + 1 carrying (y = a) { s; yield r } =     s[i := j, y := a];  x := r
//! ```
//!
//! Outer loops first: then the bounds of inner ones may be numbers, too. Afterwards `gvn` computes with the indices.

use super::pass::FunctionCx;
use crate::ir::{Block, For, Local, LocalInfo, Op, Operand, Stmt};
use rustc_hash::FxHashMap;

/// A loop of so many iterations is unrolled.
const MOST_ITERATIONS: i64 = 16;

/// Unless it becomes longer than so many statements,
const MOST_STATEMENTS: usize = 400;

/// or its function would grow by more.
const MOST_GROWTH: usize = 2000;

pub(super) fn run(cx: &mut FunctionCx) {
    cx.rewrite(|body, function| {
        let mut unroller = Unroller {
            locals: &mut function.locals,
            budget: MOST_GROWTH,
            next: FxHashMap::default(),
            replaced: FxHashMap::default(),
        };
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
    /// Maps each local that is one more than an operand to the operand.
    next: FxHashMap<Local, Operand>,
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

    fn unroll_in_stmt(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        let indices = if let Stmt::For(looped) = &stmt { self.few_iterations(looped) } else { None };
        match (stmt, indices) {
            (Stmt::For(looped), Some(indices)) => self.unroll_loop(*looped, indices, out),
            (mut stmt, _) => {
                if let Stmt::Let(x, Op::AddI, args) = &stmt
                    && let [a, Operand::Integer(1)] = args.as_slice()
                {
                    self.next.insert(*x, a.clone());
                }
                stmt.blocks_mut().for_each(|inner| self.unroll_in_block(inner));
                out.push(stmt);
            }
        }
    }

    /// Returns the indices of a loop that is to be unrolled.
    fn few_iterations(&mut self, looped: &For) -> Option<Vec<Operand>> {
        let indices: Vec<Operand> = match (&looped.from, &looped.to) {
            (Operand::Integer(from), Operand::Integer(to)) => {
                let few = to.checked_sub(*from).is_some_and(|n| n <= MOST_ITERATIONS);
                few.then(|| (*from..*to).map(Operand::Integer).collect())?
            }
            (from, to) => {
                let before = to.local().and_then(|x| self.next.get(&x));
                before.is_some_and(|before| before.same(from)).then(|| vec![from.clone()])?
            }
        };
        let length = looped.body.len() * indices.len();
        let fits = length <= MOST_STATEMENTS && length <= self.budget;
        self.budget -= if fits { length } else { 0 };
        fits.then_some(indices)
    }

    fn unroll_loop(&mut self, looped: For, indices: Vec<Operand>, out: &mut Vec<Stmt>) {
        let mut carried: Vec<Operand> = looped.carried.iter().map(|(_, init)| init.clone()).collect();
        for i in indices {
            let names = looped.carried.iter().map(|(y, _)| *y).chain([looped.index]);
            let values = carried.iter().cloned().chain([i]);
            let copy = looped.body.copy(self.locals, names.zip(values).collect());
            copy.stmts.into_iter().for_each(|stmt| self.unroll_in_stmt(stmt, out));
            carried = copy.results;
        }
        self.replaced.extend(looped.results.into_iter().zip(carried));
    }
}
