//! Differentiates arrays: the rules of the Jacobian for what builds, reads and sums tensors.
//!
//! ```text
//! ∇[build(n, λi. e)] = V(build(n, λi. ∇[e]))         ∇[sumbuild(n, λi. e)] = ⊕(build(n, λi. ∇[e]))
//! ∇[v[i]] = π(i) ∘ ∇[v]                              ∇[(e1, .., en)] = V([∇[e1], .., ∇[en]])   a vector
//! ∇[unzip(v)] = V(build(n, λi. π₁ ∘ π(i) ∘ ∇[v])) × ..                        a tensor of tuples
//! ∇[sum(v)] = lmSum ∘ ∇[v]                           ∇[$delta_at(w, i, x)] = π(i)ᵀ ∘ ∇[x]
//! ```
//!
//! Source: working notes, Figs. 2 and 6. Takes and gives: as [`super::fig06_jacobian`]. The rules for folds are in
//! [`super::fig12_15_folds`].

use super::fig06_jacobian::Nabla;
use lm::prim::Prim;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Var};
use lm::types::Type;

impl Nabla<'_> {
    /// ∇ of `e`, bound to `y`; `None` when `e` is no operator on tensors.
    pub(super) fn tensor(&mut self, y: &Var, e: &Expr) -> Result<Option<Expr>, String> {
        let Kind::App(Op::Prim(p), args) = e.kind() else { return Ok(None) };
        if let Some(fold) = self.checkpoints.segmented(e) {
            return self.fold_in_segments(y, &fold).map(Some);
        }
        let value = Expr::var(y);
        Ok(Some(match (p, args.as_slice()) {
            (Prim::Build, [n, f]) => {
                let maps = self.family(n, f)?;
                Expr::prim(Prim::LmVCatV, [value, maps])
            }
            (Prim::SumBuild, [.., n, f]) => {
                let maps = self.family(n, f)?;
                Expr::prim(Prim::LmAddV, [Expr::witness(&value), maps])
            }
            (Prim::VecInit, parts) => {
                let maps = parts.iter().map(|part| self.nabla(part)).collect::<Result<Vec<_>, _>>()?;
                Expr::prim(Prim::LmVCatV, [value, Expr::prim(Prim::VecInit, maps)])
            }
            (Prim::Unzip, [v]) => self.unzip(&value, v)?,
            (Prim::Index, [i, v]) => compose(element(i, v), self.nabla(v)?),
            (Prim::Sum, [v]) if value.ty().has_fixed_shape() => {
                compose(Expr::prim(Prim::LmSum, [v.clone()]), self.nabla(v)?)
            }
            (Prim::Sum, [v]) => {
                let Type::Tensor(rank, _) = v.ty() else { panic!("{v:?} is no tensor") };
                let i = self.supply.fresh("i", Type::index(*rank));
                let map = compose(element(&Expr::var(&i), v), self.nabla(v)?);
                let n = Expr::prim(Prim::Size, [v.clone()]);
                Expr::prim(Prim::LmAddV, [value, Expr::prim(Prim::Build, [n, Expr::lam(i, map)])])
            }
            (Prim::DeltaAt, [_, i, x]) => compose(at(i, &value), self.nabla(x)?),
            (Prim::Into, [_, x]) => self.nabla(x)?,
            (Prim::AddAt, [v, pairs]) => {
                let added = self.added(&value, pairs)?;
                Expr::prim(Prim::LmAdd, [self.nabla(v)?, added])
            }
            (Prim::Fold, [f, a, v]) | (Prim::Checkpoint, [_, f, a, v]) => self.fold(y, f, a, v)?,
            (Prim::States, [stride, f, a, v]) => self.states(y, [stride, f, a, v])?,
            (Prim::Scanl, [f, a, v]) | (Prim::Replay, [_, f, a, v]) => self.scanl(y, f, a, v)?,
            (Prim::Loop, [n, f, a, _]) => self.iteration(y, n, f, a)?,
            _ => return Ok(None),
        }))
    }

    /// Returns `build(n, λi. ∇[f(i)])`.
    fn family(&mut self, n: &Expr, f: &Expr) -> Result<Expr, String> {
        let (i, body) = function(f);
        let map = self.branch(body)?;
        Ok(Expr::prim(Prim::Build, [n.clone(), Expr::lam(i.clone(), map)]))
    }

    /// Returns each component's tensor: of the elements, that component.
    fn unzip(&mut self, y: &Expr, v: &Expr) -> Result<Expr, String> {
        let dv = self.nabla(v)?;
        Ok(self.unzip_of(y, v, dv))
    }

    /// Returns the map of y = unzip(v), after that of v.
    pub(super) fn unzip_of(&mut self, y: &Expr, v: &Expr, dv: Expr) -> Expr {
        let (Type::Tensor(rank, _), Some(parts)) = (v.ty(), y.ty().as_tuple()) else { panic!("`unzip` of {v:?}") };
        let (index, count) = (Type::index(*rank), parts.len());
        let mut part = |k| {
            let i = self.supply.fresh("i", index.clone());
            let tuple = Expr::prim(Prim::Index, [Expr::var(&i), v.clone()]);
            let select = Expr::app(Op::LmGet(k, count), vec![Expr::witness(&tuple)]);
            let map = compose(select, compose(element(&Expr::var(&i), v), dv.clone()));
            let n = Expr::prim(Prim::Size, [v.clone()]);
            let family = Expr::prim(Prim::Build, [n, Expr::lam(i, map)]);
            Expr::prim(Prim::LmVCatV, [Expr::get(k, y.clone()), family])
        };
        Expr::prim(Prim::LmVCat, (1..=count).map(&mut part).collect::<Vec<_>>())
    }

    /// Returns the sum over k of `pairs[k].2` at `pairs[k].1`, in the shape of `value`.
    fn added(&mut self, value: &Expr, pairs: &Expr) -> Result<Expr, String> {
        let Type::Tensor(rank, _) = pairs.ty() else { panic!("{pairs:?} is no tensor") };
        let k = self.supply.fresh("k", Type::index(*rank));
        let pair = Expr::prim(Prim::Index, [Expr::var(&k), pairs.clone()]);
        let pair_of = self.supply.fresh("p", pair.ty().clone());
        let second = Expr::app(Op::LmGet(2, 2), vec![Expr::witness(&Expr::var(&pair_of))]);
        let place = at(&Expr::get(1, Expr::var(&pair_of)), value);
        let map = compose(place, compose(second, compose(element(&Expr::var(&k), pairs), self.nabla(pairs)?)));
        let body = Expr::block(vec![Binding { pattern: Pattern::Var(pair_of), rhs: pair }], map);
        let n = Expr::prim(Prim::Size, [pairs.clone()]);
        let maps = Expr::prim(Prim::Build, [n, Expr::lam(k, body)]);
        Ok(Expr::prim(Prim::LmAddV, [value.clone(), maps]))
    }

    pub(super) fn value(&mut self, x: &Var, rhs: Expr) {
        self.out.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
    }

    pub(super) fn bind_as(&mut self, name: &str, rhs: Expr) -> Expr {
        let x = self.supply.fresh(name, rhs.ty().clone());
        self.value(&x, rhs);
        Expr::var(&x)
    }
}

pub(super) fn function(f: &Expr) -> (&Var, &Expr) {
    match f.kind() {
        Kind::Lam(x, body) => (x, body),
        _ => panic!("{f:?} is no function"),
    }
}

pub(super) fn element_type(v: &Expr) -> Type {
    let Type::Tensor(_, element) = v.ty() else { panic!("{v:?} is no tensor") };
    (**element).clone()
}

/// π(i) on tensors like v.
pub(super) fn element(i: &Expr, v: &Expr) -> Expr {
    Expr::prim(Prim::LmIndex, [i.clone(), v.clone()])
}

/// π(i)ᵀ.
pub(super) fn at(i: &Expr, v: &Expr) -> Expr {
    Expr::prim(Prim::LmTranspose, [element(i, v)])
}

pub(super) fn compose(m: Expr, n: Expr) -> Expr {
    Expr::prim(Prim::LmCompose, [m, n])
}

pub(super) fn tuple_or_one(parts: &[Expr]) -> Expr {
    if let [one] = parts { one.clone() } else { Expr::tuple(parts.to_vec()) }
}
