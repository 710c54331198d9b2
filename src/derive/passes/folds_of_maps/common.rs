//! Takes out of the fold of an element what is common to all elements.
//!
//! ```text
//! fold(λ(t, x). e{t, c{x}}, a[k], v)  =  let w = build(size(v), λi. (v[i], c{v[i]})) in fold(λ(t, (x, y)). e{t, y}, a[k], w)
//! ```
//!
//! where c calls a function or loops: what a step computed once for all elements is computed once for each step still.
//! What needs no x is bound before.

use super::mentions;
use lm::facts::Facts;
use lm::prim::{Cost, Prim};
use lm::scope::renamed;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Supply, Var};
use lm::types::Type;
use rustc_hash::FxHashSet;

/// What a fold goes through, the name of an element, and what the step binds first.
pub(super) struct Data {
    pub(super) vector: Expr,
    pub(super) element: Var,
    pub(super) bindings: Vec<Binding>,
}

pub(super) struct Common<'a> {
    pub(super) facts: &'a Facts,
    pub(super) supply: &'a mut Supply,
    pub(super) x: &'a Var,
    pub(super) n: &'a Expr,
}

impl Common<'_> {
    /// Returns what the fold of an element goes through, and its step. `own` are the names that differ from element to
    /// element. None if something common cannot be taken out.
    pub(super) fn taken_out<'v>(
        mut self,
        step: Vec<Binding>,
        result: Expr,
        own: impl IntoIterator<Item = &'v Var>,
        v: &Expr,
        out: &mut Vec<Binding>,
    ) -> Option<(Data, Expr)> {
        let mut own: FxHashSet<u32> = own.into_iter().map(Var::id).collect();
        let mut named = Vec::new();
        for b in step {
            let rhs = self.costly_named(&b.rhs, &own, &mut named);
            if mentions(&rhs, &own) {
                own.extend(b.pattern.vars().iter().map(Var::id));
            }
            named.push(Binding { pattern: b.pattern, rhs });
        }
        let result = self.costly_named(&result, &own, &mut named);
        // What depends on no element of the state: by x, or by nothing of the fold.
        let mut by_x = FxHashSet::from_iter([self.x.id()]);
        let mut inside = by_x.clone();
        let (mut of_data, mut rest) = (Vec::new(), Vec::new());
        for b in named {
            if mentions(&b.rhs, &own) {
                rest.push(b);
                continue;
            }
            if !mentions(&b.rhs, &inside) && self.facts.is_total(&b.rhs) {
                out.push(b);
                continue;
            }
            if mentions(&b.rhs, &by_x) {
                by_x.extend(b.pattern.vars().iter().map(Var::id));
            } else if has_loops(&b.rhs) {
                return None;
            }
            // What needs no x may fail, where there is a step and an element: `licm` takes it out of both loops.
            inside.extend(b.pattern.vars().iter().map(Var::id));
            of_data.push(b);
        }
        let costly = |b: &Binding| is_costly(&b.rhs) && b.pattern.vars().iter().all(|y| by_x.contains(&y.id()));
        if !of_data.iter().any(costly) {
            let data = Data { vector: v.clone(), element: self.x.clone(), bindings: of_data };
            return Some((data, Expr::block(rest, result)));
        }
        if self.x.ty().mentions_array() {
            return None;
        }
        let stored: Vec<Var> = of_data.iter().filter(|b| costly(b)).flat_map(|b| b.pattern.vars().to_vec()).collect();
        if stored.iter().any(|x| x.ty().mentions_array()) {
            return None;
        }
        let i = self.supply.fresh("i", Type::Integer);
        let size = Expr::prim(Prim::Size, [v.clone()]);
        let count = if of_data.iter().all(|b| self.facts.is_total(&b.rhs)) {
            size
        } else {
            // The step may fail, but does not run where there are no elements.
            let parts = match self.n.ty().as_tuple() {
                None => vec![self.n.clone()],
                Some(parts) => (1..=parts.len()).map(|i| Expr::get(i, self.n.clone())).collect(),
            };
            parts.into_iter().fold(size, |count, n| {
                let some = Expr::prim(Prim::Lt, [Expr::integer(0), n]);
                Expr::conditional(some, count, Expr::integer(0))
            })
        };
        let read = Expr::prim(Prim::Index, [Expr::var(&i), v.clone()]);
        let first = Binding { pattern: Pattern::Var(self.x.clone()), rhs: read };
        let all = Expr::tuple([self.x].into_iter().chain(&stored).map(Expr::var).collect::<Vec<_>>());
        let entry = Expr::block([vec![first], of_data.clone()].concat(), all.clone());
        let table = renamed(&Expr::prim(Prim::Build, [count, Expr::lam(i, entry)]), self.supply);
        let w = self.supply.fresh("w", table.ty().clone());
        out.push(Binding { pattern: Pattern::Var(w.clone()), rhs: table });
        let y = self.supply.fresh("y", all.ty().clone());
        let names = [self.x.clone()].into_iter().chain(stored).collect();
        let mut bindings = vec![Binding { pattern: Pattern::Tuple(names), rhs: Expr::var(&y) }];
        bindings.extend(of_data.into_iter().filter(|b| !costly(b)));
        Some((Data { vector: Expr::var(&w), element: y, bindings }, Expr::block(rest, result)))
    }

    /// Returns a term with names for its costly parts that are common to all elements.
    fn costly_named(&mut self, e: &Expr, own: &FxHashSet<u32>, named: &mut Vec<Binding>) -> Expr {
        if !mentions(e, own) || !is_costly(e) {
            return e.clone();
        }
        self.inside(e, true, &mut own.clone(), named)
    }

    /// `always`: the term has a value wherever the whole has one.
    fn inside(&mut self, e: &Expr, always: bool, own: &mut FxHashSet<u32>, named: &mut Vec<Binding>) -> Expr {
        if !is_costly(e) {
            return e.clone();
        }
        let is_whole = !matches!(e.kind(), Kind::Let(..) | Kind::Lam(..)) && !mentions(e, own);
        if is_whole && (always || self.facts.is_total(e)) {
            let y = self.supply.fresh("t", e.ty().clone());
            named.push(Binding { pattern: Pattern::Var(y.clone()), rhs: e.clone() });
            return Expr::var(&y);
        }
        let mut always = always;
        match e.kind() {
            Kind::Let(bindings, _) => own.extend(bindings.iter().flat_map(|b| b.pattern.vars()).map(Var::id)),
            Kind::Lam(x, _) => {
                own.insert(x.id());
                always = false;
            }
            _ => always &= e.args_of(&Op::If).is_none(),
        }
        e.map_children(|child| self.inside(child, always, own, named))
    }
}

/// Returns whether a term loops, or calls a function.
fn is_costly(e: &Expr) -> bool {
    has_loops(e) || e.any(|e| matches!(e.kind(), Kind::App(Op::Prim(p), _) if p.cost() != Cost::Cheap))
}

/// Returns whether a term loops, or calls a function of the program.
fn has_loops(e: &Expr) -> bool {
    e.any(|e| match e.kind() {
        Kind::Lam(..) | Kind::App(Op::Call(_), _) => true,
        Kind::App(Op::Prim(Prim::Index | Prim::Size | Prim::CommonSize), _) => false,
        Kind::App(Op::Prim(_), args) => args.iter().any(|a| a.ty().mentions_array()),
        _ => false,
    })
}
