//! Writes folds that add up, and folds that choose, without the state that each step has: their derivatives need no
//! states.
//!
//! ```text
//! fold(λ(s, x). s + e{x}, 0, v)                     =  sumbuild(size(v), λi. e{v[i]})        likewise s - e, and pairs
//! fold(λ(s, x). if c{s, x} then e{x} else s, a, v)  =  let p = $place(λ(s, x). c{s, x}, λx. e{x}, a, v) in
//!                                                      if 0 <= p then e{v[p]} else a         likewise max, min
//! fold(λ((a, s), x). (a, e{a, s, x}), (b, c), v)    =  (b, fold(λ(s, x). e{b, s, x}, c, v))  (`invariants`)
//! ```
//!
//! Takes: a definition as it is written. Gives: the same, before normal form.

mod invariants;

use crate::derive::forms::smallest;
use crate::derive::postcondition::Facts;
pub use invariants::Callee;
use invariants::without_invariants;
use lm::law::name_it;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::{free_variables, renamed, substitute};
use lm::term::{Binding, Constant, Def, Expr, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::FxHashMap;

/// The largest term that a fold may choose, in nodes: it is written twice.
const MOST_CHOSEN: usize = 60;

/// Writes the folds of a definition without states, where a law says how.
pub fn closed_folds(def: &Def, callee: &Callee, supply: &mut Supply, rewrites: &mut Rewrites) -> Def {
    Def { body: closed(&def.body, callee, supply, rewrites), ..def.clone() }
}

fn closed(e: &Expr, callee: &Callee, supply: &mut Supply, rewrites: &mut Rewrites) -> Expr {
    let e = e.map_children(|child| closed(child, callee, supply, rewrites));
    let Some((law, new)) = rewritten(&e, callee, supply) else { return e };
    if rewrites.may(law) { new.placed_throughout(e.span()) } else { e }
}

/// Returns what a fold becomes, and by which law.
fn rewritten(e: &Expr, callee: &Callee, supply: &mut Supply) -> Option<(&'static str, Expr)> {
    let of_numbers = Fold::of(e, supply).and_then(|fold| fold.as_sum(supply).or_else(|| fold.as_choice(supply)));
    of_numbers.or_else(|| Some(("fold-of-invariant", without_invariants(e, callee, supply)?)))
}

/// `fold(λ(s, x). let .. in result, start, v)`, where the step names no pair.
struct Fold {
    state: Var,
    element: Var,
    /// The components of the state that the step names.
    components: Vec<Var>,
    bindings: Vec<Binding>,
    result: Expr,
    start: Expr,
    v: Expr,
}

impl Fold {
    fn of(e: &Expr, supply: &mut Supply) -> Option<Fold> {
        let [f, start, v] = e.args_of_prim(Prim::Fold)? else { return None };
        let (Kind::Lam(p, body), true) = (f.kind(), is_of_numbers(start.ty())) else { return None };
        let types = p.ty().as_tuple()?;
        let mut fold = Fold {
            state: supply.fresh("s", types[0].clone()),
            element: supply.fresh("x", types[1].clone()),
            components: Vec::new(),
            bindings: Vec::new(),
            result: Expr::integer(0),
            start: start.clone(),
            v: v.clone(),
        };
        let body = renamed(body, supply);
        let (bindings, result) = body.as_block();
        let mut by = FxHashMap::default();
        for b in bindings {
            let rhs = fold.without_pair(&b.rhs, p, &by);
            match (&b.pattern, rhs.kind()) {
                (Pattern::Tuple(xs), Kind::Var(q)) if q == p => {
                    let [s, x] = xs.as_slice() else { return None };
                    by.insert(s.id(), Expr::var(&fold.state));
                    by.insert(x.id(), Expr::var(&fold.element));
                }
                (Pattern::Tuple(xs), Kind::Var(s)) if *s == fold.state && fold.components.is_empty() => {
                    fold.components.clone_from(xs);
                }
                (Pattern::Var(x), Kind::Var(_) | Kind::Const(_)) => drop(by.insert(x.id(), rhs)),
                (pattern, _) => fold.bindings.push(Binding { pattern: pattern.clone(), rhs }),
            }
        }
        fold.result = fold.without_pair(result, p, &by);
        let rest = fold.bindings.iter().map(|b| &b.rhs).chain([&fold.result]);
        let has_pair = rest.into_iter().any(|e| mentions(e, std::slice::from_ref(p)));
        (!has_pair).then_some(fold)
    }

    /// Returns a term with the state and the element in place of components of the pair.
    fn without_pair(&self, e: &Expr, p: &Var, by: &FxHashMap<u32, Expr>) -> Expr {
        let component = |k: usize| Expr::var(if k == 1 { &self.state } else { &self.element });
        fn replaced(e: &Expr, p: &Var, component: &dyn Fn(usize) -> Expr) -> Expr {
            match e.kind() {
                Kind::App(Op::Get(k, 2), args) if args[0].as_var() == Some(p) => component(*k),
                _ => e.map_children(|child| replaced(child, p, component)),
            }
        }
        substitute(&replaced(e, p, &component), by)
    }

    fn mentions_state(&self, e: &Expr) -> bool {
        mentions(e, std::slice::from_ref(&self.state)) || mentions(e, &self.components)
    }

    /// Returns the fold as a sum over an index.
    fn as_sum(&self, supply: &mut Supply) -> Option<(&'static str, Expr)> {
        if !is_zero(&self.start) || self.bindings.iter().any(|b| self.mentions_state(&b.rhs)) {
            return None;
        }
        let states: Vec<Expr> = match self.state.ty() {
            Type::Tuple(parts) => (1..=parts.len()).map(|k| self.component(k)).collect(),
            _ => vec![Expr::var(&self.state)],
        };
        let parts = match self.state.ty() {
            Type::Tuple(_) => self.result.args_of(&Op::Tuple)?.to_vec(),
            _ => vec![self.result.clone()],
        };
        let terms: Vec<Expr> = states.iter().zip(&parts).map(|(s, part)| added(s, part)).collect::<Option<_>>()?;
        if terms.iter().any(|e| self.mentions_state(e)) {
            return None;
        }
        let term = if let Type::Tuple(_) = self.state.ty() { Expr::tuple(terms) } else { terms[0].clone() };
        let mut out = Vec::new();
        let v = name_it(&self.v, supply, &mut out);
        let i = supply.fresh("i", Type::Integer);
        let element = Expr::prim(Prim::Index, [Expr::var(&i), v.clone()]);
        let step = self.at(element, term);
        let n = Expr::prim(Prim::Size, [v]);
        Some(("fold-of-sum", Expr::block(out, Expr::prim(Prim::SumBuild, [n, Expr::lam(i, step)]))))
    }

    /// Returns the k-th component of the state, as the step writes it.
    fn component(&self, k: usize) -> Expr {
        self.components.get(k - 1).map_or_else(|| Expr::get(k, Expr::var(&self.state)), Expr::var)
    }

    /// Returns the fold as the element that it chooses last.
    fn as_choice(&self, supply: &mut Supply) -> Option<(&'static str, Expr)> {
        let (condition, chosen, is_kept) = self.choice()?;
        let own: Vec<Binding> = self.bindings.iter().filter(|b| !self.mentions_state(&b.rhs)).cloned().collect();
        let others: Vec<&Var> =
            self.bindings.iter().filter(|b| self.mentions_state(&b.rhs)).flat_map(|b| b.pattern.vars()).collect();
        let parts = || own.iter().map(|b| &b.rhs).chain([&chosen]);
        let is_small = parts().map(Expr::size).sum::<usize>() <= MOST_CHOSEN && parts().all(|e| !is_heavy(e));
        let is_own =
            |e: &Expr| !self.mentions_state(e) && !others.iter().any(|x| mentions(e, std::slice::from_ref(*x)));
        if !is_small || !parts().all(is_own) || !chosen.ty().is_differentiable() {
            return None;
        }
        let mut out = Vec::new();
        let [start, v] = [&self.start, &self.v].map(|e| name_it(e, supply, &mut out));
        let taken = if is_kept { Expr::prim(Prim::Not, [condition]) } else { condition };
        let q = supply.fresh("q", Type::tuple([self.state.ty().clone(), self.element.ty().clone()]));
        let pair = Pattern::Tuple(vec![self.state.clone(), self.element.clone()]);
        let mut step = vec![Binding { pattern: pair, rhs: Expr::var(&q) }];
        if !self.components.is_empty() {
            step.push(Binding { pattern: Pattern::Tuple(self.components.clone()), rhs: Expr::var(&self.state) });
        }
        step.extend(self.bindings.iter().cloned());
        // The functions and the result bind what the step binds: each by names of its own.
        let taken = renamed(&Expr::lam(q, Expr::block(step, taken)), supply);
        let next = renamed(&Expr::lam(self.element.clone(), Expr::block(own.clone(), chosen.clone())), supply);
        let p = supply.fresh("p", Type::Integer);
        out.push(Binding {
            pattern: Pattern::Var(p.clone()),
            rhs: Expr::prim(Prim::Place, [taken, next, start.clone(), v.clone()]),
        });
        let element = Expr::prim(Prim::Index, [Expr::var(&p), v]);
        let at = Expr::block(
            vec![Binding { pattern: Pattern::Var(self.element.clone()), rhs: element }],
            Expr::block(own, chosen),
        );
        let at = renamed(&at, supply);
        let has_place = Expr::prim(Prim::Lte, [Expr::integer(0), Expr::var(&p)]);
        Some(("fold-of-choice", Expr::block(out, Expr::conditional(has_place, at, start))))
    }

    /// Returns the condition, what is chosen, and whether the state is kept where the condition holds.
    fn choice(&self) -> Option<(Expr, Expr, bool)> {
        if let Kind::App(Op::Prim(p @ (Prim::Max | Prim::Min)), args) = self.result.kind() {
            let compare = if *p == Prim::Max { Prim::Gte } else { Prim::Lte };
            let condition = Expr::prim(compare, args.iter().cloned());
            let [left, right] = [&args[0], &args[1]];
            return match (self.is_state(left), self.is_state(right)) {
                (true, false) => Some((condition, right.clone(), true)),
                (false, true) => Some((condition, left.clone(), false)),
                _ => None,
            };
        }
        let [condition, yes, no] = self.result.args_of(&Op::If)? else { return None };
        match (self.is_state(yes), self.is_state(no)) {
            (true, false) => Some((condition.clone(), no.clone(), true)),
            (false, true) => Some((condition.clone(), yes.clone(), false)),
            _ => None,
        }
    }

    fn is_state(&self, e: &Expr) -> bool {
        let whole =
            || e.args_of(&Op::Tuple).is_some_and(|parts| (1..=parts.len()).all(|k| parts[k - 1] == self.component(k)));
        e.as_var() == Some(&self.state) || whole()
    }

    /// Returns a term of the step at an element.
    fn at(&self, element: Expr, term: Expr) -> Expr {
        let x = Binding { pattern: Pattern::Var(self.element.clone()), rhs: element };
        Expr::block([vec![x], self.bindings.clone()].concat(), term)
    }
}

/// Returns e, for `s + e`, and -e for `s - e`.
fn added(s: &Expr, e: &Expr) -> Option<Expr> {
    match (e.args_of_prim(Prim::Add), e.args_of_prim(Prim::Sub)) {
        (Some([a, b]), _) if a == s => Some(b.clone()),
        (Some([a, b]), _) if b == s => Some(a.clone()),
        (_, Some([a, b])) if a == s => Some(Expr::prim(Prim::Neg, [b.clone()])),
        _ => None,
    }
}

/// Returns whether a type is Float, or a tuple of Floats, Integers and Bools.
fn is_of_numbers(ty: &Type) -> bool {
    match ty {
        Type::Float | Type::Integer | Type::Bool => true,
        Type::Tuple(parts) => {
            !parts.is_empty() && parts.iter().all(|part| matches!(part, Type::Float | Type::Integer | Type::Bool))
        }
        _ => false,
    }
}

/// Returns whether a term is the Float 0, or a tuple of such.
fn is_zero(e: &Expr) -> bool {
    match e.kind() {
        Kind::Const(Constant::Float(x)) => x.to_bits() == 0,
        Kind::App(Op::Tuple, parts) => !parts.is_empty() && parts.iter().all(is_zero),
        _ => false,
    }
}

/// Returns whether a term loops, calls a function or prints.
fn is_heavy(e: &Expr) -> bool {
    e.any(|e| match e.kind() {
        Kind::Lam(..) | Kind::App(Op::Call(_), _) => true,
        Kind::App(Op::Prim(p), args) => {
            p.has_effect() || *p == Prim::Sum || *p == Prim::Dot && args[0].ty().mentions_array()
        }
        _ => false,
    })
}

fn mentions(e: &Expr, xs: &[Var]) -> bool {
    free_variables(e).iter().any(|x| xs.contains(x))
}

/// Returns what breaks the postcondition: a fold that a law writes without states.
pub fn violation(def: &Def, _: &Facts) -> Option<Expr> {
    let mut supply = Supply::after(&def.body);
    smallest(&def.body, |e| rewritten(e, &|_| None, &mut supply).is_some())
}
