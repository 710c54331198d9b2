//! Two computations that share their work become one.
//!
//!   let x = if c then a else b in .. let y = if c then a' else b'
//!       =   let (x, y) = if c then (a, a') else (b, b')
//!   let y = g(s) in .. let dy = fwd$g(s, ds)    =   let (y, dy) = jvp$g(s, ds)
//!   let y = g(s) in .. rev$g(s, dr)             =   let (y, r) = suffwdpass$g(s) in .. sufrevpass$g(dr, r)
//!
//! The later one moves up, so all that it needs must be there; of a conditional moves up what does
//! not need what is not there (`dependence`). This is what keeps the derivative of
//! nested conditionals and of nested calls as cheap as that of straight code: without it each level
//! would compute the level below once for its value and once more for its derivative.
//!
//! Source: working notes, sec. 5.2 (value and derivative in one) and 6.1 (splitting); the
//! conditional is that law with the branches for the functions. Takes and gives: normal form.

use crate::dependence::{cut_conditional, depends_on};
use lm::effect::Effects;
use lm::term::{Binding, Def, Expr, Fun, FunName, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// For each function that has two halves, itself and the type of its record.
pub type Records = HashMap<FunName, (Arc<Fun>, Type)>;

/// The definition with shared work merged.
///
/// `records` gives f and the B of `[suffwdpass f] : S -> (T, B)`, for each f that has it. Nothing that
/// depends on the parameters `late` is merged with what does not: a split cuts between the two.
pub fn merge(def: &Def, records: &Records, late: &[Var], effects: &Effects, supply: &mut Supply) -> Def {
    let mut tuples = HashMap::new();
    collect_tuples(&def.body, &mut tuples);
    let mut pass =
        Merge { records, effects, supply, depth_of: HashMap::new(), tuples, late: late.iter().map(Var::id).collect() };
    def.params.iter().for_each(|p| pass.place(p, Place::OUTSIDE));
    Def { body: pass.block(&def.body, 0), ..def.clone() }
}

/// Where a variable is bound: the nesting of its block, and its place in the block.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Place(usize, usize);

impl Place {
    const OUTSIDE: Place = Place(0, 0);
}

struct Merge<'a> {
    records: &'a Records,
    effects: &'a Effects,
    supply: &'a mut Supply,
    depth_of: HashMap<u32, Place>,
    /// The late parameters and what depends on them.
    late: HashSet<u32>,
    /// The components of each variable that is bound to a tuple.
    tuples: HashMap<u32, Vec<Expr>>,
}

/// What two bindings must agree in to be merged.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    If(u32),
    Call(FunName, Vec<Argument>),
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Argument {
    Var(u32),
    Const(lm::term::Constant),
}

