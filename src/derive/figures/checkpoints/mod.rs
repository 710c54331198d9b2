//! Differentiates folds in segments, so that few states are kept.
//!
//! A fold of n steps is a fold of segments of l steps. Only the state before each segment is kept. The derivative of a
//! segment computes the states in it again:
//!
//! ```text
//! y = fold(f, a, v)         l = stride(n)     states = $states(l, f, a, v)     y = the last one of them
//! ∇[y] = π₁ ∘ lmFold(m, λj. S(j)) ∘ (∇[a] × (∇[c] ..))              m segments; c: what f captures
//! S(j) = let s = scanl(f, states[j], the elements of segment j but the last) in lmFold(l, λi. M(s[i], v[j l + i]))
//! ```
//!
//! M is the map of a step, as in [`super::fig12_15_folds`]. So transposition and application are those of lmFold.
//! `docs/checkpoints.md` has the schedules.
//!
//! Source: Griewank and Walther, *Revolve* (2000). Takes and gives: as [`super::fig06_jacobian`].

mod kept;
pub mod segments;
pub mod sweep;
pub mod updates;

use super::fig06_arrays::{compose, function};
use super::fig06_jacobian::Nabla;
use super::fig12_15_folds::Recurrence;
use crate::derive::passes::anf::normalise_block;
use lm::prim::Prim;
use lm::scope::renamed;
use lm::term::{Binding, Expr, Op, Pattern, Var};
use lm::types::Type;
use segments::{Kept, Segmented, Segments, numbers, over_numbers};

/// One segment.
struct Segment {
    /// The number of its first step.
    first: Expr,
    /// The number of its steps.
    steps: Expr,
    /// The state before it.
    start: Expr,
    /// The state after it.
    end: Expr,
}

impl Segments {
    /// Returns segment j; binds its variables.
    fn segment(&self, j: &Var, cx: &mut Nabla) -> Segment {
        let j = Expr::var(j);
        let first = cx.bind_as("first", Expr::prim(Prim::Mul, [j.clone(), self.stride.clone()]));
        let left = cx.bind_as("left", Expr::prim(Prim::Sub, [self.n.clone(), first.clone()]));
        let is_last = Expr::prim(Prim::Lt, [left.clone(), self.stride.clone()]);
        let is_last = cx.bind_as("c", is_last);
        let steps = cx.bind_as("steps", Expr::conditional(is_last, left, self.stride.clone()));
        let start = cx.bind_as("start", Expr::prim(Prim::Index, [j.clone(), self.states.clone()]));
        let next = cx.bind_as("next", Expr::prim(Prim::Add, [j, Expr::integer(1)]));
        let end = cx.bind_as("end", Expr::prim(Prim::Index, [next, self.states.clone()]));
        Segment { first, steps, start, end }
    }
}

impl Segment {
    /// Returns the recurrence of its steps f over v, of which `states` are known.
    fn recurrence<'a>(&'a self, [f, v]: [&'a Expr; 2], end: &'a Expr, states: &Expr) -> Recurrence<'a> {
        Recurrence { n: self.steps.clone(), states: states.clone(), start: &self.start, end, f, over: Some(v) }
    }

    /// Returns the numbers of the steps but the last one.
    fn numbers(&self, cx: &mut Nabla) -> Expr {
        let count = cx.bind_as("k", Expr::prim(Prim::Sub, [self.steps.clone(), Expr::integer(1)]));
        let numbers = numbers(&self.first, &count, cx.supply);
        cx.bind_as("numbers", numbers)
    }
}

