//! Makes a derivative at a point, as a function of the direction.

use super::inline::Reach;
use crate::derive::figures::paper000_dual::types;
use crate::derive::figures::symmetry::{components, derivative};
use crate::derive::partial_eval;
use crate::derive::passes::hoist_residuals;
use crate::derive::pipeline::{Error, Pipeline};
use crate::derive::postcondition::Facts;
use lm::scope::{free_variables, renamed};
use lm::term::{Binding, Derivative, Expr, Fun, Mode, Op, Pattern, Supply, Var};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A way to a derivative along each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directions {
    /// A call of `[fwd f]` or `[rev f]` for each.
    Calls,
    /// The terms of that, of which those that do not depend on the direction are computed once.
    Cut,
    /// A call of `[dual f]` for each.
    Dual,
}

/// A derivative at a point as a function of the direction.
pub(super) struct Linear {
    /// The bindings that do not depend on the direction, the value among them.
    pub(super) early: Vec<Binding>,
    pub(super) value: Expr,
    pub(super) direction: Var,
    pub(super) late: Vec<Binding>,
    pub(super) result: Expr,
}

impl Linear {
    /// Returns a copy for one direction.
    pub(super) fn at(&self, direction: Expr, supply: &mut Supply) -> Expr {
        let bind = Binding { pattern: Pattern::Var(self.direction.clone()), rhs: direction };
        renamed(&Expr::block([vec![bind], self.late.clone()].concat(), self.result.clone()), supply)
    }
}

impl Pipeline {
    /// Returns `d$f(s, -)` at the parameters.
    pub(super) fn linear(&mut self, f: &Fun, mode: Mode, params: &[Var], how: Directions) -> Result<Linear, Error> {
        let given = params.iter().map(Expr::var).collect::<Vec<_>>();
        let point = if let [one] = given.as_slice() { one.clone() } else { Expr::tuple(given.clone()) };
        match how {
            Directions::Calls => self.linear_by_call(f, mode, point),
            Directions::Cut => self.linear_in_parts(f, mode, point),
            Directions::Dual => Ok(self.linear_by_dual(f, &given)),
        }
    }

    fn linear_by_call(&mut self, f: &Fun, mode: Mode, point: Expr) -> Result<Linear, Error> {
        let derived = derivative(mode.derivative(), f);
        let v = self.program.supply.fresh("v", derived.params[1].clone());
        let s = self.program.supply.fresh("s", derived.params[0].clone());
        let mut early = vec![Binding { pattern: Pattern::Var(s.clone()), rhs: point }];
        let value = self.bound(&mut early, "y", value_of(f, &Expr::var(&s)));
        let result = Expr::app(Op::Call(Arc::new(derived)), vec![Expr::var(&s), Expr::var(&v)]);
        Ok(Linear { early, value, direction: v, late: Vec::new(), result })
    }

    fn linear_in_parts(&mut self, f: &Fun, mode: Mode, point: Expr) -> Result<Linear, Error> {
        let both = self.value_beside(&f.name, mode)?;
        let reach = if self.is_dual(&f.name, mode) { Reach::Everywhere } else { Reach::OutsideOfLoops };
        let both = self.inlined(&both, reach)?;
        let both = self.shared(&both, &both.params[1..])?;
        let (s, v) = (both.params[0].clone(), both.params[1].clone());
        let supply = &mut self.program.supply;
        let facts = Facts { directions: &both.params[1..], ..Facts::new(&self.effects) };
        let both = self.watch.steps_with("hoist_residuals", &both, supply, &facts, |supply, rewrites| {
            hoist_residuals::hoist_residuals(&both, &both.params[1..], &self.effects, supply, rewrites)
        });
        let halves = partial_eval::cut(&both.body, FxHashSet::from_iter([v.id()]), supply);
        let Some(result) = halves.result.args_of(&Op::Tuple).map(<[Expr]>::to_vec) else {
            // A conditional gives both.
            return self.linear_by_call(f, mode, point);
        };
        // A function called within gives its value beside its derivative, for each direction.
        let late: FxHashSet<&Var> = halves.reverse.iter().flat_map(|b| b.pattern.vars()).collect();
        let is_late = free_variables(&result[0]).iter().any(|x| late.contains(x));
        let value = if is_late { value_of(f, &Expr::var(&s)) } else { result[0].clone() };
        let bind = Binding { pattern: Pattern::Var(s), rhs: point };
        let mut early = [vec![bind], halves.forward].concat();
        let value = self.bound(&mut early, "y", value);
        Ok(Linear { early, value, direction: v, late: halves.reverse, result: result[1].clone() })
    }

    /// Returns the tangent that `[dual f]` gives at the dual numbers of a direction.
    fn linear_by_dual(&mut self, f: &Fun, given: &[Expr]) -> Linear {
        let dual = Fun {
            name: f.name.derived(Derivative::Dual),
            params: types::parameters(f),
            result: types::dual(&f.result),
        };
        let supply = &mut self.program.supply;
        let v = supply.fresh("v", f.varying().tangent());
        let args = types::zipped(f, given, &Expr::var(&v), supply);
        let mut late = Vec::new();
        let y = supply.fresh("y", dual.result.clone());
        late.push(Binding { pattern: Pattern::Var(y.clone()), rhs: Expr::app(Op::Call(Arc::new(dual)), args) });
        let result = types::tangent(&Expr::var(&y), &f.result, supply);
        let all = Fun { name: f.name.unrestricted(), ..f.clone() };
        let value = Expr::app(Op::Call(Arc::new(all)), given.to_vec());
        let mut early = Vec::new();
        let value = self.bound(&mut early, "y", value);
        Linear { early, value, direction: v, late, result }
    }
}

/// Returns f at the one argument that derivatives take.
fn value_of(f: &Fun, s: &Expr) -> Expr {
    let all = Fun { name: f.name.unrestricted(), ..f.clone() };
    Expr::app(Op::Call(Arc::new(all)), components(f, s))
}
