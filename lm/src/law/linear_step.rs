//! Writes the step of a loop as `a * x + b`, where it is linear in its state x.
//!
//! ```text
//! x + (u + a * x)               =   (1.0 + a) * x + u
//! if c then a * x + b else x    =   (if c then a else 1.0) * x + (if c then b else 0)
//! ```
//!
//! A branch without x has the coefficient 0.0. The coefficient -1.0 is written as `-x`: else `vector-scale-minus` would
//! undo it, without end. No pattern says that a term is linear. The laws of `a * x + b` are text: `laws/arrays.laws`.

use super::context::Context;
use super::native::{Head, Native};
use crate::prim::Prim;
use crate::scope::{free_variables, substitute};
use crate::term::{Binding, Expr, Kind, Op, Pattern, Var};
use crate::types::Type;
use rustc_hash::{FxHashMap, FxHashSet};

#[rustfmt::skip]
/// The rows of the table of laws.
pub(super) static LINEAR_STEP: &[Native] = &[
    Native { name: "fold-linear-step", source: "derived", text: "$loop(n, λ(i, x). (e, ()), z, w).1 = $loop(n, λ(i, x). (a * x + b, ()), z, w).1, e linear in x", head: Some(Head::Get), rewrite: linear_step },
];

/// The nodes of the largest term that takes the place of a name.
const MOST_NODES: usize = 500;

/// A term as `a * x + b`: the coefficient, if it is not 1.0, and b, if it is not zero.
#[derive(Clone)]
struct Linear {
    a: Option<Expr>,
    b: Option<Expr>,
}

fn linear_step(e: &Expr, cx: &Context) -> Option<Expr> {
    let [of] = e.args_of(&Op::Get(1, 2))? else { return None };
    let [n, f, z, w] = of.args_of_prim(Prim::Loop)? else { return None };
    let Kind::Lam(p, body) = f.kind() else { return None };
    let (bindings, result) = body.as_block();
    let (first, names) = bindings.split_first()?;
    let (Pattern::Tuple(parts), Some([step, none])) = (&first.pattern, result.args_of(&Op::Tuple)) else { return None };
    let [_, x] = parts.as_slice() else { return None };
    if first.rhs.as_var() != Some(p)
        || !is_number(x.ty())
        || none.args_of(&Op::Tuple).is_none_or(|none| !none.is_empty())
    {
        return None;
    }
    let (names, step) = without_names_of_state(x, names, step)?;
    let linear = Parts { x: x.clone() }.of(&step)?;
    // Where no other law takes the form, it may cost more than the step as it is.
    let facts = &cx.facts;
    let is_early = linear.a.as_ref().is_none_or(|a| !facts.is_late(a));
    let pays = cx.at_any_cost || facts.is_natural(n) && is_early && facts.is_late(linear.b.as_ref().unwrap_or(z));
    let new = linear.written(x);
    if !pays || new == step || new.size() > 2 * MOST_NODES {
        return None;
    }
    let bindings = [std::slice::from_ref(first), &names[..]].concat();
    let body = Expr::block(bindings, Expr::tuple([new, none.clone()]));
    Some(Expr::get(1, Expr::prim(Prim::Loop, [n.clone(), Expr::lam(p.clone(), body), z.clone(), w.clone()])))
}

fn is_number(ty: &Type) -> bool {
    *ty == Type::Float
}

/// Returns the names of a step that do not depend on its state, and the result with the terms of the others.
fn without_names_of_state(x: &Var, names: &[Binding], step: &Expr) -> Option<(Vec<Binding>, Expr)> {
    let mut of_state = FxHashSet::from_iter([x.id()]);
    let (mut kept, mut by) = (Vec::new(), FxHashMap::default());
    for b in names {
        let rhs = substitute(&b.rhs, &by);
        if !free_variables(&rhs).iter().any(|y| of_state.contains(&y.id())) {
            kept.push(Binding { pattern: b.pattern.clone(), rhs });
            continue;
        }
        let Pattern::Var(y) = &b.pattern else { return None };
        of_state.insert(y.id());
        if !has_no_binder(&rhs) || rhs.size() > MOST_NODES {
            return None;
        }
        by.insert(y.id(), rhs);
    }
    Some((kept, substitute(step, &by)))
}

fn has_no_binder(e: &Expr) -> bool {
    !e.any(|e| matches!(e.kind(), Kind::Lam(..) | Kind::Let(..)))
}

/// Takes terms apart that are linear in x.
struct Parts {
    x: Var,
}

