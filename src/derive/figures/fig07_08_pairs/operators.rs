//! The rules for operators and calls.

use super::{Paired, Partner, element};
use crate::derive::figures::fig06_jacobian::{NO_RECORDS, Nabla};
use lm::prim::{JacobianRule, Prim};
use lm::term::{Binding, Expr, Fun, Op, Path, Pattern, Var};
use lm::types::Type;
use std::sync::Arc;

impl Paired<'_> {
    /// Returns the partner of `y = op(args)`.
    pub(super) fn application(&mut self, y: &Expr, op: &Op, args: &[Expr]) -> Result<Option<Expr>, String> {
        let partners = |cx: &Self| args.iter().map(|a| cx.or_zero(&cx.pair(a))).collect::<Vec<Expr>>();
        let given = |cx: &Self, k: usize| cx.or_zero(&cx.pair(&args[k]));
        Ok(Some(match op {
            Op::Tuple => self.tuple(partners(self)),
            Op::Get(i, n) => self.component(*i, *n, &args[0], given(self, 0)),
            // The assertion itself is made where the value is computed.
            Op::Assert => return Ok(self.partner(&args[1])),
            Op::Prim(p) => match (p, args) {
                (Prim::VecInit, _) => self.literal(y, partners(self)),
                (Prim::Index, [i, v]) => self.after(element(i, v), given(self, 1)),
                (Prim::Sum, [v]) => self.sum(y, v),
                (Prim::Unzip, [v]) => return self.unzip(y, v),
                (Prim::DeltaAt, [_, i, _]) => {
                    let at = Expr::prim(Prim::LmTranspose, [element(i, y)]);
                    self.after(at, given(self, 2))
                }
                (Prim::Into, _) => return Ok(self.partner(&args[1])),
                _ => match p.jacobian() {
                    JacobianRule::Zero => return Ok(None),
                    JacobianRule::Law(_) => {
                        let inner = self.juxtaposed(partners(self));
                        self.after(Expr::app(Op::JacobianOf(*p), args.to_vec()), inner)
                    }
                    JacobianRule::Structural => return Err(format!("`{}` has no derivative here", p.name())),
                },
            },
            Op::Dummy => return Ok(None),
            Op::JacobianOf(_) | Op::JacobianOfFun(_) | Op::JacobianAt(_) | Op::LmGet(..) => {
                return Err("a linear map has no derivative".into());
            }
            Op::Pack(_) | Op::Unpack(_) => return Err(NO_RECORDS.into()),
            Op::If | Op::Call(_) => unreachable!("they have rules of their own"),
        }))
    }

    fn literal(&self, y: &Expr, partners: Vec<Expr>) -> Expr {
        self.of_elements(y, Expr::prim(Prim::VecInit, partners))
    }

    fn sum(&mut self, y: &Expr, v: &Expr) -> Expr {
        let dv = self.or_zero(&self.pair(v));
        if y.ty().has_fixed_shape() || self.partner_kind == Partner::PolymorphicR {
            return self.after(Expr::prim(Prim::LmSum, [v.clone()]), dv);
        }
        let Type::Tensor(rank, _) = v.ty() else { panic!("{v:?} is no tensor") };
        let i = self.supply.fresh("i", Type::index(*rank));
        let part = self.after(element(&Expr::var(&i), v), dv);
        let n = Expr::prim(Prim::Size, [v.clone()]);
        self.summed(y, n, Expr::lam(i, part))
    }

    /// Returns the sum of partners.
    fn summed(&self, y: &Expr, n: Expr, f: Expr) -> Expr {
        match self.partner_kind {
            Partner::Tangent => Expr::prim(Prim::SumBuild, [Expr::witness(y), n, f]),
            Partner::Tupled | Partner::Polymorphic | Partner::PolymorphicR => {
                Expr::prim(Prim::LmAddV, [Expr::witness(y), Expr::prim(Prim::Build, [n, f])])
            }
        }
    }

    fn unzip(&mut self, y: &Expr, v: &Expr) -> Result<Option<Expr>, String> {
        let Some(dv) = self.partner(v) else { return Ok(None) };
        if self.partner_kind == Partner::Tangent {
            return Ok(Some(Expr::prim(Prim::Unzip, [dv])));
        }
        if self.partner_kind == Partner::PolymorphicR {
            let Type::Tensor(rank, _) = v.ty() else { panic!("{v:?} is no tensor") };
            let n = y.ty().as_tuple().expect("`unzip` gives a tuple").len();
            let part = |k: usize, cx: &mut Self| {
                let i = cx.supply.fresh("i", Type::index(*rank));
                let x = Expr::prim(Prim::Index, [Expr::var(&i), v.clone()]);
                let of_element = cx.after(element(&Expr::var(&i), v), dv.clone());
                let of_part = cx.component(k, n, &x, of_element);
                let size = Expr::prim(Prim::Size, [v.clone()]);
                let all = Expr::prim(Prim::Build, [size, Expr::lam(i, of_part)]);
                cx.of_elements(&Expr::get(k, y.clone()), all)
            };
            let parts = (1..=n).map(|k| part(k, self)).collect();
            return Ok(Some(self.tuple(parts)));
        }
        let mut nabla = Nabla::new(self.supply, Expr::witness(v), self.written);
        let map = nabla.unzip_of(y, v, Expr::prim(Prim::LmOne, [Expr::witness(v)]));
        Ok(Some(self.after(map, dv)))
    }

    /// Returns `∂f(e) ∘ ∇[e]`, with respect to those of the arguments that can change.
    pub(super) fn call(&mut self, y: &Var, e: &Expr, f: &Arc<Fun>, args: &[Expr]) -> Result<(), String> {
        let written = (self.written)(&f.name);
        let differentiable: Vec<usize> = (0..args.len()).filter(|i| args[*i].ty().is_differentiable()).collect();
        let varying: Vec<usize> =
            differentiable.iter().copied().filter(|i| self.partner(&args[*i]).is_some()).collect();
        let whole = written || varying.len() == differentiable.len();
        let chosen = if whole { (0..args.len()).collect() } else { varying.clone() };
        let inner = self.juxtaposed(chosen.into_iter().map(|i| self.or_zero(&self.pair(&args[i]))).collect());
        let paths: Vec<Path> = varying.iter().map(|i| vec![i + 1]).collect();
        let name = if whole { f.name.clone() } else { f.name.restricted(&paths) };
        let f = Arc::new(Fun { name, ..(**f).clone() });
        if written && self.partner_kind != Partner::Tangent {
            // Its map is known by the derivatives written by hand alone.
            self.out.push(Binding { pattern: Pattern::Var(y.clone()), rhs: e.clone() });
            let map = Expr::app(Op::JacobianOfFun(f), args.to_vec());
            let partner = self.after(map, inner);
            self.bind_partner(y, Some(partner));
            return Ok(());
        }
        let name = f.name.derived(self.partner_kind.derivative());
        let argument = if let [one] = args { one.clone() } else { Expr::tuple(args.to_vec()) };
        if self.partner_kind == Partner::Tupled {
            let map = Type::lm(f.varying(), f.result.clone());
            let result = Type::tuple([f.result.clone(), map.clone()]);
            let tupled = Fun { name, params: f.params.clone(), result };
            let m = self.supply.fresh(&format!("D{}", f.name.base), map);
            let pattern = Pattern::Tuple(vec![y.clone(), m.clone()]);
            let rhs = Expr::app(Op::Call(Arc::new(tupled)), args.to_vec()).at(e.span());
            self.out.push(Binding { pattern, rhs });
            let partner = self.after(Expr::var(&m), inner);
            self.bind_partner(y, Some(partner));
            return Ok(());
        }
        let params = vec![argument.ty().clone(), inner.ty().clone()];
        let result = Type::tuple([f.result.clone(), self.partner_type(&f.result)]);
        let both = Arc::new(Fun { name, params, result });
        self.bind_pair(y, Expr::app(Op::Call(both), vec![argument, inner]).at(e.span()));
        Ok(())
    }
}
