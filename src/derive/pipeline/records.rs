//! Makes reverse derivatives that read a record of the value, for the derivations `tupled` and `split`.
//!
//! ```text
//! f --anf--> f --recorded--> values, map --simplify, transpose, apply--> values, cotangents
//!
//! vjp$f(s, dr)        = let values in (y, cotangents)          rev$f: the same without y
//! suffwdpass$f(s)     = let values in (y, record)              sufrevpass$f(dr, record) = cotangents
//! rev$f(s, dr)        = let (y, r) = suffwdpass$f(s) in sufrevpass$f(dr, r)               of `split`
//! ```
//!
//! Source: working notes, sec. 5.4 and 6.1.

use super::argument::whole_argument;
use super::halves::Halves;
use super::pass::Work;
use super::share::MERGE_ROUNDS;
use super::{Error, Pipeline, checked};
use crate::derive::Derivation;
use crate::derive::figures::fig09_11_category as category;
use crate::derive::figures::records::plan::plan_elsewhere;
use crate::derive::figures::records::{Callees, Failure, Record, Recorded, components, recorded};
use crate::derive::forms;
use crate::derive::partial_eval::{self, depends_on};
use crate::derive::passes::{dead_components, simplify, transpose};
use crate::derive::schedule::Strategies;
use lm::prim::Prim;
use lm::rewriter::{OutOfFuel, Rewriter};
use lm::scope::{free_variables, renamed};
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Mode, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// A map and the values that it reads.
pub(in crate::derive) struct Recording {
    fun: Arc<Fun>,
    params: Vec<Var>,
    /// The bindings of the values.
    values: Vec<Binding>,
    /// The value of the function, an atom.
    value: Expr,
    map: Expr,
}

impl Recording {
    /// Returns the bindings of the values, and the value of the function.
    pub(in crate::derive) fn values(&self) -> (Vec<Binding>, Expr) {
        (self.values.clone(), self.value.clone())
    }

    /// Returns the variables that the map reads: the record, X.
    fn read(&self) -> Vec<Var> {
        free_variables(&Expr::tuple([self.map.clone(), self.argument()]))
    }

    /// `revf$f : S -> (T, X)`.
    fn forward_half(&self) -> Def {
        let record: Vec<Expr> = self.read().iter().map(Expr::var).collect();
        let result = Expr::tuple([self.value.clone(), Expr::tuple(record)]);
        let body = Expr::block(self.values.clone(), result);
        Def::new(half("revf", &self.fun.name), self.params.clone(), body)
    }

    /// `revr$f : (X, dT) -> dS`.
    fn reverse_half(&self, dr: Var) -> Def {
        let body = Expr::prim(Prim::LmApply, [self.map.clone(), Expr::var(&dr)]);
        Def::new(half("revr", &self.fun.name), [self.read(), vec![dr]].concat(), body)
    }

    /// Returns a witness of the parts of the argument that vary.
    fn argument(&self) -> Expr {
        let params: Vec<Expr> = self.params.iter().map(Expr::var).collect();
        Expr::witness(&self.fun.varying_of(&params))
    }
}

impl Pipeline {
    /// Returns whether the reverse derivatives of a function come with records. A reverse derivative, half or Jacobian
    /// that is written by hand is used as it is.
    pub(in crate::derive) fn has_records(&self, of: &FunName) -> bool {
        let records = matches!(self.derivation_of(of), Derivation::Tupled | Derivation::Split);
        let of = of.unrestricted();
        records && !super::written::is_replaced(&of, Mode::Reverse, &self.written)
    }

    /// Returns whether the reverse derivatives of a function keep what the value computed, by any derivation.
    pub(in crate::derive) fn keeps_values(&self, of: &FunName) -> bool {
        self.has_records(of) || self.is_unary(of)
    }

