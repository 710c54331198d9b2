//! Derives reverse mode and gradients from forward mode: one loop over the directions of each part of the argument.
//!
//! ```text
//! rev$f(s, dr) = (build(size(s.k), λj. dr • fwd$f(s, $delta_at(s.k, j, 1.0))), ..)        k: the parts of s
//! grad$f(s)    = (build(size(s.k), λj. fwd$f(s, $delta_at(s.k, j, 1.0))), ..)
//! ```
//!
//! Takes: a function. Gives: a term with as many tangents as the argument has numbers.

use super::{Directions, Linear, leaves, restricted};
use crate::derive::pipeline::{Error, Pipeline};
use lm::prim::Prim;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Mode, Path, Pattern, Var};
use lm::types::Type;

impl Pipeline {
    /// Returns `[grad f]` or `[rev f]`, by the forward derivative with respect to each part of the argument.
    pub(in crate::derive) fn along_directions(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        self.along_directions_by(of, name, Directions::Cut)
    }

    /// Does the same by calls of `[fwd f]`, so that it keeps no records.
    pub(in crate::derive) fn along_directions_by_calls(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        self.along_directions_by(of, name, Directions::Calls)
    }

    pub(super) fn along_directions_by(&mut self, of: &FunName, name: &FunName, how: Directions) -> Result<Def, Error> {
        match name.derivative() {
            Some(Derivative::Grad) => self.gradient_along_directions(of, name, how),
            _ => self.reverse_along_directions(of, name, how),
        }
    }

    fn reverse_along_directions(&mut self, of: &FunName, name: &FunName, how: Directions) -> Result<Def, Error> {
        let f = self.between_values(of, false)?;
        let s = self.program.supply.fresh("s", f.argument());
        let dr = self.program.supply.fresh("dr", f.result.tangent());
        let (params, _) = self.parameters(&f);
        let unpack = match params.as_slice() {
            [one] => Pattern::Var(one.clone()),
            many => Pattern::Tuple(many.to_vec()),
        };
        let mut out = vec![Binding { pattern: unpack, rhs: Expr::var(&s) }];
        let against = |tangent| Expr::prim(Prim::Dot, [Expr::var(&dr), tangent]);
        let ds = self.cotangent_of_parts(&f, &params, how, &against, &mut out)?;
        Ok(Def::new(name.clone(), vec![s, dr], Expr::block(out, ds)))
    }

    fn gradient_along_directions(&mut self, of: &FunName, name: &FunName, how: Directions) -> Result<Def, Error> {
        let f = self.between_values(of, true)?;
        let (params, _) = self.parameters(&f);
        let mut out = Vec::new();
        let ds = self.cotangent_of_parts(&f, &params, how, &|tangent| tangent, &mut out)?;
        Ok(Def::new(name.clone(), params, Expr::block(out, ds)))
    }

    /// Returns the cotangent of what varies, from a number for each tangent of the result; pushes what does not depend
    /// on the direction to `out`.
    fn cotangent_of_parts(
        &mut self,
        f: &Fun,
        params: &[Var],
        how: Directions,
        number: &dyn Fn(Expr) -> Expr,
        out: &mut Vec<Binding>,
    ) -> Result<Expr, Error> {
        let parts: Vec<Expr> = params.iter().map(Expr::var).collect();
        let whole = f.varying_of(&parts);
        let mut table = Vec::new();
        for (path, w) in leaves(&whole).into_iter().filter(|_| f.result.is_differentiable()) {
            let name = restricted(f, f.name.varying(), &path);
            let linear = self.linear(&Fun { name, ..f.clone() }, Mode::Forward, params, how)?;
            out.extend(linear.early.iter().cloned());
            let result = number(linear.result.clone());
            let cotangent = self.along(&Linear { result, ..linear }, &w, &|e| e);
            table.push((path, self.bound(out, "ds", cotangent)));
        }
        Ok(assembled(&whole, &[], &table))
    }
}

/// Returns a cotangent of the whole, from those of its parts.
fn assembled(whole: &Expr, path: &[usize], table: &[(Path, Expr)]) -> Expr {
    if let Some((_, part)) = table.iter().find(|(p, _)| p == path) {
        return part.clone();
    }
    match whole.ty() {
        Type::Tuple(parts) if whole.ty().is_differentiable() => {
            let part = |k| assembled(&Expr::get(k, whole.clone()), &[path, &[k]].concat(), table);
            Expr::tuple((1..=parts.len()).map(part).collect::<Vec<_>>())
        }
        _ => Expr::prim(Prim::ZeroOf, [Expr::witness(whole)]),
    }
}
