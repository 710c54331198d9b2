//! Makes what a run that is traced calls beside the function itself: see `lm::eval::Evaluator::trace`.

use super::written::is_replaced;
use super::{Error, Pipeline};
use crate::derive::call_order;
use indexmap::IndexSet;
use lm::law;
use lm::prim::Prim;
use lm::term::{Def, Expr, FunName, Kind, Mode, Op, Supply};
use lm::types::Type;

impl Pipeline {
    /// Makes a function and its callees, for a trace. Of callees whose derivative in reverse mode is written by hand it
    /// makes that; and it makes the functions that derivatives of primitives call.
    pub fn require_traced(&mut self, name: &FunName) -> Result<(), Error> {
        let mut reached = IndexSet::from([name.clone()]);
        let mut next = 0;
        while let Some(name) = reached.get_index(next).cloned() {
            next += 1;
            self.require(&name)?;
            let Some(def) = self.program.defs.get(&name) else { continue };
            let mut called = Vec::new();
            call_order::calls(&def.body, &mut called);
            of_primitives(def, &mut called);
            if is_replaced(&name, Mode::Reverse, &self.written) {
                called.push(name.derived(Mode::Reverse.derivative()));
            }
            reached.extend(called);
        }
        Ok(())
    }
}

/// Adds the functions that the derivatives of a definition's primitives call.
fn of_primitives(def: &Def, called: &mut Vec<FunName>) {
    def.body.visit(|e| {
        if let Kind::App(Op::Prim(p @ Prim::Libm(f)), _) = e.kind() {
            let mut supply = Supply::default();
            let atoms: Vec<Expr> = (0..f.arity()).map(|_| Expr::var(&supply.fresh("x", Type::Float))).collect();
            call_order::calls(&law::jacobian_of(*p, &atoms), called);
        }
    });
}
