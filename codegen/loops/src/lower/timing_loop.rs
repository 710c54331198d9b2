//! Lowers `$BENCH`, which measures how long a term takes.

use super::body::{Body, targets};
use super::value::Val;
use crate::error::Error;
use crate::ir::{Block, Operand, Scalar, Stmt};
use lm::scope::free_variables;
use lm::term::{Expr, Var};

impl Body<'_> {
    /// Returns the seconds that one evaluation of the function's body takes.
    pub(super) fn lower_timing_loop(&mut self, f: &Expr) -> Result<Val, Error> {
        let outside: Vec<(Var, Val)> = free_variables(f).into_iter().map(|x| (x.clone(), self.variable(&x))).collect();
        let mut given = Vec::new();
        for (x, value) in &outside {
            let inside = self.fresh_value(x.ty())?;
            given.extend(targets(&inside).into_iter().zip(value.flatten()));
            self.bind(x, inside);
        }
        let mut results = Vec::new();
        let measured = self.nested(|body| {
            let term = body.enter(f, Val::nothing())?.clone();
            body.scoped(|body| {
                results = body.lower_value(&term)?.flatten();
                Ok(Val::nothing())
            })
        });
        outside.into_iter().for_each(|(x, value)| self.bind(&x, value));
        let seconds = self.local(Scalar::Float.ty());
        self.stmts.push(Stmt::Bench { seconds, given, body: Block { stmts: measured?.0, results } });
        Ok(Val::Leaf(Operand::Local(seconds)))
    }
}
