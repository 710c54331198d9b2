//! Splits the binders of CL that are loops: see `forward` for the equations.
//!
//! The loops that record are those of `records`. Here are the maps: each is one loop of `revr[ce]`, from the cotangent
//! of the result to those of all values of the environment that vary, as one tuple.
//!
//! ```text
//! revr[B(cs, i, ce)](x) = ⊕(build(n, λi. revr[ce](x[i]) ∘ π(i)))        revr[B[sumbuild](..)](x) = ⊕(build(n, λi. revr[ce](x[i])))
//! revr[B[fold](p, ce, ca, cv)](x) = lmFold(n, λk. M(n - 1 - k)) ∘ π₁ᵀ      M(i) = revr[ce](x[i]), beside sums
//! ```

use super::forward::transposed;
use super::reverse::{Reverse, after, component};
use super::slots::{Slot, chosen, index_of, targets};
use super::tape::{Family, Part, Tape, Targets};
use super::{Argument, Term};
use crate::derive::figures::fig06_arrays::{at, element, tuple_or_one};
use crate::derive::figures::fig12_15_folds::Recurrence;
use crate::derive::figures::records::loops::Step;
use crate::derive::figures::records::{Recorded, Recorder, apart};
use lm::prim::Prim;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Span, Var};
use lm::types::Type;

/// The body of a binder's function, in the environment without its variable.
struct Inside<'a> {
    x: &'a Var,
    body: &'a Term,
    env: &'a [Slot],
    span: Span,
}

impl Recorder<'_, '_> {
    pub(super) fn binder(
        &mut self,
        p: Prim,
        args: &[Argument],
        env: &[Slot],
        y: &Var,
        b: &Binding,
    ) -> Result<Tape, String> {
        let Kind::App(_, given) = b.rhs.kind() else { panic!("a binder is an operator") };
        let inside = args.iter().find_map(|arg| match arg {
            Argument::Function(x, body) => Some(Inside { x, body, env, span: b.rhs.span() }),
            Argument::Value(_) => None,
        });
        let inside = inside.expect("a binder takes a function");
        match (p, given.as_slice()) {
            (Prim::Build, [n, _]) => {
                let at_hand = Expr::prim(Prim::Index, [Expr::var(inside.x), Expr::var(y)]);
                let start = element(&Expr::var(inside.x), &Expr::var(y));
                self.family_in_category(b, n, &inside, start, &Expr::var(y), Some(&at_hand))
            }
            (Prim::SumBuild, [.., n, _]) => {
                let start = Expr::prim(Prim::LmOne, [Expr::witness(&Expr::var(y))]);
                self.family_in_category(b, n, &inside, start, &Expr::var(y), None)
            }
            (Prim::Fold, [f, a, v]) | (Prim::Checkpoint, [_, f, a, v]) => {
                self.fold_in_category(y, b, [f, a, v], &inside)
            }
            (Prim::Scanl, [f, a, v]) => self.scanl_in_category(y, b, [f, a, v], &inside),
            (Prim::Loop, [n, f, a, w]) => self.loop_in_category(y, [n, f, a, w], &inside),
            _ => self.local(env, y, b),
        }
    }

    /// A loop over i < n: the sum of the maps of its steps, from `start`.
    fn family_in_category(
        &mut self,
        b: &Binding,
        n: &Expr,
        inside: &Inside,
        start: Expr,
        y: &Expr,
        element: Option<&Expr>,
    ) -> Result<Tape, String> {
        let env = inside.inner(false);
        let whole = element.map_or_else(|| Expr::witness(y), Expr::witness);
        let (values, step) = self.body(inside.body, &env)?.inner(whole, env.len());
        let reversed = self.reversed(&step, Expr::witness(y), vec![start]);
        let numbers = targets(inside.env, &[&reversed.ds[..inside.env.len()]]);
        if numbers.is_empty() {
            self.plainly(b);
            return Ok(Tape::Zero);
        }
        let targets = Targets { values: chosen(inside.env, &numbers), numbers };
        let parts = self.recorded(values, reversed, &targets);
        let at_hand = |parts: &Recorded| element.map(|element| parts.where_it_is(element)).unwrap_or_default();
        let Some(reads) = self.family_of(b, n, inside.x, parts, at_hand) else { return Ok(Tape::Zero) };
        let (n, i, value, span) = (n.clone(), inside.x.clone(), y.clone(), b.rhs.span());
        Ok(Tape::Loop(Box::new(Family { n, i, step, reads, value, is_tensor: element.is_some(), targets, span })))
    }

