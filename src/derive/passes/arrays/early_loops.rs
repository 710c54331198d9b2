//! Names loops that a loop around computes again and again, before that loop.
//!
//! ```text
//! build(n, λj. f(j) * sum(..))              =   let t = sum(..) in build(n, λj. f(j) * t)
//! build((n, m), λj. f(j) * sum(e[j.1]))     =   let t = build(n, λk. sum(e[k])) in build((n, m), λj. f(j) * t[j.1])
//! ```
//!
//! The pass `hoist` does the same with numbers. What may fail leaves with the conditions under which some step computes it:
//! the loop around may have no steps, or the term be in a branch that is not taken.
//!
//! ```text
//! build((n, m), λj. if j.1 < l then f(j) * sum(e[j.1]) else 0)
//!     =   let t = build(n, λk. if 0 < n and 0 < m then (if k < l then sum(e[k]) else 0.0) else 0.0)
//!         in build((n, m), λj. if j.1 < l then f(j) * t[j.1] else 0)
//! ```

use super::early::Early;
use lm::prim::{Cost, Prim};
use lm::scope::{free_variables, renamed};
use lm::term::{Binding, Expr, Kind, Op, Pattern, Var};
use lm::types::Type;

/// A loop over tensors of several dimensions.
pub(super) struct Axes {
    pub(super) index: Var,
    pub(super) size: Expr,
}

impl Early<'_> {
    /// Returns a term with names for loops that may leave the loop around, which are bound before it.
    pub(super) fn with_loops_named(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => e.clone(),
            Kind::Lam(x, body) => {
                self.stay(std::slice::from_ref(x));
                Expr::lam(x.clone(), self.with_loops_named_under(None, body)).at(e.span())
            }
            Kind::Let(bindings, body) => {
                let mut new = Vec::with_capacity(bindings.len());
                for b in bindings {
                    new.push(Binding { pattern: b.pattern.clone(), rhs: self.with_loops_named(&b.rhs) });
                    self.stay(b.pattern.vars());
                }
                Expr::block(new, self.with_loops_named(body))
            }
            Kind::App(op, args) => {
                if let Some(name) = self.named(e) {
                    return name;
                }
                let new: Vec<Expr> = match (op, args.as_slice()) {
                    (Op::If, [c, yes, no]) => {
                        let otherwise = Expr::prim(Prim::Not, [c.clone()]);
                        let named = self.with_loops_named(c);
                        let yes = self.with_loops_named_under(Some(c), yes);
                        vec![named, yes, self.with_loops_named_under(Some(&otherwise), no)]
                    }
                    _ => args.iter().map(|a| self.with_loops_named(a)).collect(),
                };
                if new == *args { e.clone() } else { Expr::app(op.clone(), new).at(e.span()) }
            }
        }
    }

    /// Does the same in a branch, or in an inner loop.
    fn with_loops_named_under(&mut self, condition: Option<&Expr>, e: &Expr) -> Expr {
        self.around.push(condition.cloned());
        let named = self.with_loops_named(e);
        self.around.pop();
        named
    }

    /// Returns what takes the place of a loop that leaves.
    fn named(&mut self, e: &Expr) -> Option<Expr> {
        let leaves = is_loop(e) || self.hoists && is_computed(e);
        if !leaves || self.effects.in_term(e) || !(self.is_total(e) || is_long(e) && *e.ty() == Type::Float) {
            return None;
        }
        let inside = self.staying(e);
        if inside.is_empty() {
            let early = self.where_computed(e, &|early, c| early.for_some_step(c))?;
            return self.rewrites.may("let-early").then(|| self.before("t", early));
        }
        if !is_loop(e) {
            return None;
        }
        let Axes { index, size } = self.axes.as_ref().filter(|axes| inside == [axes.index.clone()])?;
        let (index, size) = (index.clone(), size.clone());
        let axis = only_axis(e, &index)?;
        let of_step = |early: &Self, c: &Expr| match only_axis(c, &index) {
            Some(other) if other == axis && early.staying(c) == [index.clone()] => Some(c.clone()),
            _ => early.for_some_step(c),
        };
        let element = self.where_computed(e, &of_step)?;
        if !self.rewrites.may("let-early-axis") {
            return None;
        }
        let k = self.supply.fresh("k", Type::Integer);
        let element = renamed(&at_axis(&element, &index, &Expr::var(&k)), self.supply);
        let array = Expr::prim(Prim::Build, [Expr::get(axis, size), Expr::lam(k, element)]);
        let array = self.before("t", array.at(e.span()));
        Some(Expr::prim(Prim::Index, [Expr::get(axis, Expr::var(&index)), array]))
    }

    /// Returns a term, or 0 where no step computes it and it may fail. `before` gives a condition before the loop.
    fn where_computed(&mut self, e: &Expr, before: &dyn Fn(&Self, &Expr) -> Option<Expr>) -> Option<Expr> {
        if self.is_total(e) {
            return Some(e.clone());
        }
        let conditions = self.around.iter().map(|c| before(self, c.as_ref()?)).collect::<Option<Vec<Expr>>>()?;
        // The conditions stand in the loop, too.
        let guarded =
            |inner: Expr, c: Expr| Expr::conditional(renamed(&c, self.supply), inner, Expr::float(0.0)).at(e.span());
        Some(conditions.into_iter().rev().fold(e.clone(), guarded))
    }

    /// Binds a term before the loop around.
    fn before(&mut self, name: &str, rhs: Expr) -> Expr {
        let x = self.supply.fresh(name, rhs.ty().clone());
        self.found.push(Binding { pattern: Pattern::Var(x.clone()), rhs });
        Expr::var(&x)
    }

    /// Returns the variables of a term that stay in the loop.
    fn staying(&self, e: &Expr) -> Vec<Var> {
        free_variables(e).into_iter().filter(|x| self.stays(x)).collect()
    }
}