    /// Returns the Jacobian with values that record the needs of the map.
    pub(in crate::derive) fn record_values(&mut self, work: Work, of: &FunName) -> Result<Work, Error> {
        let normal = work.def;
        let Recorded { values, value, map } =
            self.recorded_parts(&normal, &|supply, callees| recorded(&normal, supply, callees))?;
        let body = Expr::block(values.clone(), map.clone());
        let def = Def::new(of.derived(Derivative::D), normal.params.clone(), body);
        let recording = Some(Recording { fun: normal.fun, params: normal.params, values, value, map });
        Ok(Work { def, recording, ..work })
    }

    /// Returns the forward half in the category language, by the rules on it, with the reverse half as a map.
    pub(in crate::derive) fn split_category(&mut self, work: Work) -> Result<Work, Error> {
        let (normal, split) = (&work.def, work.category());
        let Recorded { values, value, map } =
            self.recorded_parts(normal, &|supply, callees| category::forward::split(split, supply, callees))?;
        let (fun, params) = (normal.fun.clone(), normal.params.clone());
        let recording = Recording { fun, params, values, value, map };
        let def = recording.forward_half();
        let category = category::prune(&category::convert(&def));
        Ok(Work { def, category: Some(category), recording: Some(recording), unary: None })
    }

    /// Returns the reverse half in the category language.
    pub(in crate::derive) fn reverse_category(&mut self, work: Work) -> Work {
        let dr = self.program.supply.fresh("dr", work.recording().fun.result.tangent());
        let def = work.recording().reverse_half(dr);
        let category = category::prune(&category::convert(&def));
        Work { def, category: Some(category), ..work }
    }

    /// Pushes the transposition of the Jacobians of single operators to the leaves.
    pub(in crate::derive) fn transpose_leaves(&mut self, def: &Def) -> Result<Def, Error> {
        let strategies = self.strategies.clone();
        self.rewriting("transpose", "reverse-half", def, |by, cx| {
            let def = Def { body: transposed_leaves(&def.body, &strategies, cx)?, ..def.clone() };
            simplify::simplify(&def, by, cx)
        })
    }

    fn recorded_parts(
        &mut self,
        normal: &Def,
        make: &dyn Fn(&mut Supply, &Callees) -> Result<Recorded, Failure>,
    ) -> Result<Recorded, Error> {
        let mut records = FxHashMap::default();
        loop {
            let (written, externals) = (&self.written, &self.program.externals);
            let has = |f: &FunName, derivative| written.contains(&f.derived(derivative));
            let halves = |f: &FunName| has(f, Derivative::SufRevPass) && !has(f, Derivative::Rev);
            let by_hand =
                |f: &FunName| externals.contains_key(f) || super::written::is_replaced(f, Mode::Reverse, written);
            let callees = Callees {
                by_hand: &by_hand,
                halves_by_hand: &halves,
                records: &records,
                effects: &self.effects,
                updates: &self.updates,
                checkpoint: self.checkpoint,
            };
            let supply = &mut self.program.supply;
            let mut parts = None;
            let run = || {
                let found = parts.insert(make(supply, &callees)?);
                let block = Expr::block(found.values.clone(), found.map.clone());
                Ok(Def::new(normal.fun.name.derived(Derivative::D), normal.params.clone(), block))
            };
            match self.watch.fallible("recorded", run) {
                Ok(jacobian) => {
                    checked("recorded", jacobian, |d| d.body.ty().as_lm().is_some());
                    return Ok(parts.expect("it was made"));
                }
                Err(Failure::NotDifferentiable(why)) => return Err(why.into()),
                Err(Failure::Unknown(names)) => {
                    for name in names {
                        let ty = self.record(&name)?;
                        let record = match (&ty, self.program.defs.get(&name.derived(Derivative::SufFwdPass))) {
                            (Type::Record(_), _) | (_, None) => Record::opaque(ty),
                            (_, Some(first)) => Record::of(first),
                        };
                        records.insert(name, record);
                    }
                }
            }
        }
    }

    /// Returns the map, as a function of the parameters of f and the values that it reads.
    pub(in crate::derive) fn map_alone(&mut self, work: &Work) -> Def {
        let recording = work.recording();
        Def::new(alone(&recording.fun.name, "map"), recording.read(), recording.map.clone())
    }

