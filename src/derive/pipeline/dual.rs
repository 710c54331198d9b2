//! Makes derivatives from functions on dual numbers, for the derivation `dual`.
//!
//! ```text
//! jvp$f(s, ds) = apart(dual$f(zip(s, ds)))
//! ```
//!
//! Source: Fig. 7 of *Efficient differentiable programming in a functional array-processing language* (ICFP 2019).

use super::argument::whole_argument;
use super::{Error, Pipeline, checked};
use crate::derive::Derivation;
use crate::derive::figures::paper000_dual::{dual, types};
use crate::derive::forms;
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Mode, Path, Pattern, Supply, Var};

impl Pipeline {
    /// Returns whether the derivatives of a function in a mode are those of dual numbers: its derivation is `dual`, and
    /// they are not written by hand.
    pub(in crate::derive) fn is_dual(&self, of: &FunName, mode: Mode) -> bool {
        let whole = of.unrestricted();
        let by_hand = super::written::is_replaced(&whole, mode, &self.written);
        self.derivation_of(of) == Derivation::Dual && !by_hand && !self.program.externals.contains_key(&whole)
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
        let supply = &mut self.program.supply;
        let params: Vec<Var> =
            dual.params.iter().zip(&f.params).map(|(p, ty)| supply.fresh(p.name(), ty.clone())).collect();
        let name = if let [x] = params.as_slice() { format!("d{}", x.name()) } else { "ds".into() };
        let ds = supply.fresh(&name, f.varying().tangent());
        let (s, mut bindings) = whole_argument(&params, supply);
        let varying = types::varying(&f);
        for (i, (p, x)) in dual.params.iter().zip(&params).enumerate() {
            let rhs = zipped(&Expr::var(x), &[i + 1], &varying, &Expr::var(&ds), supply);
            bindings.push(Binding { pattern: Pattern::Var(p.clone()), rhs });
        }
        let (inner, result) = dual.body.as_block();
        bindings.extend(inner.iter().cloned());
        let whole = supply.fresh("y", result.ty().clone());
        bindings.push(Binding { pattern: Pattern::Var(whole.clone()), rhs: result.clone() });
        let whole = Expr::var(&whole);
        let parts = [types::value(&whole, &f.result, supply), types::tangent(&whole, &f.result, supply)];
        let body = renamed(&Expr::block(bindings, Expr::tuple(parts)), supply);
        let def = Def::new(of.derived(Derivative::Jvp), vec![s, ds], body);
        Ok(checked("apart", def, |d| forms::with_map(&d.body).is_none()))
    }
}

/// Returns the part of the argument at a path, as a dual where it varies: its tangent is a component of `ds`.
fn zipped(part: &Expr, path: &[usize], varying: &[Path], ds: &Expr, supply: &mut Supply) -> Expr {
    if let Some(k) = varying.iter().position(|v| v == path) {
        let tangent = if varying.len() == 1 { ds.clone() } else { Expr::get(k + 1, ds.clone()) };
        return types::zip(part, &tangent, supply);
    }
    if !varying.iter().any(|v| v.starts_with(path)) {
        return part.clone();
    }
    let parts = part.ty().as_tuple().expect("a path leads through tuples").len();
    let component = |k| zipped(&Expr::get(k, part.clone()), &[path, &[k]].concat(), varying, ds, supply);
    Expr::tuple((1..=parts).map(component).collect::<Vec<_>>())
}
