//! Runs the passes on linear maps: the Jacobian, its simplification, its transposition, its application to a vector.
//!
//! ```text
//! f --anf--> f --jacobian--> Df --simplify--> Df --apply--> fwd$f
//!                                             Df --transpose--> Rf --apply--> rev$f
//! ```
//!
//! Takes and gives: definitions.

use super::argument::whole_argument;
use super::trace::checked as checked_step;
use super::{Error, Pipeline, checked};
use crate::derive::Derivation;
use crate::derive::figures::checkpoints::segments::Checkpoints;
use crate::derive::figures::fig06_jacobian::jacobian;
use crate::derive::figures::fig06_steps;
use crate::derive::figures::fig09_11_category as category;
use crate::derive::forms;
use crate::derive::passes::closed_folds::closed_folds;
use crate::derive::passes::cse::cse_of_term;
use crate::derive::passes::{self, anf, apply, dce, inline_single_uses, simplify, transpose};
use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::rewrites::{Rewrite, Rewrites};
use lm::scope::renamed;
use lm::strategy::{Named, Strategy};
use lm::term::{Binding, Def, Derivative, Expr, FunName, Kind, Mode, Op, Pattern, Program, Supply, Var};

/// The steps of rewriting that a definition may take, per node of it, before it is a divergence.
const FUEL_PER_NODE: usize = 1_000;

impl Pipeline {
    pub(in crate::derive) fn normal(&mut self, def: &Def) -> Def {
        let def = &self.folds_closed(def);
        let normal = self.anf(def);
        let mut normal = self.with_equal_calls_shared(normal);
        if self.derivation_of(&def.fun.name) == Derivation::Split {
            let supply = &mut self.program.supply;
            let through = || category::back(&category::prune(&category::convert(&normal)), supply);
            // It is the same definition, as the trace sees: what comes back is what was converted.
            normal = self.watch.makes("category", through);
        }
        checked("anf", normal, |d| forms::not_normal(&d.body).is_none())
    }

    /// Returns a definition whose folds have states only where a derivative needs them.
    pub(in crate::derive) fn folds_closed(&mut self, def: &Def) -> Def {
        let Program { defs, supply, externals, .. } = &mut self.program;
        let is_by_hand = super::written::by_hand(&self.written, externals);
        let callee = |name: &FunName| defs.get(name).filter(|_| !is_by_hand(name)).cloned();
        self.watch.steps("closed_folds", def, supply, |supply, rewrites| closed_folds(def, &callee, supply, rewrites))
    }

    pub(in crate::derive) fn anf(&mut self, def: &Def) -> Def {
        let supply = &mut self.program.supply;
        self.watch.steps("anf", def, supply, |supply, rewrites| anf::anf(def, supply, rewrites))
    }

    /// Returns a definition in normal form whose equal calls are made once, if there are any. So their cotangents are
    /// added up before the derivative of the call takes them, and what it gives is needed once.
    fn with_equal_calls_shared(&mut self, normal: Def) -> Def {
        let calls = |body: &Expr| {
            let mut count = 0;
            body.visit(|e| count += usize::from(matches!(e.kind(), Kind::App(Op::Call(_), _))));
            count
        };
        let before = calls(&normal.body);
        let has_equal = before > 1 && calls(&cse_of_term(&normal.body, &self.effects)) < before;
        if has_equal { self.cse(&normal) } else { normal }
    }

    /// Returns the Jacobian of a definition in normal form.
    pub(in crate::derive) fn jacobian(&mut self, normal: &Def) -> Result<Def, Error> {
        let (effects, updates) = (self.effects.clone(), self.updates.clone());
        let checkpoints = Checkpoints { option: self.checkpoint, effects: Some(&effects), updates: Some(&updates) };
        self.jacobian_with(normal, checkpoints)
    }

    /// Returns the Jacobian of a definition in normal form, which reads all states of folds.
    pub(in crate::derive) fn jacobian_of_states(&mut self, normal: &Def) -> Result<Def, Error> {
        self.jacobian_with(normal, Checkpoints::default())
    }

    fn jacobian_with(&mut self, normal: &Def, checkpoints: Checkpoints) -> Result<Def, Error> {
        self.trace_jacobian(normal, checkpoints)?;
        let by_hand = super::written::by_hand(&self.written, &self.program.externals);
        let supply = &mut self.program.supply;
        let jacobian = self.watch.fallible("jacobian", || jacobian(normal, supply, &by_hand, checkpoints))?;
        Ok(checked("jacobian", jacobian, |d| d.body.ty().as_lm().is_some()))
    }

