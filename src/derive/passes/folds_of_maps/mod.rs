//! Writes folds of maps as maps of folds.
//!
//! ```text
//! fold(λ(s, x). build(size(s), λk. e{s[k], x, k}), a, v)  =  build(size(a), λk. fold(λ(t, x). e{t, x, k}, a[k], v))
//! ```
//!
//! A step that makes each element of its state from that element alone is a map. Then the fold of one element needs no
//! other one: its states are numbers, which stay in registers, and of which the reverse derivative keeps those of a few
//! elements at a time. So it needs no memory for states of the size of a, and passes over a once and not in each step.
//!
//! States may be tuples of tensors of one size, and tensors of rows, where the law holds again for each row. A step may
//! name tensors, add and scale them, choose between them, and call functions of the program (`element`).
//!
//! These stay as they are: a step that keeps elements, where a condition on the index or on x says so, since loops change
//! its state in place; one that computes something costly once for all elements (`common`); one that may fail in
//! several ways, since another error would come first (`failures`); one that prints. Takes and gives: definitions as
//! they are written, before normal form.

mod common;
mod element;
mod failures;

use crate::derive::forms::smallest;
use crate::derive::postcondition;
use common::{Common, mentions};
pub use element::Callee;
use element::{Element, Value, learn_index};
use failures::Failures;
use lm::effect::Effects;
use lm::facts::Facts;
use lm::law::name_it;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::term::{Binding, Def, Expr, FunName, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

/// Steps of more nodes stay: each is looked at for each fold around it.
const MOST_NODES: usize = 600;

/// Writes the folds of a definition as maps, where its step is one. `facts` has the sizes of its parameters.
pub fn folds_of_maps(
    def: &Def,
    callee: &Callee,
    effects: &Effects,
    facts: Facts,
    supply: &mut Supply,
    rewrites: &mut Rewrites,
) -> Def {
    let mut pass = FoldsOfMaps { callee, effects, facts, supply, ranges: FxHashMap::default() };
    Def { body: pass.term(&def.body, rewrites), ..def.clone() }
}

/// `fold(λp. body, starts, v)`, for the elements at k of n.
struct Fold<'a> {
    p: &'a Var,
    body: &'a Expr,
    /// The tensors of the first state.
    starts: &'a [Expr],
    v: &'a Expr,
    n: &'a Expr,
    k: &'a Var,
    /// The m for which v is the numbers below m.
    range: Option<Expr>,
}

struct FoldsOfMaps<'a> {
    callee: &'a Callee<'a>,
    effects: &'a Effects,
    facts: Facts,
    supply: &'a mut Supply,
    /// Maps each name of the numbers below m to m.
    ranges: FxHashMap<u32, Expr>,
}

