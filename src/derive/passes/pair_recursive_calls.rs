//! Calls a recursive function for its value and its derivative at once.
//!
//! ```text
//! let y = g(s) in .. let ds = rev$g(s, dr) in b    =   .. let (y, ds) = vjp$g(s, dr) in .. b
//! let y = g(s) in .. let dy = fwd$g(s, ds) in b    =   .. let (y, dy) = jvp$g(s, ds) in .. b
//! let y = g(s) in .. let t = vjp$g(s, dr) in b   =   let y = g(s) in .. let ds = rev$g(s, dr) in let t = (y, ds) in b
//! ```
//!
//! The first two laws hold where dr (ds) does not depend on y; what dr needs moves before the call. In the product
//! a(x) g(x), a(x) dr is the cotangent of g(x), whatever the value of g. The definition of `[vjp g]` has the value's
//! text and the derivative's in one scope. There the calls of g one level below are again at one point. So the
//! recursion is on `[vjp g]` alone, and goes through the levels once.
//!
//! Where dr depends on y, the third law leaves the two halves (`merge_calls`). Then the loops in g run a second time
//! for their values, at each level.
//!
//! For tangents along several directions, such as the columns of a Jacobian, the value comes with the first of them.
//! Cotangents of several results share the first half.
//!
//! The value of g has a fixed shape, so that its zero needs no witness (`add_destinations`). Takes and gives: normal
//! form.

use crate::derive::call_points::{CallPoint, Tuples, base, derivation};
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::rewrites::Rewrites;
use lm::scope::free_variables;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Pairs the calls of the functions `recursive`.
pub fn pair_recursive_calls(
    def: &Def,
    recursive: &FxHashSet<FunName>,
    effects: &Effects,
    supply: &mut Supply,
    rewrites: &mut Rewrites,
) -> Def {
    let mut pass = PairRecursiveCalls { recursive, effects, supply, rewrites, tuples: Tuples::bound_in(&def.body) };
    Def { body: pass.pair_calls_in_block(&def.body), ..def.clone() }
}

struct PairRecursiveCalls<'a> {
    recursive: &'a FxHashSet<FunName>,
    effects: &'a Effects,
    supply: &'a mut Supply,
    rewrites: &'a mut Rewrites,
    tuples: Tuples,
}

