//! Emits statements that compute linear forms.

use super::{Linear, Ranges};
use crate::ir::{Builder, LocalInfo, Op, Operand, Stmt};

impl Ranges {
    /// Appends statements that compute a form whose value is known to fit into 64 bits. Then sums and products that
    /// wrap on the way do no harm, nor do coefficients.
    pub fn compute(&mut self, form: &Linear, locals: &mut Vec<LocalInfo>, out: &mut Vec<Stmt>) -> Operand {
        let number = |k: i128| Operand::Integer(k as i64);
        let mut sum = None;
        for (x, k) in form.terms() {
            let term = match k {
                1 => Operand::Local(*x),
                k => self.op(Op::MulI, [Operand::Local(*x), number(*k)], locals, out),
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.op(Op::AddI, [sum, term], locals, out),
            });
        }
        match sum {
            None => number(form.at_zero()),
            Some(sum) if form.at_zero() == 0 => sum,
            Some(sum) => self.op(Op::AddI, [sum, number(form.at_zero())], locals, out),
        }
    }

    /// The result of an operation, of which is known what follows.
    pub fn op(&mut self, op: Op, args: [Operand; 2], locals: &mut Vec<LocalInfo>, out: &mut Vec<Stmt>) -> Operand {
        let x = Builder { locals }.local(op.result().ty());
        self.emit(Stmt::Let(x, op, args.into()), locals, out);
        Operand::Local(x)
    }

    /// Puts a statement behind others, and learns what holds after it.
    pub fn emit(&mut self, stmt: Stmt, locals: &[LocalInfo], out: &mut Vec<Stmt>) {
        self.know(locals);
        self.learn_from(&stmt);
        out.push(stmt);
    }
}
