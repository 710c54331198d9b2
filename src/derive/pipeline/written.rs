//! Takes the parts of a program besides its functions: derivatives by hand, external functions, rewrite rules.
//!
//! Takes: a function with parts written by hand. Gives: a definition.

use super::watch::promised;
use super::{Error, Pipeline, checked};
use crate::derive::figures::fig06_jacobian::NotDifferentiable;
use crate::derive::figures::{self, by_hand as jacobian_by_hand};
use crate::derive::forms;
use crate::derive::passes::rules::{EndlessRule, rules};
use crate::derive::postcondition::Facts;
use indexmap::IndexMap;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::{renamed, substitute};
use lm::shape;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Mode, Op, Path, Pattern, Rule, Supply, Var};
use rustc_hash::FxHashSet;
use std::convert::Infallible;
use std::sync::Arc;

impl Pipeline {
    /// Returns the rules that do not come to an end, each with a function to which it was not applied for that reason;
    /// those that were not taken before.
    pub fn take_endless_rules(&mut self) -> Vec<EndlessRule> {
        std::mem::take(&mut self.endless)
    }

    /// Returns the definition after the rules of the program.
    pub(in crate::derive) fn ruled(&mut self, def: &Def) -> Def {
        let before = self.program.supply.clone();
        let (program, all) = (&mut self.program, &mut Rewrites::all());
        let (ruled, endless) = rules(def, &program.rules, &self.effects, &mut program.supply, all);
        let ends = |rule: &&Rule| endless.iter().all(|other| *other.rule != *rule.name);
        let ending: Vec<Rule> = self.program.rules.iter().filter(ends).cloned().collect();
        promised("rules", &ruled, &Facts { rules: &ending, ..Facts::new(&self.effects) });
        self.endless.extend(endless);
        if ruled == *def {
            return ruled;
        }
        if let Some(trace) = &mut self.watch.trace {
            let mut run = |supply: &mut Supply, rewrites: &mut Rewrites| {
                Ok::<Def, Infallible>(rules(def, &ending, &self.effects, supply, rewrites).0)
            };
            let Ok(()) = trace.follow("rules", def, &before, &mut run);
        }
        self.without_dead(&ruled)
    }

    /// Returns an external function as a call of itself.
    pub(in crate::derive) fn external(&mut self, name: &FunName) -> Option<Def> {
        let fun = self.program.externals.get(name)?.clone();
        let supply = &mut self.program.supply;
        let params: Vec<Var> = fun.params.iter().map(|ty| supply.fresh("x", ty.clone())).collect();
        let body = Expr::app(Op::Call(fun.clone()), params.iter().map(Expr::var).collect());
        Some(Def { fun, params, body })
    }

    /// Returns a copy of a definition, of another name.
    pub(in crate::derive) fn copy_named(&mut self, def: &Def, name: &FunName) -> Def {
        let supply = &mut self.program.supply;
        let params: Vec<Var> = def.params.iter().map(|x| supply.fresh(x.name(), x.ty().clone())).collect();
        let by = def.params.iter().map(Var::id).zip(params.iter().map(Expr::var)).collect();
        let body = substitute(&renamed(&def.body, supply), &by);
        Def::new(name.clone(), params, body)
    }

    /// Returns `[fwd [wrt$1 f]]` or `[rev [wrt$1 f]]`, where the derivative of f is written by hand.
    pub(in crate::derive) fn part_of_written(&mut self, of: &FunName, mode: Mode) -> Result<Def, Error> {
        let by_hand = self.source(&of.unrestricted().derived(mode.derivative()))?;
        let fun = Fun { name: of.clone(), ..(*self.source(of)?.fun).clone() };
        let supply = &mut self.program.supply;
        let s = supply.fresh("s", fun.argument());
        let args: Vec<Expr> = match fun.params.len() {
            1 => vec![Expr::var(&s)],
            n => (1..=n).map(|i| Expr::get(i, Expr::var(&s))).collect(),
        };
        let varying = of.varying().expect("what varies is said");
        let (v, body) = if mode == Mode::Forward {
            let dx = supply.fresh("dx", fun.varying().tangent());
            let part = |k: usize| if varying.len() == 1 { Expr::var(&dx) } else { Expr::get(k + 1, Expr::var(&dx)) };
            let whole: Vec<Expr> =
                args.iter().enumerate().map(|(i, e)| embedded(e, &[i + 1], varying, &part)).collect();
            let whole = if let [one] = whole.as_slice() { one.clone() } else { Expr::tuple(whole) };
            let body = Expr::app(Op::Call(by_hand.fun.clone()), vec![Expr::var(&s), whole]);
            (dx, body)
        } else {
            let dr = supply.fresh("dr", fun.result.tangent());
            let all = Expr::app(Op::Call(by_hand.fun.clone()), vec![Expr::var(&s), Expr::var(&dr)]);
            let ds = supply.fresh("ds", all.ty().clone());
            let parts: Vec<Expr> = match fun.params.len() {
                1 => vec![Expr::var(&ds)],
                n => (1..=n).map(|i| Expr::get(i, Expr::var(&ds))).collect(),
            };
            (dr, Expr::block(vec![Binding { pattern: Pattern::Var(ds), rhs: all }], fun.varying_of(&parts)))
        };
        Ok(Def::new(of.derived(mode.derivative()), vec![s, v], body))
    }

