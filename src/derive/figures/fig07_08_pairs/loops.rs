//! The rules for loops: value and partner in one loop.

use super::{Paired, Partner, element, function};
use crate::derive::figures::fig06_jacobian::Nabla;
use lm::prim::Prim;
use lm::scope::free_variables;
use lm::term::{Binding, Expr, Op, Pattern, Var};
use lm::types::Type;

impl Paired<'_> {
    pub(super) fn build(&mut self, y: &Var, n: &Expr, f: &Expr) -> Result<(), String> {
        let family = self.family(n, f)?;
        self.bind_pair(y, family);
        self.partners_together(y);
        Ok(())
    }

    /// Returns `unzip(build(n, λi. ∇̄[f(i)]))`: the values, and the partners.
    fn family(&mut self, n: &Expr, f: &Expr) -> Result<Expr, String> {
        let (i, body) = function(f);
        let pair = self.pair_of(body)?;
        let built = Expr::prim(Prim::Build, [n.clone(), Expr::lam(i.clone(), pair)]);
        Ok(Expr::prim(Prim::Unzip, [built]))
    }

    /// A tensor's partner from a tensor of partners: V(m), H(m), or m itself.
    fn partners_together(&mut self, y: &Var) {
        let m = self.partners[&y.id()].clone();
        let partner = self.of_elements(&Expr::var(y), m);
        self.bind_partner(y, Some(partner));
    }

    /// Returns the partner of a tensor whose elements have these.
    pub(super) fn of_elements(&self, y: &Expr, partners: Expr) -> Expr {
        match (self.partner_kind, &self.start) {
            (Partner::Tangent, _) => partners,
            (Partner::PolymorphicR, Some(start)) => {
                // Of no element, only the map given can tell the space that maps go to.
                let zero = Expr::prim(Prim::ZeroOf, [self.space.clone()]);
                Expr::prim(Prim::LmHCatV, [Expr::prim(Prim::LmApply, [start.clone(), zero]), partners])
            }
            _ => Expr::prim(Prim::LmVCatV, [y.clone(), partners]),
        }
    }

    pub(super) fn sum_build(&mut self, y: &Var, witness: &[Expr], n: &Expr, f: &Expr) -> Result<(), String> {
        if self.partner_kind == Partner::Tangent {
            let (i, body) = function(f);
            let pair = Expr::lam(i.clone(), self.pair_of(body)?);
            let witness = witness.iter().map(|w| Expr::tuple([w.clone(), w.clone()]));
            let args: Vec<Expr> = witness.chain([n.clone(), pair]).collect();
            self.bind_pair(y, Expr::prim(Prim::SumBuild, args));
            return Ok(());
        }
        let family = self.family(n, f)?;
        let values = family.ty().as_tuple().expect("a pair")[0].clone();
        let v = self.supply.fresh("v", values);
        self.bind_pair(&v, family);
        let m = self.partners[&v.id()].clone();
        let i = self.supply.fresh("i", n.ty().clone());
        let part = Expr::lam(i.clone(), Expr::prim(Prim::Index, [Expr::var(&i), Expr::var(&v)]));
        let args: Vec<Expr> = witness.iter().cloned().chain([n.clone(), part]).collect();
        self.value(y, Expr::prim(Prim::SumBuild, args));
        let partner = if self.partner_kind == Partner::PolymorphicR {
            // All partners at one r: H(m) ∘ (v to the sum of v)ᵀ.
            let sum = Expr::prim(Prim::LmSum, [Expr::var(&v)]);
            self.after(sum, self.of_elements(&Expr::var(&v), m))
        } else {
            Expr::prim(Prim::LmAddV, [Expr::witness(&Expr::var(y)), m])
        };
        self.bind_partner(y, Some(partner));
        Ok(())
    }

    /// The state is a pair.
    pub(super) fn fold(&mut self, y: &Var, f: &Expr, a: &Expr, v: &Expr) -> Result<(), String> {
        let n = self.bind_as("n", Expr::prim(Prim::Size, [v.clone()]));
        let start = Expr::tuple([a.clone(), self.or_zero(&self.pair(a))]);
        let nothing = Expr::tuple([]);
        let pair = self.supply.fresh("p", Type::tuple([Type::Integer, start.ty().clone()]));
        let (i, state) = (self.supply.fresh("i", Type::Integer), self.supply.fresh("t", start.ty().clone()));
        let parts = Binding { pattern: Pattern::Tuple(vec![i.clone(), state.clone()]), rhs: Expr::var(&pair) };
        let step = self.step(f, &i, &state, v, vec![parts], |next| Expr::tuple([next, nothing.clone()]))?;
        let looped = Expr::prim(Prim::Loop, [n, Expr::lam(pair, step), start, nothing.clone()]);
        let both = self.bind_as("t", looped);
        self.bind_pair(y, Expr::get(1, both));
        Ok(())
    }

    pub(super) fn scanl(&mut self, y: &Var, f: &Expr, a: &Expr, v: &Expr) -> Result<(), String> {
        let n = self.bind_as("n", Expr::prim(Prim::Size, [v.clone()]));
        let k = self.supply.fresh("k", Type::Integer);
        let steps = Expr::prim(Prim::Build, [n, Expr::lam(k.clone(), Expr::var(&k))]);
        let start = Expr::tuple([a.clone(), self.or_zero(&self.pair(a))]);
        let pair = self.supply.fresh("p", Type::tuple([start.ty().clone(), Type::Integer]));
        let (i, state) = (self.supply.fresh("i", Type::Integer), self.supply.fresh("t", start.ty().clone()));
        let parts = Binding { pattern: Pattern::Tuple(vec![state.clone(), i.clone()]), rhs: Expr::var(&pair) };
        let step = self.step(f, &i, &state, v, vec![parts], |next| next)?;
        let scan = Expr::prim(Prim::Scanl, [Expr::lam(pair, step), start, steps]);
        self.bind_pair(y, Expr::prim(Prim::Unzip, [scan]));
        self.partners_together(y);
        Ok(())
    }

    /// Returns the step λ(s, x). e of a fold over v, on pairs: from the i-th element and a state.
    fn step(
        &mut self,
        f: &Expr,
        i: &Var,
        state: &Var,
        v: &Expr,
        begin: Vec<Binding>,
        finish: impl FnOnce(Expr) -> Expr,
    ) -> Result<Expr, String> {
        let (p, body) = function(f);
        let types = state.ty().as_tuple().expect("a pair").to_vec();
        let (s, ds) = (self.supply.fresh("s", types[0].clone()), types[1].clone());
        let begin = |cx: &mut Self| {
            cx.out.extend(begin);
            let ds = cx.supply.fresh(&cx.partner_name(&s), ds);
            let both = Pattern::Tuple(vec![s.clone(), ds.clone()]);
            cx.out.push(Binding { pattern: both, rhs: Expr::var(state) });
            cx.partners.insert(s.id(), Expr::var(&ds));
            let Type::Tensor(_, element_type) = v.ty() else { panic!("{v:?} is no tensor") };
            let x = cx.supply.fresh("x", (**element_type).clone());
            cx.value(&x, Expr::prim(Prim::Index, [Expr::var(i), v.clone()]));
            let dx = cx.partner(v).map(|dv| cx.after(element(&Expr::var(i), v), dv));
            cx.bind_partner(&x, dx);
            let argument = [Expr::var(&s), Expr::var(&x)];
            cx.value(p, Expr::tuple(argument.clone()));
            let partner = cx.juxtaposed(argument.iter().map(|a| cx.or_zero(&cx.pair(a))).collect());
            cx.bind_partner(p, Some(partner));
            Ok(())
        };
        self.inner(begin, body, |cx, pair| finish(Expr::tuple([pair.0.clone(), cx.or_zero(&pair)])))
    }

    /// Returns `$loop` with states and outputs that are pairs.
    pub(super) fn iteration(&mut self, y: &Var, n: &Expr, f: &Expr, a: &Expr, w: &Expr) -> Result<(), String> {
        let (p, body) = function(f);
        let start = Expr::tuple([a.clone(), self.or_zero(&self.pair(a))]);
        let q = self.supply.fresh("p", Type::tuple([Type::Integer, start.ty().clone()]));
        let (i, state) = (self.supply.fresh("i", Type::Integer), self.supply.fresh("t", start.ty().clone()));
        let begin = |cx: &mut Self| {
            let both = Pattern::Tuple(vec![i.clone(), state.clone()]);
            cx.out.push(Binding { pattern: both, rhs: Expr::var(&q) });
            cx.value(p, Expr::tuple([Expr::var(&i), Expr::get(1, Expr::var(&state))]));
            let unit = Expr::tuple([]);
            cx.bind_partner(p, Some(Expr::tuple([unit, Expr::get(2, Expr::var(&state))])));
            Ok(())
        };
        let step = self.inner(begin, body, |cx, pair| {
            let (value, partner) = (pair.0.clone(), cx.or_zero(&pair));
            let both = |k| Expr::tuple([Expr::get(k, value.clone()), Expr::get(k, partner.clone())]);
            Expr::tuple([both(1), both(2)])
        })?;
        let witness = Expr::tuple([w.clone(), w.clone()]);
        let both = self.bind_as("t", Expr::prim(Prim::Loop, [n.clone(), Expr::lam(q, step), start, witness]));
        let part = |i, k| Expr::get(k, Expr::get(i, both.clone()));
        self.value(y, Expr::tuple([part(1, 1), part(2, 1)]));
        self.bind_partner(y, Some(Expr::tuple([part(1, 2), part(2, 2)])));
        Ok(())
    }

    /// Returns the partner of a construct by its map of Fig. 6, composed with the partners of its variables.
    pub(super) fn as_one_map(&mut self, y: &Var, e: &Expr) -> Result<(), String> {
        let captured: Vec<Var> =
            free_variables(e).into_iter().filter(|x| self.partners.contains_key(&x.id())).collect();
        let parts: Vec<Expr> = captured.iter().map(Expr::var).collect();
        let from = Expr::witness(&if let [one] = parts.as_slice() { one.clone() } else { Expr::tuple(parts.clone()) });
        let inner = self.juxtaposed(parts.iter().map(|x| self.or_zero(&self.pair(x))).collect());
        let mut nabla = Nabla::new(self.supply, from.clone(), self.written);
        for (k, x) in captured.iter().enumerate() {
            let map = match captured.len() {
                1 => Expr::prim(Prim::LmOne, [from.clone()]),
                n => Expr::app(Op::LmGet(k + 1, n), vec![from.clone()]),
            };
            nabla.bind_map(x, map);
        }
        let map = nabla.nabla_block(&Expr::block(
            vec![Binding { pattern: Pattern::Var(y.clone()), rhs: e.clone() }],
            Expr::var(y),
        ))?;
        let (maps, values): (Vec<Binding>, Vec<Binding>) =
            std::mem::take(&mut nabla.out).into_iter().partition(|b| b.rhs.ty().mentions_lm());
        self.out.extend(values);
        let partner = self.after(Expr::block(maps, map), inner);
        self.bind_partner(y, Some(partner));
        Ok(())
    }
}
