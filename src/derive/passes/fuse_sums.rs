//! Fuses sums over one range that share work.
//!
//! ```text
//! let a = sumbuild n (λi. d) in .. let b = sumbuild w n (λi. e)
//!     =   let (a, b) = sumbuild (_, w) n (λi. (d, e))         if d and e have costly work in common
//! let v = build n f in .. sum v    =   let v = build n f in .. sumbuild n f
//! ```
//!
//! A value and its derivative are often two such sums: over the points of some data, each computes the same of every
//! point. What an iteration of the fused sum computes twice it computes once, as straight code does; `merge_calls` merges
//! its calls later. The later sum moves to the earlier one, if all that it needs is bound there. Else the earlier one moves
//! down, with what needs it. The second law prepares sums of Floats for the first, if v has no other use; likewise where
//! the sum reads each element once.
//!
//! Calls, functions of libm and operators on functions are costly. To see whether two sums have such work in common,
//! the pass fuses them on trial and shares with `cse`. So equal sums in their bodies are one, as well. It also fuses a sum
//! that calls a function with one that calls, at the same point, a derivative that gives the value, too. Takes and gives: normal form, but for the witness.

use crate::derive::call_points::{CallPoint, Tuples};
use crate::derive::forms;
use crate::derive::postcondition::Facts;
use lm::alpha;
use lm::effect::Effects;
use lm::prim::{Cost, Prim};
use lm::rewrites::Rewrites;
use lm::scope::{free_variables, occurrences, substitute};
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// Fuses sums of a definition. `share` computes equal terms of a block once.
pub fn fuse_sums(
    def: &Def,
    effects: &Effects,
    supply: &mut Supply,
    rewrites: &mut Rewrites,
    share: &dyn Fn(&Expr) -> Expr,
) -> Def {
    let mut pass = FuseSums { effects, supply, rewrites, share };
    Def { body: pass.term(&def.body), ..def.clone() }
}

struct FuseSums<'a> {
    effects: &'a Effects,
    supply: &'a mut Supply,
    rewrites: &'a mut Rewrites,
    share: &'a dyn Fn(&Expr) -> Expr,
}

/// The number of earlier sums that a sum is tried with, the nearest first. So n sums that have nothing in common take
/// n trials, not n².
const TRIED: usize = 16;

/// A sum over a range, `sumbuild witness n (λi. body)`.
struct Sum {
    /// The tensor that is gone with the sum of its elements.
    of: Option<Var>,
    /// None for a sum that begins with its first term: it may be -0, which it is not where it begins with a zero.
    witness: Option<Expr>,
    n: Expr,
    index: Var,
    body: Expr,
}

impl Sum {
    fn term(&self) -> Expr {
        let f = Expr::lam(self.index.clone(), self.body.clone());
        Expr::prim(Prim::SumBuild, self.witness.clone().into_iter().chain([self.n.clone(), f]))
    }
}

