//! Goes through a segment backwards with fewer states than it has steps.
//!
//! `states = $replay(k, f, s, v)` are the states before the steps of a segment, for a loop that reads them from the last
//! one to the first. At most k of them shall exist at a time, beside the first one. The loop becomes a call of a
//! recursive function, which computes states again:
//!
//! ```text
//! $loop(n, λ(j, r). e, which reads states[n - 1 - j], r, w)   =   sweep(s, 0, n, k, r)
//!
//! sweep(s, lo, hi, k, r) = from hi down to lo:   if hi - lo < 2   r = e, at step lo and state s;                 hi = lo
//!                                                else             m = lo + left(hi - lo, k)
//!                                                                 r = sweep(f from s to m, m, hi, k - 1, r);     hi = m
//! ```
//!
//! `left` is the binomial schedule of `prelude.ks`. The outputs of e are summed, as those of the loop are.
//!
//! Source: Griewank and Walther, *Revolve* (2000). Takes: a definition without linear maps. Gives: the definition, and
//! the functions that it calls.

use super::segments::library;
use lm::prim::Prim;
use lm::scope::{free_variables, occurrences, substitute};
use lm::term::{Binding, Def, Expr, Fun, FunName, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Returns whether a term has states to be replayed.
pub fn has_replays(e: &Expr) -> bool {
    e.any(|e| e.args_of_prim(Prim::Replay).is_some())
}

/// Returns the definition with calls for its loops over replayed states, and the functions that they call.
/// States that are read in another way are kept.
pub fn with_sweeps(def: &Def, is_taken: &dyn Fn(&FunName) -> bool, supply: &mut Supply) -> (Def, Vec<Def>) {
    let mut bound = FxHashMap::default();
    def.body.visit_bindings(|b| {
        if let Pattern::Var(x) = &b.pattern {
            bound.insert(x.id(), b.rhs.clone());
        }
    });
    let mut sweeps = Sweeps { base: def.fun.name.base.to_string(), is_taken, supply, bound, made: Vec::new() };
    let body = sweeps.term(&def.body);
    (Def { body, ..def.clone() }, sweeps.made)
}

struct Sweeps<'a> {
    base: String,
    is_taken: &'a dyn Fn(&FunName) -> bool,
    supply: &'a mut Supply,
    /// What the variables of the definition are bound to.
    bound: FxHashMap<u32, Expr>,
    made: Vec<Def>,
}

/// The states of a segment.
struct Replay<'e> {
    /// The variable for all of them.
    states: &'e Var,
    slots: &'e Expr,
    f: &'e Expr,
    start: &'e Expr,
    over: &'e Expr,
}

/// The variables of a sweep that are no variables of its caller.
struct Parameters {
    s: Var,
    lo: Var,
    hi: Var,
    slots: Var,
    r: Var,
}

impl Parameters {
    fn all(&self) -> [&Var; 5] {
        [&self.s, &self.lo, &self.hi, &self.slots, &self.r]
    }

    /// Returns the other variables that terms need.
    fn captured(&self, terms: [&Expr; 4]) -> Vec<Var> {
        let mut captured: Vec<Var> = Vec::new();
        for x in terms.into_iter().flat_map(free_variables) {
            if !self.all().contains(&&x) && !captured.contains(&x) {
                captured.push(x);
            }
        }
        captured
    }
}