    /// Returns `[shape f]`, of a definition in normal form.
    pub(in crate::derive) fn shape(&mut self, normal: &Def) -> Def {
        let mut supply = std::mem::take(&mut self.program.supply);
        let shape = figures::shape::shape(normal, &self.program, &self.effects, &mut supply);
        self.program.supply = supply;
        checked("shape", shape, |d| forms::with_map(&d.body).is_none())
    }

    /// Returns `[D f]` as its user wrote it, without names for maps: bound maps of a Jacobian all start from S.
    pub(in crate::derive) fn written_jacobian(&mut self, name: &FunName) -> Result<Def, Error> {
        let jacobian = self.source(&name.derived(Derivative::D))?;
        let Some(function) = jacobian_by_hand::opaque_map(&jacobian.body) else {
            let body = jacobian_by_hand::without_map_names(&jacobian.body);
            return Ok(checked("written", Def { body: renamed(&body, &mut self.program.supply), ..jacobian }, |_| {
                true
            }));
        };
        let reason = format!("[D {name}], written by hand, takes a linear map from `{function}`");
        Err(NotDifferentiable { function: name.clone(), reason }.into())
    }

    /// Returns a derivative of an external function, from the derivatives that the user wrote.
    pub(in crate::derive) fn derivative_of_external(
        &mut self,
        derivative: &Derivative,
        of: &FunName,
        name: &FunName,
    ) -> Result<Def, Error> {
        if *derivative == Derivative::Shape {
            return self.shape_of_external(of);
        }
        let is_written = |mode: Mode| self.written.contains(&of.derived(mode.derivative()));
        let mode = derivative.mode().filter(|mode| *derivative != mode.derivative() && is_written(*mode));
        let Some(mode) = mode else { return Err(Error::external(of, derivative)) };
        match derivative {
            Derivative::Jvp | Derivative::Vjp => self.value_beside(of, mode),
            Derivative::SufRev => self.call_halves(of, Derivative::SufRev),
            Derivative::SufFwdPass => self.first_half_of_external(of, name),
            Derivative::SufRevPass => self.second_half_of_external(of, name),
            // No mode makes the others, or they are written by hand themselves.
            other => unreachable!("no derivative by hand gives [{other} f]"),
        }
    }

    /// Returns `suffwdpass$f(s) = (f(s), s)`.
    fn first_half_of_external(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let value = self.source(of)?;
        let s = Expr::tuple(value.params.iter().map(Expr::var).collect::<Vec<_>>());
        let s = if let [one] = value.params.as_slice() { Expr::var(one) } else { s };
        Ok(Def::new(name.clone(), value.params, Expr::tuple([value.body, s])))
    }

    /// Returns `sufrevpass$f(dr, s) = rev$f(s, dr)`.
    fn second_half_of_external(&mut self, of: &FunName, name: &FunName) -> Result<Def, Error> {
        let reverse = self.source(&of.derived(Derivative::Rev))?;
        let [s, dr] = reverse.params.as_slice() else { panic!("{of}: a reverse derivative takes two") };
        let body = renamed(&reverse.body, &mut self.program.supply);
        Ok(Def::new(name.clone(), vec![dr.clone(), s.clone()], body))
    }

    /// Returns the shape of a value that only the function itself can give.
    fn shape_of_external(&mut self, of: &FunName) -> Result<Def, Error> {
        let value = self.source(of)?;
        let shape = match value.body.ty() {
            ty if ty.has_fixed_shape() => shape::unit(ty),
            _ => shape::of_term(value.body, &mut self.program.supply),
        };
        Ok(Def::new(of.derived(Derivative::Shape), value.params, shape))
    }
}

/// Returns a test for functions that are not derived: some derivative is written by hand, or the function is external.
pub(in crate::derive) fn by_hand(
    written: &FxHashSet<FunName>,
    externals: &IndexMap<FunName, Arc<Fun>>,
) -> impl Fn(&FunName) -> bool {
    |f| externals.contains_key(f) || [Mode::Forward, Mode::Reverse].iter().any(|mode| is_replaced(f, *mode, written))
}

/// Returns whether the user wrote the derivatives of a function in a mode.
pub(in crate::derive) fn is_replaced(f: &FunName, mode: Mode, written: &FxHashSet<FunName>) -> bool {
    let mut replacing = Derivative::all().filter(|derivative| derivative.replaces(mode));
    replacing.any(|derivative| written.contains(&f.derived(derivative)))
}

/// Returns the tangent of a part of the argument at a path: the given one where it varies, zero where nothing of it
/// does.
fn embedded(e: &Expr, path: &[usize], varying: &[Path], given: &impl Fn(usize) -> Expr) -> Expr {
    if let Some(k) = varying.iter().position(|v| v == path) {
        return given(k);
    }
    if !varying.iter().any(|v| v.starts_with(path)) {
        return Expr::prim(Prim::ZeroOf, [Expr::witness(e)]);
    }
    let n = e.ty().as_tuple().expect("a path leads through tuples").len();
    let component = |i| embedded(&Expr::get(i, e.clone()), &[path, &[i]].concat(), varying, given);
    Expr::tuple((1..=n).map(component).collect::<Vec<_>>())
}
