//! `[CL f]`: f through the category language and back.

use super::{Error, Pipeline, checked};
use crate::derive::figures::fig09_11_category as cl;
use lm::scope::{renamed, substitute};
use lm::term::{Def, Expr, FunName, Var};

impl Pipeline {
    /// A function in CL, as it is written: its normal form may stop with another error. Not pruned.
    pub fn in_cl(&mut self, of: &FunName) -> Result<cl::Def, Error> {
        let def = self.source(of)?;
        Ok(self.watch.timings.time("convert", || cl::convert(&def)))
    }

    /// `[CL f]`.
    pub(in crate::derive) fn through_cl(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let arrow = self.in_cl(of)?;
        let pruned = self.watch.timings.time("prune", || cl::prune(&arrow));
        let supply = &mut self.program.supply;
        let back = self.watch.pass("back", || {
            let back = cl::back(&pruned, supply);
            // f has the variables that the binders of CL name.
            let params: Vec<Var> = back.params.iter().map(|x| supply.fresh(x.name(), x.ty().clone())).collect();
            let by = back.params.iter().map(Var::id).zip(params.iter().map(Expr::var)).collect();
            Def::new(name.clone(), params, substitute(&renamed(&back.body, supply), &by))
        });
        Ok(checked("back", back, |_| true))
    }
}
