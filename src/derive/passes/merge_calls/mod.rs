//! Merges computations that share their work: conditionals on one variable, calls of a function and of its
//! derivatives.
//!
//! ```text
//! let x = if c then a else b in .. let y = if c then a' else b'
//!     =   let (x, y) = if c then (a, a') else (b, b')
//! let y = g(s) in .. let dy = fwd$g(s, ds)    =   let (y, dy) = jvp$g(s, ds)
//! let (y, dy) = jvp$g(s, ds) in .. g(s)       =   let (y, dy) = jvp$g(s, ds) in .. y         likewise vjp$g
//! let y = g(s) in .. rev$g(s, dr)             =   let (y, r) = suffwdpass$g(s) in .. sufrevpass$g(dr, r)
//! let x = if c then (let u = p in b) else e   =   let u = if c then p else _ in let x = if c then b else e
//! ```
//!
//! The later computation moves up, so all that it needs must be bound there. Of a conditional, the part moves up whose
//! needs are bound (`partial_eval`). So the derivative of nested conditionals and calls costs as much as that of
//! straight code. Without the pass, each level would compute the level below twice: for its value, and for its
//! derivative.
//!
//! Source: working notes, sec. 5.2 (value and derivative in one) and 6.1 (splitting). The law of conditionals is the
//! same with branches for functions. Takes and gives: normal form.

mod calls;
mod order;

use crate::derive::call_points::Tuples;
use crate::derive::forms::shown;
use crate::derive::partial_eval::{cut_conditional, depends_on};
use crate::derive::postcondition::Facts;
use calls::{Role, function_of_pair, role_of};
use lm::effect::Effects;
use lm::rewrites::Rewrites;
use lm::term::{Atom, Binding, Def, Expr, Fun, FunName, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The functions that have two halves, each with the type of its record.
pub type Records = FxHashMap<FunName, (Arc<Fun>, Type)>;

/// Merges the computations of a definition.
///
/// `records` has f and the B of `[suffwdpass f] : S -> (T, B)`, for each f that has it. Bindings that depend on the
/// parameters `late` are not merged with others: a split cuts between the two.
pub fn merge_calls(
    def: &Def,
    records: &Records,
    late: &[Var],
    effects: &Effects,
    supply: &mut Supply,
    rewrites: &mut Rewrites,
) -> Def {
    let tuples = Tuples::bound_in(&def.body);
    let mut pass = MergeCalls {
        records,
        effects,
        supply,
        rewrites,
        positions: FxHashMap::default(),
        tuples,
        late: late.iter().map(Var::id).collect(),
    };
    def.params.iter().for_each(|p| pass.set_position(p, Position::OUTSIDE));
    Def { body: pass.merge_calls_in_block(&def.body, 0), ..def.clone() }
}

/// The position of a binding: the nesting of its block, and its number in the block.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Position(usize, usize);

impl Position {
    const OUTSIDE: Position = Position(0, 0);
}

struct MergeCalls<'a> {
    records: &'a Records,
    effects: &'a Effects,
    supply: &'a mut Supply,
    rewrites: &'a mut Rewrites,
    positions: FxHashMap<u32, Position>,
    /// The late parameters and the variables that depend on them.
    late: FxHashSet<u32>,
    tuples: Tuples,
}

/// The key of a binding: two bindings with equal keys may be merged.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    If(u32),
    Call(FunName, Vec<Atom>),
}

/// Two bindings as they are after a law.
struct Merged {
    law: &'static str,
    earlier: Binding,
    /// What is left of the later one.
    later: Option<Binding>,
}

/// The bindings of a block, by their numbers. A binding that was merged has left its place; one that was cut is two.
type Places = Vec<Vec<Binding>>;