impl PairRecursiveCalls<'_> {
    fn pair_calls_in_block(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        let last = self.supply.fresh("t", result.ty().clone());
        let mut all: Vec<Binding> = bindings.to_vec();
        all.push(Binding { pattern: Pattern::Var(last.clone()), rhs: result.clone() });
        for (value, derivative) in self.pairs_at_one_point(&all) {
            all = self.with_one_call(all, &value, &derivative);
        }
        let mut all: Vec<Binding> = all.into_iter().map(|b| self.pair_in_branches(b)).collect();
        match all.pop() {
            Some(Binding { pattern: Pattern::Var(x), rhs }) if x == last => Expr::block(all, rhs),
            Some(other) => Expr::block([all, vec![other]].concat(), Expr::var(&last)),
            None => unreachable!("the result is a binding"),
        }
    }

    fn pair_in_branches(&mut self, b: Binding) -> Binding {
        let rhs = match b.rhs.kind() {
            Kind::App(Op::If, args) => {
                let (yes, no) = (self.pair_calls_in_block(&args[1]), self.pair_calls_in_block(&args[2]));
                Expr::conditional(args[0].clone(), yes, no).at(b.rhs.span())
            }
            Kind::App(..) => b.rhs.map_children(|e| match e.kind() {
                Kind::Lam(_, body) => {
                    let body = self.pair_calls_in_block(body);
                    e.map_children(|_| body.clone())
                }
                _ => e.clone(),
            }),
            Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => b.rhs,
        };
        Binding { pattern: b.pattern, rhs }
    }

    /// Returns the patterns of a value and of its derivative, for each point of which the block has both. For tangents
    /// along several directions, returns the pattern of the first.
    fn pairs_at_one_point(&self, all: &[Binding]) -> Vec<(Pattern, Pattern)> {
        let pure = all.iter().filter(|b| !self.effects.in_term(&b.rhs));
        let mut values: FxHashMap<CallPoint, &Binding> = FxHashMap::default();
        let mut derivatives: FxHashMap<CallPoint, Vec<&Binding>> = FxHashMap::default();
        for b in pure.clone() {
            if let Some(at) = self.tuples.point_of_value(&b.rhs) {
                values.entry(at).or_insert(b);
            }
            if let Some(at) = self.tuples.point_of_derivative(&b.rhs) {
                derivatives.entry(at).or_default().push(b);
            }
        }
        let pair = |b: &Binding| {
            let at = self.tuples.point_of_derivative(&b.rhs)?;
            let all = &derivatives[&at];
            let is_chosen = all.len() == 1 || all[0].pattern == b.pattern && all.iter().all(|b| is_forward(b));
            let is_to_be_paired = is_chosen && self.is_to_be_paired(b, values.get(&at)?);
            is_to_be_paired.then(|| (values[&at].pattern.clone(), b.pattern.clone()))
        };
        pure.filter_map(pair).collect()
    }

    fn is_to_be_paired(&self, derivative: &Binding, value: &Binding) -> bool {
        let f = callee(derivative);
        let of = base(f).unrestricted();
        derivation(f) != Some(&Derivative::SufFwdPass)
            && value.rhs.ty().has_fixed_shape()
            && self.recursive.contains(&of)
    }

    /// Replaces the two calls by one, where that can be.
    fn with_one_call(&mut self, all: Vec<Binding>, value: &Pattern, derivative: &Pattern) -> Vec<Binding> {
        let at = |p: &Pattern| all.iter().position(|b| b.pattern == *p).expect("it is bound");
        let (j, i) = (at(value), at(derivative));
        // An earlier pair may have turned them into other terms.
        let point = self.tuples.point_of_derivative(&all[i].rhs);
        if point.is_none() || point != self.tuples.point_of_value(&all[j].rhs) {
            return all;
        }
        match self.needed_between(&all, j, i) {
            Some(_) if !self.rewrites.may(law_of_pair(callee(&all[i]))) => all,
            Some(needed) => {
                let both = self.paired_call(&all[j], &all[i]);
                let first = i.min(j);
                let stays = |k: &usize| *k != i && *k != j && !needed.contains(k);
                let mut out = all[..first].to_vec();
                out.extend(needed.iter().map(|k| all[*k].clone()));
                out.extend(both);
                out.extend((first..all.len()).filter(stays).map(|k| all[k].clone()));
                out
            }
            None => {
                let alone = self.derivative_alone(&all[j], &all[i]);
                [&all[..i], &alone, &all[i + 1..]].concat()
            }
        }
    }

    /// Returns the bindings between the value and the derivative that the derivative needs. Returns `None` if it needs
    /// the value, or a binding with an effect.
    fn needed_between(&self, all: &[Binding], j: usize, i: usize) -> Option<Vec<usize>> {
        let mut wanted: FxHashSet<u32> = free_variables(&all[i].rhs).iter().map(Var::id).collect();
        let mut needed = Vec::new();
        for k in (j..i).rev() {
            if all[k].pattern.vars().iter().any(|x| wanted.contains(&x.id())) {
                if k == j || self.effects.in_term(&all[k].rhs) {
                    return None;
                }
                wanted.extend(free_variables(&all[k].rhs).iter().map(Var::id));
                needed.insert(0, k);
            }
        }
        Some(needed)
    }

    /// Returns `(y, d) = vjp$g(s, dr)`, and bindings that name its parts.
    fn paired_call(&mut self, value: &Binding, derivative: &Binding) -> Vec<Binding> {
        let f = callee(derivative);
        let (is_both, call) = match derivation(f) {
            Some(Derivative::Jvp | Derivative::Vjp) => (true, derivative.rhs.clone()),
            mode => {
                let name =
                    base(f).derived(if mode == Some(&Derivative::Fwd) { Derivative::Jvp } else { Derivative::Vjp });
                let result = Type::tuple([value.rhs.ty().clone(), f.result.clone()]);
                (false, retargeted(&derivative.rhs, Fun { name, result, ..f.clone() }))
            }
        };
        let types = call.ty().as_tuple().expect("the value beside the derivative").to_vec();
        let (parts, rest) = match &derivative.pattern {
            Pattern::Tuple(parts) if is_both => (parts.clone(), None),
            pattern => {
                let parts = [0, 1].map(|k| self.supply.fresh(["y", "d"][k], types[k].clone()));
                let d = Expr::var(&parts[1]);
                let rhs = if is_both { Expr::tuple([Expr::var(&parts[0]), d]) } else { d };
                (parts.to_vec(), Some(Binding { pattern: pattern.clone(), rhs }))
            }
        };
        let value = Binding { pattern: value.pattern.clone(), rhs: Expr::var(&parts[0]) };
        let first = Binding { pattern: Pattern::Tuple(parts), rhs: call };
        [first, value].into_iter().chain(rest).collect()
    }

    /// Returns `ds = rev$g(s, dr)` and the pair of it and the value, for `vjp$g(s, dr)`; any other derivative as it
    /// is.
    fn derivative_alone(&mut self, value: &Binding, derivative: &Binding) -> Vec<Binding> {
        let f = callee(derivative);
        let (Some(Derivative::Vjp), Pattern::Var(y)) = (derivation(f), &value.pattern) else {
            return vec![derivative.clone()];
        };
        if !self.rewrites.may("call-alone") {
            return vec![derivative.clone()];
        }
        let result = f.result.as_tuple().expect("the value beside the derivative")[1].clone();
        let d = self.supply.fresh("d", result.clone());
        let rhs = retargeted(&derivative.rhs, Fun { name: base(f).derived(Derivative::Rev), result, ..f.clone() });
        let pair = Expr::tuple([Expr::var(y), Expr::var(&d)]);
        vec![Binding { pattern: Pattern::Var(d), rhs }, Binding { pattern: derivative.pattern.clone(), rhs: pair }]
    }
}

