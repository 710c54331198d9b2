//! Takes out of the fold of an element what is common to all elements and all steps.
//!
//! ```text
//! fold(λ(t, x). e{t, x, c}, a[k], v)  =  let y = c in fold(λ(t, x). e{t, x, y}, a[k], v)       where c is total
//! ```
//!
//! What a step computes once for all elements would be computed for each. So there is no such fold where that loops or
//! calls a function, of x say.

use lm::facts::Facts;
use lm::prim::{Cost, Prim};
use lm::scope::free_variables;
use lm::term::{Binding, Expr, Kind, Op, Pattern, Supply, Var};
use rustc_hash::FxHashSet;

pub(super) struct Common<'a> {
    pub(super) facts: &'a Facts,
    pub(super) supply: &'a mut Supply,
    /// The names that differ from element to element.
    pub(super) own: FxHashSet<u32>,
    /// The names that are common to all elements, but not to all steps.
    pub(super) of_step: FxHashSet<u32>,
    /// What is bound before the fold.
    pub(super) before: Vec<Binding>,
}

impl Common<'_> {
    /// Returns the step without what is bound before the fold; none if something costly is common to all elements and
    /// stays.
    pub(super) fn taken_out(&mut self, step: Vec<Binding>, result: Expr) -> Option<Expr> {
        let mut out = Vec::new();
        for b in step {
            let names = b.pattern.vars().iter().map(Var::id);
            if mentions(&b.rhs, &self.own) {
                self.own.extend(names);
                let rhs = self.without_common(&b.rhs, &mut self.own.clone())?;
                out.push(Binding { pattern: b.pattern, rhs });
            } else if !mentions(&b.rhs, &self.of_step) && self.facts.is_total(&b.rhs) {
                self.before.push(b);
            } else if is_costly(&b.rhs) {
                return None;
            } else {
                self.of_step.extend(names);
                out.push(b);
            }
        }
        let result = self.without_common(&result, &mut self.own.clone())?;
        Some(Expr::block(out, result))
    }

    /// Returns a term of one element without its costly parts that are common to all.
    fn without_common(&mut self, e: &Expr, own: &mut FxHashSet<u32>) -> Option<Expr> {
        if !is_costly(e) {
            return Some(e.clone());
        }
        if !mentions(e, own) && !matches!(e.kind(), Kind::Let(..) | Kind::Lam(..)) {
            if !mentions(e, &self.of_step) && self.facts.is_total(e) {
                let y = self.supply.fresh("t", e.ty().clone());
                self.before.push(Binding { pattern: Pattern::Var(y.clone()), rhs: e.clone() });
                return Some(Expr::var(&y));
            }
            if is_costly_operator(e) {
                return None;
            }
        }
        match e.kind() {
            Kind::Let(bindings, _) => own.extend(bindings.iter().flat_map(|b| b.pattern.vars()).map(Var::id)),
            Kind::Lam(x, _) => drop(own.insert(x.id())),
            _ => {}
        }
        let mut all = true;
        let new = e.map_children(|child| {
            let new = if all { self.without_common(child, own) } else { None };
            all &= new.is_some();
            new.unwrap_or_else(|| child.clone())
        });
        all.then_some(new)
    }
}

/// Returns whether a term loops, or calls a function.
fn is_costly(e: &Expr) -> bool {
    e.any(is_costly_operator)
}

fn is_costly_operator(e: &Expr) -> bool {
    match e.kind() {
        Kind::Lam(..) | Kind::App(Op::Call(_), _) => true,
        Kind::App(Op::Prim(Prim::Index | Prim::Size | Prim::CommonSize), _) => false,
        Kind::App(Op::Prim(p), args) => {
            let loops = args.iter().any(|a| a.ty().mentions_array() || matches!(a.kind(), Kind::Lam(..)));
            p.cost() == Cost::Call || loops
        }
        _ => false,
    }
}

/// Returns whether a term mentions one of some variables.
pub(super) fn mentions(e: &Expr, xs: &FxHashSet<u32>) -> bool {
    free_variables(e).iter().any(|x| xs.contains(&x.id()))
}