impl FuseSums<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        let Kind::Let(bindings, result) = e.kind() else { return e.map_children(|c| self.term(c)) };
        let inside = |b: &Binding| Binding { pattern: b.pattern.clone(), rhs: self.term(&b.rhs) };
        let all: Vec<Binding> = bindings.iter().map(inside).collect();
        let uses = occurrences(e);
        let mut out: Vec<Binding> = Vec::with_capacity(all.len());
        for b in all {
            match self.fused_with_earlier(&out, &b, &uses) {
                Some(fused) => out = fused,
                None => out.push(b),
            }
        }
        Expr::block(out, self.term(result))
    }

    /// Returns the bindings with one more, its sum fused with that of an earlier one.
    fn fused_with_earlier(
        &mut self,
        before: &[Binding],
        b: &Binding,
        uses: &FxHashMap<u32, usize>,
    ) -> Option<Vec<Binding>> {
        if self.rewrites.is_spent() {
            return None;
        }
        let second = self.sum(before, b, uses)?;
        let near = (0..before.len()).rev().filter_map(|j| Some((j, self.sum(before, &before[j], uses)?)));
        let near: Vec<(usize, Sum)> = near.filter(|(_, first)| first.n == second.n).take(TRIED).collect();
        near.into_iter().find_map(|(j, first)| {
            let (before, at) = self.position(before, j, &second.term())?;
            let rhs = self.fused(&first, &second)?;
            let mut out = [&before[..], std::slice::from_ref(b)].concat();
            let mut built = Vec::new();
            for (k, sum) in [(j, &first), (before.len(), &second)] {
                if let Some(v) = sum.of.clone().filter(|_| self.rewrites.may("sum-of-build")) {
                    out[k].rhs = sum.term().at(out[k].rhs.span());
                    built.push((v, sum.n.clone()));
                }
            }
            if self.rewrites.may("sumbuild-fuse") {
                self.replace(&mut out, j, at, rhs);
            }
            // The sum has the body of the `build` now, and nothing else needs that.
            for (v, n) in &built {
                out.retain(|b| !matches!(&b.pattern, Pattern::Var(x) if x == v));
                out.iter_mut().filter(|b| size_of(b) == Some(v)).for_each(|b| b.rhs = n.clone());
            }
            Some(out)
        })
    }

    /// Replaces the j-th binding and the last one by one for both, at a position.
    fn replace(&mut self, out: &mut Vec<Binding>, j: usize, at: usize, rhs: Expr) {
        let second = out.pop().expect("there are two sums");
        let both = [out.remove(j), second];
        let vars = both.each_ref().map(|b| self.supply.fresh(name_of(b), b.rhs.ty().clone()));
        let pattern = Pattern::Tuple(vars.to_vec());
        let named = both.into_iter().zip(&vars).map(|(b, x)| Binding { pattern: b.pattern, rhs: Expr::var(x) });
        let at = if at > j { at - 1 } else { at };
        out.splice(at..at, [Binding { pattern, rhs }].into_iter().chain(named));
    }

    /// Returns the sum that a binding computes.
    fn sum(&self, before: &[Binding], b: &Binding, uses: &FxHashMap<u32, usize>) -> Option<Sum> {
        let is_float = *b.rhs.ty() == Type::Float;
        let (of, witness, n, index, body) = match (b.rhs.args_of_prim(Prim::SumBuild), b.rhs.args_of_prim(Prim::Sum)) {
            (Some([rest @ .., n, f]), _) if is_of_floats(b.rhs.ty()) || !rest.is_empty() => {
                let witness = rest.first().cloned();
                let Kind::Lam(index, body) = f.kind() else { return None };
                match self.sum_of_elements(before, n, index, body, uses) {
                    Some((v, n, body)) => (Some(v), witness, n, index.clone(), body),
                    None => (None, witness, n.clone(), index.clone(), body.clone()),
                }
            }
            (_, Some([v])) if is_float => {
                let v = v.as_var().filter(|v| uses.get(&v.id()) == Some(&1))?;
                let (n, index, body) = build_of(before, v)?;
                (Some(v.clone()), None, n.clone(), index.clone(), body.clone())
            }
            _ => return None,
        };
        (n.is_atom() && !self.effects.in_term(&body)).then_some(Sum { of, witness, n, index, body })
    }

    /// Returns the tensor of which a sum reads the elements one by one, where it has no other use; and the sum with the
    /// elements in their place.
    fn sum_of_elements(
        &self,
        before: &[Binding],
        n: &Expr,
        index: &Var,
        body: &Expr,
        uses: &FxHashMap<u32, usize>,
    ) -> Option<(Var, Expr, Expr)> {
        let read = |e: &Expr| match e.args_of_prim(Prim::Index) {
            Some([k, v]) if k.as_var() == Some(index) => v.as_var().cloned(),
            _ => None,
        };
        let n = n.as_var().and_then(|n| before.iter().find(|b| b.pattern.vars() == [n.clone()])).map_or(n, |b| {
            let of = size_of(b).and_then(|v| build_of(before, v));
            of.map_or(n, |(n, ..)| n)
        });
        let v = body.find_map(|e| read(e).filter(|v| build_of(before, v).is_some_and(|(m, ..)| m == n)))?;
        let (_, i, element) = build_of(before, &v)?;
        let sizes = before.iter().filter(|b| size_of(b) == Some(&v)).count();
        // What occurs in a function counts twice.
        let is_alone = occurrences(body).get(&v.id()) == Some(&1) && uses.get(&v.id()) == Some(&(2 + sizes));
        if !is_alone {
            return None;
        }
        fn put(e: &Expr, is_read: &dyn Fn(&Expr) -> bool, element: &Expr) -> Expr {
            if is_read(e) { element.clone() } else { e.map_children(|child| put(child, is_read, element)) }
        }
        let (bindings, result) = element.as_block();
        let here = FxHashMap::from_iter([(i.id(), Expr::var(index))]);
        let bindings = bindings.iter().map(|b| Binding { pattern: b.pattern.clone(), rhs: substitute(&b.rhs, &here) });
        let rest = put(body, &|e| read(e).as_ref() == Some(&v), &substitute(result, &here));
        Some((v, n.clone(), Expr::block(bindings.collect(), rest)))
    }

    /// Returns the two sums as one, if they share work.
    fn fused(&mut self, first: &Sum, second: &Sum) -> Option<Expr> {
        let renamed = substitute(&second.body, &FxHashMap::from_iter([(second.index.id(), Expr::var(&first.index))]));
        let mut bindings = Vec::new();
        let parts = [&first.body, &renamed].map(|body| {
            let (more, result) = body.as_block();
            bindings.extend(more.iter().cloned());
            if result.is_atom() {
                return result.clone();
            }
            let x = self.supply.fresh("t", result.ty().clone());
            bindings.push(Binding { pattern: Pattern::Var(x.clone()), rhs: result.clone() });
            Expr::var(&x)
        });
        let body = Expr::block(bindings, Expr::tuple(parts));
        let shared = (self.share)(&body);
        let shares = costly_operators(&shared) < costly_operators(&first.body) + costly_operators(&second.body)
            || calls_that_merge(&shared) > calls_that_merge(&first.body) + calls_that_merge(&renamed);
        let f = Expr::lam(first.index.clone(), shared);
        let witness = witness([first, second]);
        shares.then(|| Expr::prim(Prim::SumBuild, witness.into_iter().chain([first.n.clone(), f])))
    }

    /// Returns the bindings, and the position at which one sum can replace the j-th of them and another one after all of
    /// them. What lies between and needs the j-th moves behind.
    fn position(&self, before: &[Binding], j: usize, second: &Expr) -> Option<(Vec<Binding>, usize)> {
        let needed = free_variables(second);
        let bound: FxHashSet<u32> = before[j..].iter().flat_map(|b| b.pattern.vars()).map(Var::id).collect();
        if needed.iter().all(|x| !bound.contains(&x.id())) {
            return Some((before.to_vec(), j));
        }
        let mut own: FxHashSet<u32> = before[j].pattern.vars().iter().map(Var::id).collect();
        let (mut earlier, mut later) = (before[..=j].to_vec(), Vec::new());
        for b in &before[j + 1..] {
            if free_variables(&b.rhs).iter().any(|x| own.contains(&x.id())) {
                own.extend(b.pattern.vars().iter().map(Var::id));
                later.push(b.clone());
            } else {
                earlier.push(b.clone());
            }
        }
        let may_move = !later.iter().any(|b| self.effects.in_term(&b.rhs));
        let at = earlier.len();
        (may_move && needed.iter().all(|x| !own.contains(&x.id()))).then(|| ([earlier, later].concat(), at))
    }
}

