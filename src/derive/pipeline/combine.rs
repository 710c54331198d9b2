//! A value together with its derivative, and the two halves of the reverse derivative.
//!
//!   jvp$f(s, ds)      = (f(s), fwd$f(s, ds))
//!   vjp$f(s, dr)      = (f(s), rev$f(s, dr))
//!   suffwdpass$f(s)   = (f(s), r)                  r: what the second half needs of the first
//!   sufrevpass$f(dr, r) = ds                       so that rev$f(s, dr) = sufrevpass$f(dr, r)
//!
//! Source: working notes, sec. 5.2 and 6.1.

use super::{Error, Pipeline};
use crate::derive::partial_eval::Halves;
use crate::derive::passes::dce;
use crate::derive::{call_order, partial_eval};
use lm::scope::renamed;
use lm::shape;
use lm::term::{Binding, Def, Derivative, Expr, FunName, Mode, Op, Pattern, Var};
use std::collections::HashSet;
use std::sync::Arc;

impl Pipeline {
    /// `[jvp f]` or `[vjp f]`: the value along with a derivative, each piece of work done once.
    pub(in crate::derive) fn value_and(&mut self, of: &FunName, mode: Mode, name: &FunName) -> Result<Def, Error> {
        let in_pairs = mode == Mode::Forward && self.is_paired(of) && self.symmetry(of, mode)?.is_none();
        let both = match in_pairs {
            true => self.value_and_tangent(of)?,
            false => self.value_beside(of, mode, name)?,
        };
        self.finished(&both)
    }

    /// `(f(s), d$f(s, v))` as one block, in which the value stands apart from the derivative.
    pub(in crate::derive) fn value_beside(&mut self, of: &FunName, mode: Mode, name: &FunName) -> Result<Def, Error> {
        // As simple as the derivative: what both do is seen to be the same only in the same form.
        let source = self.source(of)?;
        let value = self.simplest(source)?;
        let derived = self.applied_apart(of, mode)?;
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
        Ok(Def::new(name.clone(), vec![s, v], body))
    }

    /// `[suffwdpass f]` and `[sufrevpass f]`.
    pub(in crate::derive) fn split(&mut self, of: &FunName) -> Result<(Def, Def), Error> {
        let both = self.value_beside(of, Mode::Reverse, &of.derived(Derivative::Vjp))?;
        let both = self.shared(&both, &both.params[1..])?;
        let (s, dr) = (both.params[0].clone(), both.params[1].clone());
        let supply = &mut self.program.supply;
        let halves = partial_eval::cut(&both.body, HashSet::from([dr.id()]), supply);
        self.in_halves(of, s, dr, halves)
    }

    /// The definitions of the two halves, of a pair of value and cotangent that was cut at the cotangent `dr`.
    pub(in crate::derive) fn in_halves(
        &mut self,
        of: &FunName,
        s: Var,
        dr: Var,
        mut halves: Halves,
    ) -> Result<(Def, Def), Error> {
        let supply = &mut self.program.supply;
        let result = halves.result.args_of(&Op::Tuple).expect("the value beside the cotangent").to_vec();
        halves.result = result[1].clone();
        partial_eval::copy_trivial(&mut halves, supply);
        let bound = halves.forward.iter().flat_map(|b| b.pattern.vars().to_vec());
        let known: Vec<Var> = std::iter::once(s.clone()).chain(bound).collect();
        let record = partial_eval::record(&halves.reverse, &halves.result, &known);
        let recursive = call_order::is_recursive(&self.program, &of.unrestricted());
        // A record of one value is that value.
        let (values, pattern) = match record.as_slice() {
            [one] => (Expr::var(one), Pattern::Var(one.clone())),
            many => (Expr::tuple(many.iter().map(Expr::var).collect::<Vec<_>>()), Pattern::Tuple(record.clone())),
        };
        let pack = Op::Pack(Arc::new(of.clone()));
        let packed = if recursive { Expr::app(pack, vec![values.clone()]) } else { values.clone() };
        let forward = Expr::block(halves.forward, Expr::tuple([result[0].clone(), packed.clone()]));
        let r = self.program.supply.fresh("r", packed.ty().clone());
        let unpack = Op::Unpack(values.ty().clone());
        let unpacked = if recursive { Expr::app(unpack, vec![Expr::var(&r)]) } else { Expr::var(&r) };
        let unpack = Binding { pattern, rhs: unpacked };
        let reverse = Expr::block([vec![unpack], halves.reverse].concat(), halves.result);
        let forward = self.forward_half(of, &s, forward)?;
        let supply = &mut self.program.supply;
        let reverse = renamed(&reverse, supply);
        let reverse = Def::new(of.derived(Derivative::SufRevPass), vec![dr, r], reverse);
        let reverse = self.tidied(&dce::dce(&reverse, &self.effects));
        let [forward, reverse] = [forward, reverse].map(|def| self.placed(def));
        for def in [&forward, &reverse] {
            self.program.defs.insert(def.fun.name.clone(), def.clone());
        }
        Ok((forward, reverse))
    }

