//! The reverse half: `revr[c](x) : δT ⊸ δS`, from the tape x of `revf[c]`.
//!
//! ```text
//! revr[I](x, dt) = dt                                     revr[K(k)](x, dt) = ()
//! revr[P[i1..im/n]](x, (d1, .., dm)) = (e1, .., en)       where e_ik = dk, and the others are 0
//! revr[F(f)](x, dt) = (∂f(x))ᵀ ⊙ dt
//! revr[c1 ; c2]((x1, x2), dt) = revr[c1](x1, revr[c2](x2, dt))
//! revr[(c1, .., cn)]((x1, .., xn), (d1, .., dn)) = revr[c1](x1, d1) + .. + revr[cn](xn, dn)
//! revr[L(x, cr, cb)]((xr, xb), dt) = let (ds, dx) = revr[cb](xb, dt) in ds + revr[cr](xr, dx)
//! revr[IF(c1, c2, c3)](x, dt) = if x.c then revr[c2](x.r, dt) else revr[c3](x.r, dt)
//! revr[B[p](..)](x, dt): see `forward`, a loop of revr[ce](x[i], ..)
//! ```
//!
//! The cotangent of an environment is a list with the cotangent of each value. A cotangent is a list of terms to add,
//! and none for zero: so zeros are never made. Cotangents are maps from that of the result, `revr[c](x) ∘ R`: the laws
//! of Figs. 4 and 5 simplify them before they are applied.
//!
//! Source: working notes, sec. 6.1, for `c1 ; c2`; sec. 5.4, for maps instead of cotangents; the others are ours.

use super::tape::{Bound, Choice, Cotangent, Family, Inner, Part, Step, Tape, Targets};
use crate::derive::figures::fig06_arrays::element;
use lm::law::{is_free_to_copy, sum};
use lm::prim::Prim;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Span, Supply, Var, place};

/// Makes the reverse half: a block of maps.
pub(super) struct Reverse<'a> {
    pub(super) supply: &'a mut Supply,
    /// A witness of T: all maps start from its cotangent.
    pub(super) from: Expr,
    pub(super) out: Vec<Binding>,
}

