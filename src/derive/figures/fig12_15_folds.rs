//! Differentiates folds: a fold from s is a recurrence, and its Jacobian is a linear recurrence.
//!
//! With all its states sᵢ known, the recurrence is closed over the variables c that the function captures, the
//! vector among them:
//!
//! ```text
//! ∇[fold(λ(s, x). e, a, v)] = π₁ ∘ lmFold(n, λi. M(i)) ∘ (∇[a] × (∇[c] ..))
//! M(i) = let s = states[i] in let x = v[i] in (∇[e] × 0)       from (S, (C ..)) to (S, ())
//! ```
//!
//! `scanl` and `$loop` are the same with outputs: M(i) then maps to (S, Z), and the outputs are summed.
//! So lmFold is closed under transposition, which runs it backwards and swaps captured input and output.
//!
//! Source: working notes, Figs. 12-15. The states of the recurrence there are pairs (s, (a, b)). Here the sums are
//! kept apart from the state, so that nothing of the size of the captured variables is carried from step to step.
//! Takes and gives: as [`super::fig06_jacobian`].

use super::fig06_arrays::{at, compose, element, element_type, function, tuple_or_one};
use super::fig06_jacobian::Nabla;
use lm::prim::Prim;
use lm::scope::{free_variables, renamed};
use lm::term::{Binding, Expr, Op, Pattern, Var};
use lm::types::Type;