    /// `sufrev$f(s, dr) = let (y, r) = suffwdpass$f(s) in sufrevpass$f(dr, r)`.
    pub(in crate::derive) fn both_halves(&mut self, of: &FunName, derivative: Derivative) -> Result<Def, Error> {
        let (first, second) = (of.derived(Derivative::SufFwdPass), of.derived(Derivative::SufRevPass));
        self.require(&first)?;
        self.require(&second)?;
        let (first, second) = (self.source(&first)?.fun, self.source(&second)?.fun);
        let [cotangent, record] = second.params.as_slice() else { panic!("{of}: a second half takes two") };
        let value = first.result.as_tuple().expect("a value and a record")[0].clone();
        let supply = &mut self.program.supply;
        let (s, dr) = (supply.fresh("s", first.argument()), supply.fresh("dr", cotangent.clone()));
        let (y, r) = (supply.fresh("y", value), supply.fresh("r", record.clone()));
        let args = match first.params.len() {
            1 => vec![Expr::var(&s)],
            n => (1..=n).map(|i| Expr::get(i, Expr::var(&s))).collect(),
        };
        let rhs = Expr::app(Op::Call(first), args);
        let halves = Binding { pattern: Pattern::Tuple(vec![y, r.clone()]), rhs };
        let body = Expr::app(Op::Call(second), vec![Expr::var(&dr), Expr::var(&r)]);
        Ok(Def::new(of.derived(derivative), vec![s, dr], Expr::block(vec![halves], body)))
    }

    /// A derivative of a function that is implemented elsewhere, by those that the user wrote.
    ///
    ///   suffwdpass$f(s) = (f(s), s)      sufrevpass$f(dr, s) = rev$f(s, dr)
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
            Derivative::Jvp | Derivative::Vjp => self.value_beside(of, mode, name),
            Derivative::SufRev => self.both_halves(of, Derivative::SufRev),
            Derivative::SufFwdPass => {
                let value = self.source(of)?;
                let s = Expr::tuple(value.params.iter().map(Expr::var).collect::<Vec<_>>());
                let s = if let [one] = value.params.as_slice() { Expr::var(one) } else { s };
                Ok(Def::new(name.clone(), value.params, Expr::tuple([value.body, s])))
            }
            _ => {
                let reverse = self.source(&of.derived(Derivative::Rev))?;
                let [s, dr] = reverse.params.as_slice() else { panic!("{of}: a reverse derivative takes two") };
                let body = renamed(&reverse.body, &mut self.program.supply);
                Ok(Def::new(name.clone(), vec![dr.clone(), s.clone()], body))
            }
        }
    }

    /// The shape of a value that only the function itself can give.
    fn shape_of_external(&mut self, of: &FunName) -> Result<Def, Error> {
        let value = self.source(of)?;
        let shape = match value.body.ty() {
            ty if ty.has_fixed_shape() => shape::unit(ty),
            _ => shape::of_term(value.body, &mut self.program.supply),
        };
        Ok(Def::new(of.derived(Derivative::Shape), value.params, shape))
    }

    /// The forward half takes f's own parameters.
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
        self.finished(&Def::new(of.derived(Derivative::SufFwdPass), fresh, body))
    }
}
