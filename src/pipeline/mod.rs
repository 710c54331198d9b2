//! The pipeline: from a checked program to the derivatives that are asked for.
//!
//!   f --anf--> f --jacobian--> Df --simplify--> Df --apply--> fwd$f --cse--> fwd$f
//!                                               Df --transpose--> Rf --apply--> rev$f --cse--> rev$f
//!
//! Every stage is a definition of its own, kept for the demo. In debug builds each is checked again:
//! scoping, and what the stage promises (its postcondition).

mod blocks;
mod category;
mod combine;
mod dense;
mod error;
mod forward;
mod given;
mod inline;
mod nested;
mod recorded;
mod sharing;
mod stages;
mod watch;

pub use error::Error;
pub use stages::{HEADINGS, Stage};
pub use watch::{Observer, Pass};

use crate::call_order;
use crate::cl;
use crate::derivation::Derivation;
use crate::derivation::jacobian::jacobian;
use crate::derivation::paired::Form;
use crate::derive::forms;
use crate::derive::passes::rules::EndlessRule;
use crate::derive::passes::{anf, apply, dce, inline_single_uses, simplify, transpose, zeros_of_empty_sums};
use crate::ks::check::Checked;
use crate::schedule::strategy;
use indexmap::IndexMap;
use lm::effect::Effects;
use lm::notation::infix;
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter, Step};
use lm::scope::renamed;
use lm::term::{Binding, Def, Expr, Fun, FunName, Pattern, Program, Supply, Var, varying};
use lm::timing::Timings;
use lm::types::Type;
use lm::verify;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use watch::Watch;

/// The steps of rewriting that a definition may take, per node of it, before it is a divergence.
const FUEL_PER_NODE: usize = 1_000;

/// Derives functions of one program on demand.
pub struct Pipeline {
    program: Program,
    /// Definitions of the prelude that the program does not call so far.
    prelude: IndexMap<FunName, Def>,
    effects: Effects,
    /// The derivation by which derivatives are made, where the program does not choose one.
    derivation: Derivation,
    /// The functions for which it does.
    chosen: IndexMap<FunName, Derivation>,
    trace: bool,
    watch: Watch,
    /// The optimised Jacobians, which fwd and rev share.
    jacobians: HashMap<FunName, Def>,
    /// The derivatives before sharing, which their combinations with the value start from.
    applied: HashMap<FunName, Def>,
    /// Values with reverse derivatives that read their records.
    recorded: HashMap<FunName, Def>,
    in_progress: Vec<FunName>,
    /// Functions of which all that they call has been made, or is being made.
    closed: HashSet<FunName>,
    /// The functions of the source text: a derivative among them was written by its user.
    written: HashSet<FunName>,
    endless: Vec<EndlessRule>,
    /// The functions that call derivatives of themselves.
    deriving_themselves: HashSet<FunName>,
}

impl Pipeline {
    /// A pipeline for a checked program.
    pub fn new(checked: Checked) -> Pipeline {
        let Checked { program, prelude, derivation, chosen, .. } = checked;
        let effects = Effects::of(&program);
        let written = program.defs.keys().chain(program.externals.keys()).cloned().collect();
        let deriving_themselves = call_order::deriving_themselves(&program);
        let watch = Watch { effects: effects.clone(), ..Watch::default() };
        let mut pipeline = Pipeline {
            program,
            prelude,
            effects,
            derivation,
            chosen,
            trace: false,
            watch,
            jacobians: HashMap::new(),
            applied: HashMap::new(),
            recorded: HashMap::new(),
            in_progress: Vec::new(),
            closed: HashSet::new(),
            written,
            endless: Vec::new(),
            deriving_themselves,
        };
        let defs: Vec<Def> = pipeline.program.defs.values().cloned().collect();
        for def in defs {
            let def = pipeline.ruled(&def);
            pipeline.program.defs.insert(def.fun.name.clone(), def);
        }
        pipeline
    }

    /// Adds the times of passes to a table, and lets an observer see what they make.
    pub fn watch(&mut self, timings: Timings, observer: Option<Observer>) {
        self.watch.timings = timings;
        self.watch.observer = observer;
    }

    /// The program, with the derivatives made so far.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program, with the derivatives made so far.
    pub fn into_program(self) -> Program {
        self.program
    }

    /// Makes the function and all that it calls, directly or not, unless the program has them.
    pub fn require(&mut self, name: &FunName) -> Result<(), Error> {
        if self.program.externals.contains_key(name) {
            return Ok(());
        }
        let def = self.source(name)?;
        if !self.closed.insert(name.clone()) {
            return Ok(());
        }
        let mut called = Vec::new();
        call_order::calls(&def.body, &mut called);
        let result = called.iter().try_for_each(|callee| self.require(callee));
        if result.is_err() {
            // Others may count on this one.
            self.closed.clear();
        }
        result
    }

