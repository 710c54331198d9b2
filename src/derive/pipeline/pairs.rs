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
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Mode, Pattern, Var};

impl Pipeline {
    /// Returns whether forward mode of a function goes by pairs: its derivation is `tupled` or `polymorphic`, and its
    /// forward derivative is not written by hand.
    pub(in crate::derive) fn is_paired(&self, of: &FunName) -> bool {
        let whole = of.unrestricted();
        let by_hand = super::written::is_replaced(&whole, Mode::Forward, &self.written);
        let paired = matches!(self.derivation_of(of), Derivation::Tupled | Derivation::Polymorphic);
        paired && !by_hand && !self.program.externals.contains_key(&whole)
    }

    /// Pairs the values of a definition in normal form: `[tupled f]`, `[polymorphic f]` or `[jvp f]`, not optimised.
    pub(in crate::derive) fn paired(&mut self, normal: &Def, partner_kind: Partner) -> Result<Def, Error> {
        let (written, externals) = (&self.written, &self.program.externals);
        let by_hand = super::written::by_hand(written, externals);
        let supply = &mut self.program.supply;
        let name = partner_kind.derivative().word();
        let pairs = self.watch.fallible(name, || paired(normal, partner_kind, supply, &by_hand))?;
        let renamed = Def { body: renamed(&pairs.body, &mut self.program.supply), ..pairs };
        Ok(checked(name, renamed, |d| d.body.ty().as_tuple().is_some()))
    }

    /// Returns `[vjp f](s, dr) = let (y, m) = [polymorphicR f](s, 1) in (y, m ⊙ dr)`, with the body in place of the call.
    pub(in crate::derive) fn applied_at_one(&mut self, map: &Def, of: &FunName) -> Def {
        let [s, start] = map.params.as_slice() else { panic!("a point and a map") };
        let (space, _) = start.ty().as_lm().expect("a map");
        let [value, m] = map.fun.result.as_tuple().expect("a value and a map") else { panic!("a pair") };
        let (result, _) = m.as_lm().expect("a map");
        let supply = &mut self.program.supply;
        let (y, m) = (supply.fresh("y", value.clone()), supply.fresh("m", m.clone()));
        let dr = supply.fresh("dr", result.tangent());
        let parts = of.varying().map_or_else(|| Expr::var(s), |paths| {
            Expr::tuple(paths.iter().map(|path| Expr::at_path(path, &Expr::var(s))))
        });
        let one = Expr::prim(Prim::LmOne, [Expr::witness(&parts)]);
        let (bindings, result) = map.body.as_block();
        let first = Binding { pattern: Pattern::Var(start.clone()), rhs: one };
        let last = Binding { pattern: Pattern::Tuple(vec![y.clone(), m.clone()]), rhs: result.clone() };
        let applied = Expr::prim(Prim::LmApply, [Expr::var(&m), Expr::var(&dr)]);
        let body = Expr::block([&[first], bindings, &[last]].concat(), Expr::tuple([Expr::var(&y), applied]));
        let body = renamed(&body, supply);
        Def::new(of.derived(Derivative::Vjp), vec![s.clone(), dr], body)
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