impl Sweeps<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        let Kind::Let(bindings, body) = e.kind() else { return e.map_children(|child| self.term(child)) };
        let mut bindings: Vec<Binding> =
            bindings.iter().map(|b| Binding { pattern: b.pattern.clone(), rhs: self.term(&b.rhs) }).collect();
        let mut body = self.term(body);
        for i in (0..bindings.len()).rev() {
            let rest = Expr::block(bindings[i + 1..].to_vec(), body.clone());
            if let Some((bound, rest)) = self.replaced(&bindings[i], &rest) {
                bindings.truncate(i);
                bindings.extend(bound);
                let (inner, result) = rest.as_block();
                bindings.extend(inner.iter().cloned());
                body = result.clone();
            }
        }
        Expr::block(bindings, body)
    }

    /// Returns what is bound in place of the states, and the rest of their block with a call for the loop over them;
    /// `None` where the binding has no such states, or they have another reader.
    fn replaced(&mut self, b: &Binding, rest: &Expr) -> Option<(Vec<Binding>, Expr)> {
        let [slots, f, start, over] = b.rhs.args_of_prim(Prim::Replay)? else { return None };
        let [states] = b.pattern.vars() else { return None };
        let is_one = |e: &Expr| if let Kind::Var(x) = e.kind() { x == states } else { false };
        let reader = rest.find_map(|e| e.args_of_prim(Prim::Loop).filter(|args| args[1].any(|e| is_one(e))))?.to_vec();
        let numbers = self.supply.fresh("numbers", over.ty().clone());
        let bound = Binding { pattern: Pattern::Var(numbers.clone()), rhs: over.clone() };
        let replay = Replay { states, slots, f, start, over: &Expr::var(&numbers) };
        let made = self.made.len();
        let call = self.call(&replay, &reader)?;
        let rest = with_call(rest, states, &call);
        if occurrences(&rest).contains_key(&states.id()) {
            self.made.truncate(made);
            return None;
        }
        Some((vec![bound], rest))
    }

    /// Returns the call for a loop over states; `None` where it does not read them from the last one to the first.
    fn call(&mut self, replay: &Replay, reader: &[Expr]) -> Option<Expr> {
        let [steps, f, r, w] = reader else { panic!("a loop takes four") };
        let Kind::Lam(p, body) = f.kind() else { return None };
        if !self.is_backwards(steps, body, p, replay.states) {
            return None;
        }
        let mut fresh = |name: &str, ty: &Type| self.supply.fresh(name, ty.clone());
        let own = Parameters {
            s: fresh("s", replay.start.ty()),
            lo: fresh("lo", &Type::Integer),
            hi: fresh("hi", &Type::Integer),
            slots: fresh("slots", &Type::Integer),
            r: fresh("r", r.ty()),
        };
        let step = self.last_step(body, replay, &own, [steps, &Expr::var(p)]);
        let captured = own.captured([&step, w, replay.f, replay.over]);
        let result = Type::tuple([r.ty().clone(), w.ty().tangent()]);
        let params = captured.iter().chain(own.all()).map(|x| x.ty().clone()).collect();
        let fun = Arc::new(Fun { name: self.name(), params, result });
        let sweep = self.body(&fun, &captured, replay, &own, [&step, w]);
        let params: Vec<Var> = captured.iter().map(|x| self.supply.fresh(x.name(), x.ty().clone())).collect();
        let by: FxHashMap<u32, Expr> = captured.iter().map(Var::id).zip(params.iter().map(Expr::var)).collect();
        let params = params.into_iter().chain(own.all().into_iter().cloned()).collect();
        self.made.push(Def { fun: fun.clone(), params, body: substitute(&sweep, &by) });
        let given = [replay.start.clone(), Expr::integer(0), steps.clone(), replay.slots.clone(), r.clone()];
        let args = captured.iter().map(Expr::var).chain(given).collect();
        Some(Expr::app(Op::Call(fun), args))
    }

    fn name(&self) -> FunName {
        let mut names = (1..).map(|i| FunName::base(&format!("{}$sweep{i}", self.base)));
        let is_free = |name: &FunName| !(self.is_taken)(name) && self.made.iter().all(|def| def.fun.name != *name);
        names.find(is_free).expect("there is always another number")
    }

    /// Returns the body of the loop for the step lo, as a pair of the pair (r, lo) and the output.
    fn last_step(&mut self, body: &Expr, replay: &Replay, own: &Parameters, [steps, p]: [&Expr; 2]) -> Expr {
        let last = Expr::prim(Prim::Sub, [steps.clone(), Expr::integer(1)]);
        let number = Expr::prim(Prim::Sub, [last, Expr::var(&own.lo)]);
        let p = p.as_var().expect("a parameter").clone();
        let pair = Binding { pattern: Pattern::Var(p), rhs: Expr::tuple([number, Expr::var(&own.r)]) };
        let body = reading(body, replay.states, &Expr::var(&own.s));
        let (bindings, result) = body.as_block();
        let mut bindings = [vec![pair], bindings.to_vec()].concat();
        let (next, output) = match result.args_of(&Op::Tuple) {
            Some([next, output]) => (next.clone(), output.clone()),
            _ => {
                let both = self.supply.fresh("both", result.ty().clone());
                bindings.push(Binding { pattern: Pattern::Var(both.clone()), rhs: result.clone() });
                (Expr::get(1, Expr::var(&both)), Expr::get(2, Expr::var(&both)))
            }
        };
        Expr::block(bindings, Expr::tuple([Expr::tuple([next, Expr::var(&own.lo)]), output]))
    }

    fn body(
        &mut self,
        fun: &Arc<Fun>,
        captured: &[Var],
        replay: &Replay,
        own: &Parameters,
        [step, w]: [&Expr; 2],
    ) -> Expr {
        let both = Expr::tuple([Expr::var(&own.r), Expr::var(&own.hi)]);
        let mut fresh = |name: &str, ty: Type| self.supply.fresh(name, ty);
        let q = fresh("q", Type::tuple([Type::Integer, both.ty().clone()]));
        let (j, state) = (fresh("j", Type::Integer), fresh("state", both.ty().clone()));
        let (r, top) = (fresh("r", own.r.ty().clone()), fresh("top", Type::Integer));
        let length = fresh("length", Type::Integer);
        let pairs = [
            Binding { pattern: Pattern::Tuple(vec![j, state.clone()]), rhs: Expr::var(&q) },
            Binding { pattern: Pattern::Tuple(vec![r.clone(), top.clone()]), rhs: Expr::var(&state) },
            Binding {
                pattern: Pattern::Var(length.clone()),
                rhs: Expr::prim(Prim::Sub, [Expr::var(&top), Expr::var(&own.lo)]),
            },
        ];
        let one = substitute(step, &FxHashMap::from_iter([(own.r.id(), Expr::var(&r))]));
        let more = self.right_part(fun, captured, replay, own, [&r, &top, &length]);
        let is_one = Expr::prim(Prim::Lt, [Expr::var(&length), Expr::integer(2)]);
        let body = Expr::block(pairs.to_vec(), Expr::conditional(is_one, one, more));
        let length = Expr::prim(Prim::Sub, [Expr::var(&own.hi), Expr::var(&own.lo)]);
        let parts = library("$parts", vec![length, Expr::var(&own.slots)]);
        let looped = Expr::prim(Prim::Loop, [parts, Expr::lam(q, body), both, w.clone()]);
        let swept = self.supply.fresh("swept", looped.ty().clone());
        let result = Expr::tuple([Expr::get(1, Expr::get(1, Expr::var(&swept))), Expr::get(2, Expr::var(&swept))]);
        Expr::block(vec![Binding { pattern: Pattern::Var(swept), rhs: looped }], result)
    }

    /// Returns the sweep from the state at m to the end.
    fn right_part(
        &mut self,
        fun: &Arc<Fun>,
        captured: &[Var],
        replay: &Replay,
        own: &Parameters,
        [r, top, length]: [&Var; 3],
    ) -> Expr {
        let mut bindings = Vec::new();
        let mut bind = |name: &str, rhs: Expr, supply: &mut Supply| {
            let x = supply.fresh(name, rhs.ty().clone());
            bindings.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
            Expr::var(&x)
        };
        let left = library("$left", vec![Expr::var(length), Expr::var(&own.slots)]);
        let left = bind("left", left, self.supply);
        let m = bind("m", Expr::prim(Prim::Add, [left.clone(), Expr::var(&own.lo)]), self.supply);
        let i = self.supply.fresh("i", Type::Integer);
        let place = Expr::prim(Prim::Add, [Expr::var(&own.lo), Expr::var(&i)]);
        let number = Expr::prim(Prim::Index, [place, replay.over.clone()]);
        let numbers = bind("numbers", Expr::prim(Prim::Build, [left, Expr::lam(i, number)]), self.supply);
        let fold = Expr::prim(Prim::Fold, [replay.f.clone(), Expr::var(&own.s), numbers]);
        let y = bind("y", fold, self.supply);
        let slots = Expr::prim(Prim::Sub, [Expr::var(&own.slots), Expr::integer(1)]);
        let args = captured.iter().map(Expr::var).chain([y, m.clone(), Expr::var(top), slots, Expr::var(r)]).collect();
        let swept = bind("part", Expr::app(Op::Call(fun.clone()), args), self.supply);
        let state = Expr::tuple([Expr::get(1, swept.clone()), m]);
        Expr::block(bindings, Expr::tuple([state, Expr::get(2, swept)]))
    }

    /// Returns whether the body of a loop of n steps reads states only at `n - 1 - j`, where j is the loop's counter.
    fn is_backwards(&self, n: &Expr, body: &Expr, p: &Var, states: &Var) -> bool {
        let mut counter = None;
        body.visit_bindings(|b| match (&b.pattern, b.rhs.as_var()) {
            (Pattern::Tuple(xs), Some(x)) if x == p => counter = xs.first().cloned(),
            (Pattern::Tuple(_) | Pattern::Var(_), _) => {}
        });
        let is_counter = |e: &Expr| {
            let e = self.definition(e);
            match (e.as_var(), e.args_of(&Op::Get(1, 2))) {
                (Some(x), _) => Some(x) == counter.as_ref(),
                (None, Some([whole])) => whole.as_var() == Some(p),
                (None, _) => false,
            }
        };
        let is_last = |e: &Expr| match self.definition(e).args_of_prim(Prim::Sub) {
            Some([whole, one]) => self.definition(whole) == self.definition(n) && *one == Expr::integer(1),
            _ => false,
        };
        let is_from_the_end = |i: &Expr| match self.definition(i).args_of_prim(Prim::Sub) {
            Some([last, j]) => is_last(last) && is_counter(j),
            _ => false,
        };
        body.all(|e| match e.args_of_prim(Prim::Index) {
            Some([i, v]) if v.as_var() == Some(states) => is_from_the_end(i),
            _ => true,
        })
    }

    /// Returns what a variable is bound to, and any other term as it is.
    fn definition<'e>(&'e self, e: &'e Expr) -> &'e Expr {
        match e.as_var().and_then(|x| self.bound.get(&x.id())) {
            Some(rhs) => self.definition(rhs),
            None => e,
        }
    }
}

/// Returns the term with the state s wherever it reads one of the states.
fn reading(e: &Expr, states: &Var, s: &Expr) -> Expr {
    match e.args_of_prim(Prim::Index) {
        Some([_, v]) if v.as_var() == Some(states) => s.clone(),
        _ => e.map_children(|child| reading(child, states, s)),
    }
}

/// Returns the term with the call in place of the loop that reads the states.
fn with_call(e: &Expr, states: &Var, call: &Expr) -> Expr {
    let reads = |e: &Expr| e.any(|e| e.as_var() == Some(states));
    if e.args_of_prim(Prim::Loop).is_some_and(|args| reads(&args[1])) {
        return call.clone().at(e.span());
    }
    e.map_children(|child| with_call(child, states, call))
}
