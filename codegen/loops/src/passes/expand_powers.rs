//! Computes powers with small constant exponents, whole or half, by multiplications and a square root.
//!
//! ```text
//! pow x 2 = x x     pow x 3 = (x x) x     pow x 4 = y y, y = x x     pow x -n = 1 / pow x n     pow x 0 = 1     pow x 1 = x
//! pow x (n + 1/2) = pow y n * sqrt y, y = x + 0
//! ```
//!
//! A function of libm takes 20 multiplications and more, and LLVM is not told what it computes. Up to the exponent 8 the
//! product is within 4 ulp of the power, which is what fast math allows. So this is done where sums need not keep their
//! order, either. Where the product is no normal number, its inverse is within a factor of 4 of the largest number, or
//! it is too small for a normal number, and may be 0. 0 is added because the root of -0 is -0, and its power 0. Of
//! -infinity the root is NaN, and the power with a half infinite or 0.

use super::pass::FunctionCx;
use crate::ir::{Block, Builder, Function, Local, Op, Operand, Stmt};
use lm::libm::Libm;
use rustc_hash::FxHashMap;

/// The exponents that are expanded, in halves.
const HALVES: std::ops::RangeInclusive<i64> = -8..=16;

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
                && let Some(halves) = self.halves(&args[1])
            {
                (*op, *args) = self.power(args[0].clone(), halves, &mut block.stmts);
            }
            block.stmts.push(stmt);
        }
    }

    /// Returns twice the exponent, if such a power is expanded.
    fn halves(&self, a: &Operand) -> Option<i64> {
        let exponent = match a {
            Operand::Float(x) => *x,
            Operand::Local(x) => *self.integers.get(x)?,
            _ => return None,
        };
        HALVES.into_iter().find(|halves| *halves as f64 == 2.0 * exponent)
    }

    /// Returns the operation that gives a power, after some others.
    fn power(&mut self, x: Operand, halves: i64, out: &mut Vec<Stmt>) -> (Op, Vec<Operand>) {
        let one = Operand::Float(1.0);
        match (halves / 2, halves % 2 != 0) {
            (_, _) if halves < 0 => (Op::DivF, vec![one, self.value(x, -halves, out)]),
            (0, false) => (Op::AddF, vec![one, Operand::Float(0.0)]),
            (1, false) => (Op::MulF, vec![x, one]),
            (n, true) => {
                let x = self.builder.op(Op::AddF, [x, Operand::Float(0.0)], out);
                if n == 0 {
                    return (Op::Sqrt, vec![x]);
                }
                let root = self.builder.op(Op::Sqrt, [x.clone()], out);
                (Op::MulF, vec![self.value(x, 2 * n, out), root])
            }
            (n, false) => {
                let half = self.value(x.clone(), n / 2 * 2, out);
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
    fn value(&mut self, x: Operand, halves: i64, out: &mut Vec<Stmt>) -> Operand {
        if halves == 2 {
            return x;
        }
        let (op, args) = self.power(x, halves, out);
        self.builder.op(op, args, out)
    }
}
