//! Reverse derivatives of recursive functions, evaluated into a destination.
//!
//! ```text
//! rev$f(s, dr)   =   $into(s, rev$f(s, dr))                                       f calls itself
//! (y, r) = suffwdpass$f(s) .. sufrevpass$f(dr, r)   =   .. $into(s, sufrevpass$f(dr, r))
//! vjp$f(s, dr)   =   $into(((), s), vjp$f(s, dr))         f calls itself and gives values of fixed shape
//! ```
//!
//! Where f varies in some of its arguments only, s is those. Each level of the recursion adds to the cotangent of what
//! all levels share, such as a vector that is passed on. In a destination that is made once, outside, it adds what it
//! has; else each level would make such a vector of its own. The value beside a cotangent is not added to anything, so
//! that it has no witness.
//!
//! Takes and gives: terms without linear maps.

use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Op};
use std::collections::HashMap;
use std::sync::Arc;

/// The definition with such calls marked. `recursive` gives the function of that name, whatever of it varies, if it
/// calls itself.
pub fn add_destinations(def: &Def, recursive: &dyn Fn(&FunName) -> Option<Arc<Fun>>) -> Def {
    let mut pass = Into { recursive, arguments: HashMap::new() };
    Def { body: pass.term(&def.body), ..def.clone() }
}

struct Into<'a> {
    recursive: &'a dyn Fn(&FunName) -> Option<Arc<Fun>>,
    /// The arguments s for each record r of a first half in scope.
    arguments: HashMap<u32, Vec<Expr>>,
}

impl Into<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => e.clone(),
            // Marked before.
            Kind::App(Op::Prim(Prim::Into), _) => e.clone(),
            Kind::App(Op::Call(f), args) if !e.ty().has_fixed_shape() => match self.argument(f, args) {
                Some(s) => Expr::prim(Prim::Into, [s, e.clone()]).at(e.span()),
                None => e.map_children(|c| self.term(c)),
            },
            Kind::App(..) | Kind::Lam(..) => e.map_children(|c| self.term(c)),
            Kind::Let(bindings, body) => {
                let mut out = Vec::with_capacity(bindings.len());
                for b in bindings {
                    out.push(Binding { pattern: b.pattern.clone(), rhs: self.term(&b.rhs) });
                    self.see(b);
                }
                Expr::block(out, self.term(body))
            }
        }
    }

    /// Remembers `(y, r) = suffwdpass$f(s)`.
    fn see(&mut self, b: &Binding) {
        let Kind::App(Op::Call(f), args) = b.rhs.kind() else { return };
        if let (Some(Derivative::SufFwdPass), [_, r]) = (derivation(f), b.pattern.vars()) {
            self.arguments.insert(r.id(), args.clone());
        }
    }

    /// The s that a call of a reverse derivative is the cotangent of, when its function is recursive.
    fn argument(&self, f: &Fun, args: &[Expr]) -> Option<Expr> {
        let s = match derivation(f)? {
            Derivative::Rev => vec![args[0].clone()],
            Derivative::Vjp if f.result.as_tuple()?[0].has_fixed_shape() => vec![args[0].clone()],
            Derivative::SufRevPass => self.arguments.get(&args[1].as_var()?.id())?.clone(),
            _ => return None,
        };
        let name = f.name.without_derivatives(1);
        let fun = (self.recursive)(&name)?;
        let s = match (s.as_slice(), fun.params.len()) {
            ([one], n) if n != 1 && name.varying().is_some() => (1..=n).map(|i| Expr::get(i, one.clone())).collect(),
            _ => s,
        };
        let cotangent = Fun { name, ..(*fun).clone() }.varying_of(&s);
        Some(match derivation(f)? {
            Derivative::Vjp => Expr::tuple([Expr::tuple([]), cotangent]),
            _ => cotangent,
        })
    }
}

fn derivation(f: &Fun) -> Option<&Derivative> {
    f.name.derivative()
}

/// The postcondition: each outermost reverse derivative of a recursive function has a destination.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    without_destination(&def.body, facts).cloned()
}

fn without_destination<'a>(e: &'a Expr, facts: &Facts) -> Option<&'a Expr> {
    match e.kind() {
        Kind::App(Op::Prim(Prim::Into), _) => None,
        Kind::App(Op::Call(f), _) if !e.ty().has_fixed_shape() && is_reverse_of_recursive(f, facts) => Some(e),
        Kind::Const(_) | Kind::Var(_) | Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => {
            e.children().find_map(|c| without_destination(c, facts))
        }
    }
}

fn is_reverse_of_recursive(f: &Fun, facts: &Facts) -> bool {
    derivation(f) == Some(&Derivative::Rev) && (facts.is_recursive)(&f.name.without_derivatives(1).unrestricted())
}
