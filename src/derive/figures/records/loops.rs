//! Loops that record.
//!
//! ```text
//! y = build(n, λi. e)          p = build(n, λi. let r = .. in (e, r))      y = build(n, λi. p[i].1)
//!                              ∇[y] = V(build(n, λi. M(p[i].2)))                      M(r): ∇[e], which reads r
//! y = sumbuild(n, λi. e)       p = build(n, λi. r)      y = sumbuild(n, λi. e, which reads p[i])
//!                              ∇[y] = ⊕(build(n, λi. M(p[i])))
//! y = fold(λ(s, x). e, a, v)   p = scanl(λ((s, _), x). (e, r), (a, _), v)      y = p[n].1
//!                              ∇[y] = π₁ ∘ lmFold(n, λi. M(p[i].1, v[i], p[i + 1].2)) ∘ ..   as in `tensors`
//! ```
//!
//! A value without fixed shape, or made of recorded values, is not kept beside the record: a second loop computes
//! it, and reads the values of the first loop from the record. A loop whose map needs nothing of its
//! values, or only what its result has, stays as it is.

use super::plan::{plan, stages};
use super::{Recorded, Recorder, apart, vars};
use crate::derive::figures::fig06_arrays::{at, compose, function};
use crate::derive::figures::fig06_jacobian::{Nabla, is_zero};
use crate::derive::figures::fig12_15_folds::Recurrence;
use lm::prim::Prim;
use lm::scope::renamed;
use lm::term::{Binding, Expr, Op, Pattern, Var};
use lm::types::Type;

impl Recorder<'_, '_> {
    pub(super) fn build(&mut self, y: &Var, b: &Binding, n: &Expr, f: &Expr) -> Result<(), String> {
        let i = function(f).0;
        let element = Expr::prim(Prim::Index, [Expr::var(i), Expr::var(y)]);
        let maps = self.family(b, n, f, |parts| parts.where_it_is(&element))?;
        if let Some(maps) = maps {
            self.cx.bind_map(y, Expr::prim(Prim::LmVCatV, [Expr::var(y), maps]));
        }
        Ok(())
    }

    pub(super) fn sumbuild(&mut self, y: &Var, b: &Binding, n: &Expr, f: &Expr) -> Result<(), String> {
        if let Some(maps) = self.family(b, n, f, |_| Vec::new())? {
            self.cx.bind_map(y, Expr::prim(Prim::LmAddV, [Expr::witness(&Expr::var(y)), maps]));
        }
        Ok(())
    }

    /// Binds the value of a loop over i < n, and gives its maps; `None` where all are zero.
    fn family(
        &mut self,
        b: &Binding,
        n: &Expr,
        f: &Expr,
        at_hand: impl Fn(&Recorded) -> Vec<Binding>,
    ) -> Result<Option<Expr>, String> {
        let (i, body) = function(f);
        let parts = self.parts(body, false)?;
        let map = parts.map.clone();
        let Some(reads) = self.family_of(b, n, i, parts, at_hand) else { return Ok(None) };
        Ok(Some(Expr::prim(Prim::Build, [n.clone(), Expr::lam(i.clone(), Expr::block(reads, map))])))
    }

    /// Binds the value of a loop, and a record of what the map of a step reads. Gives the reading of step i; `None` where
    /// the map is zero.
    pub(in crate::derive::figures) fn family_of(
        &mut self,
        b: &Binding,
        n: &Expr,
        i: &Var,
        parts: Recorded,
        at_hand: impl Fn(&Recorded) -> Vec<Binding>,
    ) -> Option<Vec<Binding>> {
        if is_zero(&parts.map) {
            self.plainly(b);
            return None;
        }
        let at_hand = at_hand(&parts);
        let plan = plan(&parts.values, &parts.map, &vars(&at_hand));
        let read = match plan.record.is_empty() {
            true => {
                self.plainly(b);
                Vec::new()
            }
            false => self.two_loops(b, n, i, parts.values, parts.value, &plan.record),
        };
        Some([read, plan.reading(at_hand)].concat())
    }

