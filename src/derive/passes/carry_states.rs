//! Carries the state of a fold from step to step, where a loop reads the states in order.
//!
//! ```text
//! let s = scanl(f, a, v) in let t = $loop(size(v), λ(i, r). e[s[i]], b, w) in c[s[size(v)]]
//!   = let t' = $loop(size(v), λ(i, (x, r)). ((f(x, v[i]), e[x].1), e[x].2), (a, b), w) in c[t'.1.1]
//! ```
//!
//! The Jacobian of a fold reads the states of the fold, so the forward derivative makes all of them, by a scan. Its
//! loop needs them one at a time. Afterwards it is a fold over pairs of a state and a tangent, which keeps no states.
//! Steps compute what state and tangent share once, after sharing.
//!
//! Bindings between scan and loop that need the last state follow the loop. Effects stay in their order.
//!
//! Source: working notes, Fig. 14. Takes and gives: normal form without linear maps.

use crate::derive::forms::shown;
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::{free_variables, renamed};
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// Carries the states of the outermost folds of a definition.
pub fn carry_states(def: &Def, effects: &Effects, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    let scope = Scope::of(&def.body);
    let mut pass = CarryStates { scope: &scope, effects, supply, rewrites, made: FxHashSet::default() };
    Def { body: pass.block(&def.body), ..def.clone() }
}

/// Returns whether a loop of a definition has a state without a fixed shape.
pub fn carries_tensors(def: &Def) -> bool {
    def.body.any(|e| e.args_of_prim(Prim::Loop).is_some_and(|args| !args[2].ty().has_fixed_shape()))
}

/// What the variables of a definition are bound to. All binders differ.
#[derive(Default)]
struct Scope {
    terms: FxHashMap<u32, Expr>,
    /// The variables that are the first component of a variable, by number.
    firsts: FxHashMap<u32, Var>,
}

impl Scope {
    fn of(body: &Expr) -> Scope {
        let mut scope = Scope::default();
        body.visit_bindings(|b| match &b.pattern {
            Pattern::Var(x) => {
                if let Some((1, whole)) = component(&b.rhs) {
                    scope.firsts.insert(x.id(), whole.clone());
                }
                scope.terms.insert(x.id(), b.rhs.clone());
            }
            Pattern::Tuple(xs) => {
                if let (Some(first), Some(whole)) = (xs.first(), b.rhs.as_var()) {
                    scope.firsts.insert(first.id(), whole.clone());
                }
            }
        });
        scope
    }

    /// Returns whether a term is the number of elements of a vector.
    fn is_size(&self, n: &Expr, v: &Expr) -> bool {
        let term = |e: &Expr| e.as_var().and_then(|x| self.terms.get(&x.id()));
        let is_asked = term(n).or(Some(n)).and_then(|n| n.args_of_prim(Prim::Size)).is_some_and(|of| of[0] == *v);
        is_asked || term(v).and_then(|v| v.args_of_prim(Prim::Build)).is_some_and(|built| built[0] == *n)
    }

    /// Returns whether a term is the number of the step, where p is the parameter of a loop's step.
    fn is_step(&self, i: &Expr, p: &Var) -> bool {
        i.as_var().and_then(|i| self.firsts.get(&i.id())) == Some(p)
    }
}

/// Returns the number of a component, and the variable that it is a component of.
fn component(e: &Expr) -> Option<(usize, &Var)> {
    match e.kind() {
        Kind::App(Op::Get(i, _), args) => Some((*i, args[0].as_var()?)),
        _ => None,
    }
}

/// A scan, and a loop that reads its states in order.
struct Found<'a> {
    /// The places of both in their block.
    at: (usize, usize),
    states: &'a Var,
    /// The arguments of the scan: f, a, v.
    scan: &'a [Expr],
    /// The arguments of the loop: n, g, b, w.
    looped: &'a [Expr],
    result: &'a Pattern,
}

struct CarryStates<'a> {
    scope: &'a Scope,
    effects: &'a Effects,
    supply: &'a mut Supply,
    rewrites: &'a mut Rewrites,
    /// The variables of new loops.
    made: FxHashSet<u32>,
}