    fn fold_in_category(&mut self, y: &Var, b: &Binding, fold: [&Expr; 3], inside: &Inside) -> Result<Tape, String> {
        let [f, a, v] = fold;
        let end = Expr::tuple([Expr::var(y), Expr::tuple([])]);
        let n = self.cx.bind_as("n", Expr::prim(Prim::Size, [v.clone()]));
        let r = Recurrence { n: n.clone(), states: v.clone(), start: a, end: &end, f, over: Some(v) };
        let i = self.cx.supply.fresh("i", Type::Integer);
        let first = Expr::app(Op::LmGet(1, 2), vec![Expr::witness(&end)]);
        let (step, targets) = self.step_in_category(&r, &i, inside, vec![first.clone()], &Expr::witness(a))?;
        let map = self.fold_of(y, b, fold, n, &i, step);
        Ok(self.steps_in_category(&r, i, map, Some(first), inside, &targets))
    }

    fn scanl_in_category(&mut self, y: &Var, b: &Binding, fold: [&Expr; 3], inside: &Inside) -> Result<Tape, String> {
        let [f, a, v] = fold;
        let states = Expr::var(y);
        let last = self.cx.supply.fresh("last", a.ty().clone());
        let end = Expr::tuple([Expr::var(&last), states.clone()]);
        let n = self.cx.bind_as("n", Expr::prim(Prim::Size, [v.clone()]));
        let r = Recurrence { n: n.clone(), states: states.clone(), start: a, end: &end, f, over: Some(v) };
        let i = self.cx.supply.fresh("i", Type::Integer);
        let select = |k| Expr::app(Op::LmGet(k, 2), vec![Expr::witness(&end)]);
        let next = Expr::prim(Prim::Add, [Expr::var(&i), Expr::integer(1)]);
        let start = vec![select(1), after(element(&next, &states), select(2))];
        let (step, targets) = self.step_in_category(&r, &i, inside, start, &Expr::witness(a))?;
        let value = Binding { pattern: Pattern::Var(last), rhs: Expr::prim(Prim::Index, [n, states.clone()]) };
        let map = self.scanl_of(y, b, fold, &i, value, step);
        let rest = self.steps_in_category(&r, i, map, Some(select(2)), inside, &targets);
        Ok(match index_of(inside.env, a).filter(|k| inside.env[*k].varies) {
            Some(k) => {
                let first = Tape::Each(vec![(k, element(&Expr::integer(0), &states))], b.rhs.span());
                Tape::Sum(Box::new([first, rest]))
            }
            None => rest,
        })
    }

    fn loop_in_category(&mut self, y: &Var, args: [&Expr; 4], inside: &Inside) -> Result<Tape, String> {
        let [n, f, a, _] = args;
        let end = Expr::var(y);
        let r = Recurrence { n: n.clone(), states: a.clone(), start: a, end: &end, f, over: None };
        let i = self.cx.supply.fresh("i", Type::Integer);
        let start = vec![Expr::prim(Prim::LmOne, [Expr::witness(&end)])];
        let (step, targets) = self.step_in_category(&r, &i, inside, start, &Expr::witness(&end))?;
        let map = self.iteration_of(y, args, &i, step);
        Ok(self.steps_in_category(&r, i, map, None, inside, &targets))
    }

