//! D of the primitives that keep the structure of tensors: they work on dual numbers as on numbers.

use super::Dual;
use lm::prim::Prim;
use lm::term::{Binding, Expr, Kind, Pattern, Var};
use lm::types::Type;

impl Dual<'_> {
    /// Returns D of a primitive that keeps the structure; `None` for one that computes.
    pub(super) fn structural(&mut self, p: Prim, args: &[Expr]) -> Result<Option<Expr>, String> {
        Ok(Some(match (p, args) {
            (Prim::VecInit, _) => Expr::prim(p, args.iter().map(|a| self.whole(a)).collect::<Vec<_>>()),
            (Prim::Index, [i, v]) => Expr::prim(p, [i.clone(), self.whole(v)]),
            (Prim::Sum | Prim::Unzip, [v]) => Expr::prim(p, [self.whole(v)]),
            (Prim::AddAt, [v, updates]) => Expr::prim(p, [self.whole(v), self.whole(updates)]),
            (Prim::DeltaAt, [w, i, x]) => Expr::prim(p, [self.witness(w), i.clone(), self.whole(x)]),
            (Prim::Into, [_, e]) => self.whole(e),
            (Prim::Build, [n, f]) => Expr::prim(p, [n.clone(), self.of_index(f)?]),
            (Prim::SumBuild, [witness @ .., n, f]) => {
                let witness = witness.iter().map(|w| self.witness(w)).collect();
                Expr::prim(p, [witness, vec![n.clone(), self.of_index(f)?]].concat())
            }
            (Prim::Fold | Prim::Checkpoint, [.., f, a, v]) => Expr::prim(Prim::Fold, self.recurrence(f, a, v)?),
            (Prim::Scanl | Prim::Replay, [.., f, a, v]) => Expr::prim(Prim::Scanl, self.recurrence(f, a, v)?),
            (Prim::States, [k, f, a, v]) => {
                let [f, a, v] = self.recurrence(f, a, v)?;
                Expr::prim(p, [k.clone(), f, a, v])
            }
            (Prim::Loop, [n, f, a, w]) => self.iteration(n, f, a, w)?,
            _ => return Ok(None),
        }))
    }

    /// D of a function of an index.
    fn of_index(&mut self, f: &Expr) -> Result<Expr, String> {
        let (i, body) = function(f);
        Ok(Expr::lam(i.clone(), self.inner(|_| (), body)?).at(f.span()))
    }

    /// Returns the step, the start and the elements of a fold. The state is a dual. So are the elements, where they vary.
    fn recurrence(&mut self, f: &Expr, a: &Expr, v: &Expr) -> Result<[Expr; 3], String> {
        let (x, body) = function(f);
        let elements = if self.is_known(v) { self.whole(v) } else { v.clone() };
        let (start, Type::Tensor(_, element)) = (self.whole(a), elements.ty().clone()) else {
            panic!("{v:?} is no tensor")
        };
        let types = x.ty().as_tuple().expect("a state and an element").to_vec();
        let q = self.supply.fresh("q", Type::tuple([start.ty().clone(), (*element).clone()]));
        let varies = self.is_known(v) && types[1].is_differentiable();
        let begin = |cx: &mut Self| {
            let part = |k: usize| Expr::get(k, Expr::var(&q));
            let state = cx.part("s", &types[0], part(1), true);
            let element = cx.part("x", &types[1], part(2), varies);
            cx.argument(x, [state, element]);
        };
        let step = self.inner(begin, body)?;
        Ok([Expr::lam(q, step).at(f.span()), start, elements])
    }

    /// D of `$loop`: states and outputs are duals.
    fn iteration(&mut self, n: &Expr, f: &Expr, a: &Expr, w: &Expr) -> Result<Expr, String> {
        let (x, body) = function(f);
        let start = self.whole(a);
        let types = x.ty().as_tuple().expect("a number and a state").to_vec();
        let q = self.supply.fresh("q", Type::tuple([Type::Integer, start.ty().clone()]));
        let begin = |cx: &mut Self| {
            let part = |k: usize| Expr::get(k, Expr::var(&q));
            let i = cx.part("i", &types[0], part(1), false);
            let state = cx.part("s", &types[1], part(2), true);
            cx.argument(x, [i, state]);
        };
        let step = self.inner(begin, body)?;
        let witness = self.witness(w);
        Ok(Expr::prim(Prim::Loop, [n.clone(), Expr::lam(q, step).at(f.span()), start, witness]))
    }

    /// Binds a component of the argument of a step.
    fn part(&mut self, name: &str, ty: &Type, given: Expr, varies: bool) -> Expr {
        let x = self.supply.fresh(name, ty.clone());
        if varies && ty.is_differentiable() {
            self.bind_dual(&x, given);
        } else {
            self.value(&x, given);
        }
        Expr::var(&x)
    }

    /// Binds the argument of a step.
    fn argument(&mut self, x: &Var, parts: [Expr; 2]) {
        self.out.push(Binding { pattern: Pattern::Var(x.clone()), rhs: Expr::tuple(parts.clone()) });
        if x.ty().is_differentiable() {
            let wholes = parts.map(|part| self.whole(&part));
            self.bind_whole(x, Expr::tuple(wholes));
        }
    }
}

fn function(f: &Expr) -> (&Var, &Expr) {
    match f.kind() {
        Kind::Lam(x, body) => (x, body),
        _ => panic!("{f:?} is no function"),
    }
}