impl FoldsOfMaps<'_> {
    fn term(&mut self, e: &Expr, rewrites: &mut Rewrites) -> Expr {
        let new = match e.kind() {
            Kind::Let(bindings, body) => {
                let mark = self.facts.mark();
                let mut all = Vec::new();
                for b in bindings {
                    let rhs = self.term(&b.rhs, rewrites);
                    let is_new = rhs != b.rhs;
                    let (inner, result) = rhs.as_block();
                    // What a fold has become shows its size, as the binding's own term.
                    let inner = inner.iter().filter(|_| is_new);
                    let rhs = if is_new { result.clone() } else { rhs.clone() };
                    let own = Binding { pattern: b.pattern.clone(), rhs };
                    for b in inner.chain([&own]) {
                        self.facts.sizes(b);
                        if let (Pattern::Var(x), Some(m)) = (&b.pattern, self.range(&b.rhs)) {
                            self.ranges.insert(x.id(), m);
                        }
                        all.push(b.clone());
                    }
                }
                let body = self.term(body, rewrites);
                self.facts.forget_since(mark);
                Expr::block(all, body)
            }
            Kind::App(..) => {
                learn_index(e, &mut self.facts);
                e.map_children(|child| self.term(child, rewrites))
            }
            _ => e.map_children(|child| self.term(child, rewrites)),
        };
        match self.as_map(&new) {
            Some(map) if rewrites.may("fold-of-map") => map.placed_throughout(e.span()),
            _ => new,
        }
    }

    /// Returns a fold as a map of folds, if its step is a map.
    fn as_map(&mut self, e: &Expr) -> Option<Expr> {
        let mark = self.facts.mark();
        let map = self.map_of_folds(e);
        self.facts.forget_since(mark);
        map
    }

    fn map_of_folds(&mut self, e: &Expr) -> Option<Expr> {
        let [f, start, v] = e.args_of_prim(Prim::Fold)? else { return None };
        let Kind::Lam(p, body) = f.kind() else { return None };
        let index = index_of_all(start.ty())?;
        if f.size() > MOST_NODES || self.effects.in_term(body) {
            return None;
        }
        let mut out = Vec::new();
        let [start, v] = [start, v].map(|e| named(e, self.supply, &mut out));
        out.iter().for_each(|b| self.facts.sizes(b));
        let starts = leaves(&start);
        if starts
            .iter()
            .any(|a| !matches!(a.ty(), Type::Tensor(_, e) if is_number(e) || matches!(**e, Type::Tensor(..))))
        {
            return None;
        }
        let size = |a: &Expr| Expr::prim(Prim::Size, [a.clone()]);
        if starts[1..].iter().any(|a| !self.facts.are_equal(&size(a), &size(&starts[0]))) {
            return None;
        }
        let n = name_it(&size(&starts[0]), self.supply, &mut out);
        out.last().into_iter().for_each(|b| self.facts.sizes(b));
        let k = self.supply.fresh("k", index);
        self.facts.index(&k, &n);
        let range = out.iter().find(|b| b.pattern.vars().iter().any(|x| v.as_var() == Some(x)));
        let range = range.and_then(|b| self.range(&b.rhs)).or_else(|| self.range(&v));
        let fold = Fold { p, body, starts: &starts, v: &v, n: &n, k: &k, range };
        let (common, own) = [true, false].into_iter().find_map(|looks_into| self.of_element(&fold, looks_into))?;
        out.extend(common);
        let map = Expr::prim(Prim::Build, [n, Expr::lam(k, own)]);
        let parts = match &starts[..] {
            [_] => vec![map],
            many => {
                let pairs = name_it(&map, self.supply, &mut out);
                let parts = name_it(&Expr::prim(Prim::Unzip, [pairs]), self.supply, &mut out);
                (1..=many.len()).map(|i| Expr::get(i, parts.clone())).collect()
            }
        };
        Some(Expr::block(out, of_leaves(start.ty(), &mut parts.into_iter())))
    }

    /// Returns m, of `build(m, λi. i)`.
    fn range(&self, v: &Expr) -> Option<Expr> {
        match (v.args_of_prim(Prim::Build), v.as_var()) {
            (Some([m, f]), _) => matches!(f.kind(), Kind::Lam(i, e) if e.as_var() == Some(i)).then(|| m.clone()),
            (_, Some(x)) => self.ranges.get(&x.id()).cloned(),
            _ => None,
        }
    }

    /// Returns the fold of the elements at k, and what is common to all elements, bound before.
    fn of_element(&mut self, fold: &Fold, looks_into: bool) -> Option<(Vec<Binding>, Expr)> {
        let Fold { p, body, starts, v, n, k, .. } = *fold;
        let states: Vec<Var> = starts.iter().map(|a| self.supply.fresh("s", element_of(a.ty()))).collect();
        let x = self.supply.fresh(name_of_element(p, body).unwrap_or("x"), p.ty().as_tuple()?[1].clone());
        let state = Value::of_tensors(&p.ty().as_tuple()?[0], &mut states.iter().map(Expr::var));
        let mut element = Element {
            callee: self.callee,
            facts: &mut self.facts,
            supply: self.supply,
            n,
            k,
            known: Default::default(),
            calls: 0,
            looks_into,
        };
        if let Some(m) = &fold.range {
            element.facts.index(&x, m);
        }
        element.know(p, Value::Tuple(vec![state, Value::Same(Expr::var(&x))]));
        let mut step = Vec::new();
        let mark = element.facts.mark();
        let body = element.own(body);
        let result = element.value(&body, &mut step).and_then(|value| value.elements(&mut element));
        // What a step reads is known to be there only where there is a step.
        self.facts.forget_since(mark);
        let result = result?;
        let made = Step { bindings: &step, result: &result, states: &states, k };
        if made.changes_few() || !made.fails_alike(&self.facts, self.callee) {
            return None;
        }
        let result = if let [one] = &result[..] { one.clone() } else { Expr::tuple(result) };
        let own = [k].into_iter().chain(&states).map(Var::id).collect();
        let of_step = FxHashSet::from_iter([x.id()]);
        let mut common = Common { facts: &self.facts, supply: self.supply, own, of_step, before: Vec::new() };
        let step = common.taken_out(step, result)?;
        let before = common.before;
        let a: Vec<Expr> = starts.iter().map(|a| Expr::prim(Prim::Index, [Expr::var(k), a.clone()])).collect();
        let a = if let [one] = &a[..] { one.clone() } else { Expr::tuple(a) };
        let q = self.supply.fresh(p.name(), Type::tuple([a.ty().clone(), x.ty().clone()]));
        let (s, of_states) = match &states[..] {
            [s] => (s.clone(), None),
            _ => {
                let s = self.supply.fresh("s", a.ty().clone());
                let rhs = Expr::var(&s);
                (s, Some(Binding { pattern: Pattern::Tuple(states.clone()), rhs }))
            }
        };
        let of_pair = Binding { pattern: Pattern::Tuple(vec![s, x]), rhs: Expr::var(&q) };
        let (inner, result) = step.as_block();
        let bindings = [of_pair].into_iter().chain(of_states).chain(inner.iter().cloned()).collect();
        let step = Expr::block(bindings, result.clone());
        let fold = Expr::prim(Prim::Fold, [Expr::lam(q, step), a.clone(), v.clone()]);
        let is_of_numbers = starts.iter().all(|a| is_number(&element_of(a.ty())));
        let whole = if is_of_numbers { fold } else { self.as_map(&fold)? };
        Some((before, whole))
    }
}