    /// Binds the records of a loop, then its value. Gives the bindings that read the records of step i.
    fn two_loops(
        &mut self,
        b: &Binding,
        n: &Expr,
        i: &Var,
        values: Vec<Binding>,
        value: Expr,
        record: &[Var],
    ) -> Vec<Binding> {
        let effects = self.callees.effects;
        let stages = stages(&values, &value, record, &|e| effects.in_term(e));
        if value.ty().has_fixed_shape() && !stages.extra.is_empty() {
            let result = Expr::tuple([vec![value.clone()], record.iter().map(Expr::var).collect()].concat());
            let p = self.records(n, i, &values, result);
            let first = self.cx.supply.fresh("y", value.ty().clone());
            let step = Expr::prim(Prim::Index, [Expr::var(i), p]);
            self.bind_again(b, i, Expr::get(1, step.clone()));
            return vec![unpacked([vec![first], record.to_vec()].concat(), step)];
        }
        let kept = [record.to_vec(), stages.extra.clone()].concat();
        let result = tuple_or_one(kept.iter().map(Expr::var).collect());
        let p = self.records(n, i, &stages.first, result);
        let step = Expr::prim(Prim::Index, [Expr::var(i), p]);
        self.bind_again(b, i, Expr::block([vec![unpacked(kept, step.clone())], stages.second].concat(), value));
        let unused = stages.extra.iter().map(|x| self.cx.supply.fresh(x.name(), x.ty().clone()));
        vec![unpacked(record.iter().cloned().chain(unused).collect(), step)]
    }

    fn records(&mut self, n: &Expr, i: &Var, values: &[Binding], result: Expr) -> Expr {
        let body = Expr::lam(i.clone(), Expr::block(values.to_vec(), result));
        let body = renamed(&body, self.cx.supply);
        self.cx.bind_as("p", Expr::prim(Prim::Build, [n.clone(), body]))
    }

    /// Binds the value of a loop, with another body.
    fn bind_again(&mut self, b: &Binding, i: &Var, body: Expr) {
        let body = renamed(&Expr::lam(i.clone(), body), self.cx.supply);
        let rhs = b.rhs.map_children(|arg| if matches!(arg.ty(), Type::Lam(..)) { body.clone() } else { arg.clone() });
        self.cx.out.push(Binding { pattern: b.pattern.clone(), rhs });
    }
}

impl Recorder<'_, '_> {
    pub(super) fn fold(&mut self, y: &Var, b: &Binding, fold: [&Expr; 3]) -> Result<(), String> {
        let [f, a, v] = fold;
        let end = Expr::tuple([Expr::var(y), Expr::tuple([])]);
        let n = self.cx.bind_as("n", Expr::prim(Prim::Size, [v.clone()]));
        let r = Recurrence { n: n.clone(), states: v.clone(), start: a, end: &end, f, over: Some(v) };
        let i = self.cx.supply.fresh("i", Type::Integer);
        let step = self.step(&r, &i, |inner, map| {
            let nothing = inner.cx.zero(&Expr::tuple([]));
            Expr::prim(Prim::LmVCat, [map, nothing])
        })?;
        let map = self.fold_of(y, b, fold, n, &i, step);
        let map = self.cx.steps(&r, i, map)?;
        self.cx.bind_map(y, compose(Expr::app(Op::LmGet(1, 2), vec![Expr::witness(&end)]), map));
        Ok(())
    }

    /// Binds the value of a fold over n elements, with the record of each step i. Gives the map of step i.
    pub(in crate::derive::figures) fn fold_of(
        &mut self,
        y: &Var,
        b: &Binding,
        [f, a, v]: [&Expr; 3],
        n: Expr,
        i: &Var,
        step: Step,
    ) -> Expr {
        let plan = plan(&step.parts.values, &step.parts.map, &step.at_hand());
        let scan = self.scan(&step, &Scan { f, start: a, over: v, state: 1 }, &plan.record);
        let states = self.cx.bind_as("states", scan.at(b.rhs.span()));
        let last = Expr::prim(Prim::Index, [n, states.clone()]);
        let value = if plan.record.is_empty() { last } else { Expr::get(1, last) };
        self.cx.value(y, value);
        let read = step.read(&mut self.cx, i, &states, &plan.record);
        Expr::block(plan.reading([read, step.header].concat()), step.parts.map)
    }

