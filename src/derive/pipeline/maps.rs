//! Runs the passes on linear maps: the Jacobian, its simplification, its transposition, its application to a vector.
//!
//! ```text
//! f --anf--> f --jacobian--> Df --simplify--> Df --apply--> fwd$f
//!                                             Df --transpose--> Rf --apply--> rev$f
//! ```
//!
//! Takes and gives: definitions.

use super::argument::whole_argument;
use super::{Error, Pipeline, checked};
use crate::derive::Derivation;
use crate::derive::figures::checkpoints::segments::Checkpoints;
use crate::derive::figures::fig06_jacobian::jacobian;
use crate::derive::figures::fig09_11_category as category;
use crate::derive::forms;
use crate::derive::passes::arrays::arrays;
use crate::derive::passes::{anf, apply, dce, inline_single_uses, simplify, transpose};
use crate::derive::schedule::strategy;
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::rewrites::Rewrites;
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Mode, Pattern, Supply, Var};

/// The steps of rewriting that a definition may take, per node of it, before it is a divergence.
const FUEL_PER_NODE: usize = 1_000;

impl Pipeline {
    pub(in crate::derive) fn normal(&mut self, def: &Def) -> Def {
        let mut normal = self.anf(def);
        if self.derivation_of(&def.fun.name) == Derivation::Split {
            let supply = &mut self.program.supply;
            let through = || category::back(&category::prune(&category::convert(&normal)), supply);
            normal = self.watch.pass("category", &normal, through);
        }
        checked("anf", normal, |d| forms::not_normal(&d.body).is_none())
    }

    pub(in crate::derive) fn anf(&mut self, def: &Def) -> Def {
        let supply = &mut self.program.supply;
        self.watch.steps("anf", def, supply, |supply, rewrites| anf::anf(def, supply, rewrites))
    }

    /// Returns the Jacobian of a definition in normal form.
    pub(in crate::derive) fn jacobian(&mut self, normal: &Def) -> Result<Def, Error> {
        let effects = self.effects.clone();
        self.jacobian_with(normal, Checkpoints { option: self.checkpoint, effects: Some(&effects) })
    }

    /// Returns the Jacobian of a definition in normal form, which reads all states of folds.
    pub(in crate::derive) fn jacobian_of_states(&mut self, normal: &Def) -> Result<Def, Error> {
        self.jacobian_with(normal, Checkpoints::default())
    }

    fn jacobian_with(&mut self, normal: &Def, checkpoints: Checkpoints) -> Result<Def, Error> {
        let by_hand = super::written::by_hand(&self.written, &self.program.externals);
        let supply = &mut self.program.supply;
        let jacobian = self.watch.fallible("jacobian", || jacobian(normal, supply, &by_hand, checkpoints))?;
        Ok(checked("jacobian", jacobian, |d| d.body.ty().as_lm().is_some()))
    }

    /// Applies the laws of a schedule, then removes dead code and names that are used once.
    pub(in crate::derive) fn simplified(&mut self, def: &Def, schedule: &str) -> Result<Def, Error> {
        let def = self.rewriting("simplify", def, |cx| simplify::simplify(def, strategy(schedule), cx))?;
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
        let by = strategy("transpose");
        self.rewriting("transpose", later, |cx| transpose::transpose(&jacobian, name.clone(), by, cx))
    }

    /// Applies the laws of arrays of a schedule.
    pub(in crate::derive) fn with_arrays_fused(&mut self, def: &Def, schedule: &str) -> Result<Def, Error> {
        let effects = self.effects.clone();
        self.rewriting("arrays", def, |cx| arrays(def, strategy(schedule), &effects, cx))
    }

    /// Pushes applications to the leaves, until no map is left.
    pub(in crate::derive) fn apply(&mut self, def: &Def) -> Result<Def, Error> {
        self.rewriting("apply", def, |cx| apply::apply(def, strategy("apply"), cx))
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

    /// Runs a pass with a rewriter that has fuel for a definition.
    pub(in crate::derive) fn rewriting(
        &mut self,
        pass: &'static str,
        def: &Def,
        f: impl Fn(&mut Rewriter) -> Result<Def, OutOfFuel>,
    ) -> Result<Def, Error> {
        let fuel = FUEL_PER_NODE * (def.body.size() + 100);
        let run = |supply: &mut Supply, rewrites: &mut Rewrites| f(&mut Rewriter::new(supply, rewrites, fuel));
        let result = self.watch.rewrites(pass, def, &mut self.program.supply, run);
        result.map_err(|source| Error::OutOfFuel { function: def.fun.name.clone(), source })
    }
}