    /// Adds the rules of Fig. 6 to the trace. Before each, what is left to do is the Jacobian of a function of the
    /// program.
    fn trace_jacobian(&mut self, normal: &Def, checkpoints: Checkpoints) -> Result<(), Error> {
        if self.watch.trace.is_none() || !normal.fun.name.derivations.is_empty() {
            return Ok(());
        }
        let supply = self.program.supply.clone();
        let mut before = fig06_steps::whole(normal);
        for done in 0..=fig06_steps::steps(normal) {
            let left = self.with_rest(normal, done);
            let by_hand = super::written::by_hand(&self.written, &self.program.externals);
            let after =
                checked_step("jacobian", jacobian(&left, &mut supply.clone(), &by_hand, checkpoints)?, None).body;
            let rewrite = Rewrite { law: fig06_steps::rule(normal, done).into(), instance: None };
            self.watch.trace.iter_mut().for_each(|trace| trace.add("jacobian", rewrite.clone(), &before, &after));
            before = after;
        }
        Ok(())
    }

    /// Returns the function with a call for all that comes after so many steps; adds the function that it calls.
    fn with_rest(&mut self, normal: &Def, done: usize) -> Def {
        if done == fig06_steps::steps(normal) {
            return normal.clone();
        }
        if done == 0 {
            let params = normal.params.iter().map(Expr::var).collect();
            return Def { body: Expr::app(Op::Call(normal.fun.clone()), params), ..normal.clone() };
        }
        let is_taken = |name: &FunName| self.program.defs.contains_key(name);
        let mut names = (done..).map(|i| FunName::base(&format!("{}$rest{i}", normal.fun.name.base)));
        let name = names.find(|name| !is_taken(name)).expect("there is always another number");
        let (left, rest) = fig06_steps::with_rest(normal, done, name, &mut self.program.supply);
        self.program.defs.insert(rest.fun.name.clone(), rest);
        left
    }

    /// Applies the laws of a schedule, then removes dead code and names that are used once.
    pub(in crate::derive) fn simplified(&mut self, def: &Def, schedule: &str) -> Result<Def, Error> {
        let def = self.rewriting("simplify", schedule, def, |by, cx| simplify::simplify(def, by, cx))?;
        let def = self.without_dead(&def);
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        Ok(self.watch.steps("inline_single_uses", &def, supply, |_, rewrites| {
            inline_single_uses::inline_single_uses(&def, effects, rewrites)
        }))
    }

    pub(in crate::derive) fn without_dead(&mut self, def: &Def) -> Def {
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        self.watch.steps("dce", def, supply, |_, rewrites| dce::dce(def, effects, rewrites))
    }

    /// Returns `lmTranspose(∂f(s))`.
    pub(in crate::derive) fn transposed_later(&mut self, jacobian: &Def, of: &FunName) -> Def {
        let body = Expr::prim(Prim::LmTranspose, [jacobian.body.clone()]);
        Def::new(of.derived(Derivative::Dt), jacobian.params.clone(), body)
    }

    /// Pushes the transposition of a Jacobian to the leaves.
    pub(in crate::derive) fn transpose(&mut self, later: &Def, of: &FunName) -> Result<Def, Error> {
        let [map] = later.body.args_of_prim(Prim::LmTranspose).expect("a transposed Jacobian") else {
            panic!("`lmTranspose` takes one map")
        };
        let jacobian = Def::new(of.derived(Derivative::D), later.params.clone(), map.clone());
        let name = of.derived(Derivative::Dt);
        self.rewriting("transpose", "transpose", later, |by, cx| transpose::transpose(&jacobian, name.clone(), by, cx))
    }

    /// Pushes applications to the leaves, until no map is left.
    pub(in crate::derive) fn apply(&mut self, def: &Def) -> Result<Def, Error> {
        self.rewriting("apply", "apply", def, |by, cx| apply::apply(def, by, cx))
    }