impl MergeCalls<'_> {
    fn merge_calls_in_block(&mut self, e: &Expr, depth: usize) -> Expr {
        let (bindings, result) = e.as_block();
        // The result takes part like a binding: it may be merged with one, or one with it.
        let last = self.supply.fresh("t", result.ty().clone());
        let mut all: Vec<Binding> = bindings.iter().flat_map(|b| self.whole_first(b)).collect();
        all.push(Binding { pattern: Pattern::Var(last.clone()), rhs: result.clone() });
        let all = order::projections_first(all, self.rewrites);
        let all = self.halves_before_values(all);
        let all = self.merge_bindings(all, depth);
        let mut bindings: Vec<Binding> = all.into_iter().map(|b| self.merge_in_branches(b, depth)).collect();
        match bindings.last() {
            Some(Binding { pattern: Pattern::Var(x), .. }) if *x == last => {
                let result = bindings.pop().expect("just seen").rhs;
                Expr::block(bindings, result)
            }
            _ => Expr::block(bindings, Expr::var(&last)),
        }
    }

    /// Rewrites `(x, y) = f(s)` to `t = f(s) .. (x, y) = t`: a value is merged as a whole. A first half gives a pair
    /// already.
    fn whole_first(&mut self, b: &Binding) -> Vec<Binding> {
        let is_value = matches!(b.rhs.kind(), Kind::App(Op::Call(f), _) if role_of(f).0 != Role::FirstHalf);
        if !is_value || matches!(b.pattern, Pattern::Var(_)) || !self.rewrites.may("let-whole") {
            return vec![b.clone()];
        }
        let t = self.supply.fresh("t", b.rhs.ty().clone());
        let parts = Binding { pattern: b.pattern.clone(), rhs: Expr::var(&t) };
        vec![Binding { pattern: Pattern::Var(t), rhs: b.rhs.clone() }, parts]
    }

    /// Rewrites a reverse derivative before the value at the same point to its halves: the first gives the value, too.
    fn halves_before_values(&mut self, all: Vec<Binding>) -> Places {
        let mut values: FxHashMap<Key, usize> = FxHashMap::default();
        for (i, b) in all.iter().enumerate() {
            let is_value = matches!(b.rhs.kind(), Kind::App(Op::Call(f), _) if role_of(f).0 == Role::Value);
            if let Some(key) = self.key_of(&b.rhs).filter(|_| is_value && !self.effects.in_term(&b.rhs)) {
                values.insert(key, i);
            }
        }
        let mut out = Vec::with_capacity(all.len());
        for (i, b) in all.into_iter().enumerate() {
            let comes_first = self.key_of(&b.rhs).and_then(|key| values.get(&key)).is_some_and(|&value| value > i);
            let halves = self.halves_of(&b).filter(|_| comes_first && self.rewrites.may("call-halves"));
            match halves {
                Some(halves) => out.extend(halves),
                None => out.push(b),
            }
        }
        out.into_iter().map(|b| vec![b]).collect()
    }

    fn merge_in_branches(&mut self, b: Binding, depth: usize) -> Binding {
        let rhs = match b.rhs.kind() {
            Kind::App(Op::If, args) => {
                let (yes, no) =
                    (self.merge_calls_in_block(&args[1], depth + 1), self.merge_calls_in_block(&args[2], depth + 1));
                Expr::conditional(args[0].clone(), yes, no).at(b.rhs.span())
            }
            Kind::App(..) => b.rhs.map_children(|e| match e.kind() {
                Kind::Lam(_, body) => {
                    let merged = self.merge_calls_in_block(body, depth + 1);
                    e.map_children(|_| merged.clone())
                }
                _ => e.clone(),
            }),
            _ => b.rhs,
        };
        Binding { pattern: b.pattern, rhs }
    }

    fn merge_bindings(&mut self, mut all: Places, depth: usize) -> Vec<Binding> {
        let mut first: FxHashMap<Key, usize> = FxHashMap::default();
        for i in 0..all.len() {
            let Some(b) = all[i].last().cloned() else { continue };
            b.pattern.vars().iter().for_each(|x| self.set_position(x, Position(depth + 1, i)));
            if depends_on(&b.rhs, &self.late) {
                self.late.extend(b.pattern.vars().iter().map(Var::id));
            }
            if self.effects.in_term(&b.rhs) {
                continue;
            }
            let keys = [self.key_of(&b.rhs), self.key_of_value(&b.rhs)];
            for key in keys.into_iter().flatten() {
                match first.get(&key).copied() {
                    Some(j) => self.try_merge(&mut all, j, i, depth),
                    None => drop(first.insert(key, i)),
                }
            }
        }
        all.into_iter().flatten().collect()
    }

    fn set_position(&mut self, x: &Var, place: Position) {
        self.positions.insert(x.id(), place);
    }

    /// Merges binding i into binding j < i, if all that i needs is bound before j.
    fn try_merge(&mut self, all: &mut Places, j: usize, i: usize, depth: usize) {
        let (Some(a), Some(b)) = (all[j].last().cloned(), all[i].last().cloned()) else { return };
        // A derivative that comes with its value may have both keys.
        if i == j || self.rewrites.is_spent() {
            return;
        }
        let merged = match (a.rhs.kind(), b.rhs.kind()) {
            (Kind::App(Op::If, _), Kind::App(Op::If, _)) => self.merge_into(&a, &b, all, (j, i), depth),
            (Kind::App(Op::Call(f), _), Kind::App(Op::Call(g), _)) => {
                let (f, g) = (f.clone(), g.clone());
                self.merge_calls(&a, &f, &b, &g, Position(depth + 1, j))
            }
            _ => None,
        };
        let Some(Merged { law, earlier, later }) = merged else { return };
        if self.rewrites.may(law) {
            earlier.pattern.vars().iter().for_each(|x| self.set_position(x, Position(depth + 1, j)));
            all[j] = vec![earlier];
            all[i] = later.into_iter().collect();
        }
    }

    /// Merges the conditional b into a, or the part of b that does not depend on bindings between them.
    fn merge_into(
        &mut self,
        a: &Binding,
        b: &Binding,
        all: &mut Places,
        (j, i): (usize, usize),
        depth: usize,
    ) -> Option<Merged> {
        let law = "if-merge";
        if self.is_bound_before(&b.rhs, Position(depth + 1, j)) {
            return Some(Merged { law, earlier: self.merge_conditionals(a, b), later: None });
        }
        let between = all[j..].iter().flatten().flat_map(|b| b.pattern.vars()).map(Var::id);
        let late: FxHashSet<u32> = between.chain(self.late.iter().copied()).collect();
        let [forward, rest] = self.cut(b, late, &mut all[i])?;
        Some(Merged { law, earlier: self.merge_conditionals(a, &forward), later: Some(rest) })
    }

    /// Cuts a conditional in two, and the reverse derivatives in its branches into halves; at its place is what the
    /// rewrites that are left make of it.
    fn cut(&mut self, b: &Binding, late: FxHashSet<u32>, place: &mut Vec<Binding>) -> Option<[Binding; 2]> {
        let own = std::mem::replace(self.rewrites, Rewrites::all());
        let with_halves = self.halves_in_branches(&b.rhs, &late);
        *self.rewrites = own;
        let (forward, rest) = cut_conditional(&with_halves, late.clone(), self.supply)?;
        if self.rewrites.is_limited() {
            *place = vec![Binding { pattern: b.pattern.clone(), rhs: self.halves_in_branches(&b.rhs, &late) }];
        }
        let both = [forward, Binding { pattern: b.pattern.clone(), rhs: rest }];
        let is_cut = self.rewrites.may("if-cut");
        if is_cut {
            *place = both.to_vec();
        }
        is_cut.then_some(both)
    }

    fn key_of(&self, e: &Expr) -> Option<Key> {
        match e.kind() {
            Kind::App(Op::If, args) => Some(Key::If(args[0].as_var()?.id())),
            Kind::App(Op::Call(f), args) => {
                let (role, base) = role_of(f);
                let args = match role {
                    // The argument of a derivative is the tuple of its function's arguments.
                    Role::Fwd | Role::Rev => self.parts_of(args.first()?),
                    Role::Value | Role::FirstHalf if args.len() == 1 => self.parts_of(&args[0]),
                    Role::Value | Role::FirstHalf => args.clone(),
                };
                Some(Key::Call(base.unrestricted(), args.iter().map(Atom::of).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// Returns the key of g(s), for `jvp$g(s, ds)` or `vjp$g(s, dr)`, which give its value, too.
    fn key_of_value(&self, e: &Expr) -> Option<Key> {
        let Kind::App(Op::Call(f), args) = e.kind() else { return None };
        let value = function_of_pair(f)?;
        let args = self.parts_of(args.first()?);
        Some(Key::Call(value, args.iter().map(Atom::of).collect::<Option<_>>()?))
    }

    /// Returns the components of a tuple that is bound before; of anything else, itself.
    fn parts_of(&self, whole: &Expr) -> Vec<Expr> {
        self.tuples.components(whole).to_vec()
    }

    fn is_bound_before(&self, e: &Expr, place: Position) -> bool {
        e.all(|e| match e.kind() {
            // A variable that has no place yet is bound inside the term.
            Kind::Var(x) => {
                let is_bound_before = |p: &Position| p.0 < place.0 || p.1 < place.1;
                !self.late.contains(&x.id()) && self.positions.get(&x.id()).is_none_or(is_bound_before)
            }
            Kind::Const(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => true,
        })
    }

    fn merge_conditionals(&mut self, a: &Binding, b: &Binding) -> Binding {
        let (Some([c, a1, a2]), Some([_, b1, b2])) = (a.rhs.args_of(&Op::If), b.rhs.args_of(&Op::If)) else {
            panic!("both are conditionals")
        };
        let yes = self.tuple_of_branches(&a.pattern, a1, &b.pattern, b1);
        let no = self.tuple_of_branches(&a.pattern, a2, &b.pattern, b2);
        let vars = a.pattern.vars().iter().chain(b.pattern.vars()).cloned().collect();
        Binding { pattern: Pattern::Tuple(vars), rhs: Expr::conditional(c.clone(), yes, no).at(a.rhs.span()) }
    }

    /// Returns `(a, b)` as one flat block.
    fn tuple_of_branches(&mut self, p: &Pattern, a: &Expr, q: &Pattern, b: &Expr) -> Expr {
        let (first, x) = a.as_block();
        let (second, y) = b.as_block();
        let mut bindings = [first, second].concat();
        let mut parts = self.components_of_branch(p, x, &mut bindings);
        parts.extend(self.components_of_branch(q, y, &mut bindings));
        Expr::block(bindings, Expr::tuple(parts))
    }

    /// Returns the components that the pattern takes from a branch's result, as atoms.
    fn components_of_branch(&mut self, p: &Pattern, result: &Expr, bindings: &mut Vec<Binding>) -> Vec<Expr> {
        match (p, result.args_of(&Op::Tuple)) {
            (Pattern::Tuple(_), Some(parts)) => parts.to_vec(),
            (Pattern::Var(_), _) if result.is_atom() => vec![result.clone()],
            (Pattern::Var(x), _) => vec![self.name(x, result, bindings)],
            (Pattern::Tuple(xs), None) => {
                let fresh: Vec<Var> = xs.iter().map(|x| self.supply.fresh(x.name(), x.ty().clone())).collect();
                bindings.push(Binding { pattern: Pattern::Tuple(fresh.clone()), rhs: result.clone() });
                fresh.iter().map(Expr::var).collect()
            }
        }
    }

    fn name(&mut self, like: &Var, e: &Expr, bindings: &mut Vec<Binding>) -> Expr {
        let t = self.supply.fresh(like.name(), e.ty().clone());
        bindings.push(Binding { pattern: Pattern::Var(t.clone()), rhs: e.clone() });
        Expr::var(&t)
    }
}

/// Returns what breaks the postcondition: a conditional that can be merged with the first on its variable.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let late = facts.directions.iter().map(Var::id).collect();
    Unmerged { effects: facts.effects, late }.term(&def.body)
}

/// A search for conditionals on one variable that can be merged.
struct Unmerged<'a> {
    effects: &'a Effects,
    /// The directions, and the variables that depend on them.
    late: FxHashSet<u32>,
}

impl Unmerged<'_> {
    fn term(&mut self, e: &Expr) -> Option<Expr> {
        let Kind::Let(bindings, body) = e.kind() else { return e.children().find_map(|c| self.term(c)) };
        // For each variable that is a condition, what its first conditional and all after it bind.
        let mut later: FxHashMap<u32, FxHashSet<u32>> = FxHashMap::default();
        for b in bindings {
            if depends_on(&b.rhs, &self.late) {
                self.late.extend(b.pattern.vars().iter().map(Var::id));
            }
            let condition = b.rhs.args_of(&Op::If).and_then(|args| args[0].as_var()).map(Var::id);
            if let Some(c) = condition.filter(|_| !self.effects.in_term(&b.rhs)) {
                let is_first = !later.contains_key(&c);
                let bound = later.entry(c).or_default();
                if !is_first && !depends_on(&b.rhs, bound) && !depends_on(&b.rhs, &self.late) {
                    return Some(shown(b));
                }
            }
            later.values_mut().for_each(|bound| bound.extend(b.pattern.vars().iter().map(Var::id)));
        }
        let inside = bindings.iter().find_map(|b| self.term(&b.rhs));
        inside.or_else(|| self.term(body))
    }
}