/// Returns the law by which one call gives what g and this derivative of it do.
fn law_of_pair(derivative: &Fun) -> &'static str {
    match derivation(derivative) {
        Some(Derivative::Fwd) => "call-jvp",
        Some(Derivative::Rev) => "call-vjp",
        _ => "call-both",
    }
}

fn is_forward(b: &Binding) -> bool {
    matches!(derivation(callee(b)), Some(Derivative::Fwd | Derivative::Jvp))
}

/// Returns the function that a binding calls.
fn callee(b: &Binding) -> &Fun {
    match b.rhs.kind() {
        Kind::App(Op::Call(f), _) => f,
        Kind::App(..) | Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => {
            panic!("{:?} is no call", b.rhs)
        }
    }
}

/// Returns the call with another function.
fn retargeted(call: &Expr, f: Fun) -> Expr {
    let Kind::App(_, args) = call.kind() else { panic!("{call:?} is no call") };
    Expr::app(Op::Call(Arc::new(f)), args.clone()).at(call.span())
}

/// Returns what breaks the postcondition: a block that calls `[vjp g]` of a recursive g once at a point, and calls g
/// there.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let tuples = Tuples::bound_in(&def.body);
    let mut found = None;
    def.body.visit(|e| found = found.take().or_else(|| value_beside_both(e.as_block().0, &tuples, facts)));
    found
}

/// Returns a call of `[vjp g]` in a block that calls g at the same point, too.
fn value_beside_both(bindings: &[Binding], tuples: &Tuples, facts: &Facts) -> Option<Expr> {
    let pure = || bindings.iter().filter(|b| !facts.effects.in_term(&b.rhs));
    let is_whole = |b: &&Binding| matches!(b.pattern, Pattern::Var(_)) && b.rhs.ty().has_fixed_shape();
    let values: FxHashSet<CallPoint> = pure().filter(is_whole).filter_map(|b| tuples.point_of_value(&b.rhs)).collect();
    let mut derivatives: FxHashMap<CallPoint, Vec<&Binding>> = FxHashMap::default();
    for b in pure() {
        if let Some(at) = tuples.point_of_derivative(&b.rhs) {
            derivatives.entry(at).or_default().push(b);
        }
    }
    let is_to_be_paired = |b: &Binding| {
        derivation(callee(b)) == Some(&Derivative::Vjp) && (facts.is_recursive)(&base(callee(b)).unrestricted())
    };
    let mut single = derivatives.iter().filter_map(|(at, all)| match all.as_slice() {
        [one] if values.contains(at) && is_to_be_paired(one) => Some(&one.rhs),
        _ => None,
    });
    single.next().cloned()
}