    /// Makes every derivative that the program itself calls.
    pub fn complete(&mut self) -> Result<(), Error> {
        let names: Vec<FunName> = self.program.defs.keys().cloned().collect();
        names.iter().try_for_each(|name| self.require(name))
    }

    /// The derivation by which the derivatives of a function are made.
    pub fn derivation_of(&self, name: &FunName) -> Derivation {
        let base = FunName { derivations: Vec::new(), ..name.clone() };
        self.chosen.get(&base).copied().unwrap_or(self.derivation)
    }

    fn derive(&mut self, name: &FunName) -> Result<(), Error> {
        let (derivation, of) = underive(name).ok_or_else(|| Error::Undefined(name.clone()))?;
        let source = FunName { derivations: Vec::new(), ..of.clone() };
        if self.deriving_themselves.contains(&source) && !matches!(&*derivation, "shape" | "CL") {
            return Err(Error::OfItself(source));
        }
        assert!(!self.in_progress.contains(name), "the derivation of {name} needs itself");
        self.in_progress.push(name.clone());
        let made = self.derive_now(&derivation, &of, name);
        self.in_progress.pop();
        let def = self.placed(made?);
        self.program.defs.insert(name.clone(), def);
        Ok(())
    }

    /// The derivative of a function: what has no place in the source is where the function is.
    fn placed(&self, def: Def) -> Def {
        let base = FunName { derivations: Vec::new(), ..def.fun.name.clone() };
        match self.program.defs.get(&base) {
            Some(of) => Def { body: def.body.placed_throughout(of.body.span()), ..def },
            None => def,
        }
    }

    fn derive_now(&mut self, derivation: &str, of: &FunName, name: &FunName) -> Result<Def, Error> {
        self.source(of)?;
        if varying(derivation).is_some() {
            return self.restricted(of, name);
        }
        if derivation == "CL" {
            return self.through_cl(of, name);
        }
        if matches!(derivation, "grad" | "hvp" | "hess" | "jac" | "jacfwd" | "jacrev") {
            return self.dense(derivation, of, name);
        }
        if self.program.externals.contains_key(of) {
            return self.derivative_of_external(derivation, of, name);
        }
        if derivation == "shape" {
            return self.shape(of);
        }
        if self.has_records(of)
            && self.symmetry(of, "rev")?.is_none()
            && let Some(def) = self.recorded_derivative(derivation, of)?
        {
            return Ok(def);
        }
        match derivation {
            "D" => self.jacobian(of),
            "Dt" => self.transposed(of),
            "tupled" => Ok(self.paired_optimised(of, Form::Tupled)?.0),
            "polymorphic" => Ok(self.paired_optimised(of, Form::Polymorphic)?.0),
            "fwd" | "rev" => {
                let applied = self.applied(of, derivation)?;
                self.finished(&applied)
            }
            "jvp" | "vjp" => match self.value_by_symmetry(of, derivation)? {
                Some(both) => self.finished(&both),
                None => self.value_and(of, if derivation == "jvp" { "fwd" } else { "rev" }, name),
            },
            "suffwdpass" => Ok(self.split(of)?.0),
            "sufrevpass" => Ok(self.split(of)?.1),
            "sufrev" => self.both_halves(of, derivation),
            other => Err(Error::NoDerivation(other.into())),
        }
    }

    /// The function that is differentiated, itself derived first if need be. One that is implemented
    /// elsewhere is a call of itself.
    fn source(&mut self, name: &FunName) -> Result<Def, Error> {
        if let Some(def) = self.external(name) {
            return Ok(def);
        }
        if let Some(def) = self.prelude.shift_remove(name) {
            self.program.defs.insert(name.clone(), def);
        }
        if !self.program.defs.contains_key(name) {
            self.derive(name)?;
        }
        Ok(self.program.defs[name].clone())
    }

    fn rewriting(
        &mut self,
        pass: &'static str,
        def: &Def,
        f: impl FnOnce(&Def, &mut Rewriter) -> Result<Def, OutOfFuel>,
    ) -> Result<(Def, Vec<Step>), Error> {
        let fuel = FUEL_PER_NODE * (def.body.size() + 100);
        let mut rewriter = Rewriter::new(&mut self.program.supply, fuel);
        rewriter.trace = self.trace.then(Vec::new);
        let result = self.watch.fallible(pass, || f(def, &mut rewriter));
        let steps = rewriter.trace.take().unwrap_or_default();
        let function = || def.fun.name.clone();
        result.map(|r| (r, steps)).map_err(|source| Error::OutOfFuel { function: function(), source })
    }

