//! Sums over one range that share work become one sum.
//!
//! ```text
//! let a = sumbuild n (λi. d) in .. let b = sumbuild w n (λi. e)
//!     =   let (a, b) = sumbuild (_, w) n (λi. (d, e))         if d and e have something dear in common
//! let v = build n f in .. sum v    =   let v = build n f in .. sumbuild n f
//! ```
//!
//! A value beside its derivative is two such sums: over the points of some data, say, of which each computes for itself
//! what it says of a point. One after the other they would do that twice. Fused, `cse` and `merge_calls` find within an
//! iteration what they find in straight code. The sum moves to where the earlier one stands, if all that it needs is
//! there, or else the earlier one moves down. The second law (of Floats, for a v that has no other use) serves the
//! first.
//!
//! Dear is a call, a function of libm, and what takes a function; that there is something in common is tried: `share`
//! is `cse`, with the nearest sums over the same range. So is a call of a function at a point where the other sum calls
//! a derivative that gives the value, too. Takes and gives: normal form, but for the witness.

use crate::derive::call_points::{Meeting, Tuples};
use crate::derive::forms;
use crate::derive::postcondition::Facts;
use lm::alpha;
use lm::effect::Effects;
use lm::prim::{Cost, Prim};
use lm::scope::{free_variables, occurrences, substitute};
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use std::collections::{HashMap, HashSet};

/// The definition with sums joined; `share` is to compute nothing twice.
pub fn fuse_sums(def: &Def, effects: &Effects, supply: &mut Supply, share: &dyn Fn(&Expr) -> Expr) -> Def {
    let mut pass = FuseSums { effects, supply, share };
    Def { body: pass.term(&def.body), ..def.clone() }
}

struct FuseSums<'a> {
    effects: &'a Effects,
    supply: &'a mut Supply,
    share: &'a dyn Fn(&Expr) -> Expr,
}

/// With so many of the sums before it a sum is tried to be joined, the nearest first: of n sums that have nothing in
/// common, not all pairs are tried.
const TRIED: usize = 16;

/// A sum over a range, `sumbuild witness n (λi. body)`.
struct Sum {
    witness: Expr,
    n: Expr,
    index: Var,
    body: Expr,
}

impl FuseSums<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        let Kind::Let(bindings, result) = e.kind() else { return e.map_children(|c| self.term(c)) };
        let inside = |b: &Binding| Binding { pattern: b.pattern.clone(), rhs: self.term(&b.rhs) };
        let all: Vec<Binding> = bindings.iter().map(inside).collect();
        let uses = occurrences(e);
        let mut out: Vec<Binding> = Vec::with_capacity(all.len());
        for b in all {
            match self.joined(&out, &b, &uses) {
                Some(joined) => out = joined,
                None => out.push(b),
            }
        }
        Expr::block(out, self.term(result))
    }

    /// The bindings with one more, joined to one of them.
    fn joined(&mut self, before: &[Binding], b: &Binding, uses: &HashMap<u32, usize>) -> Option<Vec<Binding>> {
        let second = self.sum(before, b, uses)?;
        let near = (0..before.len()).rev().filter_map(|j| Some((j, self.sum(before, &before[j], uses)?)));
        let near: Vec<(usize, Sum)> = near.filter(|(_, first)| first.n == second.n).take(TRIED).collect();
        near.into_iter().find_map(|(j, first)| {
            let at = place(before, j, b)?;
            let rhs = self.both(&first, &second)?;
            let [x, y] = [&before[j], b].map(|b| self.supply.fresh(name(b), b.rhs.ty().clone()));
            let pattern = Pattern::Tuple(vec![x.clone(), y.clone()]);
            let named =
                [(&before[j], x), (b, y)].map(|(b, x)| Binding { pattern: b.pattern.clone(), rhs: Expr::var(&x) });
            let mut out = before.to_vec();
            out.remove(j);
            let at = if at > j { at - 1 } else { at };
            out.splice(at..at, [Binding { pattern, rhs }].into_iter().chain(named));
            let summed = [&before[j], b].map(summed);
            // The sum has the body of the `build` now, and nothing else needs that.
            out.retain(|b| !matches!(&b.pattern, Pattern::Var(x) if summed.contains(&Some(x))));
            Some(out)
        })
    }

    /// The sum that a binding is of.
    fn sum(&self, before: &[Binding], b: &Binding, uses: &HashMap<u32, usize>) -> Option<Sum> {
        let rhs = &b.rhs;
        let (witness, n, f) = match (rhs.args_of_prim(Prim::SumBuild), rhs.args_of_prim(Prim::Sum)) {
            (Some([w, n, f]), _) => (w.clone(), n, f),
            (Some([n, f]), _) if *rhs.ty() == Type::Float => (Expr::dummy(Type::Float), n, f),
            (_, Some([v])) if *rhs.ty() == Type::Float => {
                let v = v.as_var().filter(|v| uses.get(&v.id()) == Some(&1))?;
                let made = before.iter().find(|b| b.pattern.vars() == [v.clone()])?;
                let [n, f] = made.rhs.args_of_prim(Prim::Build)? else { return None };
                (Expr::dummy(Type::Float), n, f)
            }
            _ => return None,
        };
        let Kind::Lam(index, body) = f.kind() else { return None };
        (n.is_atom() && !self.effects.in_term(f)).then(|| Sum {
            witness,
            n: n.clone(),
            index: index.clone(),
            body: body.clone(),
        })
    }

    /// The two as one, if they share work.
    fn both(&mut self, first: &Sum, second: &Sum) -> Option<Expr> {
        let renamed = substitute(&second.body, &HashMap::from([(second.index.id(), Expr::var(&first.index))]));
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
        let shares = dear(&shared) < dear(&first.body) + dear(&second.body)
            || meetings(&shared) > meetings(&first.body) + meetings(&renamed);
        let f = Expr::lam(first.index.clone(), body);
        let witness = Expr::tuple([first.witness.clone(), second.witness.clone()]);
        shares.then(|| Expr::prim(Prim::SumBuild, [witness, first.n.clone(), f]))
    }
}