    /// Makes step i of a recurrence, with M(i): from the cotangents of the state after it and of what is summed, to
    /// those of the state before it and of the values of the environment, whose numbers are given, too.
    fn step_in_category(
        &mut self,
        r: &Recurrence,
        i: &Var,
        inside: &Inside,
        start: Vec<Expr>,
        whole: &Expr,
    ) -> Result<(Step, Vec<usize>), String> {
        let state = self.cx.supply.fresh("state", r.start.ty().clone());
        let mut header = self.cx.step(r, i, Expr::var(&state))?;
        let (_, header) = apart(std::mem::take(&mut header.out));
        let env = inside.inner(true);
        let (values, body) = self.body(inside.body, &env)?.inner(whole.clone(), env.len());
        let mut reversed = self.reversed(&body, Expr::witness(r.end), start);
        let pair = reversed.ds.pop().expect("the variable of the function");
        let mut reverse = Reverse { supply: self.cx.supply, from: reversed.from, out: reversed.maps };
        let mut ds = reversed.ds;
        let mut before = Vec::new();
        if !pair.is_empty() {
            let (pair, witness) = (reverse.shared("R", pair), Expr::witness(&Expr::var(inside.x)));
            let part = |k: usize| component(&pair, &vec![(k, witness.clone())]);
            before.push(part(if r.over.is_some() { 1 } else { 2 }));
            if let Some(v) = r.over
                && let Some(k) = index_of(inside.env, v)
            {
                ds[k].push(after(at(&Expr::var(i), v), part(2)));
            }
        }
        let targets = targets(inside.env, &[&ds]);
        let before = reverse.vcat(vec![before], &[Expr::var(&state)]);
        let taken = targets.iter().map(|k| std::mem::take(&mut ds[*k])).collect();
        let captured = match targets.is_empty() {
            true => reverse.zero(&Expr::tuple([])),
            false => reverse.vcat(taken, &chosen(inside.env, &targets)),
        };
        let map = Expr::block(reverse.out, Expr::prim(Prim::LmVCat, [before, captured]));
        let parts = Recorded { values: values.values, value: values.value, map };
        Ok((Step { state, header, parts }, targets))
    }

    /// Returns the tape of all steps, from the last one to the first; `output` is the part of their end that is the value.
    fn steps_in_category(
        &mut self,
        r: &Recurrence,
        i: Var,
        map: Expr,
        output: Option<Expr>,
        inside: &Inside,
        targets: &[usize],
    ) -> Tape {
        let env = inside.env;
        let targets = Targets { numbers: targets.to_vec(), values: chosen(env, targets) };
        let from = Expr::tuple([r.start.clone(), tuple_or_one(&targets.values)]);
        let k = self.cx.supply.fresh("k", Type::Integer);
        let last = Expr::prim(Prim::Sub, [r.n.clone(), Expr::integer(1)]);
        let back = Expr::prim(Prim::Sub, [last, Expr::var(&k)]);
        let step = Expr::block(vec![Binding { pattern: Pattern::Var(i), rhs: back }], map);
        let witnesses = [Expr::witness(r.end), Expr::witness(&from)];
        let [to, from] = witnesses;
        let fold = Expr::prim(Prim::LmFold, [r.n.clone(), to, from.clone(), Expr::lam(k, step)]);
        let fold = output.map_or(fold.clone(), |part| after(fold, transposed(part)));
        let start = index_of(env, r.start).filter(|k| env[*k].varies).map(|k| (k, vec![(1, from.clone())]));
        let captured = targets.parts().into_iter();
        let captured = captured.map(|(k, part)| (k, [vec![(2, from.clone())], part].concat()));
        let parts: Vec<(usize, Part)> = start.into_iter().chain(captured).collect();
        if parts.is_empty() { Tape::Zero } else { Tape::Gathered(fold, parts, inside.span) }
    }
}

impl Inside<'_> {
    fn inner(&self, varies: bool) -> Vec<Slot> {
        let x = Slot { value: Expr::var(self.x), varies };
        self.env.iter().cloned().chain([x]).collect()
    }
}
