//! Forward mode from pairs: the derivations tupled and polymorphic.
//!
//!   jvp$f(s, ds) = f(s) paired with its tangent, each piece of work done once
//!   fwd$f(s, ds) = the tangent alone, and what of the value it needs
//!
//! Source: working notes, sec. 5.2 and 5.3.

use super::{Error, Pipeline, checked};
use crate::derive::Derivation;
use crate::derive::figures::fig07_08_pairs::{Form, paired};
use crate::derive::passes::{apply, dce};
use lm::rewriter::Step;
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Mode, Pattern, Var};

impl Pipeline {
    /// Whether forward mode of a function goes by pairs: its derivation says so, and nothing of it is written by
    /// hand.
    pub(in crate::derive) fn is_paired(&self, of: &FunName) -> bool {
        let whole = of.unrestricted();
        let by_hand = super::is_replaced(&whole, Mode::Forward, &self.written);
        let paired = matches!(self.derivation_of(of), Derivation::Tupled | Derivation::Polymorphic);
        paired && !by_hand && !self.program.externals.contains_key(&whole)
    }

    /// `[tupled f]`, `[polymorphic f]` or `[jvp f]`, not optimised.
    pub(in crate::derive) fn paired_unoptimised(&mut self, of: &FunName, form: Form) -> Result<Def, Error> {
        let def = self.differentiable(of)?;
        let normal = self.normal(&def);
        let by_hand = super::by_hand(&self.written, &self.program.externals);
        let supply = &mut self.program.supply;
        let pairs = self.watch.fallible(form.derivative().word(), || paired(&normal, form, supply, &by_hand))?;
        let renamed = Def { body: renamed(&pairs.body, &mut self.program.supply), ..pairs };
        Ok(checked(form.derivative().word(), renamed, |_| true))
    }

    /// `[tupled f]` or `[polymorphic f]`.
    pub(in crate::derive) fn paired_optimised(&mut self, of: &FunName, form: Form) -> Result<(Def, Vec<Step>), Error> {
        let pairs = self.paired_unoptimised(of, form)?;
        self.simplified(&pairs, "jacobian")
    }

    /// `[jvp f]` without linear maps, before sharing.
    pub(in crate::derive) fn value_and_tangent(&mut self, of: &FunName) -> Result<Def, Error> {
        let name = of.derived(Derivative::Jvp);
        if let Some(def) = self.applied.get(&name) {
            return Ok(def.clone());
        }
        let pairs = self.paired_unoptimised(of, Form::Applied)?;
        let (def, _) = self.value_and_tangent_with_steps(&pairs)?;
        self.applied.insert(name, def.clone());
        Ok(def)
    }

    pub(in crate::derive) fn value_and_tangent_with_steps(&mut self, pairs: &Def) -> Result<(Def, Vec<Step>), Error> {
        let (known, mut steps) = self.simplified(pairs, "jacobian")?;
        let (def, more) = self.applied_with_steps(&known)?;
        steps.extend(more);
        Ok((checked("jvp", def, |d| apply::is_free_of_maps(&d.body)), steps))
    }

    /// `[fwd f]` without linear maps, before sharing: the second component of `[jvp f]`.
    pub(in crate::derive) fn tangent_alone(&mut self, of: &FunName) -> Result<Def, Error> {
        let both = self.value_and_tangent(of)?;
        let (bindings, result) = both.body.as_block();
        let types = both.fun.result.as_tuple().expect("the value beside the tangent");
        let supply = &mut self.program.supply;
        let pair: Vec<Var> = ["y", "dy"].iter().zip(types).map(|(x, ty)| supply.fresh(x, ty.clone())).collect();
        let parts = Binding { pattern: Pattern::Tuple(pair.clone()), rhs: result.clone() };
        let body = Expr::block([bindings, &[parts]].concat(), Expr::var(&pair[1]));
        let body = renamed(&body, supply);
        let alone = Def::new(of.derived(Derivative::Fwd), both.params.clone(), body);
        Ok(dce::dce(&alone, &self.effects))
    }
}