    fn normal_form(&mut self, name: &FunName) -> Result<Def, Error> {
        let def = self.source(name)?;
        Ok(self.normal(&def))
    }

    fn normal(&mut self, def: &Def) -> Def {
        let mut normal = self.watch.pass("anf", || anf::anf(def, &mut self.program.supply));
        if self.derivation_of(&def.fun.name) == Derivation::Split {
            let supply = &mut self.program.supply;
            normal = self.watch.pass("category", || cl::back(&cl::prune(&cl::convert(&normal)), supply));
        }
        checked("anf", normal, |d| forms::not_normal(&d.body).is_none())
    }

    fn jacobian_unoptimised(&mut self, name: &FunName) -> Result<Def, Error> {
        let def = self.differentiable(name)?;
        let normal = self.normal(&def);
        let by_hand = by_hand(&self.written, &self.program.externals);
        let supply = &mut self.program.supply;
        let jacobian = self.watch.fallible("jacobian", || jacobian(&normal, supply, &by_hand))?;
        Ok(checked("jacobian", jacobian, |d| d.body.ty().as_lm().is_some()))
    }

    /// The optimised Jacobian.
    fn jacobian(&mut self, name: &FunName) -> Result<Def, Error> {
        if let Some(def) = self.jacobians.get(name) {
            return Ok(def.clone());
        }
        let unoptimised = match self.written.contains(&name.derived("D")) {
            true => self.written_jacobian(name)?,
            false => self.jacobian_unoptimised(name)?,
        };
        let (def, _) = self.simplified(&unoptimised, "jacobian")?;
        self.jacobians.insert(name.clone(), def.clone());
        Ok(def)
    }

    fn simplified(&mut self, def: &Def, schedule: &str) -> Result<(Def, Vec<Step>), Error> {
        let (def, steps) =
            self.rewriting("simplify", def, |def, cx| simplify::simplify(def, strategy(schedule), cx))?;
        let def = self.watch.pass("dce", || dce::dce(&def, &self.effects));
        let def = self.watch.pass("inline_single_uses", || inline_single_uses::inline_single_uses(&def, &self.effects));
        Ok((def, steps))
    }

    fn transposed_unoptimised(&mut self, name: &FunName) -> Result<Def, Error> {
        let jacobian = self.jacobian(name)?;
        let body = Expr::prim(Prim::LmTranspose, [jacobian.body.clone()]);
        Ok(Def::new(name.derived("Dt"), jacobian.params.clone(), body))
    }

    fn transposed(&mut self, name: &FunName) -> Result<Def, Error> {
        Ok(self.transposed_with_steps(name)?.0)
    }

    fn transposed_with_steps(&mut self, name: &FunName) -> Result<(Def, Vec<Step>), Error> {
        let jacobian = self.jacobian(name)?;
        let transposed = name.derived("Dt");
        let (def, mut steps) = self.rewriting("transpose", &jacobian, |def, cx| {
            transpose::transpose(def, transposed, strategy("transpose"), cx)
        })?;
        let (def, more) = self.simplified(&def, "transpose")?;
        steps.extend(more);
        Ok((def, steps))
    }

    /// `fwd$f(s, ds) = ∂f(s) ⊙ ds`.
    fn forward_unoptimised(&mut self, name: &FunName) -> Result<Def, Error> {
        let jacobian = self.jacobian(name)?;
        let vector = if jacobian.params.len() == 1 { "dx" } else { "ds" };
        Ok(self.applied_to(&jacobian, name, "fwd", vector))
    }

    /// `rev$f(s, dr) = (∂f(s))ᵀ ⊙ dr`.
    fn reverse_unoptimised(&mut self, name: &FunName) -> Result<Def, Error> {
        let transposed = self.transposed(name)?;
        Ok(self.applied_to(&transposed, name, "rev", "dr"))
    }

    /// A map at a point, as a function of the point and a vector.
    fn applied_to(&mut self, map: &Def, name: &FunName, derivation: &str, vector: &str) -> Def {
        let supply = &mut self.program.supply;
        let (from, _) = map.body.ty().as_lm().expect("a Jacobian is a linear map");
        let dx = supply.fresh(vector, from.tangent());
        let (s, mut unpack) = whole_argument(&map.params, supply);
        let mut applied_to = Expr::var(&dx);
        if derivation == "fwd" && name.varying().is_none() && map.params.len() > 1 {
            let d = |p: &Var, supply: &mut Supply| supply.fresh(&format!("d{}", p.name()), p.ty().tangent());
            let parts: Vec<Var> = map.params.iter().map(|p| d(p, supply)).collect();
            applied_to = Expr::tuple(parts.iter().map(Expr::var).collect::<Vec<_>>());
            unpack.push(Binding { pattern: Pattern::Tuple(parts), rhs: Expr::var(&dx) });
        }
        let body = Expr::prim(Prim::LmApply, [map.body.clone(), applied_to]);
        let body = renamed(&Expr::block(unpack, body), supply);
        Def::new(name.derived(derivation), vec![s, dx], body)
    }