impl Merge<'_> {
    fn block(&mut self, e: &Expr, depth: usize) -> Expr {
        let (bindings, result) = e.as_block();
        // The result takes part like a binding: it may be merged with one, or one with it.
        let last = self.supply.fresh("t", result.ty().clone());
        let mut all: Vec<Option<Binding>> = bindings.iter().cloned().map(Some).collect();
        all.push(Some(Binding { pattern: Pattern::Var(last.clone()), rhs: result.clone() }));
        let all = self.merged(early(all), depth);
        let mut bindings: Vec<Binding> = all.into_iter().map(|b| self.inside(b, depth)).collect();
        match bindings.last() {
            Some(Binding { pattern: Pattern::Var(x), .. }) if *x == last => {
                let result = bindings.pop().expect("just seen").rhs;
                Expr::block(bindings, result)
            }
            _ => Expr::block(bindings, Expr::var(&last)),
        }
    }

    fn inside(&mut self, b: Binding, depth: usize) -> Binding {
        let rhs = match b.rhs.kind() {
            Kind::App(Op::If, args) => {
                let (yes, no) = (self.block(&args[1], depth + 1), self.block(&args[2], depth + 1));
                Expr::conditional(args[0].clone(), yes, no).at(b.rhs.span())
            }
            _ => b.rhs,
        };
        Binding { pattern: b.pattern, rhs }
    }

    fn merged(&mut self, mut all: Vec<Option<Binding>>, depth: usize) -> Vec<Binding> {
        let mut first: HashMap<Key, usize> = HashMap::new();
        for i in 0..all.len() {
            let Some(b) = all[i].clone() else { continue };
            b.pattern.vars().iter().for_each(|x| self.place(x, Place(depth + 1, i)));
            if depends_on(&b.rhs, &self.late) {
                self.late.extend(b.pattern.vars().iter().map(Var::id));
            }
            if self.effects.in_term(&b.rhs) {
                continue;
            }
            let Some(key) = self.key_of(&b.rhs) else { continue };
            match first.get(&key).copied() {
                Some(j) => self.try_merge(&mut all, j, i, depth),
                None => drop(first.insert(key, i)),
            }
        }
        all.into_iter().flatten().collect()
    }

    fn place(&mut self, x: &Var, place: Place) {
        self.depth_of.insert(x.id(), place);
    }

    /// Merges binding i into binding j < i, if all that i needs is there before j.
    fn try_merge(&mut self, all: &mut [Option<Binding>], j: usize, i: usize, depth: usize) {
        let (Some(a), Some(b)) = (all[j].clone(), all[i].clone()) else { return };
        let merged = match (a.rhs.kind(), b.rhs.kind()) {
            (Kind::App(Op::If, _), Kind::App(Op::If, _)) => self.merge_into(&a, &b, all, j, depth),
            (Kind::App(Op::Call(f), _), Kind::App(Op::Call(g), _)) => {
                let (f, g) = (f.clone(), g.clone());
                self.merge_calls(&a, &f, &b, &g, Place(depth + 1, j))
            }
            _ => None,
        };
        let Some((earlier, later)) = merged else { return };
        earlier.pattern.vars().iter().for_each(|x| self.place(x, Place(depth + 1, j)));
        all[j] = Some(earlier);
        all[i] = later;
    }

    /// Merges the conditional b into a, or what of it does not depend on what stands between.
    fn merge_into(
        &mut self,
        a: &Binding,
        b: &Binding,
        all: &[Option<Binding>],
        j: usize,
        depth: usize,
    ) -> Option<(Binding, Option<Binding>)> {
        if self.is_there(&b.rhs, Place(depth + 1, j)) {
            return Some((self.merge_conditionals(a, b), None));
        }
        let between = all[j..].iter().flatten().flat_map(|b| b.pattern.vars()).map(Var::id);
        let late = between.chain(self.late.iter().copied()).collect();
        let with_halves = self.halves_in_branches(&b.rhs);
        let (forward, rest) = cut_conditional(&with_halves, late, self.supply)?;
        Some((self.merge_conditionals(a, &forward), Some(Binding { pattern: b.pattern.clone(), rhs: rest })))
    }

    fn key_of(&self, e: &Expr) -> Option<Key> {
        match e.kind() {
            Kind::App(Op::If, args) => Some(Key::If(args[0].as_var()?.id())),
            Kind::App(Op::Call(f), args) => {
                let (role, base) = role_of(f);
                let args = match role {
                    // The argument of a derivative is the tuple of its function's arguments.
                    Role::Fwd | Role::Rev => self.parts_of(args.first()?),
                    Role::Value | Role::Suffwdpass if args.len() == 1 => self.parts_of(&args[0]),
                    Role::Value | Role::Suffwdpass => args.clone(),
                };
                Some(Key::Call(base, args.iter().map(argument).collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    /// The components of a tuple that is bound somewhere before; of anything else, itself.
    fn parts_of(&self, whole: &Expr) -> Vec<Expr> {
        let parts = whole.as_var().and_then(|x| self.tuples.get(&x.id()).cloned());
        parts.unwrap_or_else(|| vec![whole.clone()])
    }

    fn is_there(&self, e: &Expr, place: Place) -> bool {
        match e.kind() {
            Kind::Const(_) => true,
            // A variable that has no place yet is bound inside the term.
            Kind::Var(x) if self.late.contains(&x.id()) => false,
            Kind::Var(x) => self.depth_of.get(&x.id()).is_none_or(|p| p.0 < place.0 || p.1 < place.1),
            Kind::App(_, args) => args.iter().all(|a| self.is_there(a, place)),
            Kind::Let(bindings, body) => {
                bindings.iter().all(|b| self.is_there(&b.rhs, place)) && self.is_there(body, place)
            }
            Kind::Lam(_, body) => self.is_there(body, place),
        }
    }

    fn merge_conditionals(&mut self, a: &Binding, b: &Binding) -> Binding {
        let (Some([c, a1, a2]), Some([_, b1, b2])) = (a.rhs.args_of(&Op::If), b.rhs.args_of(&Op::If)) else {
            panic!("both are conditionals")
        };
        let yes = self.both(&a.pattern, a1, &b.pattern, b1);
        let no = self.both(&a.pattern, a2, &b.pattern, b2);
        let vars = a.pattern.vars().iter().chain(b.pattern.vars()).cloned().collect();
        Binding { pattern: Pattern::Tuple(vars), rhs: Expr::conditional(c.clone(), yes, no).at(a.rhs.span()) }
    }

    /// `(a, b)`, flat, as a block.
    fn both(&mut self, p: &Pattern, a: &Expr, q: &Pattern, b: &Expr) -> Expr {
        let (first, x) = a.as_block();
        let (second, y) = b.as_block();
        let mut bindings = [first, second].concat();
        let mut parts = self.parts(p, x, &mut bindings);
        parts.extend(self.parts(q, y, &mut bindings));
        Expr::block(bindings, Expr::tuple(parts))
    }

    /// The components that the pattern takes from a branch's result, as atoms.
    fn parts(&mut self, p: &Pattern, result: &Expr, bindings: &mut Vec<Binding>) -> Vec<Expr> {
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

    /// Two calls of functions that share their work, at the same s: a value, a derivative, a first half.
    fn merge_calls(
        &mut self,
        a: &Binding,
        f: &Arc<Fun>,
        b: &Binding,
        g: &Arc<Fun>,
        place: Place,
    ) -> Option<(Binding, Option<Binding>)> {
        match (role_of(f).0, role_of(g).0) {
            (Role::Value, Role::Fwd) if self.is_there(&b.rhs, place) => Some((with_tangent(a, f, b, g)?, None)),
            // The value may come after: all that it needs was there for the derivative.
            (Role::Fwd, Role::Value) => Some((with_tangent(b, g, a, f)?, None)),
            (Role::Value, Role::Rev) => {
                let Pattern::Var(y) = &a.pattern else { return None };
                let (forward, r) = self.first_half(y.clone(), f, args(&a.rhs))?;
                Some((forward, Some(second_half(b, g, &f.name, &r))))
            }
            (Role::Value, Role::Suffwdpass) => {
                let (Pattern::Var(y), [_, record]) = (&a.pattern, g.result.as_tuple()?) else { return None };
                let r = self.supply.fresh("r", record.clone());
                let pair = Expr::tuple([Expr::var(y), Expr::var(&r)]);
                let rhs = Expr::app(Op::Call(g.clone()), args(&a.rhs));
                let forward = Binding { pattern: Pattern::Tuple(vec![y.clone(), r]), rhs };
                Some((forward, Some(Binding { pattern: b.pattern.clone(), rhs: pair })))
            }
            (Role::Suffwdpass, Role::Value) => {
                let [y, _] = a.pattern.vars() else { return None };
                Some((a.clone(), Some(Binding { pattern: b.pattern.clone(), rhs: Expr::var(y) })))
            }
            (Role::Suffwdpass, Role::Rev) => {
                let [_, r] = a.pattern.vars() else { return None };
                Some((a.clone(), Some(second_half(b, g, &role_of(f).1, r))))
            }
            _ => None,
        }
    }

    /// `(y, r) = suffwdpass$f(s)`, with r fresh; `None` for a function without halves.
    fn first_half(&mut self, y: Var, f: &Fun, args: Vec<Expr>) -> Option<(Binding, Var)> {
        let (_, record) = self.records.get(&f.name)?.clone();
        let r = self.supply.fresh("r", record.clone());
        let name = f.name.derived("suffwdpass");
        let half = Fun { name, params: f.params.clone(), result: Type::tuple([f.result.clone(), record]) };
        let rhs = Expr::app(Op::Call(Arc::new(half)), args);
        Some((Binding { pattern: Pattern::Tuple(vec![y, r.clone()]), rhs }, r))
    }

    /// The reverse derivatives that a block calls, as calls of their halves, so that the first can
    /// move to where the value is computed.
    fn with_halves(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        let last = self.supply.fresh("t", result.ty().clone());
        let last = Binding { pattern: Pattern::Var(last), rhs: result.clone() };
        let mut out = Vec::new();
        for b in bindings.iter().chain([&last]) {
            match self.halves_of(b) {
                Some(halves) => out.extend(halves),
                None => out.push(Binding { pattern: b.pattern.clone(), rhs: self.halves_in_branches(&b.rhs) }),
            }
        }
        match out.pop() {
            Some(Binding { pattern, rhs }) if pattern == last.pattern => Expr::block(out, rhs),
            _ => unreachable!("the result is the last binding"),
        }
    }

    fn halves_in_branches(&mut self, e: &Expr) -> Expr {
        match e.args_of(&Op::If) {
            Some([c, yes, no]) => {
                Expr::conditional(c.clone(), self.with_halves(yes), self.with_halves(no)).at(e.span())
            }
            _ => e.clone(),
        }
    }

    fn halves_of(&mut self, b: &Binding) -> Option<[Binding; 2]> {
        let Kind::App(Op::Call(g), _) = b.rhs.kind() else { return None };
        let (Role::Rev, base) = role_of(g) else { return None };
        let (f, _) = self.records.get(&base)?.clone();
        let whole = args(&b.rhs)[0].clone();
        let s = if f.params.len() == 1 { vec![whole] } else { self.parts_of(&whole) };
        if s.len() != f.params.len() {
            return None;
        }
        let y = self.supply.fresh("y", f.result.clone());
        let (forward, r) = self.first_half(y, &f, s)?;
        Some([forward, second_half(b, g, &f.name, &r)])
    }
}

/// How a function came from another.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Value,
    Fwd,
    Rev,
    Suffwdpass,
}

fn role_of(f: &Fun) -> (Role, FunName) {
    let role = match f.name.derivations.first().map(|d| &**d) {
        Some("fwd") => Role::Fwd,
        Some("rev") => Role::Rev,
        Some("suffwdpass") => Role::Suffwdpass,
        _ => return (Role::Value, f.name.clone()),
    };
    let mut base = f.name.clone();
    base.derivations.remove(0);
    (role, base)
}

fn args(call: &Expr) -> Vec<Expr> {
    match call.kind() {
        Kind::App(_, args) => args.clone(),
        Kind::Const(_) | Kind::Var(_) | Kind::Let(..) | Kind::Lam(..) => panic!("{call:?} is no call"),
    }
}

/// `(y, dy) = jvp$f(s, ds)`.
fn with_tangent(value: &Binding, f: &Fun, derivative: &Binding, g: &Fun) -> Option<Binding> {
    let (Pattern::Var(y), Pattern::Var(dy)) = (&value.pattern, &derivative.pattern) else { return None };
    let result = Type::tuple([f.result.clone(), g.result.clone()]);
    let both = Fun { name: f.name.derived("jvp"), params: g.params.clone(), result };
    let rhs = Expr::app(Op::Call(Arc::new(both)), args(&derivative.rhs)).at(value.rhs.span());
    Some(Binding { pattern: Pattern::Tuple(vec![y.clone(), dy.clone()]), rhs })
}

/// `ds = sufrevpass$f(dr, r)`, for `ds = rev$f(s, dr)`.
fn second_half(b: &Binding, g: &Fun, f: &FunName, r: &Var) -> Binding {
    let params = vec![g.params[1].clone(), r.ty().clone()];
    let half = Fun { name: f.derived("sufrevpass"), params, result: g.result.clone() };
    let rhs = Expr::app(Op::Call(Arc::new(half)), vec![args(&b.rhs)[1].clone(), Expr::var(r)]);
    Binding { pattern: b.pattern.clone(), rhs: rhs.at(b.rhs.span()) }
}

fn collect_tuples(e: &Expr, out: &mut HashMap<u32, Vec<Expr>>) {
    match e.kind() {
        Kind::Const(_) | Kind::Var(_) => {}
        Kind::App(_, args) => args.iter().for_each(|a| collect_tuples(a, out)),
        Kind::Lam(_, body) => collect_tuples(body, out),
        Kind::Let(bindings, body) => {
            for b in bindings {
                if let (Pattern::Var(x), Some(parts)) = (&b.pattern, b.rhs.args_of(&Op::Tuple)) {
                    out.insert(x.id(), parts.to_vec());
                }
                collect_tuples(&b.rhs, out);
            }
            collect_tuples(body, out);
        }
    }
}

/// Tuples and projections stand right after what they are made of, where they hold back no merge.
fn early(all: Vec<Option<Binding>>) -> Vec<Option<Binding>> {
    let last = all.len() - 1;
    let mut after: Vec<Vec<Binding>> = vec![Vec::new(); all.len() + 1];
    // The slot in which each variable is bound: slot 0 is before the block's first binding.
    let mut slots: HashMap<u32, usize> = HashMap::new();
    for (i, b) in all.into_iter().flatten().enumerate() {
        let is_light = matches!(b.rhs.kind(), Kind::App(Op::Tuple | Op::Get(..), _)) && i < last;
        let needs = lm::scope::occurrences(&b.rhs);
        let earliest = needs.keys().filter_map(|x| slots.get(x)).copied().max().unwrap_or(0);
        let slot = if is_light { earliest } else { i + 1 };
        slots.extend(b.pattern.vars().iter().map(|x| (x.id(), slot)));
        match is_light {
            true => after[slot].push(b),
            false => after[slot].insert(0, b),
        }
    }
    after.into_iter().flatten().map(Some).collect()
}

fn argument(e: &Expr) -> Option<Argument> {
    match e.kind() {
        Kind::Var(x) => Some(Argument::Var(x.id())),
        Kind::Const(c) => Some(Argument::Const(c.clone())),
        Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => None,
    }
}
