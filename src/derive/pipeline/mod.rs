//! The pipeline: from a checked program to the derivatives that are asked for.
//!
//!   f --anf--> f --jacobian--> Df --simplify--> Df --apply--> fwd$f --cse--> fwd$f
//!                                               Df --transpose--> Rf --apply--> rev$f --cse--> rev$f
//!
//! Every stage is a definition of its own, kept for the demo. In debug builds each is checked again:
//! scoping, and what the stage promises (its postcondition).

mod category;
mod combine;
mod error;
mod forward;
mod given;
mod recorded;
mod sharing;
mod stages;
mod watch;

pub use error::Error;
pub use stages::{HEADINGS, Stage};
pub use watch::{Observer, Pass};

use crate::derive::Derivation;
use crate::derive::call_order;
use crate::derive::figures::fig06_jacobian::jacobian;
use crate::derive::figures::fig07_08_pairs::Form;
use crate::derive::figures::fig09_11_category as cl;
use crate::derive::passes::rules::EndlessRule;
use crate::derive::passes::{anf, apply, dce, inline_single_uses, simplify, transpose, zeros_of_empty_sums};
use crate::derive::schedule::strategy;
use crate::ks::check::Checked;
use indexmap::IndexMap;
use lm::effect::Effects;
use lm::notation::infix;
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter, Step};
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Mode, Pattern, Program, Supply, Var};
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
    pub(in crate::derive) program: Program,
    /// Definitions of the prelude that the program does not call so far.
    pub(in crate::derive) prelude: IndexMap<FunName, Def>,
    pub(in crate::derive) effects: Effects,
    /// The derivation by which derivatives are made, where the program does not choose one.
    pub(in crate::derive) derivation: Derivation,
    /// The functions for which it does.
    pub(in crate::derive) chosen: IndexMap<FunName, Derivation>,
    pub(in crate::derive) trace: bool,
    pub(in crate::derive) watch: Watch,
    /// The optimised Jacobians, which fwd and rev share.
    pub(in crate::derive) jacobians: HashMap<FunName, Def>,
    /// The derivatives before sharing, which their combinations with the value start from.
    pub(in crate::derive) applied: HashMap<FunName, Def>,
    /// Values with reverse derivatives that read their records.
    pub(in crate::derive) recorded: HashMap<FunName, Def>,
    pub(in crate::derive) in_progress: Vec<FunName>,
    /// Functions of which all that they call has been made, or is being made.
    pub(in crate::derive) closed: HashSet<FunName>,
    /// The functions of the source text: a derivative among them was written by its user.
    pub(in crate::derive) written: HashSet<FunName>,
    pub(in crate::derive) endless: Vec<EndlessRule>,
    /// The functions that call derivatives of themselves.
    pub(in crate::derive) deriving_themselves: HashSet<FunName>,
}