    /// `[fwd f]` or `[rev f]` without linear maps, its calls of derivatives not merged with anything;
    /// as it is where the user wrote it.
    fn applied(&mut self, of: &FunName, derivation: &str) -> Result<Def, Error> {
        let by_hand = self.written.contains(&of.unrestricted().derived(derivation));
        if derivation == "fwd" && self.is_paired(of) && !by_hand && self.symmetry(of, "fwd")?.is_none() {
            return self.tangent_alone(of);
        }
        self.applied_apart(of, derivation)
    }

    /// As [`Pipeline::applied`], by the Jacobian: the value is no part of it.
    fn applied_apart(&mut self, of: &FunName, derivation: &str) -> Result<Def, Error> {
        let name = of.derived(derivation);
        if self.written.contains(&name) {
            return self.source(&name);
        }
        if let Some(def) = self.applied.get(&name) {
            return Ok(def.clone());
        }
        let whole = of.unrestricted();
        let by_halves = derivation == "rev" && self.written.contains(&whole.derived("sufrevpass"));
        if of.varying().is_some() && (by_halves || self.written.contains(&whole.derived(derivation))) {
            return self.restricted_by_hand(of, derivation);
        }
        if by_halves {
            return self.both_halves(of, derivation);
        }
        if let Some(def) = self.by_symmetry(of, derivation)? {
            self.applied.insert(name, def.clone());
            return Ok(def);
        }
        let unoptimised = match derivation {
            "fwd" => self.forward_unoptimised(of)?,
            _ => self.reverse_unoptimised(of)?,
        };
        let (def, _) = self.applied_with_steps(&unoptimised)?;
        self.applied.insert(name, def.clone());
        Ok(def)
    }

    fn applied_with_steps(&mut self, def: &Def) -> Result<(Def, Vec<Step>), Error> {
        let (def, mut steps) = self.rewriting("apply", def, |def, cx| apply::apply(def, strategy("apply"), cx))?;
        let (def, more) = self.simplified(&def, "values")?;
        steps.extend(more);
        Ok((self.placed(def), steps))
    }
}

/// The B of `[suffwdpass f] : S -> (T, B)`, for a function f of a program as the checker leaves it.
///
/// Errors: f has no such derivative.
pub fn record(mut checked: Checked, f: &FunName) -> Result<Type, Error> {
    zeros_of_empty_sums::zeros_of_empty_sums(&mut checked.program);
    let mut pipeline = Pipeline::new(checked);
    let half = f.derived("suffwdpass");
    pipeline.require(&half)?;
    let fun = &pipeline.program.defs[&half].fun;
    Ok(fun.result.as_tuple().expect("a value and a record")[1].clone())
}

/// `let params = s`, with s their tuple; s is the parameter itself when there is one.
fn whole_argument(params: &[Var], supply: &mut Supply) -> (Var, Vec<Binding>) {
    match params {
        [one] => (one.clone(), vec![]),
        many => {
            let s = supply.fresh("s", Type::tuple(many.iter().map(|p| p.ty().clone())));
            let unpack = Binding { pattern: Pattern::Tuple(many.to_vec()), rhs: Expr::var(&s) };
            (s, vec![unpack])
        }
    }
}

/// Tells the functions of which some derivative is written by hand, or that nobody but the user can differentiate.
fn by_hand(written: &HashSet<FunName>, externals: &IndexMap<FunName, Arc<Fun>>) -> impl Fn(&FunName) -> bool {
    const BY_HAND: [&str; 6] = ["fwd", "rev", "D", "Dt", "suffwdpass", "sufrevpass"];
    |f| externals.contains_key(f) || BY_HAND.iter().any(|d| written.contains(&f.derived(d)))
}

fn underive(name: &FunName) -> Option<(String, FunName)> {
    let mut of = name.clone();
    if of.derivations.is_empty() {
        return None;
    }
    let derivation = of.derivations.remove(0);
    Some((derivation.to_string(), of))
}

/// A pass's result, checked in debug builds.
fn checked(pass: &str, def: Def, holds: impl FnOnce(&Def) -> bool) -> Def {
    if cfg!(debug_assertions) {
        const WIDTH: usize = 120;
        let text = || infix::definition(&def, infix::Format::Plain, WIDTH);
        if let Err(why) = verify::scoping(&def) {
            panic!("after pass {pass}: {why}\n{}", text());
        }
        assert!(holds(&def), "after pass {pass}, this does not have the form it promises:\n{}", text());
    }
    def
}
