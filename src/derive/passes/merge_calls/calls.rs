//! Merges calls: of a function's value, its derivatives, and their halves.

use super::{MergeCalls, Merged};
use crate::derive::partial_eval::depends_on;
use lm::term::{Binding, Derivative, Expr, Fun, FunName, Kind, Op, Pattern, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl MergeCalls<'_> {
    /// Merges two calls at the same s: of a value, a derivative or a first half.
    pub(super) fn merge_calls(
        &mut self,
        a: &Binding,
        f: &Arc<Fun>,
        b: &Binding,
        g: &Arc<Fun>,
        at: super::Position,
    ) -> Option<Merged> {
        let merged = |law, earlier, later| Some(Merged { law, earlier, later });
        let renamed = |rhs| Some(Binding { pattern: b.pattern.clone(), rhs });
        if function_of_pair(f).is_some_and(|value| value == g.name.unrestricted()) {
            if depends_on(&a.rhs, &self.late) {
                return None;
            }
            let value = match &a.pattern {
                Pattern::Var(both) => Expr::get(1, Expr::var(both)),
                Pattern::Tuple(parts) => Expr::var(&parts[0]),
            };
            return merged("call-value", a.clone(), renamed(value));
        }
        if function_of_pair(g).is_some_and(|value| value == f.name.unrestricted()) {
            return self.value_from(a, b, at);
        }
        // Calls of `[jvp f]`, and of its halves, come together where they have one s. They may be along different tangents.
        if self.key_of(&a.rhs) != self.key_of(&b.rhs) {
            return None;
        }
        match (role_of(f).0, role_of(g).0) {
            (Role::Value, Role::Value) if f.name == g.name => {
                let Pattern::Var(y) = &a.pattern else { return None };
                merged("let-share", a.clone(), renamed(Expr::var(y)))
            }
            (Role::Value, Role::Fwd) if self.is_bound_before(&b.rhs, at) => {
                merged("call-jvp", with_tangent(a, f, b, g)?, None)
            }
            // The value may come after: all that it needs was there for the derivative.
            (Role::Fwd, Role::Value) => merged("call-jvp", with_tangent(b, g, a, f)?, None),
            (Role::Value, Role::Rev) => {
                let Pattern::Var(y) = &a.pattern else { return None };
                let of = role_of(g).1;
                let (forward, r) = self.first_half(y.clone(), f, &of, args(&a.rhs))?;
                merged("call-split", forward, Some(second_half(b, g, &of, &r)))
            }
            (Role::Value, Role::FirstHalf) => {
                let (Pattern::Var(y), [_, record]) = (&a.pattern, g.result.as_tuple()?) else { return None };
                let r = self.supply.fresh("r", record.clone());
                let pair = Expr::tuple([Expr::var(y), Expr::var(&r)]);
                let rhs = Expr::app(Op::Call(g.clone()), args(&a.rhs));
                let forward = Binding { pattern: Pattern::Tuple(vec![y.clone(), r]), rhs };
                merged("call-both", forward, renamed(pair))
            }
            (Role::FirstHalf, Role::Value) => {
                let [y, _] = a.pattern.vars() else { return None };
                merged("call-value", a.clone(), renamed(Expr::var(y)))
            }
            (Role::FirstHalf, Role::Rev) if role_of(f).1 == role_of(g).1 => {
                let [_, r] = a.pattern.vars() else { return None };
                merged("call-second-half", a.clone(), Some(second_half(b, g, &role_of(f).1, r)))
            }
            _ => None,
        }
    }

    /// Rewrites `y = f(s) .. t = jvp$f(s, ds)` to `(y, dy) = jvp$f(s, ds) .. t = (y, dy)`.
    fn value_from(&mut self, value: &Binding, both: &Binding, at: super::Position) -> Option<Merged> {
        let (Pattern::Var(y), [_, tangent]) = (&value.pattern, both.rhs.ty().as_tuple()?) else { return None };
        if !self.is_bound_before(&both.rhs, at) {
            return None;
        }
        let dy = self.supply.fresh("dy", tangent.clone());
        let pair = Expr::tuple([Expr::var(y), Expr::var(&dy)]);
        let first = Binding { pattern: Pattern::Tuple(vec![y.clone(), dy]), rhs: both.rhs.clone() };
        let later = Some(Binding { pattern: both.pattern.clone(), rhs: pair });
        Some(Merged { law: "call-both", earlier: first, later })
    }

    /// Returns `(y, r) = suffwdpass$f(s)`, with r fresh; `None` for a function without halves. `of` is f, or f with
    /// respect to some of its arguments.
    fn first_half(&mut self, y: Var, f: &Fun, of: &FunName, args: Vec<Expr>) -> Option<(Binding, Var)> {
        let (_, record) = self.records.get(of)?.clone();
        let r = self.supply.fresh("r", record.clone());
        let name = of.derived(Derivative::SufFwdPass);
        let half = Fun { name, params: f.params.clone(), result: Type::tuple([f.result.clone(), record]) };
        let rhs = Expr::app(Op::Call(Arc::new(half)), args);
        Some((Binding { pattern: Pattern::Tuple(vec![y, r.clone()]), rhs }, r))
    }

    /// Rewrites the reverse derivatives that a block calls to calls of their halves. The first half can then move to
    /// where the value is computed. Rewrites `[vjp f]` only if it depends on `late`.
    fn with_halves(&mut self, e: &Expr, late: &FxHashSet<u32>) -> Expr {
        let (bindings, result) = e.as_block();
        let mut late = late.clone();
        let last = self.supply.fresh("t", result.ty().clone());
        let last = Binding { pattern: Pattern::Var(last), rhs: result.clone() };
        let mut out = Vec::new();
        for b in bindings.iter().chain([&last]) {
            let is_late = depends_on(&b.rhs, &late);
            if is_late {
                late.extend(b.pattern.vars().iter().map(Var::id));
            }
            let halves = self.halves_of(b).map(Vec::from);
            let halves = halves.or_else(|| self.halves_of_vjp(b).filter(|_| is_late).map(Vec::from));
            match halves {
                Some(halves) if self.rewrites.may("call-halves") => out.extend(halves),
                Some(_) => out.push(b.clone()),
                None => out.push(Binding { pattern: b.pattern.clone(), rhs: self.halves_in_branches(&b.rhs, &late) }),
            }
        }
        match out.pop() {
            Some(Binding { pattern, rhs }) if pattern == last.pattern => Expr::block(out, rhs),
            _ => unreachable!("the result is the last binding"),
        }
    }

    pub(super) fn halves_in_branches(&mut self, e: &Expr, late: &FxHashSet<u32>) -> Expr {
        match e.args_of(&Op::If) {
            Some([c, yes, no]) => {
                Expr::conditional(c.clone(), self.with_halves(yes, late), self.with_halves(no, late)).at(e.span())
            }
            _ => e.clone(),
        }
    }

    pub(super) fn halves_of(&mut self, b: &Binding) -> Option<[Binding; 2]> {
        let Kind::App(Op::Call(g), _) = b.rhs.kind() else { return None };
        let (Role::Rev, base) = role_of(g) else { return None };
        let (f, _) = self.records.get(&base)?.clone();
        let whole = args(&b.rhs)[0].clone();
        let s = if f.params.len() == 1 { vec![whole] } else { self.parts_of(&whole) };
        if s.len() != f.params.len() {
            return None;
        }
        let y = self.supply.fresh("y", f.result.clone());
        let (forward, r) = self.first_half(y, &f, &base, s)?;
        Some([forward, second_half(b, g, &base, &r)])
    }

    /// Rewrites `t = vjp$f(s, dr)` to `(y, r) = suffwdpass$f(s) .. ds = sufrevpass$f(dr, r) .. t = (y, ds)`.
    fn halves_of_vjp(&mut self, b: &Binding) -> Option<[Binding; 3]> {
        let Kind::App(Op::Call(g), args) = b.rhs.kind() else { return None };
        let Some((Derivative::Vjp, of)) = g.name.underived() else { return None };
        let result = g.result.as_tuple()?[1].clone();
        let reverse = Fun { name: of.derived(Derivative::Rev), result: result.clone(), ..(**g).clone() };
        let ds = self.supply.fresh("ds", result);
        let rhs = Expr::app(Op::Call(Arc::new(reverse)), args.clone()).at(b.rhs.span());
        let [forward, reverse] = self.halves_of(&Binding { pattern: Pattern::Var(ds.clone()), rhs })?;
        let pair = Expr::tuple([Expr::var(&forward.pattern.vars()[0]), Expr::var(&ds)]);
        Some([forward, reverse, Binding { pattern: b.pattern.clone(), rhs: pair }])
    }
}