    /// Pushes the transposition of the map to the leaves.
    pub(in crate::derive) fn transpose_map(&mut self, work: &Work) -> Result<Def, Error> {
        let (map, recording) = (&work.def, work.recording());
        let (argument, name) = (recording.argument(), alone(&recording.fun.name, "transposed"));
        let later = Def::new(name.clone(), map.params.clone(), Expr::prim(Prim::LmTranspose, [map.body.clone()]));
        self.rewriting("transpose", "transpose", &later, |by, cx| {
            transpose::transpose_from(map, name.clone(), argument.clone(), by, cx)
        })
    }

    /// Returns `mapᵀ ⊙ dr`: dr is the last parameter.
    pub(in crate::derive) fn apply_map(&mut self, work: &Work) -> Def {
        let (map, recording) = (&work.def, work.recording());
        let dr = self.program.supply.fresh("dr", recording.fun.result.tangent());
        let params = [map.params.clone(), vec![dr.clone()]].concat();
        let body = Expr::prim(Prim::LmApply, [map.body.clone(), Expr::var(&dr)]);
        let body = renamed(&body, &mut self.program.supply);
        Def::new(alone(&recording.fun.name, "reverse"), params, body)
    }

    /// Returns the pair of value and cotangent as one block, in which all that the value needs comes first.
    pub(in crate::derive) fn with_values(&mut self, work: &Work, of: &FunName) -> Def {
        let (reverse, recording) = (&work.def, work.recording());
        let dr = reverse.params.last().expect("the cotangent is a parameter").clone();
        let supply = &mut self.program.supply;
        let (s, unpack) = whole_argument(&recording.params, supply);
        let ds = supply.fresh("ds", reverse.body.ty().clone());
        let last = Binding { pattern: Pattern::Var(ds.clone()), rhs: reverse.body.clone() };
        let result = Expr::tuple([recording.value.clone(), Expr::var(&ds)]);
        let body = Expr::block([unpack, recording.values.clone(), vec![last]].concat(), result);
        checked("recorded", Def::new(of.derived(Derivative::Vjp), vec![s, dr], body), |d| {
            forms::with_map(&d.body).is_none()
        })
    }

    /// Returns the cotangent alone, of the pair.
    pub(in crate::derive) fn cotangent(&mut self, both: &Def, of: &FunName) -> Def {
        let (bindings, result) = both.body.as_block();
        let cotangent = Expr::block(bindings.to_vec(), pair(result)[1].clone());
        Def::new(of.derived(Derivative::Rev), both.params.clone(), cotangent)
    }

    /// Does the same as `shared`, but merges nothing, since nothing is computed twice.
    pub(in crate::derive) fn shared_values(&mut self, def: &Def) -> Def {
        let mut def = self.with_literal_zeros(def);
        for _ in 0..MERGE_ROUNDS {
            let before = def.clone();
            def = self.anf(&def);
            def = self.cse(&def);
            let supply = &mut self.program.supply;
            def = self.watch.steps("dead_components", &def, supply, |supply, rewrites| {
                dead_components::dead_components(&def, supply, rewrites)
            });
            def = self.without_dead(&def);
            if def == before {
                break;
            }
        }
        def
    }

    /// Returns `[suffwdpass f]` and `[sufrevpass f]`: before the cotangent is known, and after.
    pub(in crate::derive) fn recorded_halves(&mut self, both: &Def, of: &FunName) -> Result<Halves, Error> {
        // The places at which the arguments of the first halves are known.
        let both = self.with_destinations(both);
        let body = renamed(&both.body, &mut self.program.supply);
        let (bindings, result) = body.as_block();
        let (s, dr) = (both.params[0].clone(), both.params[1].clone());
        let [value, cotangent] = pair(result);
        // Values that only the cotangent needs may be on either side. Chooses the side with the smaller record.
        let cuts = [early(bindings, &dr), self.split_needed(bindings, &value, &dr)];
        let cuts = cuts.map(|(forward, reverse)| {
            let reader = Expr::block(reverse, cotangent.clone());
            let plan = plan_elsewhere(std::slice::from_ref(&s), &forward, &reader, &[]);
            (forward, reader, plan)
        });
        let (forward, reader, plan) =
            cuts.into_iter().min_by_key(|(_, _, plan)| components(&plan.record)).expect("two");
        // The copies have binders of their own.
        let reader = renamed(&Expr::block(plan.again, reader), &mut self.program.supply);
        let (reverse, cotangent) = reader.as_block();
        let result = Expr::tuple([value, cotangent.clone()]);
        self.in_halves(of, s, dr, partial_eval::Halves { forward, reverse: reverse.to_vec(), result })
    }

