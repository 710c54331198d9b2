//! Asks which of two an Integer is less than, in place of a division whose quotient is 0 or 1.
//!
//! ```text
//! q = div.i x n                =   c = lt.i x n; q = if c { 0 } else { 1 }              0 <= x < 2 n
//! m = mul.i n q                =   m = if c { 0 } else { n }
//! ```
//!
//! What is known of x and n are linear forms (`ranges`). So `x - n (x / n)`, a place on a ring, is one of two. In most
//! of a loop it is known which: `index_set_split` finds where it changes. A division takes tens of cycles, and a
//! processor has none for vectors of Integers.

use super::pass::FunctionCx;
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Local, LocalInfo, Op, Operand, Stmt};
use rustc_hash::FxHashMap;

pub(super) fn run(cx: &mut FunctionCx) {
    let mut divides = false;
    cx.function.body.visit(&mut |stmt| divides |= matches!(stmt, Stmt::Let(_, Op::DivI, _)));
    if divides {
        cx.rewrite(|body, function| {
            let mut ranges = Ranges::new(function);
            Expander { locals: &mut function.locals, quotients: FxHashMap::default() }.expand(body, &mut ranges);
        });
    }
}

struct Expander<'a> {
    locals: &'a mut Vec<LocalInfo>,
    /// The quotients that are 0 or 1, and what holds where they are 0.
    quotients: FxHashMap<Local, Operand>,
}

impl Expander<'_> {
    fn expand(&mut self, block: &mut Block, ranges: &mut Ranges) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            for i in 0..stmt.blocks().count() {
                let mark = ranges.mark();
                ranges.enter(&stmt, i);
                self.expand(stmt.block_mut(i), ranges);
                ranges.back_to(mark);
            }
            let stmt = self.expanded(stmt, ranges, &mut block.stmts);
            ranges.emit(stmt, self.locals, &mut block.stmts);
        }
    }

    /// Returns a statement, or what is in its place.
    fn expanded(&mut self, stmt: Stmt, ranges: &mut Ranges, out: &mut Vec<Stmt>) -> Stmt {
        let choice = |x, is_less: Operand, n| {
            let [then, other] = [Operand::Integer(0), n].map(|a| Block { stmts: vec![], results: vec![a] });
            Stmt::If(vec![x], is_less, then, other)
        };
        let Stmt::Let(x, op, args) = &stmt else { return stmt };
        match op {
            Op::DivI if is_zero_or_one(&args[0], &args[1], ranges) => {
                let is_less = ranges.op(Op::LtI, [args[0].clone(), args[1].clone()], self.locals, out);
                self.quotients.insert(*x, is_less.clone());
                choice(*x, is_less, Operand::Integer(1))
            }
            Op::MulI => {
                let mut sides = [(&args[0], &args[1]), (&args[1], &args[0])].into_iter();
                let found = sides.find_map(|(n, q)| Some((n, self.quotients.get(&q.local()?)?)));
                found.map_or_else(|| stmt.clone(), |(n, is_less)| choice(*x, is_less.clone(), n.clone()))
            }
            _ => stmt,
        }
    }
}

/// Returns whether 0 <= x < 2 n.
fn is_zero_or_one(x: &Operand, n: &Operand, ranges: &mut Ranges) -> bool {
    let (x, n) = (ranges.form(x), ranges.form(n));
    let beyond = n.times(-2).and_then(|n| x.plus(&n)?.shifted(1));
    ranges.is_not_positive(x.times(-1)) && ranges.is_not_positive(beyond)
}