/// Returns the witness of a sum that is two. Floats need none, and begin with the first terms if one of the sums does.
fn witness(sums: [&Sum; 2]) -> Option<Expr> {
    let are_floats = sums.iter().all(|sum| is_of_floats(sum.body.ty()));
    if are_floats && sums.iter().any(|sum| sum.witness.is_none()) {
        return None;
    }
    Some(Expr::tuple(sums.map(|sum| sum.witness.clone().unwrap_or_else(|| dummies(sum.body.ty())))))
}

/// Returns whether a type is Float, or a tuple of such types.
fn is_of_floats(ty: &Type) -> bool {
    match ty {
        Type::Float => true,
        Type::Tuple(parts) => parts.iter().all(is_of_floats),
        _ => false,
    }
}

/// Returns the witness of a type that needs none.
fn dummies(ty: &Type) -> Expr {
    match ty {
        Type::Tuple(parts) => Expr::tuple(parts.iter().map(dummies)),
        ty => Expr::dummy(ty.clone()),
    }
}

/// Returns the size, the index and the element of a tensor that one of some bindings builds.
fn build_of<'b>(before: &'b [Binding], v: &Var) -> Option<(&'b Expr, &'b Var, &'b Expr)> {
    let made = before.iter().find(|b| matches!(&b.pattern, Pattern::Var(x) if x == v))?;
    let [n, f] = made.rhs.args_of_prim(Prim::Build)? else { return None };
    let Kind::Lam(i, element) = f.kind() else { return None };
    Some((n, i, element))
}