    /// Returns a map at a point, as a function of the point and a vector.
    ///
    /// ```text
    /// fwd$f(s, ds) = ∂f(s) ⊙ ds          rev$f(s, dr) = (∂f(s))ᵀ ⊙ dr
    /// ```
    pub(in crate::derive) fn applied_to(&mut self, map: &Def, name: &FunName, mode: Mode) -> Def {
        let vector = match mode {
            Mode::Forward if map.params.len() == 1 => "dx",
            Mode::Forward => "ds",
            Mode::Reverse => "dr",
        };
        let supply = &mut self.program.supply;
        let (from, _) = map.body.ty().as_lm().expect("a Jacobian is a linear map");
        let dx = supply.fresh(vector, from.tangent());
        let (s, mut unpack) = whole_argument(&map.params, supply);
        let mut applied_to = Expr::var(&dx);
        if mode == Mode::Forward && name.varying().is_none() && map.params.len() > 1 {
            let d = |p: &Var, supply: &mut Supply| supply.fresh(&format!("d_{}", p.name()), p.ty().tangent());
            let parts: Vec<Var> = map.params.iter().map(|p| d(p, supply)).collect();
            applied_to = Expr::tuple(parts.iter().map(Expr::var).collect::<Vec<_>>());
            unpack.push(Binding { pattern: Pattern::Tuple(parts), rhs: Expr::var(&dx) });
        }
        let body = Expr::prim(Prim::LmApply, [map.body.clone(), applied_to]);
        let body = renamed(&Expr::block(unpack, body), supply);
        Def::new(name.derived(mode.derivative()), vec![s, dx], body)
    }

    /// Returns `dr ⊙ᴿ ∂f(s)`, as a function of the point and the cotangent.
    pub(in crate::derive) fn applied_from_right(&mut self, map: &Def, name: &FunName) -> Def {
        let supply = &mut self.program.supply;
        let (_, to) = map.body.ty().as_lm().expect("a Jacobian is a linear map");
        let dr = supply.fresh("dr", to.tangent());
        let (s, unpack) = whole_argument(&map.params, supply);
        let body = Expr::prim(Prim::LmApplyR, [Expr::var(&dr), map.body.clone()]);
        let body = renamed(&Expr::block(unpack, body), supply);
        Def::new(name.derived(Derivative::Rev), vec![s, dr], body)
    }

    /// Runs a pass by a strategy, with a rewriter that has fuel for a definition.
    ///
    /// Errors: the strategy does not come to an end, or leaves what the pass promises to remove.
    pub(in crate::derive) fn rewriting(
        &mut self,
        pass: &'static str,
        strategy: &str,
        def: &Def,
        f: impl Fn(&Strategy, &mut Rewriter) -> Result<Def, OutOfFuel>,
    ) -> Result<Def, Error> {
        let strategies = self.strategies.clone();
        let named = strategies.get(strategy).unwrap_or_else(|| panic!("there is no strategy `{strategy}`"));
        self.rewriting_by(pass, named, &named.strategy, def, f)
    }

    /// Does the same as [`Pipeline::rewriting`] by a part of a strategy.
    pub(super) fn rewriting_by(
        &mut self,
        pass: &'static str,
        named: &Named,
        part: &Strategy,
        def: &Def,
        f: impl Fn(&Strategy, &mut Rewriter) -> Result<Def, OutOfFuel>,
    ) -> Result<Def, Error> {
        let fuel = FUEL_PER_NODE * (def.body.size() + 100);
        let (effects, is_changed) = (self.effects.clone(), self.strategies.is_changed());
        let run = |supply: &mut Supply, rewrites: &mut Rewrites| {
            let made = f(part, &mut Rewriter::new(supply, rewrites, fuel));
            let made = made.map_err(|source| Error::out_of_fuel(&def.fun.name, named, source))?;
            // Strategies of lmc leave nothing, which debug builds check.
            if is_changed && !rewrites.is_limited() {
                unfinished(pass, named, &made, &Facts::new(&effects))?;
            }
            Ok(made)
        };
        self.watch.rewrites(pass, def, &mut self.program.supply, run)
    }
}

/// Errors: the postcondition of a pass does not hold.
fn unfinished(pass: &str, named: &Named, made: &Def, facts: &Facts) -> Result<(), Error> {
    let row = passes::named(pass).unwrap_or_else(|| panic!("`{pass}` applies laws, but is not in the table of passes"));
    match (row.violation)(made, facts) {
        None => Ok(()),
        Some(term) => Err(Error::unfinished(&made.fun.name, named, row, &term)),
    }
}