    /// Returns the bindings that a value needs, or that have an effect before a variable is known; and all others.
    fn split_needed(&self, bindings: &[Binding], value: &Expr, late: &Var) -> (Vec<Binding>, Vec<Binding>) {
        let (known, late) = early(bindings, late);
        let mut needed: FxHashSet<u32> = free_variables(value).iter().map(Var::id).collect();
        let (mut forward, mut again) = (Vec::new(), Vec::new());
        for b in known.into_iter().rev() {
            let is_needed = b.pattern.vars().iter().any(|x| needed.contains(&x.id())) || self.effects.in_term(&b.rhs);
            needed.extend(free_variables(&b.rhs).iter().filter(|_| is_needed).map(Var::id));
            if is_needed { forward.push(b) } else { again.push(b) }
        }
        forward.reverse();
        (forward, again.into_iter().rev().chain(late).collect())
    }
}

/// Returns the bindings that do not depend on a variable, and those that do.
fn early(bindings: &[Binding], late: &Var) -> (Vec<Binding>, Vec<Binding>) {
    let mut late = FxHashSet::from_iter([late.id()]);
    bindings.iter().cloned().partition(|b| {
        let is_late = depends_on(&b.rhs, &late);
        late.extend(b.pattern.vars().iter().filter(|_| is_late).map(Var::id));
        !is_late
    })
}

/// Returns the components of a pair that a block gives.
fn pair(e: &Expr) -> [Expr; 2] {
    match e.args_of(&Op::Tuple) {
        Some([a, b]) => [a.clone(), b.clone()],
        _ => [Expr::get(1, e.clone()), Expr::get(2, e.clone())],
    }
}

/// Transposes the blocks in a term that are transposed as a whole: each is a Jacobian of its own.
fn transposed_leaves(e: &Expr, strategies: &Strategies, cx: &mut Rewriter) -> Result<Expr, OutOfFuel> {
    if let Some([m]) = e.args_of_prim(Prim::LmTranspose)
        && matches!(m.kind(), Kind::Let(..))
    {
        let (domain, _) = m.ty().as_lm().expect("a map");
        let jacobian = Def::new(FunName::base("leaf"), Vec::new(), m.clone());
        let jacobian = simplify::simplify(&jacobian, strategies.strategy("jacobian"), cx)?;
        let (name, to) = (jacobian.fun.name.clone(), Expr::dummy(domain.clone()));
        let by = strategies.strategy("transpose");
        return transpose::transpose_from(&jacobian, name, to, by, cx).map(|def| def.body);
    }
    let mut failure = None;
    let new = e.map_children(|child| {
        transposed_leaves(child, strategies, cx).unwrap_or_else(|error| {
            failure = Some(error);
            child.clone()
        })
    });
    failure.map_or(Ok(new), Err)
}

/// Returns the name of a half in the category language: `revf$f`.
fn half(which: &str, of: &FunName) -> FunName {
    let derivations = of.derivations.iter().map(Derivative::to_string);
    let words = std::iter::once(which.to_string()).chain(derivations).chain([of.base.to_string()]);
    FunName::base(&words.collect::<Vec<_>>().join("$"))
}

/// Returns the name of the map of a function while its values are parameters.
fn alone(of: &FunName, what: &str) -> FunName {
    let words = of.derivations.iter().map(Derivative::to_string).chain([of.base.to_string(), what.into()]);
    FunName::base(&words.collect::<Vec<_>>().join("$"))
}
