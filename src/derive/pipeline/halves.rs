//! Puts a value beside its derivative, and cuts the reverse derivative into two halves.
//!
//! ```text
//! jvp$f(s, ds)      = (f(s), fwd$f(s, ds))
//! vjp$f(s, dr)      = (f(s), rev$f(s, dr))
//! suffwdpass$f(s)   = (f(s), r)                  r: what the second half needs of the first
//! sufrevpass$f(dr, r) = ds                       so that rev$f(s, dr) = sufrevpass$f(dr, r)
//! ```
//!
//! Source: working notes, sec. 5.2 and 6.1.

use super::argument::whole_argument;
use super::{Error, Pipeline};
use crate::derive::figures::checkpoints::segments::{Checkpoints, without_checkpoints};
use crate::derive::figures::records::{FLAT_RECORD, components};
use crate::derive::{call_order, partial_eval};
use lm::scope::renamed;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Mode, Op, Pattern, Var};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// The two halves of a reverse derivative.
pub(in crate::derive) struct Halves {
    forward: Def,
    reverse: Def,
}

impl Halves {
    /// Returns the half that a derivative names.
    pub(in crate::derive) fn half(self, derivative: &Derivative) -> Def {
        if *derivative == Derivative::SufRevPass { self.reverse } else { self.forward }
    }
}

impl Pipeline {
    /// Returns `(f(s), d$f(s, v))` as one block. The value shares no work with the derivative so far.
    pub(in crate::derive) fn value_beside(&mut self, of: &FunName, mode: Mode) -> Result<Def, Error> {
        // Simplifies the value like the derivative: only terms of the same form are recognised as equal.
        let source = self.source(of)?;
        let source = if self.is_of_arrays(of) { self.in_arrays(&source)? } else { source };
        let value = self.simplest(source)?;
        let value = match mode {
            Mode::Forward => Def { body: without_checkpoints(&value.body), ..value },
            Mode::Reverse => self.in_segments(value)?,
        };
        let derived = self.unshared(of, &mode.derivative(), self.is_dual(of, mode))?;
        let supply = &mut self.program.supply;
        let (s, v) = (derived.params[0].clone(), derived.params[1].clone());
        let mut bindings = Vec::new();
        let parts = match value.params.as_slice() {
            [_] => vec![Expr::var(&s)],
            many => (1..=many.len()).map(|i| Expr::get(i, Expr::var(&s))).collect(),
        };
        let names = value.params.iter().zip(parts);
        bindings.extend(names.map(|(x, e)| Binding { pattern: Pattern::Var(x.clone()), rhs: e }));
        let y = supply.fresh("y", value.body.ty().clone());
        let dy = supply.fresh("dy", derived.body.ty().clone());
        bindings.push(Binding { pattern: Pattern::Var(y.clone()), rhs: value.body.clone() });
        bindings.push(Binding { pattern: Pattern::Var(dy.clone()), rhs: derived.body.clone() });
        let body = Expr::block(bindings, Expr::tuple([Expr::var(&y), Expr::var(&dy)]));
        let body = renamed(&body, supply);
        Ok(Def::new(of.derived(mode.with_value()), vec![s, v], body))
    }

    /// Returns the value with folds in segments, where its derivative has them so.
    fn in_segments(&mut self, value: Def) -> Result<Def, Error> {
        let normal = self.anf(&value);
        let checkpoints =
            Checkpoints { option: self.checkpoint, effects: Some(&self.effects), updates: Some(&self.updates) };
        let segments = checkpoints.in_segments(&normal, &mut self.program.supply);
        if segments == normal { Ok(value) } else { self.simplest(segments) }
    }

    /// Returns `[suffwdpass f]` and `[sufrevpass f]`, of the value beside the cotangent.
    pub(in crate::derive) fn halves(&mut self, both: &Def, of: &FunName) -> Result<Halves, Error> {
        let both = self.shared(both, &both.params[1..])?;
        // The places at which the arguments of the first halves are known.
        let both = self.with_destinations(&both);
        let (s, dr) = (both.params[0].clone(), both.params[1].clone());
        let supply = &mut self.program.supply;
        let halves = partial_eval::cut(&both.body, FxHashSet::from_iter([dr.id()]), supply);
        self.in_halves(of, s, dr, halves)
    }

