//! Makes derivatives from functions on dual numbers, for the derivation `dual`.
//!
//! ```text
//! jvp$f(s, ds) = apart(dual$f(zip(s, ds)))
//! ```
//!
//! Source: Fig. 7 of *Efficient differentiable programming in a functional array-processing language* (ICFP 2019).

use super::{Error, Pipeline, checked};
use crate::derive::Derivation;
use crate::derive::call_order;
use crate::derive::figures::paper000_dual::apart::apart;
use crate::derive::figures::paper000_dual::{dual, types};
use crate::derive::forms;
use lm::rewrites::Rewrite;
use lm::scope::renamed;
use lm::term::{Def, Derivative, Expr, Fun, FunName, Kind, Mode, Op};
use std::sync::Arc;

/// The most functions on dual numbers that are put in place of their calls.
const MOST_CALLS: usize = 16;
/// The nodes of the largest term that this makes.
const MOST_NODES: usize = 2_000;

impl Pipeline {
    /// Returns whether the derivatives of a function in a mode are those of dual numbers: its derivation is `dual`, and
    /// they are not written by hand. Reverse derivatives of callees that are written by hand are used, by the Jacobian.
    pub(in crate::derive) fn is_dual(&self, of: &FunName, mode: Mode) -> bool {
        let whole = of.unrestricted();
        let by_hand = super::written::is_replaced(&whole, mode, &self.written);
        let is_dual = self.derivation_of(of) == Derivation::Dual;
        is_dual
            && !by_hand
            && match mode {
                Mode::Forward => !self.program.externals.contains_key(&whole),
                Mode::Reverse => !self.depends_on_hand(of),
            }
    }

    /// Returns `[dual f]` of a definition in normal form, not optimised. Where the derivative of f is written by hand, it
    /// is the value with that one.
    pub(in crate::derive) fn dual(&mut self, normal: &Def) -> Result<Def, Error> {
        let whole = normal.fun.name.unrestricted();
        let is_by_hand = super::written::is_replaced(&whole, Mode::Forward, &self.written);
        let call = Op::Call(Arc::new(Fun { name: whole, ..(*normal.fun).clone() }));
        let call = Expr::app(call, normal.params.iter().map(Expr::var).collect());
        let normal = &if is_by_hand { Def { body: call, ..normal.clone() } } else { normal.clone() };
        let made = {
            let by_hand = super::written::by_hand(&self.written, &self.program.externals);
            let supply = &mut self.program.supply;
            self.watch.fallible("dual", || dual(normal, supply, &by_hand))?
        };
        let made = Def { body: renamed(&made.body, &mut self.program.supply), ..made };
        let is_dual = |d: &Def| *d.body.ty() == types::dual(&normal.fun.result);
        let made = checked("dual", made, is_dual);
        Ok(self.without_dead(&made))
    }

    /// Returns a derivative along each direction in which what depends on no direction is computed once, if it calls
    /// functions on dual numbers: their loops over pairs are taken apart.
    pub(super) fn duals_apart(&mut self, def: &Def) -> Result<Def, Error> {
        let name = &def.fun.name;
        let Some((derivative, of)) = name.underived().filter(|_| calls_dual(&def.body)) else { return Ok(def.clone()) };
        self.made_anew(def, |cx| match derivative {
            Derivative::JacFwd => cx.dense_jacobian(&of, Mode::Forward, name),
            _ => cx.along_directions(&of, name),
        })
    }

    /// Returns a definition with the bodies of functions on dual numbers in place of their calls, but for recursive
    /// functions and those with effects.
    pub(super) fn with_duals_inlined(&mut self, def: &Def) -> Result<Def, Error> {
        let mut body = def.body.clone();
        for _ in 0..MOST_CALLS {
            let Some(next) = self.with_dual_inlined(&body)?.filter(|next| next.size() <= MOST_NODES) else { break };
            if let Some(trace) = &mut self.watch.trace {
                trace.add("inline", Rewrite { law: "call-inline".into(), instance: None }, &body, &next);
            }
            body = next;
        }
        Ok(Def { body, ..def.clone() })
    }

    /// Inlines the calls of one function on dual numbers; returns `None` if there is none to inline.
    fn with_dual_inlined(&mut self, body: &Expr) -> Result<Option<Expr>, Error> {
        let mut called = Vec::new();
        call_order::calls(body, &mut called);
        for name in called.iter().filter(|name| name.derivative() == Some(&Derivative::Dual)) {
            self.require(name)?;
            let callee = self.source(name)?;
            if !call_order::is_recursive(&self.program, name) && !self.effects.in_term(&callee.body) {
                return Ok(Some(self.with_calls_of(&callee, body)));
            }
        }
        Ok(None)
    }

    fn with_calls_of(&mut self, callee: &Def, e: &Expr) -> Expr {
        let e = e.map_children(|child| self.with_calls_of(callee, child));
        match e.kind() {
            Kind::App(Op::Call(f), args) if f.name == callee.fun.name => self.in_place(callee, args),
            _ => e,
        }
    }

    /// Returns `jvp$f(s, ds)`, the value and the tangent that `[dual f]` gives at `zip(s, ds)`.
    pub(in crate::derive) fn apart(&mut self, dual: &Def, of: &FunName) -> Result<Def, Error> {
        let f = Fun { name: of.clone(), ..(*self.source(of)?.fun).clone() };
        let normal = self.anf(dual);
        let (effects, supply) = (&self.effects, &mut self.program.supply);
        let def = self.watch.makes("apart", || apart(&normal, &f, effects, supply));
        let def = self.without_dead(&def);
        Ok(checked("apart", def, |d| forms::with_map(&d.body).is_none()))
    }
}

/// Returns whether a term calls a function on dual numbers.
fn calls_dual(e: &Expr) -> bool {
    let mut called = Vec::new();
    call_order::calls(e, &mut called);
    called.iter().any(|name| name.derivative() == Some(&Derivative::Dual))
}