/// Returns the name that a step gives the element, where it takes p apart.
fn name_of_element<'e>(p: &Var, body: &'e Expr) -> Option<&'e str> {
    body.as_block().0.iter().find_map(|b| match (&b.pattern, b.rhs.as_var()) {
        (Pattern::Tuple(xs), Some(y)) if y == p => xs.last().map(|x| &**x.name()),
        _ => None,
    })
}

/// Names a term; of a block the result, and of a tuple its components.
fn named(e: &Expr, supply: &mut Supply, out: &mut Vec<Binding>) -> Expr {
    let (bindings, result) = e.as_block();
    out.extend(bindings.iter().cloned());
    match result.args_of(&Op::Tuple) {
        Some(parts) => Expr::tuple(parts.iter().map(|part| named(part, supply, out)).collect::<Vec<_>>()),
        None => name_it(result, supply, out),
    }
}

/// Returns the type of the indices of a tensor, or of all tensors in a tuple.
fn index_of_all(ty: &Type) -> Option<Type> {
    match ty {
        Type::Tensor(rank, _) => Some(Type::index(*rank)),
        Type::Tuple(parts) => {
            let all: Vec<Type> = parts.iter().map(index_of_all).collect::<Option<_>>()?;
            all.first().filter(|first| all.iter().all(|index| index == *first)).cloned()
        }
        _ => None,
    }
}

fn element_of(ty: &Type) -> Type {
    match ty {
        Type::Tensor(_, element) => (**element).clone(),
        other => panic!("{other:?} has no elements"),
    }
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Float | Type::Integer | Type::Bool)
}

/// Returns the tensors in a term that is a tensor, or a tuple of such.
fn leaves(e: &Expr) -> Vec<Expr> {
    match e.ty() {
        Type::Tuple(parts) => (1..=parts.len()).flat_map(|i| leaves(&Expr::get(i, e.clone()))).collect(),
        _ => vec![e.clone()],
    }
}