impl Nabla<'_> {
    /// Differentiates a fold. Computes the states once, by a scan; the fold's value is the last state.
    pub(super) fn fold(&mut self, y: &Var, f: &Expr, a: &Expr, v: &Expr) -> Result<Expr, String> {
        let last = self.out.pop().expect("the value was bound");
        let n = self.bind_as("n", Expr::prim(Prim::Size, [v.clone()]));
        let scan = Expr::prim(Prim::Scanl, [renamed(f, self.supply), a.clone(), v.clone()]);
        let states = self.bind_as("states", scan.at(last.rhs.span()));
        let rhs = Expr::prim(Prim::Index, [n.clone(), states.clone()]);
        self.out.push(Binding { pattern: Pattern::Var(y.clone()), rhs });
        let nothing = Expr::tuple([]);
        let end = Expr::tuple([Expr::var(y), nothing.clone()]);
        let map =
            self.recurrence(Recurrence { n, states, start: a, end: &end, f, over: Some(v) }, |inner, step, _| {
                let to_nothing = inner.zero(&nothing);
                Expr::prim(Prim::LmVCat, [step, to_nothing])
            })?;
        Ok(compose(Expr::app(Op::LmGet(1, 2), vec![Expr::witness(&end)]), map))
    }

    /// Returns all states; the state after step i is output i + 1.
    pub(super) fn scanl(&mut self, y: &Var, f: &Expr, a: &Expr, v: &Expr) -> Result<Expr, String> {
        let n = self.bind_as("n", Expr::prim(Prim::Size, [v.clone()]));
        let states = Expr::var(y);
        let last = self.bind_as("last", Expr::prim(Prim::Index, [n.clone(), states.clone()]));
        let end = Expr::tuple([last, states.clone()]);
        let recurrence = Recurrence { n, states: states.clone(), start: a, end: &end, f, over: Some(v) };
        let map = self.recurrence(recurrence, |inner, step, i| {
            let place = Expr::prim(Prim::Add, [Expr::var(i), Expr::integer(1)]);
            let next = inner.supply.fresh("Dnext", step.ty().clone());
            inner.out.push(Binding { pattern: Pattern::Var(next.clone()), rhs: step });
            let output = compose(at(&place, &states), Expr::var(&next));
            Expr::prim(Prim::LmVCat, [Expr::var(&next), output])
        })?;
        let first = compose(at(&Expr::integer(0), &states), self.nabla(a)?);
        let rest = compose(Expr::app(Op::LmGet(2, 2), vec![Expr::witness(&end)]), map);
        Ok(Expr::prim(Prim::LmAdd, [first, rest]))
    }

    pub(super) fn iteration(&mut self, y: &Var, n: &Expr, f: &Expr, a: &Expr) -> Result<Expr, String> {
        // The states, as a scan over the steps' numbers: λ(s, i). (f (i, s)).1
        let (p, body) = function(f);
        let pair = self.supply.fresh("p", Type::tuple([a.ty().clone(), Type::Integer]));
        let swapped = Expr::tuple([Expr::get(2, Expr::var(&pair)), Expr::get(1, Expr::var(&pair))]);
        let body = Expr::block(vec![Binding { pattern: Pattern::Var(p.clone()), rhs: swapped }], body.clone());
        let both = self.supply.fresh("t", body.ty().clone());
        let step = Expr::block(
            vec![Binding { pattern: Pattern::Var(both.clone()), rhs: body }],
            Expr::get(1, Expr::var(&both)),
        );
        let i = self.supply.fresh("i", Type::Integer);
        let steps = Expr::prim(Prim::Build, [n.clone(), Expr::lam(i.clone(), Expr::var(&i))]);
        let scan = Expr::prim(Prim::Scanl, [renamed(&Expr::lam(pair, step), self.supply), a.clone(), steps]);
        let last = self.out.pop().expect("the value was bound");
        let states = self.bind_as("states", scan.at(last.rhs.span()));
        let end = Expr::var(y);
        self.out.push(Binding { rhs: value_of_loop(&last.rhs, n, &states), ..last });
        let recurrence = Recurrence { n: n.clone(), states, start: a, end: &end, f, over: None };
        self.recurrence(recurrence, |_, step, _| step)
    }

    /// Returns `lmFold(n, λi. M(i)) ∘ (∇[start] × (∇[c] ..))`, where `finish` makes M(i) of ∇ of f's body.
    fn recurrence(
        &mut self,
        r: Recurrence,
        finish: impl FnOnce(&mut Nabla, Expr, &Var) -> Expr,
    ) -> Result<Expr, String> {
        let i = self.supply.fresh("i", Type::Integer);
        let state = Expr::prim(Prim::Index, [Expr::var(&i), r.states.clone()]);
        let mut inner = self.step(&r, &i, state)?;
        let result = inner.nabla_block(function(r.f).1)?;
        let result = finish(&mut inner, result, &i);
        let step = Expr::block(std::mem::take(&mut inner.out), result);
        self.steps(&r, i, step)
    }

    /// Returns the inside of step i of a recurrence, which starts from `state`: the state, the element and the
    /// parameter of f are bound, and so are their maps.
    pub(super) fn step(&mut self, r: &Recurrence, i: &Var, state: Expr) -> Result<Nabla<'_>, String> {
        let p = function(r.f).0;
        let captured = self.captured(r);
        let inputs: Vec<Expr> = captured.iter().map(Expr::var).collect();
        let s = self.supply.fresh("s", r.start.ty().clone());
        // The shape of the state may change from step to step.
        let here = Expr::witness(&Expr::tuple([Expr::var(&s), tuple_or_one(&inputs)]));
        let checkpoints = self.checkpoints;
        let mut inner = Nabla::new(self.supply, here.clone(), self.written);
        inner.checkpoints = checkpoints;
        inner.value(&s, state);
        inner.bind_map(&s, Expr::app(Op::LmGet(1, 2), vec![here.clone()]));
        if !captured.is_empty() {
            let all = Expr::app(Op::LmGet(2, 2), vec![here]);
            for (k, x) in captured.iter().enumerate() {
                let select =
                    || Expr::app(Op::LmGet(k + 1, captured.len()), vec![Expr::witness(&tuple_or_one(&inputs))]);
                let map = if captured.len() == 1 { all.clone() } else { compose(select(), all.clone()) };
                inner.bind_map(x, map);
            }
        }
        let argument = match r.over {
            Some(v) => {
                let x = inner.supply.fresh("x", element_type(v));
                inner.value(&x, Expr::prim(Prim::Index, [Expr::var(i), v.clone()]));
                let map = compose(element(&Expr::var(i), v), inner.nabla(v)?);
                inner.bind_map(&x, map);
                [Expr::var(&s), Expr::var(&x)]
            }
            None => [Expr::var(i), Expr::var(&s)],
        };
        let whole = Expr::tuple(argument.clone());
        let map = Expr::prim(Prim::LmVCat, argument.iter().map(|a| inner.nabla(a)).collect::<Result<Vec<_>, _>>()?);
        inner.value(p, whole);
        inner.bind_map(p, map);
        Ok(inner)
    }

    /// Returns `lmFold(n, λi. step) ∘ (∇[start] × (∇[c] ..))`
    pub(super) fn steps(&mut self, r: &Recurrence, i: Var, step: Expr) -> Result<Expr, String> {
        let maps = self.all_steps(r, i, step);
        let inputs: Vec<Expr> = self.captured(r).iter().map(Expr::var).collect();
        let inputs = inputs.iter().map(|x| self.nabla(x)).collect::<Result<Vec<_>, _>>()?;
        let input = match inputs.len() {
            0 => self.zero(&Expr::tuple([])),
            1 => inputs[0].clone(),
            _ => Expr::prim(Prim::LmVCat, inputs),
        };
        let start = self.nabla(r.start)?;
        Ok(compose(maps, Expr::prim(Prim::LmVCat, [start, input])))
    }

    /// Returns `lmFold(n, λi. step)`.
    pub(super) fn all_steps(&self, r: &Recurrence, i: Var, step: Expr) -> Expr {
        let inputs: Vec<Expr> = self.captured(r).iter().map(Expr::var).collect();
        let from = Expr::tuple([r.start.clone(), tuple_or_one(&inputs)]);
        Expr::prim(Prim::LmFold, [r.n.clone(), Expr::witness(&from), Expr::witness(r.end), Expr::lam(i, step)])
    }

    /// Returns the variables of the outside that can change, and that the steps depend on.
    fn captured(&self, r: &Recurrence) -> Vec<Var> {
        let mut free = free_variables(r.f);
        let over = r.over.and_then(Expr::as_var);
        free.extend(over.filter(|v| !free.contains(v)).cloned().into_iter().collect::<Vec<_>>());
        free.retain(|x| self.maps.contains_key(&x.id()));
        free
    }
}

/// Returns the value of a loop. Without outputs, that is the last of its states.
fn value_of_loop(value: &Expr, n: &Expr, states: &Expr) -> Expr {
    let [_, outputs] = value.ty().as_tuple().expect("a loop gives a state and outputs") else {
        panic!("a loop gives two values")
    };
    if *outputs != Type::tuple([]) {
        return value.clone();
    }
    let last = Expr::prim(Prim::Index, [n.clone(), states.clone()]);
    Expr::tuple([last, Expr::tuple([])]).at(value.span())
}

/// A recurrence: f goes from state to state.
pub(super) struct Recurrence<'a> {
    /// The number of steps.
    pub(super) n: Expr,
    /// The states, at least one for each step.
    pub(super) states: Expr,
    pub(super) start: &'a Expr,
    /// A witness of the last state and the sum of the outputs.
    pub(super) end: &'a Expr,
    /// Takes the state and an element of `over`; or the step's number and the state.
    pub(super) f: &'a Expr,
    pub(super) over: Option<&'a Expr>,
}