/// Where the j-th binding and one that comes after all of them can stand as one.
fn place(before: &[Binding], j: usize, b: &Binding) -> Option<usize> {
    let bound: HashSet<u32> = before[j..].iter().flat_map(|b| b.pattern.vars()).map(Var::id).collect();
    let needed = needs(before, b);
    if needed.iter().all(|x| !bound.contains(&x.id())) {
        return Some(j);
    }
    let own = before[j].pattern.vars();
    let uses = |e: &Expr| free_variables(e).iter().any(|x| own.contains(x));
    let is_used = before[j + 1..].iter().any(|b| uses(&b.rhs)) || needed.iter().any(|x| own.contains(x));
    (!is_used).then_some(before.len())
}

/// The variables that a sum needs; those of what it sums up, where that is a `build`.
fn needs(before: &[Binding], b: &Binding) -> Vec<Var> {
    let made = summed(b).and_then(|v| before.iter().find(|b| b.pattern.vars() == [v.clone()]));
    free_variables(&made.unwrap_or(b).rhs)
}

/// Returns the variable that is summed up, for `sum(v)`.
fn summed(b: &Binding) -> Option<&Var> {
    b.rhs.args_of_prim(Prim::Sum)?[0].as_var()
}

fn name(b: &Binding) -> &str {
    if let Pattern::Var(x) = &b.pattern { x.name() } else { "t" }
}

/// How many calls of a block can be one with another: that of a function where it calls a derivative of it, or of
/// another derivative.
fn meetings(block: &Expr) -> usize {
    let tuples = Tuples::bound_in(block);
    let (bindings, _) = block.as_block();
    let of =
        |rhs: &Expr| -> Vec<Meeting> { tuples.of_value(rhs).into_iter().chain(tuples.of_derivative(rhs)).collect() };
    let all: Vec<Meeting> = bindings.iter().flat_map(|b| of(&b.rhs)).collect();
    let different: HashSet<&Meeting> = all.iter().collect();
    all.len() - different.len()
}

/// How many dear operators there are.
fn dear(e: &Expr) -> usize {
    let mut count = 0;
    e.visit(|e| {
        if let Kind::App(op, args) = e.kind() {
            let takes_function = args.iter().any(|a| matches!(a.kind(), Kind::Lam(..)));
            count += usize::from(takes_function || is_dear(op));
        }
    });
    count
}

fn is_dear(op: &Op) -> bool {
    match op {
        Op::Call(_) => true,
        Op::Prim(p) => matches!(p.cost(), Cost::Root | Cost::Call),
        _ => false,
    }
}

/// The postcondition: blocks are flat, and no two costly sums in a block are equal.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let mut twice = None;
    def.body.visit(|e| twice = twice.take().or_else(|| equal_sum(e.as_block().0, facts)));
    forms::not_flat(&def.body).or(twice)
}

/// Returns a costly sum that a block has twice, but for the names of variables.
fn equal_sum(bindings: &[Binding], facts: &Facts) -> Option<Expr> {
    let is_costly = |e: &&Expr| {
        let can_be_fused = |args: &[Expr]| args.len() == 3 || *e.ty() == Type::Float;
        e.args_of_prim(Prim::SumBuild).is_some_and(can_be_fused) && dear(e) > 1 && !facts.effects.in_term(e)
    };
    let mut sums: HashMap<usize, Vec<&Expr>> = HashMap::new();
    for sum in bindings.iter().map(|b| &b.rhs).filter(is_costly) {
        let of_that_size = sums.entry(sum.size()).or_default();
        if of_that_size.iter().any(|other| alpha::exprs(other, sum)) {
            return Some(sum.clone());
        }
        of_that_size.push(sum);
    }
    None
}