/// Returns a term of a type that has these tensors in it.
fn of_leaves(ty: &Type, tensors: &mut impl Iterator<Item = Expr>) -> Expr {
    match ty {
        Type::Tuple(parts) => Expr::tuple(parts.iter().map(|part| of_leaves(part, tensors)).collect::<Vec<_>>()),
        _ => tensors.next().expect("there is one for each leaf"),
    }
}

/// What a step makes of its state: what it binds, and the elements of the next state.
struct Step<'a> {
    bindings: &'a [Binding],
    result: &'a [Expr],
    states: &'a [Var],
    k: &'a Var,
}

impl Step<'_> {
    /// Returns whether a step leaves elements as they are, or adds nothing to them, where a condition says so that does
    /// not depend on states.
    fn changes_few(&self) -> bool {
        let terms = || self.bindings.iter().map(|b| &b.rhs).chain(self.result);
        let [of_state, of_index] = [self.states, std::slice::from_ref(self.k)].map(|xs| self.that_depend_on(xs));
        let by_index = |e: &Expr| {
            let Some([c, ..]) = e.args_of(&Op::If) else { return false };
            mentions(c, &of_index) && !mentions(c, &of_state)
        };
        let is_same = |(e, s): (&Expr, &Var)| e.as_var() == Some(s);
        let pairs = || self.result.iter().zip(self.states);
        let keeps = |(e, s)| !is_same((e, s)) && self.keeps(e, s, &of_state);
        pairs().all(is_same) || pairs().any(keeps) || terms().any(|e| e.any(by_index))
    }

    /// Returns whether errors come in one order, by steps and by elements.
    fn fails_alike(&self, facts: &Facts, callee: &Callee) -> bool {
        let own = &self.that_depend_on(&[self.states, std::slice::from_ref(self.k)].concat());
        let of_state = &self.that_depend_on(self.states);
        let mut failures =
            Failures { facts, callee, own, of_state, common: 0, of_elements: 0, places: 0, common_places: 0 };
        self.bindings.iter().map(|b| &b.rhs).chain(self.result).for_each(|e| failures.count(e, false, false));
        failures.come_in_one_order()
    }

    /// Returns the names that depend on some of them.
    fn that_depend_on(&self, xs: &[Var]) -> FxHashSet<u32> {
        let mut all: FxHashSet<u32> = xs.iter().map(Var::id).collect();
        let mut learn = |b: &Binding| {
            if mentions(&b.rhs, &all) {
                all.extend(b.pattern.vars().iter().map(Var::id));
            }
        };
        for b in self.bindings {
            b.rhs.visit_bindings(&mut learn);
            learn(b);
        }
        self.result.iter().for_each(|e| e.visit_bindings(&mut learn));
        all
    }

    fn keeps(&self, e: &Expr, s: &Var, of_state: &FxHashSet<u32>) -> bool {
        let e = e.as_block().1;
        match (e.as_var(), e.args_of(&Op::If)) {
            (Some(x), _) if x == s => true,
            (Some(x), _) => {
                let of = |b: &&Binding| matches!(&b.pattern, Pattern::Var(y) if y == x);
                self.bindings.iter().find(of).is_some_and(|b| self.keeps(&b.rhs, s, of_state))
            }
            (_, Some([c, arms @ ..])) => !mentions(c, of_state) && arms.iter().any(|arm| self.keeps(arm, s, of_state)),
            _ => false,
        }
    }
}

/// Returns what breaks the postcondition: a fold whose step is a map.
pub fn violation(def: &Def, facts: &postcondition::Facts) -> Option<Expr> {
    let mut supply = Supply::after(&def.body);
    let callee = |_: &FunName| None;
    let mut pass = FoldsOfMaps {
        callee: &callee,
        effects: facts.effects,
        facts: Facts::default(),
        supply: &mut supply,
        ranges: FxHashMap::default(),
    };
    smallest(&def.body, |e| pass.as_map(e).is_some())
}
