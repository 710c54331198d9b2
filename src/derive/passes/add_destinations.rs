//! Gives reverse derivatives of recursive functions a destination to add to.
//!
//! ```text
//! rev$f(s, dr)   =   $into(s, rev$f(s, dr))                                       f calls itself
//! (y, r) = suffwdpass$f(s) .. sufrevpass$f(dr, r)   =   .. $into(s, sufrevpass$f(dr, r))
//! vjp$f(s, dr)   =   $into(((), s), vjp$f(s, dr))         f calls itself and gives values of fixed shape
//! ```
//!
//! Where only some arguments of f vary, s has those. Each level of the recursion adds to the cotangent of what all
//! levels share, such as a vector that is passed on. With a destination that is made once, outside, a level adds its
//! share there. Without one, each level makes a vector of its own. Nothing is added to the value beside a cotangent,
//! so it has no witness.
//!
//! Takes and gives: terms without linear maps.

use crate::derive::postcondition::Facts;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Op};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Marks such calls. `recursive` returns the function of a name, with respect to any parameters, if it calls itself.
pub fn add_destinations(def: &Def, recursive: &dyn Fn(&FunName) -> Option<Arc<Fun>>, rewrites: &mut Rewrites) -> Def {
    let mut pass = AddDestinations { recursive, rewrites, arguments: FxHashMap::default() };
    Def { body: pass.term(&def.body), ..def.clone() }
}

struct AddDestinations<'a> {
    recursive: &'a dyn Fn(&FunName) -> Option<Arc<Fun>>,
    rewrites: &'a mut Rewrites,
    /// The arguments s for each record r of a first half in scope.
    arguments: FxHashMap<u32, Vec<Expr>>,
}

impl AddDestinations<'_> {
    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) | Kind::Var(_) => e.clone(),
            // Marked before.
            Kind::App(Op::Prim(Prim::Into), _) => e.clone(),
            Kind::App(Op::Call(f), args) if !e.ty().has_fixed_shape() => match self.argument(f, args) {
                Some(s) if self.rewrites.may(law(f)) => Expr::prim(Prim::Into, [s, e.clone()]).at(e.span()),
                Some(_) => e.clone(),
                None => e.map_children(|c| self.term(c)),
            },
            Kind::App(..) | Kind::Lam(..) => e.map_children(|c| self.term(c)),
            Kind::Let(bindings, body) => {
                let mut out = Vec::with_capacity(bindings.len());
                for b in bindings {
                    out.push(Binding { pattern: b.pattern.clone(), rhs: self.term(&b.rhs) });
                    self.remember_first_half(b);
                }
                Expr::block(out, self.term(body))
            }
        }
    }

    /// Remembers `(y, r) = suffwdpass$f(s)`.
    fn remember_first_half(&mut self, b: &Binding) {
        let Kind::App(Op::Call(f), args) = b.rhs.kind() else { return };
        if let (Some(Derivative::SufFwdPass), [_, r]) = (derivation(f), b.pattern.vars()) {
            self.arguments.insert(r.id(), args.clone());
        }
    }

    /// Returns the s of a reverse derivative at s, if its function is recursive.
    fn argument(&self, f: &Fun, args: &[Expr]) -> Option<Expr> {
        let s = match derivation(f)? {
            Derivative::Rev => vec![args[0].clone()],
            Derivative::Vjp if f.result.as_tuple()?[0].has_fixed_shape() => vec![args[0].clone()],
            Derivative::SufRevPass => self.arguments.get(&args[1].as_var()?.id())?.clone(),
            Derivative::D
            | Derivative::Dt
            | Derivative::Tupled
            | Derivative::Polymorphic
            | Derivative::PolymorphicR
            | Derivative::Dual => return None,
            Derivative::Fwd | Derivative::Jvp | Derivative::Vjp => return None,
            Derivative::SufFwdPass | Derivative::SufRev => return None,
            Derivative::Shape | Derivative::Cl | Derivative::Wrt(_) => return None,
            Derivative::Grad | Derivative::Hvp | Derivative::Hess => return None,
            Derivative::Jac | Derivative::JacFwd | Derivative::JacRev => return None,
        };
        let name = f.name.without_derivatives(1);
        let fun = (self.recursive)(&name)?;
        let s = match (s.as_slice(), fun.params.len()) {
            ([one], n) if n != 1 && name.varying().is_some() => (1..=n).map(|i| Expr::get(i, one.clone())).collect(),
            _ => s,
        };
        let cotangent = Fun { name, ..(*fun).clone() }.varying_of(&s);
        let has_value = derivation(f)? == &Derivative::Vjp;
        Some(if has_value { Expr::tuple([Expr::tuple([]), cotangent]) } else { cotangent })
    }
}

fn derivation(f: &Fun) -> Option<&Derivative> {
    f.name.derivative()
}

/// Returns the law by which a call gets a destination.
fn law(f: &Fun) -> &'static str {
    match derivation(f) {
        Some(Derivative::SufRevPass) => "into-half",
        Some(Derivative::Vjp) => "into-vjp",
        _ => "into-rev",
    }
}

/// Returns what breaks the postcondition: an outermost reverse derivative of a recursive function without a
/// destination.
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
