//! Computes powers with small constant exponents by multiplications.
//!
//! ```text
//! pow x 2 = x x     pow x 3 = (x x) x     pow x 4 = y y, y = x x     pow x -n = 1 / pow x n     pow x 0 = 1     pow x 1 = x
//! ```
//!
//! A function of libm takes 20 multiplications and more, and LLVM is not told what it computes. Up to the exponent 8 the
//! product is within 4 ulp of the power, which is what fast math allows. So this is done where sums need not keep their
//! order, either. Of negative exponents only -1 and -2: the product of more might be 0 or infinite where its inverse is
//! neither.

use super::pass::FunctionCx;
use crate::ir::{Block, Builder, Function, Local, Op, Operand, Stmt};
use lm::libm::Libm;
use rustc_hash::FxHashMap;

/// The exponents that are expanded.
const EXPONENTS: std::ops::RangeInclusive<i64> = -2..=8;

pub(super) fn run(cx: &mut FunctionCx) {
    if cx.settings.keeps_order {
        return;
    }
    cx.rewrite(|body, function| {
        let integers = converted(body);
        let Function { locals, .. } = function;
        Expander { integers, builder: Builder { locals } }.expand_in_block(body);
    });
}

/// Returns the constants that are Floats of Integers.
fn converted(body: &Block) -> FxHashMap<Local, f64> {
    let mut integers = FxHashMap::default();
    body.visit(&mut |stmt| {
        if let Stmt::Let(x, Op::ToFloat, args) = stmt
            && let [Operand::Integer(i)] = args[..]
        {
            integers.insert(*x, i as f64);
        }
    });
    integers
}

struct Expander<'a> {
    integers: FxHashMap<Local, f64>,
    builder: Builder<'a>,
}

impl Expander<'_> {
    fn expand_in_block(&mut self, block: &mut Block) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.blocks_mut().for_each(|inner| self.expand_in_block(inner));
            if let Stmt::Let(_, op, args) = &mut stmt
                && *op == Op::Libm(Libm::Pow)
                && let Some(n) = self.exponent(&args[1])
            {
                (*op, *args) = self.power(args[0].clone(), n, &mut block.stmts);
            }
            block.stmts.push(stmt);
        }
    }

    fn exponent(&self, a: &Operand) -> Option<i64> {
        let exponent = match a {
            Operand::Float(x) => *x,
            Operand::Local(x) => *self.integers.get(x)?,
            _ => return None,
        };
        EXPONENTS.into_iter().find(|n| *n as f64 == exponent)
    }

    /// Returns the operation that gives a power, after some others.
    fn power(&mut self, x: Operand, n: i64, out: &mut Vec<Stmt>) -> (Op, Vec<Operand>) {
        let one = Operand::Float(1.0);
        match n {
            0 => (Op::AddF, vec![one, Operand::Float(0.0)]),
            1 => (Op::MulF, vec![x, one]),
            ..0 => (Op::DivF, vec![one, self.value(x, -n, out)]),
            _ => {
                let half = self.value(x.clone(), n / 2, out);
                let square = vec![half.clone(), half];
                if n % 2 == 0 {
                    (Op::MulF, square)
                } else {
                    (Op::MulF, vec![self.builder.op(Op::MulF, square, out), x])
                }
            }
        }
    }

    /// Returns a power with a positive exponent, after the operations that give it.
    fn value(&mut self, x: Operand, n: i64, out: &mut Vec<Stmt>) -> Operand {
        if n == 1 {
            return x;
        }
        let (op, args) = self.power(x, n, out);
        self.builder.op(op, args, out)
    }
}