/// Returns the variable whose size a binding names.
fn size_of(b: &Binding) -> Option<&Var> {
    b.rhs.args_of_prim(Prim::Size)?[0].as_var()
}

fn name_of(b: &Binding) -> &str {
    if let Pattern::Var(x) = &b.pattern { x.name() } else { "t" }
}

/// Returns the number of calls in a block that `merge_calls` can merge: calls of a function and of its derivatives
/// at one point.
fn calls_that_merge(block: &Expr) -> usize {
    let tuples = Tuples::bound_in(block);
    let (bindings, _) = block.as_block();
    let of = |rhs: &Expr| -> Vec<CallPoint> {
        tuples.point_of_value(rhs).into_iter().chain(tuples.point_of_derivative(rhs)).collect()
    };
    let all: Vec<CallPoint> = bindings.iter().flat_map(|b| of(&b.rhs)).collect();
    let different: FxHashSet<&CallPoint> = all.iter().collect();
    all.len() - different.len()
}

/// Returns the number of costly operators in a term.
fn costly_operators(e: &Expr) -> usize {
    let mut count = 0;
    e.visit(|e| {
        if let Kind::App(op, args) = e.kind() {
            let takes_function = args.iter().any(|a| matches!(a.kind(), Kind::Lam(..)));
            count += usize::from(takes_function || is_costly_operator(op));
        }
    });
    count
}

fn is_costly_operator(op: &Op) -> bool {
    match op {
        Op::Call(_) => true,
        Op::Prim(p) => matches!(p.cost(), Cost::Root | Cost::Call),
        _ => false,
    }
}

/// Returns what breaks the postcondition: a block in the wrong place, or a costly sum that a block has twice.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let mut twice = None;
    def.body.visit(|e| twice = twice.take().or_else(|| equal_sum(e.as_block().0, facts)));
    forms::not_flat(&def.body).or(twice)
}

/// Returns a costly sum that a block has twice, up to the names of variables.
fn equal_sum(bindings: &[Binding], facts: &Facts) -> Option<Expr> {
    let is_costly = |e: &&Expr| {
        let can_be_fused = |args: &[Expr]| args.len() == 3 || is_of_floats(e.ty());
        e.args_of_prim(Prim::SumBuild).is_some_and(can_be_fused) && costly_operators(e) > 1 && !facts.effects.in_term(e)
    };
    let mut sums: FxHashMap<usize, Vec<&Expr>> = FxHashMap::default();
    for sum in bindings.iter().map(|b| &b.rhs).filter(is_costly) {
        let of_that_size = sums.entry(sum.size()).or_default();
        if of_that_size.iter().any(|other| alpha::exprs(other, sum)) {
            return Some(sum.clone());
        }
        of_that_size.push(sum);
    }
    None
}