/// Returns whether a term is a loop, or a component of what one gives.
fn is_loop(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Prim(Prim::Build | Prim::SumBuild | Prim::Fold | Prim::Place | Prim::Scanl | Prim::Loop), _) => {
            true
        }
        Kind::App(Op::Get(..), args) => args[0].args_of_prim(Prim::Loop).is_some(),
        _ => false,
    }
}

/// Returns whether a term is a loop, or a sum of an array.
fn is_long(e: &Expr) -> bool {
    is_loop(e) || e.args_of_prim(Prim::Sum).is_some() || e.args_of_prim(Prim::Dot).is_some()
}

/// Returns whether a term is a number that takes an operation.
fn is_computed(e: &Expr) -> bool {
    match e.kind() {
        Kind::App(Op::Prim(p), _) if *e.ty() == Type::Float => {
            let is_operation = matches!(p, Prim::Add | Prim::Sub | Prim::Mul | Prim::Div | Prim::Neg | Prim::Powi);
            is_operation || is_long(e) || p.cost() != Cost::Cheap
        }
        _ => false,
    }
}

/// Returns the one component of an index that a term reads.
fn only_axis(e: &Expr, index: &Var) -> Option<usize> {
    let (mut found, mut uses, mut components) = (None, 0, 0);
    let mut is_one = true;
    e.visit(|e| {
        uses += usize::from(e.as_var() == Some(index));
        if let Kind::App(Op::Get(k, _), args) = e.kind()
            && args[0].as_var() == Some(index)
        {
            components += 1;
            is_one &= *found.get_or_insert(*k) == *k;
        }
    });
    found.filter(|_| is_one && uses == components)
}

/// Returns a term with a number in the place of the component of an index that it reads.
fn at_axis(e: &Expr, index: &Var, k: &Expr) -> Expr {
    match e.kind() {
        Kind::App(Op::Get(..), args) if args[0].as_var() == Some(index) => k.clone(),
        _ => e.map_children(|child| at_axis(child, index, k)),
    }
}
