//! Makes forward mode from pairs, for the derivations `tupled` and `polymorphic`.
//!
//! ```text
//! jvp$f(s, ds) = f(s) paired with its tangent, each piece of work done once
//! fwd$f(s, ds) = the tangent alone, and what of the value it needs
//! ```
//!
//! Source: working notes, sec. 5.2 and 5.3.

use super::{Error, Pipeline, checked};
use crate::derive::Derivation;
use crate::derive::figures::fig07_08_pairs::{Partner, paired};
use crate::derive::typing::any_space;
use lm::prim::Prim;
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Mode, Pattern, Var};
use lm::types::Type;

impl Pipeline {
    /// Returns whether forward mode of a function goes by pairs: its derivation is `tupled` or `polymorphic`, and its
    /// forward derivative is not written by hand.
    pub(in crate::derive) fn is_paired(&self, of: &FunName) -> bool {
        let whole = of.unrestricted();
        let by_hand = super::written::is_replaced(&whole, Mode::Forward, &self.written);
        let paired = matches!(self.derivation_of(of), Derivation::Tupled | Derivation::Polymorphic);
        paired && !by_hand && !self.program.externals.contains_key(&whole)
    }

    /// Pairs the values of a definition in normal form: `[tupled f]`, `[polymorphic f]`, `[polymorphicR f]` or
    /// `[jvp f]`, not optimised.
    pub(in crate::derive) fn paired(&mut self, normal: &Def, partner_kind: Partner) -> Result<Def, Error> {
        self.paired_at(normal, partner_kind, any_space())
    }

    fn paired_at(&mut self, normal: &Def, partner_kind: Partner, any: Type) -> Result<Def, Error> {
        let (written, externals) = (&self.written, &self.program.externals);
        let by_hand = super::written::by_hand(written, externals);
        let supply = &mut self.program.supply;
        let name = partner_kind.derivative().word();
        let pairs = self.watch.fallible(name, || paired(normal, partner_kind, any, supply, &by_hand))?;
        let renamed = Def { body: renamed(&pairs.body, &mut self.program.supply), ..pairs };
        Ok(checked(name, renamed, |d| d.body.ty().as_tuple().is_some()))
    }

    /// Returns `[vjp f](s, dr) = let (y, m) = [polymorphicR f](s, 1) in (y, m ⊙ dr)`, not optimised, with the body in
    /// place of the call.
    pub(in crate::derive) fn reverse_by_map(&mut self, normal: &Def, of: &FunName) -> Result<Def, Error> {
        let f = normal.fun.clone();
        let map = self.paired_at(normal, Partner::PolymorphicR, f.varying())?;
        let [s, start] = map.params.as_slice() else { panic!("a point and a map") };
        let parts: Vec<Expr> = match f.params.len() {
            1 => vec![Expr::var(s)],
            n => (1..=n).map(|i| Expr::get(i, Expr::var(s))).collect(),
        };
        let one = Expr::prim(Prim::LmOne, [Expr::witness(&f.varying_of(&parts))]);
        let types = map.fun.result.as_tuple().expect("a value and a map");
        let supply = &mut self.program.supply;
        let pair: Vec<Var> = ["y", "m"].iter().zip(types).map(|(x, ty)| supply.fresh(x, ty.clone())).collect();
        let dr = supply.fresh("dr", f.result.tangent());
        let (bindings, result) = map.body.as_block();
        let first = Binding { pattern: Pattern::Var(start.clone()), rhs: one };
        let last = Binding { pattern: Pattern::Tuple(pair.clone()), rhs: result.clone() };
        let applied = Expr::prim(Prim::LmApply, [Expr::var(&pair[1]), Expr::var(&dr)]);
        let body = Expr::tuple([Expr::var(&pair[0]), applied]);
        let body = renamed(&Expr::block([&[first], bindings, &[last]].concat(), body), supply);
        Ok(Def::new(of.derived(Derivative::Vjp), vec![s.clone(), dr], body))
    }

    /// Returns `[fwd f]` before sharing: the second component of `[jvp f]`.
    pub(in crate::derive) fn tangent(&mut self, both: &Def, of: &FunName) -> Def {
        let (bindings, result) = both.body.as_block();
        let types = both.fun.result.as_tuple().expect("the value beside the tangent");
        let supply = &mut self.program.supply;
        let pair: Vec<Var> = ["y", "dy"].iter().zip(types).map(|(x, ty)| supply.fresh(x, ty.clone())).collect();
        let parts = Binding { pattern: Pattern::Tuple(pair.clone()), rhs: result.clone() };
        let body = Expr::block([bindings, &[parts]].concat(), Expr::var(&pair[1]));
        let body = renamed(&body, supply);
        let alone = Def::new(of.derived(Derivative::Fwd), both.params.clone(), body);
        self.without_dead(&alone)
    }
}