/// The derivation by which a function came from another.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Role {
    Value,
    Fwd,
    Rev,
    FirstHalf,
}

pub(super) fn role_of(f: &Fun) -> (Role, FunName) {
    let role = f.name.derivative().map_or(Role::Value, |derivative| match derivative {
        Derivative::Fwd => Role::Fwd,
        Derivative::Rev => Role::Rev,
        Derivative::SufFwdPass => Role::FirstHalf,
        Derivative::D | Derivative::Dt | Derivative::Tupled | Derivative::Polymorphic | Derivative::PolymorphicR => {
            Role::Value
        }
        Derivative::Jvp | Derivative::Vjp | Derivative::SufRevPass | Derivative::SufRev => Role::Value,
        Derivative::Dual | Derivative::Shape | Derivative::Cl | Derivative::Wrt(_) => Role::Value,
        Derivative::Grad | Derivative::Hvp | Derivative::Hess => Role::Value,
        Derivative::Jac | Derivative::JacFwd | Derivative::JacRev => Role::Value,
    });
    let derived = usize::from(role != Role::Value);
    (role, f.name.without_derivatives(derived))
}

/// Returns the f of `[jvp f]` or `[vjp f]`, with respect to any parameters.
pub(super) fn function_of_pair(f: &Fun) -> Option<FunName> {
    let is_one = matches!(f.name.derivative(), Some(Derivative::Jvp | Derivative::Vjp));
    let of = || f.name.without_derivatives(1);
    is_one.then(|| of().unrestricted())
}