impl CarryStates<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => e.clone(),
            Kind::App(..) | Kind::Lam(..) => e.map_children(|a| self.term(a)),
            Kind::Let(..) => self.block(e),
        }
    }

    fn block(&mut self, e: &Expr) -> Expr {
        let (bindings, result) = e.as_block();
        if let Some(found) = self.found(bindings, result)
            && let Some((before, after)) = self.order(bindings, &found)
            && self.rewrites.may("fold-pairs")
        {
            let (carried, last) = self.carried(&found);
            let block = Expr::block([before, carried, after].concat(), result.clone());
            let is_last = |cx: &Self, e: &Expr| cx.is_last(e, found.states, &found.scan[2]);
            return self.block(&self.replaced(&block, &is_last, &last).at(e.span()));
        }
        let bindings = bindings.iter().map(|b| self.binding(b)).collect();
        Expr::block(bindings, self.term(result)).at(e.span())
    }

    /// Leaves the folds in new steps alone: state and tangent have to share them first.
    fn binding(&mut self, b: &Binding) -> Binding {
        let is_new = b.pattern.vars().iter().any(|x| self.made.contains(&x.id()));
        if is_new { b.clone() } else { Binding { pattern: b.pattern.clone(), rhs: self.term(&b.rhs) } }
    }

    /// Returns the first scan whose states a loop of the same block reads in order; besides, only the last is read.
    fn found<'b>(&self, bindings: &'b [Binding], result: &Expr) -> Option<Found<'b>> {
        bindings.iter().enumerate().find_map(|(j, b)| {
            let (Pattern::Var(states), Some(scan)) = (&b.pattern, b.rhs.args_of_prim(Prim::Scanl)) else { return None };
            let later = || bindings[j + 1..].iter().map(|b| &b.rhs).chain([result]);
            let uses: usize = later().map(|e| count(e, |e| e.as_var() == Some(states))).sum();
            let lasts = later().filter(|e| self.is_last(e, states, &scan[2])).count();
            (j + 1..bindings.len()).find_map(|k| {
                let looped = bindings[k].rhs.args_of_prim(Prim::Loop)?;
                let reads = self.reads_in_order(looped, states, &scan[2]);
                let found = Found { at: (j, k), states, scan, looped, result: &bindings[k].pattern };
                (reads > 0 && reads + lasts == uses).then_some(found)
            })
        })
    }

    /// Returns how often a loop over the elements of v reads the state of its own step.
    fn reads_in_order(&self, looped: &[Expr], states: &Var, v: &Expr) -> usize {
        let (p, body) = function(&looped[1]);
        if self.scope.is_size(&looped[0], v) { count(body, |e| self.is_read(e, states, p)) } else { 0 }
    }

    fn is_read(&self, e: &Expr, states: &Var, p: &Var) -> bool {
        matches!(e.args_of_prim(Prim::Index), Some([i, s]) if s.as_var() == Some(states) && self.scope.is_step(i, p))
    }

    fn is_last(&self, e: &Expr, states: &Var, v: &Expr) -> bool {
        matches!(e.args_of_prim(Prim::Index), Some([n, s]) if s.as_var() == Some(states) && self.scope.is_size(n, v))
    }

    /// Returns the bindings before and after the loop that carries the states. What needs the last state comes after;
    /// `None` if the loop itself needs it, or if effects would change places.
    fn order(&self, bindings: &[Binding], found: &Found) -> Option<(Vec<Binding>, Vec<Binding>)> {
        let (scan, looped) = found.at;
        let mut late = FxHashSet::from_iter([found.states.id()]);
        let (after, before): (Vec<Binding>, Vec<Binding>) = bindings[scan + 1..looped].iter().cloned().partition(|b| {
            let is_late = free_variables(&b.rhs).iter().any(|x| late.contains(&x.id()));
            late.extend(b.pattern.vars().iter().filter(|_| is_late).map(Var::id));
            is_late
        });
        late.remove(&found.states.id());
        let needs_late = free_variables(&bindings[looped].rhs).iter().any(|x| late.contains(&x.id()));
        let acts = |b: &Binding| self.effects.in_term(&b.rhs);
        let [scan_acts, loop_acts] = [scan, looped].map(|at| acts(&bindings[at]));
        let [before_acts, after_acts] = [&before, &after].map(|part| part.iter().any(acts));
        let crosses = (scan_acts || after_acts) && (before_acts || loop_acts);
        let all = || ([&bindings[..scan], &before].concat(), [&after, &bindings[looped + 1..]].concat());
        (!needs_late && !crosses).then(all)
    }

    /// Returns the loop over pairs of a state and what the loop carries, and the last state.
    fn carried(&mut self, found: &Found) -> (Vec<Binding>, Var) {
        let ([_, a, v], [n, step, b, w]) = (found.scan, found.looped) else {
            panic!("a scan takes three, a loop four")
        };
        let start = Expr::tuple([a.clone(), b.clone()]);
        let p = self.fresh("p", Type::tuple([Type::Integer, start.ty().clone()]));
        let body = self.step(found, &p, step, v);
        let output = body.ty().as_tuple().expect("a step gives a state and an output")[1].clone();
        let (both, ends) = (self.fresh("t", body.ty().clone()), self.fresh("t", start.ty().clone()));
        let (z, x, r) = (self.fresh("z", output), self.fresh("x", a.ty().clone()), self.fresh("r", b.ty().clone()));
        self.made.insert(both.id());
        let looped = Expr::prim(Prim::Loop, [n.clone(), Expr::lam(p, body), start, w.clone()]);
        let bindings = vec![
            bind([&both], looped),
            bind([&ends], Expr::get(1, Expr::var(&both))),
            bind([&z], Expr::get(2, Expr::var(&both))),
            bind([&x], Expr::get(1, Expr::var(&ends))),
            bind([&r], Expr::get(2, Expr::var(&ends))),
            Binding { pattern: found.result.clone(), rhs: Expr::tuple([Expr::var(&r), Expr::var(&z)]) },
        ];
        (bindings, x)
    }

    /// Returns the step of both: λ(i, (x, r)). ((f(x, v[i]), e[x].1), e[x].2).
    fn step(&mut self, found: &Found, p: &Var, step: &Expr, v: &Expr) -> Expr {
        let ((q, next), (old, rest)) = (function(&found.scan[0]), function(step));
        let [state, element] = q.ty().as_tuple().expect("a step takes a state and an element") else {
            panic!("a step takes two")
        };
        let carried = p.ty().as_tuple().expect("a pair")[1].clone();
        let carries = carried.as_tuple().expect("a pair")[1].clone();
        let (i, both, x) = (self.fresh("i", Type::Integer), self.fresh("t", carried), self.fresh("x", state.clone()));
        let (r, e) = (self.fresh("r", carries.clone()), self.fresh("e", element.clone()));
        let at = Expr::prim(Prim::Index, [Expr::var(&i), v.clone()]);
        let rest = self.replaced(rest, &|cx, e| cx.is_read(e, found.states, old), &x);
        let (first, last) = (next.as_block(), rest.as_block());
        let outputs = rest.ty().as_tuple().expect("a step gives a state and an output")[1].clone();
        let results = [("x", state.clone()), ("r", carries), ("z", outputs)];
        let [after, moved, output] = results.map(|(name, ty)| self.fresh(name, ty));
        let bindings = [
            vec![bind([&i, &both], Expr::var(p)), bind([&x, &r], Expr::var(&both)), bind([&e], at)],
            vec![bind([q], Expr::tuple([Expr::var(&x), Expr::var(&e)]))],
            first.0.to_vec(),
            vec![bind([&after], first.1.clone()), bind([old], Expr::tuple([Expr::var(&i), Expr::var(&r)]))],
            last.0.to_vec(),
            vec![bind([&moved, &output], last.1.clone())],
        ];
        let pair = self.fresh("t", Type::tuple([after.ty().clone(), moved.ty().clone()]));
        let pair_bound = bind([&pair], Expr::tuple([Expr::var(&after), Expr::var(&moved)]));
        let result = Expr::tuple([Expr::var(&pair), Expr::var(&output)]);
        renamed(&Expr::block([bindings.concat(), vec![pair_bound]].concat(), result), self.supply)
    }

    /// Returns a term with a variable in place of some terms.
    fn replaced(&self, e: &Expr, is_one: &dyn Fn(&Self, &Expr) -> bool, by: &Var) -> Expr {
        if is_one(self, e) { Expr::var(by) } else { e.map_children(|e| self.replaced(e, is_one, by)) }
    }

    /// Returns a scan that the pass would drop.
    fn left(&self, e: &Expr) -> Option<Expr> {
        let (bindings, result) = e.as_block();
        let found = self.found(bindings, result).filter(|found| self.order(bindings, found).is_some());
        let inside = |e: &Expr| if e.args_of_prim(Prim::Loop).is_some() { None } else { self.left(e) };
        found.map(|found| shown(&bindings[found.at.0])).or_else(|| e.children().find_map(inside))
    }

    fn fresh(&mut self, name: &str, ty: Type) -> Var {
        self.supply.fresh(name, ty)
    }
}

fn bind<'a>(vars: impl IntoIterator<Item = &'a Var>, rhs: Expr) -> Binding {
    let vars: Vec<Var> = vars.into_iter().cloned().collect();
    let pattern = if let [one] = vars.as_slice() { Pattern::Var(one.clone()) } else { Pattern::Tuple(vars) };
    Binding { pattern, rhs }
}

fn function(f: &Expr) -> (&Var, &Expr) {
    match f.kind() {
        Kind::Lam(x, body) => (x, body),
        _ => panic!("{f:?} is no function"),
    }
}

/// Returns how many terms inside of a term have a property.
fn count(e: &Expr, has: impl Fn(&Expr) -> bool) -> usize {
    let mut n = 0;
    e.visit(|e| n += usize::from(has(e)));
    n
}

/// Returns what breaks the postcondition: a scan, outside of loops, whose states a loop reads in order, where nothing
/// else keeps them.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let (scope, supply, rewrites) = (&Scope::of(&def.body), &mut Supply::default(), &mut Rewrites::first(0));
    CarryStates { scope, effects: facts.effects, supply, rewrites, made: FxHashSet::default() }.left(&def.body)
}