impl Reverse<'_> {
    /// `revr[c](x) ∘ dt`, the cotangent of an environment of so many values.
    pub(super) fn term(&mut self, x: &Tape, dt: Vec<Cotangent>, size: usize) -> Vec<Cotangent> {
        let mut ds = vec![Cotangent::new(); size];
        if dt.iter().all(Vec::is_empty) {
            return ds;
        }
        match x {
            Tape::Zero => {}
            Tape::Identity => return dt,
            Tape::Pruning(chosen) => chosen.iter().zip(dt).for_each(|(i, d)| ds[i - 1] = d),
            Tape::Each(maps, span) => {
                let [dt] = <[Cotangent; 1]>::try_from(dt).expect("an operator gives one value");
                let before = self.out.len();
                let r = if maps.len() > 1 { self.shared("R", dt) } else { sum(dt).expect("it is not zero") };
                maps.iter().for_each(|(i, m)| ds[*i].push(after(m.clone(), r.clone()).placed(*span)));
                place(&mut self.out[before..], *span);
            }
            Tape::Gathered(map, parts, span) => {
                let [dt] = <[Cotangent; 1]>::try_from(dt).expect("an operator gives one value");
                let before = self.out.len();
                let r = sum(dt).expect("it is not zero");
                self.distribute(after(map.clone(), r), parts, &mut ds, *span);
                place(&mut self.out[before..], *span);
            }
            Tape::If(choice) => {
                let [dt] = <[Cotangent; 1]>::try_from(dt).expect("a conditional gives one value");
                let before = self.out.len();
                let r = self.choice(choice, dt);
                self.distribute(r, &choice.targets.parts(), &mut ds, choice.span);
                place(&mut self.out[before..], choice.span);
            }
            Tape::Loop(family) => {
                let [dt] = <[Cotangent; 1]>::try_from(dt).expect("a loop gives one value");
                let before = self.out.len();
                let r = self.family(family, dt);
                self.distribute(r, &family.targets.parts(), &mut ds, family.span);
                place(&mut self.out[before..], family.span);
            }
            Tape::Sum(parts) => {
                let dt: Vec<Cotangent> = dt.into_iter().map(|d| vec![self.shared("R", d)]).collect();
                parts.iter().for_each(|x| add(&mut ds, self.term(x, dt.clone(), size)));
            }
            Tape::Tuple(parts) => {
                for (x, d) in parts.iter().zip(dt) {
                    add(&mut ds, self.term(x, vec![d], size));
                }
            }
            Tape::Block(steps, last) => return self.block(steps, last, dt, size),
        }
        ds
    }

    /// Sends each value its part of a map to a tuple.
    fn distribute(&mut self, map: Expr, parts: &[(usize, Part)], ds: &mut [Cotangent], span: Span) {
        let r = if parts.len() > 1 { self.bound("R", map) } else { map };
        parts.iter().for_each(|(i, part)| ds[*i].push(component(&r, part).placed(span)));
    }

    /// `if c then revr[c2](x.r, dt) else revr[c3](x.r, dt)`
    fn choice(&mut self, choice: &Choice, dt: Cotangent) -> Expr {
        let r = self.shared("R", dt);
        let [yes, no] = choice.branches.each_ref();
        let maps = [yes, no].map(|branch| self.inside(branch, vec![r.clone()], &choice.targets, Vec::new()));
        let map = choice.readers.of(&choice.condition, maps);
        let to = choice.targets.witness();
        if to.ty().has_fixed_shape() { map } else { Expr::prim(Prim::LmTo, [to, map]) }
    }

    /// `⊕(build(n, λi. revr[ce](x[i]) ∘ π(i) ∘ R))`, without π(i) for a sum. Where R begins with a scale, that stays
    /// outside: there it is one product, and not one for each step. Where R is π(k)ᵀ ∘ r, only step k counts, since
    /// π(i) ∘ π(k)ᵀ = 0 for i ≠ k: `let i = k in revr[ce](x[i]) ∘ r`.
    fn family(&mut self, family: &Family, dt: Cotangent) -> Expr {
        if let Some((k, r)) = self.of_element(&dt).filter(|_| family.is_tensor) {
            let step = Binding { pattern: Pattern::Var(family.i.clone()), rhs: k };
            let reads = [step].into_iter().chain(family.reads.iter().cloned()).collect();
            return self.inside(&family.step, vec![r], &family.targets, reads);
        }
        let r = self.shared("R", dt);
        let Some((rest, scale)) = self.scaled(&r, &family.value) else { return self.steps(family, r) };
        let outside = std::mem::replace(&mut self.from, rest.1);
        let steps = self.steps(family, rest.0);
        self.from = outside;
        after(steps, scale)
    }

    /// Returns m, a witness of its domain, and s, for a map `m ∘ s` where s is a scale.
    fn scaled(&self, r: &Expr, value: &Expr) -> Option<((Expr, Expr), Expr)> {
        if self.is_scale(r) {
            let from = Expr::witness(value);
            return Some(((Expr::prim(Prim::LmOne, [from.clone()]), from), r.clone()));
        }
        let whole = self.bound_to(r);
        let [m, s] = whole.args_of_prim(Prim::LmCompose)? else { return None };
        let (_, ty) = s.ty().as_lm()?;
        let is_alone = !m.any(|e| e.as_var().is_some_and(|x| x.ty().as_lm().is_some()));
        let is_product = is_alone && ty.has_fixed_shape() && self.is_scale(s);
        is_product.then(|| ((m.clone(), Expr::dummy(ty.clone())), s.clone()))
    }

    /// Returns k and r for a cotangent π(k)ᵀ ∘ r: that of a tensor of which one element is used.
    fn of_element(&self, dt: &Cotangent) -> Option<(Expr, Expr)> {
        let [m] = dt.as_slice() else { return None };
        let m = self.bound_to(m);
        let (at, r) = match m.args_of_prim(Prim::LmCompose) {
            Some([at, r]) => (at, r.clone()),
            _ => (m, Expr::prim(Prim::LmOne, [self.from.clone()])),
        };
        match at.args_of_prim(Prim::LmTranspose)?[0].args_of_prim(Prim::LmIndex)? {
            [k, _] if k.is_atom() => Some((k.clone(), r)),
            _ => None,
        }
    }

    /// Returns what a variable is bound to in this block; other terms as they are.
    fn bound_to<'e>(&'e self, m: &'e Expr) -> &'e Expr {
        let bound = m.as_var().and_then(|r| self.out.iter().rev().find(|b| b.pattern == Pattern::Var(r.clone())));
        bound.map_or(m, |b| &b.rhs)
    }

    fn steps(&mut self, family: &Family, r: Expr) -> Expr {
        let start = match family.is_tensor {
            true => after(element(&Expr::var(&family.i), &family.value), r),
            false => r,
        };
        let map = self.inside(&family.step, vec![start], &family.targets, family.reads.clone());
        let maps = Expr::prim(Prim::Build, [family.n.clone(), Expr::lam(family.i.clone(), map)]);
        Expr::prim(Prim::LmAddV, [family.targets.witness(), maps])
    }

    /// Returns whether a map is 1, a scale, or several of them one after another.
    fn is_scale(&self, m: &Expr) -> bool {
        let m = self.bound_to(m);
        match m.kind() {
            Kind::App(Op::Prim(Prim::LmScale | Prim::LmOne), _) => true,
            Kind::App(Op::Prim(Prim::LmTranspose | Prim::LmCompose), args) => args.iter().all(|m| self.is_scale(m)),
            Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => false,
        }
    }

    /// Returns `revr` of a body as a block of its own, to the tuple of the targets.
    fn inside(&mut self, body: &Inner, start: Cotangent, targets: &Targets, reads: Vec<Binding>) -> Expr {
        let outer = std::mem::replace(&mut self.out, reads);
        let mut ds = self.body(body, start);
        let ds = targets.numbers.iter().map(|i| std::mem::take(&mut ds[*i])).collect();
        let map = self.vcat(ds, &targets.values);
        Expr::block(std::mem::replace(&mut self.out, outer), map)
    }

    /// `revr[c](x) ∘ dt` of a body.
    pub(super) fn body(&mut self, body: &Inner, start: Cotangent) -> Vec<Cotangent> {
        let dt = match body.values {
            1 => vec![start],
            n => {
                let r = self.shared("R", start);
                (1..=n).map(|i| vec![component(&r, &vec![(i, body.whole.clone())])]).collect()
            }
        };
        self.term(&body.tape, dt, body.size)
    }

    fn block(&mut self, steps: &[Step], last: &Tape, dt: Vec<Cotangent>, size: usize) -> Vec<Cotangent> {
        let mut sizes = vec![size];
        for step in steps {
            sizes.push(match step {
                Step::Then(_, width) => *width,
                Step::Let(_, bound) => sizes[sizes.len() - 1] + bound.pattern.vars().len(),
            });
        }
        let mut ds = self.term(last, dt, sizes[steps.len()]);
        for (step, size) in steps.iter().zip(sizes).rev() {
            match step {
                Step::Then(x, _) => ds = self.term(x, ds, size),
                Step::Let(x, bound) => {
                    let dx = ds.split_off(size);
                    let dx = self.of_values(bound, dx);
                    add(&mut ds, self.term(x, dx, size));
                }
            }
        }
        ds
    }

    /// Returns the cotangents of the values that are bound, from those of the variables.
    fn of_values(&mut self, bound: &Bound, dx: Vec<Cotangent>) -> Vec<Cotangent> {
        let named = |((x, varies), d): ((&Var, &bool), Cotangent)| match d.is_empty() || !varies {
            true => Cotangent::new(),
            false => vec![self.shared(&format!("R{}", x.name()), d)],
        };
        let dx: Vec<Cotangent> = bound.pattern.vars().iter().zip(&bound.varies).zip(dx).map(named).collect();
        match (&bound.pattern, bound.values.as_slice()) {
            (Pattern::Var(_), [_]) => dx,
            (Pattern::Var(_), values) => self.components(dx.concat(), values),
            (Pattern::Tuple(xs), [_]) => {
                let xs: Vec<Expr> = xs.iter().map(Expr::var).collect();
                vec![self.tuple(dx, &xs)]
            }
            (Pattern::Tuple(_), _) => dx,
        }
    }

    /// Returns the cotangent of a tuple as those of its components.
    pub(super) fn components(&mut self, dt: Cotangent, values: &[Expr]) -> Vec<Cotangent> {
        if dt.is_empty() {
            return vec![dt; values.len()];
        }
        let (r, witness) = (self.shared("R", dt), Expr::witness(&Expr::tuple(values.to_vec())));
        (1..=values.len()).map(|i| vec![component(&r, &vec![(i, witness.clone())])]).collect()
    }

    /// Returns the cotangents of components as that of their tuple.
    pub(super) fn tuple(&mut self, ds: Vec<Cotangent>, values: &[Expr]) -> Cotangent {
        match ds.iter().all(Vec::is_empty) {
            true => Cotangent::new(),
            false => vec![Expr::prim(Prim::LmVCat, self.maps(ds, values))],
        }
    }

    /// Returns the map to the cotangents of all values, as one tuple; of one value, the map to its cotangent.
    pub(super) fn vcat(&mut self, ds: Vec<Cotangent>, values: &[Expr]) -> Expr {
        let mut maps = self.maps(ds, values);
        match maps.len() {
            0 => self.zero(&Expr::tuple([])),
            1 => maps.remove(0),
            _ => Expr::prim(Prim::LmVCat, maps),
        }
    }

    fn maps(&self, ds: Vec<Cotangent>, values: &[Expr]) -> Vec<Expr> {
        let map = |(d, value): (Cotangent, &Expr)| sum(d).unwrap_or_else(|| self.zero(value));
        ds.into_iter().zip(values).map(map).collect()
    }

    pub(super) fn zero(&self, value: &Expr) -> Expr {
        Expr::prim(Prim::LmZero, [self.from.clone(), Expr::witness(value)])
    }

    /// Returns the sum as a map that may be used several times.
    pub(super) fn shared(&mut self, name: &str, d: Cotangent) -> Expr {
        let r = sum(d).expect("it is not zero");
        self.named(name, r)
    }

    fn named(&mut self, name: &str, m: Expr) -> Expr {
        if is_free_to_copy(&m) {
            return m;
        }
        match m.args_of_prim(Prim::LmVCat) {
            Some(parts) => {
                let parts: Vec<Expr> = parts.iter().map(|part| self.named(name, part.clone())).collect();
                Expr::prim(Prim::LmVCat, parts)
            }
            None => self.bound(name, m),
        }
    }

    pub(super) fn bound(&mut self, name: &str, m: Expr) -> Expr {
        let r = self.supply.fresh(name, m.ty().clone());
        self.out.push(Binding { pattern: Pattern::Var(r.clone()), rhs: m });
        Expr::var(&r)
    }
}

/// Adds up the cotangents of an environment.
pub(super) fn add(ds: &mut [Cotangent], more: Vec<Cotangent>) {
    ds.iter_mut().zip(more).for_each(|(d, more)| d.extend(more));
}

/// Returns a part of the tuple that a map leads to.
pub(super) fn component(r: &Expr, part: &Part) -> Expr {
    let select = |(i, witness): &(usize, Expr)| {
        let n = witness.ty().as_tuple().expect("a part of a tuple").len();
        Expr::app(Op::LmGet(*i, n), vec![witness.clone()])
    };
    part.iter().fold(r.clone(), |r, step| after(select(step), r))
}

/// Returns `m ∘ c`; m, if c is the identity.
pub(super) fn after(m: Expr, c: Expr) -> Expr {
    if c.args_of_prim(Prim::LmOne).is_some() { m } else { Expr::prim(Prim::LmCompose, [m, c]) }
}