    /// Returns the definitions of the two halves, of a pair of value and cotangent that was cut at the cotangent `dr`.
    pub(in crate::derive) fn in_halves(
        &mut self,
        of: &FunName,
        s: Var,
        dr: Var,
        mut halves: partial_eval::Halves,
    ) -> Result<Halves, Error> {
        let supply = &mut self.program.supply;
        let result = halves.result.args_of(&Op::Tuple).expect("the value beside the cotangent").to_vec();
        halves.result = result[1].clone();
        partial_eval::copy_trivial(&mut halves, supply);
        let bound = halves.forward.iter().flat_map(|b| b.pattern.vars().to_vec());
        let known: Vec<Var> = std::iter::once(s.clone()).chain(bound).collect();
        let record = partial_eval::record(&halves.reverse, &halves.result, &known);
        let is_recursive = call_order::is_recursive(&self.program, &of.unrestricted());
        let is_named = is_recursive || components(&record) > FLAT_RECORD;
        // A record of one value is that value.
        let (values, pattern) = match record.as_slice() {
            [one] => (Expr::var(one), Pattern::Var(one.clone())),
            many => (Expr::tuple(many.iter().map(Expr::var).collect::<Vec<_>>()), Pattern::Tuple(record.clone())),
        };
        let pack = Op::Pack(Arc::new(of.clone()));
        let packed = if is_named { Expr::app(pack, vec![values.clone()]) } else { values.clone() };
        let forward = Expr::block(halves.forward, Expr::tuple([result[0].clone(), packed.clone()]));
        let r = self.program.supply.fresh("r", packed.ty().clone());
        let unpack = Op::Unpack(values.ty().clone());
        let unpacked = if is_named { Expr::app(unpack, vec![Expr::var(&r)]) } else { Expr::var(&r) };
        let unpack = Binding { pattern, rhs: unpacked };
        let reverse = Expr::block([vec![unpack], halves.reverse].concat(), halves.result);
        let forward = self.forward_half(of, &s, forward)?;
        let supply = &mut self.program.supply;
        let reverse = renamed(&reverse, supply);
        let reverse = Def::new(of.derived(Derivative::SufRevPass), vec![dr, r], reverse);
        let reverse = self.without_dead(&reverse);
        let reverse = self.tidied(&reverse);
        let [forward, reverse] = [forward, reverse].map(|def| self.placed(def));
        for def in [&forward, &reverse] {
            self.program.defs.insert(def.fun.name.clone(), def.clone());
        }
        Ok(Halves { forward, reverse })
    }

    /// `sufrev$f(s, dr) = let (a, b) = s in let (y, r) = suffwdpass$f(a, b) in sufrevpass$f(dr, r)`.
    pub(in crate::derive) fn call_halves(&mut self, of: &FunName, derivative: Derivative) -> Result<Def, Error> {
        let (first, second) = (of.derived(Derivative::SufFwdPass), of.derived(Derivative::SufRevPass));
        self.require(&first)?;
        self.require(&second)?;
        let (Def { fun: first, params, .. }, second) = (self.source(&first)?, self.source(&second)?.fun);
        let [cotangent, record] = second.params.as_slice() else { panic!("{of}: a second half takes two") };
        let value = first.result.as_tuple().expect("a value and a record")[0].clone();
        let supply = &mut self.program.supply;
        let dr = supply.fresh("dr", cotangent.clone());
        let (y, r) = (supply.fresh("y", value), supply.fresh("r", record.clone()));
        let params: Vec<Var> = params.iter().map(|p| supply.fresh(p.name(), p.ty().clone())).collect();
        let (s, mut bindings) = whole_argument(&params, supply);
        let rhs = Expr::app(Op::Call(first), params.iter().map(Expr::var).collect());
        bindings.push(Binding { pattern: Pattern::Tuple(vec![y, r.clone()]), rhs });
        let body = Expr::app(Op::Call(second), vec![Expr::var(&dr), Expr::var(&r)]);
        Ok(Def::new(of.derived(derivative), vec![s, dr], Expr::block(bindings, body)))
    }

    /// Returns the forward half with f's own parameters.
    fn forward_half(&mut self, of: &FunName, s: &Var, body: Expr) -> Result<Def, Error> {
        let params = self.source(of)?.params;
        let supply = &mut self.program.supply;
        let fresh: Vec<Var> = params.iter().map(|p| supply.fresh(p.name(), p.ty().clone())).collect();
        let whole = match fresh.as_slice() {
            [one] => Expr::var(one),
            many => Expr::tuple(many.iter().map(Expr::var).collect::<Vec<_>>()),
        };
        let bind = Binding { pattern: Pattern::Var(s.clone()), rhs: whole };
        let body = renamed(&Expr::block(vec![bind], body), supply);
        // Bindings that depend on the cotangent, but that nothing reads, are still here.
        let forward = self.without_dead(&Def::new(of.derived(Derivative::SufFwdPass), fresh, body));
        self.finished(&forward)
    }
}
