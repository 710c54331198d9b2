//! Derives reverse mode from forward mode: one loop over the directions of each part of the argument.
//!
//! ```text
//! rev$f(s, dr) = (build(size(s.k), λj. dr • fwd$f(s, $delta_at(s.k, j, 1.0))), ..)        k: the parts of s
//! ```
//!
//! Takes: a function. Gives: a term with as many tangents as the argument has numbers.

use super::{Linear, leaves, restricted};
use crate::derive::pipeline::{Error, Pipeline};
use lm::prim::Prim;
use lm::term::{Binding, Def, Expr, Fun, FunName, Mode, Path, Pattern, Var};
use lm::types::Type;

impl Pipeline {
    /// Returns `[rev f]`, by the forward derivative with respect to each part of the argument.
    pub(in crate::derive) fn reverse_along_directions(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let f = self.between_values(of, false)?;
        let s = self.program.supply.fresh("s", f.argument());
        let dr = self.program.supply.fresh("dr", f.result.tangent());
        let (params, _) = self.parameters(&f);
        let unpack = match params.as_slice() {
            [one] => Pattern::Var(one.clone()),
            many => Pattern::Tuple(many.to_vec()),
        };
        let mut out = vec![Binding { pattern: unpack, rhs: Expr::var(&s) }];
        let parts: Vec<Expr> = params.iter().map(Expr::var).collect();
        let whole = f.varying_of(&parts);
        let mut table = Vec::new();
        for (path, w) in leaves(&whole).into_iter().filter(|_| f.result.is_differentiable()) {
            let cotangent = self.along_directions(&f, &params, (&path, &w), &dr, &mut out)?;
            table.push((path, self.bound(&mut out, "ds", cotangent)));
        }
        let body = Expr::block(out, assembled(&whole, &[], &table));
        Ok(Def::new(name.clone(), vec![s, dr], body))
    }

    /// Returns the cotangent of a part of the argument; pushes what does not depend on the direction to `out`.
    fn along_directions(
        &mut self,
        f: &Fun,
        params: &[Var],
        (path, w): (&Path, &Expr),
        dr: &Var,
        out: &mut Vec<Binding>,
    ) -> Result<Expr, Error> {
        let name = restricted(f, f.name.varying(), path);
        let linear = self.linear(&Fun { name, ..f.clone() }, Mode::Forward, params, true)?;
        out.extend(linear.early.iter().cloned());
        let result = Expr::prim(Prim::Dot, [Expr::var(dr), linear.result.clone()]);
        Ok(self.along(&Linear { result, ..linear }, w, &|e| e))
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