    pub(super) fn scanl(&mut self, y: &Var, b: &Binding, fold: [&Expr; 3]) -> Result<(), String> {
        let [f, a, v] = fold;
        let states = Expr::var(y);
        let last = self.cx.supply.fresh("last", a.ty().clone());
        let end = Expr::tuple([Expr::var(&last), states.clone()]);
        let n = self.cx.bind_as("n", Expr::prim(Prim::Size, [v.clone()]));
        let r = Recurrence { n: n.clone(), states: states.clone(), start: a, end: &end, f, over: Some(v) };
        let i = self.cx.supply.fresh("i", Type::Integer);
        let (state, place) = (states.clone(), index_after(&i));
        let step = self.step(&r, &i, |inner, map| {
            let reached = inner.cx.supply.fresh("Dnext", map.ty().clone());
            let output = compose(at(&place, &state), Expr::var(&reached));
            let both = Expr::prim(Prim::LmVCat, [Expr::var(&reached), output]);
            Expr::block(vec![Binding { pattern: Pattern::Var(reached), rhs: map }], both)
        })?;
        let value = Binding { pattern: Pattern::Var(last), rhs: Expr::prim(Prim::Index, [n, states.clone()]) };
        let map = self.scanl_of(y, b, fold, &i, value, step);
        let map = self.cx.steps(&r, i, map)?;
        let first = compose(at(&Expr::integer(0), &states), self.cx.nabla(a)?);
        let rest = compose(Expr::app(Op::LmGet(2, 2), vec![Expr::witness(&end)]), map);
        self.cx.bind_map(y, Expr::prim(Prim::LmAdd, [first, rest]));
        Ok(())
    }

    /// Binds the value of a scan, and its `last` state, with the record of each step i. Gives the map of
    /// step i.
    pub(in crate::derive::figures) fn scanl_of(
        &mut self,
        y: &Var,
        b: &Binding,
        [f, a, v]: [&Expr; 3],
        i: &Var,
        last: Binding,
        step: Step,
    ) -> Expr {
        let states = Expr::var(y);
        let plan = plan(&step.parts.values, &step.parts.map, &step.at_hand());
        let mut read = step.read_states(i, &states);
        if plan.record.is_empty() {
            self.plainly(b);
        } else {
            let scan = self.scan(&step, &Scan { f, start: a, over: v, state: 1 }, &plan.record);
            let p = self.cx.bind_as("p", scan.at(b.rhs.span()));
            let k = self.cx.supply.fresh("k", Type::Integer);
            let state = Expr::get(1, Expr::prim(Prim::Index, [Expr::var(&k), p.clone()]));
            let m = Expr::prim(Prim::Size, [p.clone()]);
            self.cx.value(y, Expr::prim(Prim::Build, [m, Expr::lam(k, state)]));
            let unused = self.cx.supply.fresh("s", a.ty().clone());
            let step_end = Expr::prim(Prim::Index, [index_after(i), p]);
            read.push(unpacked([vec![unused], plan.record.clone()].concat(), step_end));
        }
        self.cx.out.push(last);
        Expr::block(plan.reading([read, step.header].concat()), step.parts.map)
    }

    /// Makes step i of a recurrence, with its map from the map of f's body.
    pub(super) fn step(
        &mut self,
        r: &Recurrence,
        i: &Var,
        finish: impl FnOnce(&mut Recorder, Expr) -> Expr,
    ) -> Result<Step, String> {
        let state = self.cx.supply.fresh("state", r.start.ty().clone());
        let cx = self.cx.step(r, i, Expr::var(&state))?;
        let mut inner = Recorder { name: self.name, cx, callees: self.callees, unknown: &mut *self.unknown };
        let (maps, header) = apart(std::mem::take(&mut inner.cx.out));
        let mut parts = inner.parts(function(r.f).1, false)?;
        let (inside, map) = parts.map.as_block();
        let map = finish(&mut inner, map.clone());
        parts.map = Expr::block([&maps, inside].concat(), map);
        Ok(Step { state, header, parts })
    }

