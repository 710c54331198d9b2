//! Makes reverse derivatives through UNF, for the derivation `unary`.
//!
//! ```text
//! f --anf--> f --convert--> UNF --sweep--> values, cotangents --transpose, apply, simplify--> vjp$f(s, dr)
//! ```
//!
//! Source: *Denotationally correct, purely functional, efficient reverse-mode automatic differentiation*, sec. 4 and 5.

use super::argument::whole_argument;
use super::pass::{Task, Work};
use super::{Error, Pipeline, checked};
use crate::derive::Derivation;
use crate::derive::figures::paper003_unary as unary;
use crate::derive::figures::paper003_unary::sweep::{Piece, Records, Swept, swept};
use crate::derive::recipes;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Mode, Path, Pattern, Supply, Var};

impl Pipeline {
    /// Returns whether the reverse derivatives of a function are those of the derivation `unary`. One that is written by
    /// hand is used as it is.
    pub(in crate::derive) fn is_unary(&self, of: &FunName) -> bool {
        let by_hand = super::written::is_replaced(&of.unrestricted(), Mode::Reverse, &self.written);
        self.derivation_of(of) == Derivation::Unary && !by_hand
    }

    /// Returns the definition in UNF.
    pub(in crate::derive) fn unary_form(&mut self, work: Work) -> Work {
        let form = self.watch.timings.time("unary_form", || unary::convert(&work.def));
        Work { unary: Some((form, unary::print::Language::Source)), ..work }
    }

    /// Returns the value beside the cotangent, by the two sweeps. The Jacobians of operators are not applied yet.
    pub(in crate::derive) fn swept(&mut self, work: Work, of: &FunName) -> Result<Work, Error> {
        let (form, _) = work.unary.as_ref().expect("the pass `unary_form` came before");
        let all = || (1..=form.params.len()).map(|i| vec![i]).collect();
        let varying: Vec<Path> = form.fun.name.varying().map_or_else(all, <[Path]>::to_vec);
        let dr = self.program.supply.fresh("dr", form.fun.result.tangent());
        // The steps are definitions of their own, and their rewrites are no steps of this one.
        let trace = self.watch.trace.take();
        let made = swept(form, &varying, &dr, &mut StepRecords { cx: self, of });
        self.watch.trace = trace;
        let Swept { values, value, cotangents, cotangent } = made?;
        let supply = &mut self.program.supply;
        let (s, unpack) = whole_argument(&form.params, supply);
        let ds = supply.fresh("ds", cotangent.ty().clone());
        let last = Binding { pattern: Pattern::Var(ds.clone()), rhs: cotangent };
        let bindings = [unpack, values, cotangents, vec![last]].concat();
        let body = Expr::block(bindings, Expr::tuple([value, Expr::var(&ds)]));
        let def = Def::new(of.derived(Derivative::Vjp), vec![s, dr], body);
        Ok(Work { def: checked("sweep", def, |d| d.body.ty().as_lm().is_none()), unary: None, ..work })
    }
}

/// Makes the steps of a function that keep records, by the way of the derivation `tupled`.
struct StepRecords<'a> {
    cx: &'a mut Pipeline,
    of: &'a FunName,
}

impl Records for StepRecords<'_> {
    type Error = Error;

    fn supply(&mut self) -> &mut Supply {
        &mut self.cx.program.supply
    }

    fn piece(&mut self, rhs: &Expr, params: &[Var], varying: &[Path]) -> Result<Piece, Error> {
        let cx = &mut *self.cx;
        // Errors name the function of which this is a step.
        let name = self.of.unrestricted().restricted(varying);
        let step = Def::new(name.clone(), params.to_vec(), rhs.clone());
        let task = Task { derivative: Some(Derivative::Vjp), of: name };
        let work = cx.run(recipes::to_cotangent(), &task, Work::new(step), &mut Vec::new())?;
        let reverse = &work.def;
        let dr = reverse.params.last().expect("the cotangent is a parameter").clone();
        let (values, value) = work.recording().values();
        Ok(Piece { values, value, dr, cotangent: reverse.body.clone() })
    }
}