impl Parts {
    /// Returns the parts of a term that is linear in x, and depends on x.
    fn of(&self, e: &Expr) -> Option<Linear> {
        if e.as_var() == Some(&self.x) {
            return Some(Linear { a: None, b: None });
        }
        let Kind::App(op, args) = e.kind() else { return None };
        match (op, args.as_slice()) {
            (Op::Prim(p @ (Prim::Add | Prim::Sub)), [l, r]) => self.sum(*p, l, r),
            (Op::Prim(Prim::Neg), [l]) => Some(self.of(l)?.scaled(&|e| Expr::prim(Prim::Neg, [e]))),
            (Op::Prim(Prim::Mul), [k, l]) if self.is_free(k) => Some(self.of(l)?.scaled(&|e| mul(k.clone(), e))),
            (Op::Prim(Prim::Mul), [l, k]) if self.is_free(k) => Some(self.of(l)?.scaled(&|e| mul(e, k.clone()))),
            (Op::If, [c, l, r]) if self.is_free(c) && has_no_binder(c) => {
                self.choice(c, self.branch(l)?, self.branch(r)?)
            }
            _ => None,
        }
    }

    /// Returns the parts of a branch, which may not depend on x.
    fn branch(&self, e: &Expr) -> Option<Linear> {
        let b = (*e != Expr::float(0.0)).then(|| e.clone());
        if self.is_free(e) { Some(Linear { a: Some(Expr::float(0.0)), b }) } else { self.of(e) }
    }

    fn choice(&self, c: &Expr, l: Linear, r: Linear) -> Option<Linear> {
        let either = |l: Option<Expr>, r: Option<Expr>, without: Expr| match (l, r) {
            (None, None) => None,
            (l, r) => {
                let [l, r] = [l, r].map(|e| e.unwrap_or_else(|| without.clone()));
                Some(if l == r { l } else { Expr::conditional(c.clone(), l, r) })
            }
        };
        let zero = Expr::prim(Prim::ZeroOf, [Expr::dummy(self.x.ty().clone())]);
        Some(Linear { a: either(l.a, r.a, Expr::float(1.0)), b: either(l.b, r.b, zero) })
    }

    fn is_free(&self, e: &Expr) -> bool {
        !free_variables(e).contains(&self.x)
    }

    fn sum(&self, p: Prim, l: &Expr, r: &Expr) -> Option<Linear> {
        let sum = |l: Expr, r: Expr| Expr::prim(p, [l, r]);
        let signed = |e: Expr| if p == Prim::Sub { Expr::prim(Prim::Neg, [e]) } else { e };
        match (self.is_free(l), self.is_free(r)) {
            (true, true) => None,
            (true, false) => {
                let r = self.of(r)?;
                let a = if p == Prim::Sub { Some(signed(r.a.unwrap_or_else(|| Expr::float(1.0)))) } else { r.a };
                let b = r.b.map_or_else(|| l.clone(), |b| sum(l.clone(), b));
                Some(Linear { a, b: Some(b) })
            }
            (false, true) => {
                let l = self.of(l)?;
                let b = l.b.map_or_else(|| signed(r.clone()), |b| sum(b, r.clone()));
                Some(Linear { a: l.a, b: Some(b) })
            }
            (false, false) => {
                let (l, r) = (self.of(l)?, self.of(r)?);
                let [la, ra] = [l.a, r.a].map(|a| a.unwrap_or_else(|| Expr::float(1.0)));
                let b = match (l.b, r.b) {
                    (None, None) => None,
                    (Some(b), None) => Some(b),
                    (None, Some(b)) => Some(signed(b)),
                    (Some(l), Some(r)) => Some(sum(l, r)),
                };
                Some(Linear { a: Some(sum(la, ra)), b })
            }
        }
    }
}

impl Linear {
    fn scaled(self, by: &dyn Fn(Expr) -> Expr) -> Linear {
        Linear { a: Some(by(self.a.unwrap_or_else(|| Expr::float(1.0)))), b: self.b.map(by) }
    }

    fn written(self, x: &Var) -> Expr {
        let x = Expr::var(x);
        let scaled = match self.a {
            Some(a) if is_minus_one(&a) => Expr::prim(Prim::Neg, [x]),
            Some(a) => mul(a, x),
            None => x,
        };
        match self.b {
            Some(b) => Expr::prim(Prim::Add, [scaled, b]),
            None => scaled,
        }
    }
}

fn is_minus_one(k: &Expr) -> bool {
    *k == Expr::float(-1.0) || *k == Expr::prim(Prim::Neg, [Expr::float(1.0)])
}

/// Returns a product, of which 1.0 is no factor.
fn mul(k: Expr, e: Expr) -> Expr {
    let is_one = |e: &Expr| *e == Expr::float(1.0);
    match (is_one(&k), is_one(&e)) {
        (true, _) => e,
        (_, true) => k,
        _ => Expr::prim(Prim::Mul, [k, e]),
    }
}