    /// Returns the states of a scan, with a record of each step beside the state that it leads to.
    pub(super) fn scan(&mut self, step: &Step, scan: &Scan, record: &[Var]) -> Expr {
        let dummies = record.iter().map(|x| Expr::dummy(x.ty().clone()));
        let start = tuple_or_one(std::iter::once(scan.start.clone()).chain(dummies).collect());
        let (p, body) = (function(scan.f).0, &step.parts);
        let Type::Tensor(_, given) = scan.over.ty() else { panic!("a scan goes over a vector") };
        let q = self.cx.supply.fresh("q", Type::tuple([start.ty().clone(), (**given).clone()]));
        let entry = Expr::get(1, Expr::var(&q));
        let state = if record.is_empty() { entry } else { Expr::get(1, entry) };
        let mut pair = [state, Expr::get(2, Expr::var(&q))];
        pair.rotate_left(scan.state - 1);
        let pair = Binding { pattern: Pattern::Var(p.clone()), rhs: Expr::tuple(pair) };
        let result = tuple_or_one([vec![body.value.clone()], record.iter().map(Expr::var).collect()].concat());
        let body = Expr::block([vec![pair], body.values.clone()].concat(), result);
        Expr::prim(Prim::Scanl, [renamed(&Expr::lam(q, body), self.cx.supply), start, scan.over.clone()])
    }
}

/// A fold, a scan or an iteration, as a scan.
pub(super) struct Scan<'a> {
    pub(super) f: &'a Expr,
    pub(super) start: &'a Expr,
    pub(super) over: &'a Expr,
    /// The component of f's argument that is the state, from 1.
    pub(super) state: usize,
}

/// A step of a recurrence.
pub(in crate::derive::figures) struct Step {
    /// The state before it.
    pub(in crate::derive::figures) state: Var,
    /// The argument of f, made of `state`.
    pub(in crate::derive::figures) header: Vec<Binding>,
    /// The body of f; its value is the state that the step leads to.
    pub(in crate::derive::figures) parts: Recorded,
}

impl Step {
    /// Returns the variable for the state after the step, which can be read like the variables that `header` binds.
    pub(super) fn at_hand(&self) -> Vec<Var> {
        vars(&self.parts.where_it_is(&self.parts.value))
    }

    /// Returns the bindings that read the states before and after step i, and the record, if there is one.
    pub(super) fn read(&self, cx: &mut Nabla, i: &Var, states: &Expr, record: &[Var]) -> Vec<Binding> {
        if record.is_empty() {
            return self.read_states(i, states);
        }
        let entry = |i: Expr| Expr::prim(Prim::Index, [i, states.clone()]);
        let before = Binding { pattern: Pattern::Var(self.state.clone()), rhs: Expr::get(1, entry(Expr::var(i))) };
        let after = cx.supply.fresh("s", self.state.ty().clone());
        let all = unpacked([vec![after.clone()], record.to_vec()].concat(), entry(index_after(i)));
        [vec![before, all], self.parts.where_it_is(&Expr::var(&after))].concat()
    }

    fn read_states(&self, i: &Var, states: &Expr) -> Vec<Binding> {
        let state = |i: Expr| Expr::prim(Prim::Index, [i, states.clone()]);
        let before = Binding { pattern: Pattern::Var(self.state.clone()), rhs: state(Expr::var(i)) };
        [vec![before], self.parts.where_it_is(&state(index_after(i)))].concat()
    }
}

fn index_after(i: &Var) -> Expr {
    Expr::prim(Prim::Add, [Expr::var(i), Expr::integer(1)])
}

/// `(x1, .., xn) = e`, or `x = e`.
fn unpacked(mut xs: Vec<Var>, e: Expr) -> Binding {
    let pattern = if xs.len() == 1 { Pattern::Var(xs.remove(0)) } else { Pattern::Tuple(xs) };
    Binding { pattern, rhs: e }
}

fn tuple_or_one(mut parts: Vec<Expr>) -> Expr {
    if parts.len() == 1 { parts.remove(0) } else { Expr::tuple(parts) }
}