impl Pipeline {
    /// A pipeline for a checked program.
    pub fn new(checked: Checked) -> Pipeline {
        let Checked { program, prelude, derivation, chosen, .. } = checked;
        let effects = Effects::of(&program);
        let written = program.defs.keys().chain(program.externals.keys()).cloned().collect();
        let deriving_themselves = call_order::deriving_themselves(&program);
        let mut pipeline = Pipeline {
            program,
            prelude,
            effects,
            derivation,
            chosen,
            trace: false,
            watch: Watch::default(),
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
        self.watch = Watch { timings, observer };
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
        let base = name.as_written();
        self.chosen.get(&base).copied().unwrap_or(self.derivation)
    }

    pub(in crate::derive) fn derive(&mut self, name: &FunName) -> Result<(), Error> {
        let (derivative, of) = name.underived().ok_or_else(|| Error::Undefined(name.clone()))?;
        let source = of.as_written();
        if self.deriving_themselves.contains(&source) && !matches!(derivative, Derivative::Shape | Derivative::Cl) {
            return Err(Error::OfItself(source));
        }
        assert!(!self.in_progress.contains(name), "the derivation of {name} needs itself");
        self.in_progress.push(name.clone());
        let made = self.derive_now(&derivative, &of, name);
        self.in_progress.pop();
        let def = self.placed(made?);
        self.program.defs.insert(name.clone(), def);
        Ok(())
    }

    /// The derivative of a function: what has no place in the source is where the function is.
    pub(in crate::derive) fn placed(&self, def: Def) -> Def {
        let base = def.fun.name.as_written();
        match self.program.defs.get(&base) {
            Some(of) => Def { body: def.body.placed_throughout(of.body.span()), ..def },
            None => def,
        }
    }

    pub(in crate::derive) fn derive_now(
        &mut self,
        derivative: &Derivative,
        of: &FunName,
        name: &FunName,
    ) -> Result<Def, Error> {
        self.source(of)?;
        match derivative {
            Derivative::Wrt(_) => return self.restricted(of, name),
            Derivative::Cl => return self.through_cl(of, name),
            Derivative::Grad | Derivative::Hvp | Derivative::Hess => return self.dense(derivative, of, name),
            Derivative::Jac | Derivative::JacFwd | Derivative::JacRev => return self.dense(derivative, of, name),
            _ if self.program.externals.contains_key(of) => return self.derivative_of_external(derivative, of, name),
            Derivative::Shape => return self.shape(of),
            _ => {}
        }
        if self.has_records(of)
            && self.symmetry(of, Mode::Reverse)?.is_none()
            && let Some(def) = self.recorded_derivative(derivative, of)?
        {
            return Ok(def);
        }
        match derivative {
            Derivative::D => self.jacobian(of),
            Derivative::Dt => self.transposed(of),
            Derivative::Tupled => Ok(self.paired_optimised(of, Form::Tupled)?.0),
            Derivative::Polymorphic => Ok(self.paired_optimised(of, Form::Polymorphic)?.0),
            Derivative::Fwd | Derivative::Rev => {
                let mode = if *derivative == Derivative::Fwd { Mode::Forward } else { Mode::Reverse };
                let applied = self.applied(of, mode)?;
                self.finished(&applied)
            }
            Derivative::Jvp | Derivative::Vjp => {
                let mode = if *derivative == Derivative::Jvp { Mode::Forward } else { Mode::Reverse };
                match self.value_by_symmetry(of, mode)? {
                    Some(both) => self.finished(&both),
                    None => self.value_and(of, mode, name),
                }
            }
            Derivative::SufFwdPass => Ok(self.split(of)?.0),
            Derivative::SufRevPass => Ok(self.split(of)?.1),
            Derivative::SufRev => self.both_halves(of, Derivative::SufRev),
            Derivative::Wrt(_) | Derivative::Cl | Derivative::Shape => unreachable!("made above"),
            Derivative::Grad | Derivative::Hvp | Derivative::Hess => unreachable!("made above"),
            Derivative::Jac | Derivative::JacFwd | Derivative::JacRev => unreachable!("made above"),
        }
    }

    /// The function that is differentiated, itself derived first if need be. One that is implemented
    /// elsewhere is a call of itself.
    pub(in crate::derive) fn source(&mut self, name: &FunName) -> Result<Def, Error> {
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

    pub(in crate::derive) fn rewriting(
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

    pub(in crate::derive) fn normal_form(&mut self, name: &FunName) -> Result<Def, Error> {
        let def = self.source(name)?;
        Ok(self.normal(&def))
    }

    pub(in crate::derive) fn normal(&mut self, def: &Def) -> Def {
        let mut normal = self.watch.pass("anf", || anf::anf(def, &mut self.program.supply));
        if self.derivation_of(&def.fun.name) == Derivation::Split {
            let supply = &mut self.program.supply;
            normal = self.watch.pass("category", || cl::back(&cl::prune(&cl::convert(&normal)), supply));
        }
        checked("anf", normal, |d| anf::is_anf(&d.body))
    }

    pub(in crate::derive) fn jacobian_unoptimised(&mut self, name: &FunName) -> Result<Def, Error> {
        let def = self.differentiable(name)?;
        let normal = self.normal(&def);
        let by_hand = by_hand(&self.written, &self.program.externals);
        let supply = &mut self.program.supply;
        let jacobian = self.watch.fallible("jacobian", || jacobian(&normal, supply, &by_hand))?;
        Ok(checked("jacobian", jacobian, |d| d.body.ty().as_lm().is_some()))
    }

    /// The optimised Jacobian.
    pub(in crate::derive) fn jacobian(&mut self, name: &FunName) -> Result<Def, Error> {
        if let Some(def) = self.jacobians.get(name) {
            return Ok(def.clone());
        }
        let unoptimised = match self.written.contains(&name.derived(Derivative::D)) {
            true => self.written_jacobian(name)?,
            false => self.jacobian_unoptimised(name)?,
        };
        let (def, _) = self.simplified(&unoptimised, "jacobian")?;
        self.jacobians.insert(name.clone(), def.clone());
        Ok(def)
    }

    pub(in crate::derive) fn simplified(&mut self, def: &Def, schedule: &str) -> Result<(Def, Vec<Step>), Error> {
        let (def, steps) =
            self.rewriting("simplify", def, |def, cx| simplify::simplify(def, strategy(schedule), cx))?;
        let def = self.watch.pass("dce", || dce::dce(&def, &self.effects));
        let def = self.watch.pass("inline_single_uses", || inline_single_uses::inline_single_uses(&def, &self.effects));
        Ok((checked("simplify", def, |_| true), steps))
    }

    pub(in crate::derive) fn transposed_unoptimised(&mut self, name: &FunName) -> Result<Def, Error> {
        let jacobian = self.jacobian(name)?;
        let body = Expr::prim(Prim::LmTranspose, [jacobian.body.clone()]);
        Ok(Def::new(name.derived(Derivative::Dt), jacobian.params.clone(), body))
    }

    pub(in crate::derive) fn transposed(&mut self, name: &FunName) -> Result<Def, Error> {
        Ok(self.transposed_with_steps(name)?.0)
    }

    pub(in crate::derive) fn transposed_with_steps(&mut self, name: &FunName) -> Result<(Def, Vec<Step>), Error> {
        let jacobian = self.jacobian(name)?;
        let transposed = name.derived(Derivative::Dt);
        let (def, mut steps) = self.rewriting("transpose", &jacobian, |def, cx| {
            transpose::transpose(def, transposed, strategy("transpose"), cx)
        })?;
        let (def, more) = self.simplified(&checked("transpose", def, |_| true), "transpose")?;
        steps.extend(more);
        Ok((def, steps))
    }

    /// `fwd$f(s, ds) = ∂f(s) ⊙ ds`.
    pub(in crate::derive) fn forward_unoptimised(&mut self, name: &FunName) -> Result<Def, Error> {
        let jacobian = self.jacobian(name)?;
        let vector = if jacobian.params.len() == 1 { "dx" } else { "ds" };
        Ok(self.applied_to(&jacobian, name, Mode::Forward, vector))
    }

    /// `rev$f(s, dr) = (∂f(s))ᵀ ⊙ dr`.
    pub(in crate::derive) fn reverse_unoptimised(&mut self, name: &FunName) -> Result<Def, Error> {
        let transposed = self.transposed(name)?;
        Ok(self.applied_to(&transposed, name, Mode::Reverse, "dr"))
    }

    /// A map at a point, as a function of the point and a vector.
    pub(in crate::derive) fn applied_to(&mut self, map: &Def, name: &FunName, mode: Mode, vector: &str) -> Def {
        let supply = &mut self.program.supply;
        let (from, _) = map.body.ty().as_lm().expect("a Jacobian is a linear map");
        let dx = supply.fresh(vector, from.tangent());
        let (s, mut unpack) = whole_argument(&map.params, supply);
        let mut applied_to = Expr::var(&dx);
        if mode == Mode::Forward && name.varying().is_none() && map.params.len() > 1 {
            let d = |p: &Var, supply: &mut Supply| supply.fresh(&format!("d{}", p.name()), p.ty().tangent());
            let parts: Vec<Var> = map.params.iter().map(|p| d(p, supply)).collect();
            applied_to = Expr::tuple(parts.iter().map(Expr::var).collect::<Vec<_>>());
            unpack.push(Binding { pattern: Pattern::Tuple(parts), rhs: Expr::var(&dx) });
        }
        let body = Expr::prim(Prim::LmApply, [map.body.clone(), applied_to]);
        let body = renamed(&Expr::block(unpack, body), supply);
        Def::new(name.derived(mode.derivative()), vec![s, dx], body)
    }

    /// `[fwd f]` or `[rev f]` without linear maps, its calls of derivatives not merged with anything;
    /// as it is where the user wrote it.
    pub(in crate::derive) fn applied(&mut self, of: &FunName, mode: Mode) -> Result<Def, Error> {
        let by_hand = self.written.contains(&of.unrestricted().derived(mode.derivative()));
        if mode == Mode::Forward && self.is_paired(of) && !by_hand && self.symmetry(of, mode)?.is_none() {
            return self.tangent_alone(of);
        }
        self.applied_apart(of, mode)
    }

    /// As [`Pipeline::applied`], by the Jacobian: the value is no part of it.
    pub(in crate::derive) fn applied_apart(&mut self, of: &FunName, mode: Mode) -> Result<Def, Error> {
        let name = of.derived(mode.derivative());
        if self.written.contains(&name) {
            return self.source(&name);
        }
        if let Some(def) = self.applied.get(&name) {
            return Ok(def.clone());
        }
        let whole = of.unrestricted();
        let by_halves = mode == Mode::Reverse && self.written.contains(&whole.derived(Derivative::SufRevPass));
        if of.varying().is_some() && (by_halves || self.written.contains(&whole.derived(mode.derivative()))) {
            return self.restricted_by_hand(of, mode);
        }
        if by_halves {
            return self.both_halves(of, Derivative::Rev);
        }
        if let Some(def) = self.by_symmetry(of, mode)? {
            self.applied.insert(name, def.clone());
            return Ok(def);
        }
        let unoptimised = match mode {
            Mode::Forward => self.forward_unoptimised(of)?,
            Mode::Reverse => self.reverse_unoptimised(of)?,
        };
        let (def, _) = self.applied_with_steps(&unoptimised)?;
        self.applied.insert(name, def.clone());
        Ok(def)
    }

    pub(in crate::derive) fn applied_with_steps(&mut self, def: &Def) -> Result<(Def, Vec<Step>), Error> {
        let (def, mut steps) = self.rewriting("apply", def, |def, cx| apply::apply(def, strategy("apply"), cx))?;
        let def = checked("apply", def, |d| apply::is_free_of_maps(&d.body));
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
    let half = f.derived(Derivative::SufFwdPass);
    pipeline.require(&half)?;
    let fun = &pipeline.program.defs[&half].fun;
    Ok(fun.result.as_tuple().expect("a value and a record")[1].clone())
}

/// `let params = s`, with s their tuple; s is the parameter itself when there is one.
pub(in crate::derive) fn whole_argument(params: &[Var], supply: &mut Supply) -> (Var, Vec<Binding>) {
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
pub(in crate::derive) fn by_hand(
    written: &HashSet<FunName>,
    externals: &IndexMap<FunName, Arc<Fun>>,
) -> impl Fn(&FunName) -> bool {
    |f| externals.contains_key(f) || [Mode::Forward, Mode::Reverse].iter().any(|mode| is_replaced(f, *mode, written))
}

/// Returns whether derivatives of a function in a mode are those that its user wrote.
pub(in crate::derive) fn is_replaced(f: &FunName, mode: Mode, written: &HashSet<FunName>) -> bool {
    let mut replacing = Derivative::ALL.into_iter().filter(|derivative| derivative.replaces(mode));
    replacing.any(|derivative| written.contains(&f.derived(derivative)))
}

/// A pass's result, checked in debug builds.
pub(in crate::derive) fn checked(pass: &str, def: Def, holds: impl FnOnce(&Def) -> bool) -> Def {
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
