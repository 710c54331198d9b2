//! Makes derivatives from functions on dual numbers, for the derivation `dual`.
//!
//! ```text
//! jvp$f(s, ds) = apart(dual$f(zip(s, ds)))
//! ```
//!
//! Source: Fig. 7 of *Efficient differentiable programming in a functional array-processing language* (ICFP 2019).

use super::{Error, Pipeline, checked};
use crate::derive::Derivation;
use crate::derive::figures::paper000_dual::apart::apart;
use crate::derive::figures::paper000_dual::{dual, types};
use crate::derive::forms;
use lm::scope::renamed;
use lm::term::{Def, Fun, FunName, Mode};

impl Pipeline {
    /// Returns whether the derivatives of a function in a mode are those of dual numbers: its derivation is `dual`, and
    /// they are not written by hand. Reverse derivatives of callees that are written by hand are used, by the Jacobian.
    pub(in crate::derive) fn is_dual(&self, of: &FunName, mode: Mode) -> bool {
        let whole = of.unrestricted();
        let by_hand = super::written::is_replaced(&whole, mode, &self.written);
        let is_dual = self.derivation_of(of) == Derivation::Dual;
        is_dual
            && !by_hand
            && match mode {
                Mode::Forward => !self.program.externals.contains_key(&whole),
                Mode::Reverse => !self.depends_on_hand(of),
            }
    }

    /// Returns `[dual f]` of a definition in normal form, not optimised.
    pub(in crate::derive) fn dual(&mut self, normal: &Def) -> Result<Def, Error> {
        let made = {
            let by_hand = super::written::by_hand(&self.written, &self.program.externals);
            let supply = &mut self.program.supply;
            self.watch.fallible("dual", || dual(normal, supply, &by_hand))?
        };
        let made = Def { body: renamed(&made.body, &mut self.program.supply), ..made };
        let is_dual = |d: &Def| *d.body.ty() == types::dual(&normal.fun.result);
        let made = checked("dual", made, is_dual);
        Ok(self.without_dead(&made))
    }

    /// Returns `jvp$f(s, ds)`, the value and the tangent that `[dual f]` gives at `zip(s, ds)`.
    pub(in crate::derive) fn apart(&mut self, dual: &Def, of: &FunName) -> Result<Def, Error> {
        let f = Fun { name: of.clone(), ..(*self.source(of)?.fun).clone() };
        let normal = self.anf(dual);
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        let def = self.watch.makes("apart", || apart(&normal, &f, effects, supply));
        let def = self.without_dead(&def);
        Ok(checked("apart", def, |d| forms::with_map(&d.body).is_none()))
    }
}
