//! Differentiates `$loop`, of which derivatives of folds are made, with a record.
//!
//! ```text
//! y = $loop(n, λ(i, s). (s', z), a, w)     p = scanl(λ((s, _), i). (s', r), (a, _), build(n, λi. i))
//!                                          y = (p[n].1, sumbuild(w, n, λi. z, which reads p[i].1 and p[i + 1]))
//!                                          ∇[y] = lmFold(n, λi. M(p[i].1, i, p[i + 1].2)) ∘ ..   as in `tensors`
//! ```

use super::Recorder;
use super::loops::{Scan, Step};
use super::plan::{Stages, plan, stages};
use crate::derive::figures::fig12_15_folds::Recurrence;
use lm::prim::Prim;
use lm::scope::renamed;
use lm::term::{Binding, Expr, Op, Pattern, Var};
use lm::types::Type;

impl Recorder<'_, '_> {
    pub(super) fn iteration(&mut self, y: &Var, [n, f, a, w]: [&Expr; 4]) -> Result<(), String> {
        let end = Expr::var(y);
        let r = Recurrence { n: n.clone(), states: a.clone(), start: a, end: &end, f, over: None };
        let i = self.cx.supply.fresh("i", Type::Integer);
        let step = self.step(&r, &i, |_, map| map)?;
        let map = self.iteration_of(y, [n, f, a, w], &i, step);
        let map = self.cx.steps(&r, i, map)?;
        self.cx.bind_map(y, map);
        Ok(())
    }

    /// Binds the value of an iteration, with the record of each step i. Gives the map of step i.
    pub(in crate::derive::figures) fn iteration_of(
        &mut self,
        y: &Var,
        [n, f, a, w]: [&Expr; 4],
        i: &Var,
        mut step: Step,
    ) -> Expr {
        let output = self.apart_from_output(&mut step.parts);
        let reached = step.at_hand();
        let plan = plan(&step.parts.values, &step.parts.map, &reached);
        let effects = self.callees.effects;
        let known = [plan.record.clone(), reached].concat();
        let Stages { extra, second, .. } = stages(&step.parts.values, &output, &known, &|e| effects.in_term(e));
        let kept = [plan.record.clone(), extra.clone()].concat();
        let k = self.cx.supply.fresh("k", Type::Integer);
        let numbers = Expr::prim(Prim::Build, [n.clone(), Expr::lam(k.clone(), Expr::var(&k))]);
        let numbers = self.cx.bind_as("ks", numbers);
        let scan = self.scan(&step, &Scan { f, start: a, over: &numbers, state: 2 }, &kept);
        let states = self.cx.bind_as("states", scan);
        let read = step.read(&mut self.cx, i, &states, &kept);
        let terms = Expr::block([read, step.header.clone(), second].concat(), output);
        let terms = renamed(&Expr::lam(i.clone(), terms), self.cx.supply);
        let sum = self.cx.bind_as("z", Expr::prim(Prim::SumBuild, [w.clone(), n.clone(), terms]));
        let last = Expr::prim(Prim::Index, [n.clone(), states.clone()]);
        let last = if kept.is_empty() { last } else { Expr::get(1, last) };
        self.cx.value(y, Expr::tuple([last, sum]));
        let unread = extra.iter().map(|x| self.cx.supply.fresh(x.name(), x.ty().clone()));
        let kept: Vec<Var> = plan.record.iter().cloned().chain(unread).collect();
        let read = step.read(&mut self.cx, i, &states, &kept);
        Expr::block(plan.reading([read, step.header].concat()), step.parts.map)
    }

    /// Makes the state that a step leads to its value, and gives its output.
    fn apart_from_output(&mut self, parts: &mut super::Recorded) -> Expr {
        let pattern = parts.value.as_var().cloned().map(Pattern::Var);
        let pair = parts.values.iter().find(|b| Some(&b.pattern) == pattern.as_ref());
        if let Some([state, output]) = pair.and_then(|b| b.rhs.args_of(&Op::Tuple)) {
            let output = output.clone();
            parts.value = state.clone();
            return output;
        }
        let mut part = |i| {
            let rhs = Expr::get(i, parts.value.clone());
            let x = self.cx.supply.fresh("t", rhs.ty().clone());
            parts.values.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
            Expr::var(&x)
        };
        let (state, output) = (part(1), part(2));
        parts.value = state;
        output
    }
}