impl Nabla<'_> {
    /// ∇ of a fold in segments, bound to y.
    pub(super) fn fold_in_segments(&mut self, y: &Var, fold: &Segmented) -> Result<Expr, String> {
        let value = self.out.pop().expect("the value was bound");
        let segments = fold.bind(&mut self.out, self.supply, value.rhs.span());
        self.out.push(Binding { pattern: Pattern::Var(y.clone()), rhs: segments.last() });
        let end = Expr::tuple([Expr::var(y), Expr::tuple([])]);
        let map = match &segments.kept {
            None => self.all_segments(fold, &segments, &end)?,
            Some(kept) => self.segments_and_last(fold, &segments, kept, &end)?,
        };
        Ok(compose(Expr::app(Op::LmGet(1, 2), vec![Expr::witness(&end)]), map))
    }

    /// The map of all segments, but for the last one if its states are kept; `end` has the state behind them.
    fn all_segments(&mut self, fold: &Segmented, segments: &Segments, end: &Expr) -> Result<Expr, String> {
        let r = Recurrence {
            n: segments.count.clone(),
            states: segments.states.clone(),
            start: fold.a,
            end,
            f: fold.f,
            over: Some(fold.v),
        };
        let j = self.supply.fresh("j", Type::Integer);
        let outer = std::mem::take(&mut self.out);
        let map = self.segment_map(fold, segments, &j);
        let bindings = std::mem::replace(&mut self.out, outer);
        self.steps(&r, j, Expr::block(bindings, map?))
    }

    /// The map of the segments before the last one, and then of the last one, whose states are known.
    fn segments_and_last(
        &mut self,
        fold: &Segmented,
        segments: &Segments,
        kept: &Kept,
        end: &Expr,
    ) -> Result<Expr, String> {
        let start = Expr::var(&kept.start);
        let before = Expr::tuple([start.clone(), Expr::tuple([])]);
        let map = self.all_segments(fold, segments, &before)?;
        self.bind_map(&kept.start, compose(Expr::app(Op::LmGet(1, 2), vec![Expr::witness(&before)]), map));
        let segment =
            Segment { first: kept.first.clone(), steps: kept.steps.clone(), start, end: Expr::get(1, end.clone()) };
        let again = renamed(fold.f, self.supply);
        let r = segment.recurrence([&again, fold.v], end, &kept.states);
        let (i, step) = self.step_of(&r, &segment)?;
        self.steps(&r, i, step)
    }

    /// Returns S(j); its values go to `out`.
    fn segment_map(&mut self, fold: &Segmented, segments: &Segments, j: &Var) -> Result<Expr, String> {
        let segment = segments.segment(j, self);
        let numbers = segment.numbers(self);
        let step = over_numbers(fold.f, fold.v, self.supply);
        let scan = [step, segment.start.clone(), numbers];
        let states = match &segments.slots {
            None => Expr::prim(Prim::Scanl, scan),
            Some(slots) => Expr::prim(Prim::Replay, std::iter::once(slots.clone()).chain(scan)),
        };
        let states = self.bind_as("states", states);
        let end = Expr::tuple([segment.end.clone(), Expr::tuple([])]);
        let r = segment.recurrence([fold.f, fold.v], &end, &states);
        let (i, step) = self.step_of(&r, &segment)?;
        Ok(self.all_steps(&r, i, step))
    }

    /// Returns the map of step i of a segment, with i.
    fn step_of(&mut self, r: &Recurrence, segment: &Segment) -> Result<(Var, Expr), String> {
        let [i, place] = ["i", "place"].map(|name| self.supply.fresh(name, Type::Integer));
        let mut inner = self.step(r, &place, Expr::prim(Prim::Index, [Expr::var(&i), r.states.clone()]))?;
        let result = inner.nabla_block(function(r.f).1)?;
        let result = Expr::prim(Prim::LmVCat, [result, inner.zero(&Expr::tuple([]))]);
        let number = Expr::prim(Prim::Add, [segment.first.clone(), Expr::var(&i)]);
        let number = Binding { pattern: Pattern::Var(place), rhs: number };
        let bindings = [vec![number], std::mem::take(&mut inner.out)].concat();
        Ok((i, Expr::block(bindings, result)))
    }

    /// ∇ of `$states`, by the states of all steps.
    pub(super) fn states(&mut self, y: &Var, [stride, f, a, v]: [&Expr; 4]) -> Result<Expr, String> {
        let all = self.supply.fresh("all", y.ty().clone());
        let scan = Expr::prim(Prim::Scanl, [renamed(f, self.supply), a.clone(), v.clone()]);
        self.binding(&Binding { pattern: Pattern::Var(all.clone()), rhs: scan })?;
        let n = self.bind_as("n", Expr::prim(Prim::Size, [v.clone()]));
        let count = self.bind_as("m", Expr::prim(Prim::Size, [Expr::var(y)]));
        let is_small = Expr::prim(Prim::Lt, [stride.clone(), Expr::integer(1)]);
        let stride = Expr::conditional(is_small, Expr::integer(1), stride.clone());
        let j = self.supply.fresh("j", Type::Integer);
        let place = Expr::prim(Prim::Mul, [Expr::var(&j), stride]);
        let is_before = Expr::prim(Prim::Lt, [place.clone(), n.clone()]);
        let element = Expr::prim(Prim::Index, [Expr::conditional(is_before, place, n), Expr::var(&all)]);
        let kept = Expr::prim(Prim::Build, [count, Expr::lam(j, element)]);
        let kept = normalise_block(&kept, self.supply);
        let same = self.supply.fresh("states", y.ty().clone());
        let (bindings, result) = kept.as_block();
        bindings.iter().try_for_each(|b| self.binding(b))?;
        self.binding(&Binding { pattern: Pattern::Var(same.clone()), rhs: result.clone() })?;
        Ok(self.variable(&same, &Expr::var(y)))
    }
}