fn args(call: &Expr) -> Vec<Expr> {
    match call.kind() {
        Kind::App(_, args) => args.clone(),
        Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => panic!("{call:?} is no call"),
    }
}

/// Returns `(y, dy) = jvp$f(s, ds)`.
fn with_tangent(value: &Binding, f: &Fun, derivative: &Binding, g: &Fun) -> Option<Binding> {
    let (Pattern::Var(y), Pattern::Var(dy)) = (&value.pattern, &derivative.pattern) else { return None };
    let result = Type::tuple([f.result.clone(), g.result.clone()]);
    let both = Fun { name: role_of(g).1.derived(Derivative::Jvp), params: g.params.clone(), result };
    let rhs = Expr::app(Op::Call(Arc::new(both)), args(&derivative.rhs)).at(value.rhs.span());
    Some(Binding { pattern: Pattern::Tuple(vec![y.clone(), dy.clone()]), rhs })
}

/// Returns `ds = sufrevpass$f(dr, r)`, for `ds = rev$f(s, dr)`.
fn second_half(b: &Binding, g: &Fun, f: &FunName, r: &Var) -> Binding {
    let params = vec![g.params[1].clone(), r.ty().clone()];
    let half = Fun { name: f.derived(Derivative::SufRevPass), params, result: g.result.clone() };
    let rhs = Expr::app(Op::Call(Arc::new(half)), vec![args(&b.rhs)[1].clone(), Expr::var(r)]);
    Binding { pattern: b.pattern.clone(), rhs: rhs.at(b.rhs.span()) }
}
