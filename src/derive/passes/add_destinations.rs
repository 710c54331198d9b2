//! Gives reverse derivatives of recursive functions a destination to add to.
//!
//! ```text
//! rev$f(s, dr)   =   $into(s, rev$f(s, dr))                                       f calls itself
//! (y, r) = suffwdpass$f(s) .. sufrevpass$f(dr, r)   =   .. $into(s, sufrevpass$f(dr, r))
//! vjp$f(s, dr)   =   $into(((), s), vjp$f(s, dr))         f calls itself and gives values of fixed shape
//! let t = $into(s, e) in t.i + t.j   =   $into(s.i, let t = $into(s, e) in t.i + t.j)
//! ```
//!
//! Where only some arguments of f vary, s has those. Each level of the recursion adds to the cotangent of what all
//! levels share, such as a vector that is passed on. With a destination that is made once, outside, a level adds its
//! share there. Without one, each level makes a vector of its own. Nothing is added to the value beside a cotangent,
//! so it has no witness. A result that is the sum of several such cotangents has one destination for all of them.
//!
//! Takes and gives: terms without linear maps.

use crate::derive::postcondition::Facts;
use lm::destination::selection;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::free_variables;
use lm::term::{Binding, Def, Derivative, Expr, Fun, FunName, Kind, Op, Pattern, Var};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Marks such calls. `recursive` returns the function of a name, with respect to any parameters, if it calls itself.
pub fn add_destinations(def: &Def, recursive: &dyn Fn(&FunName) -> Option<Arc<Fun>>, rewrites: &mut Rewrites) -> Def {
    let mut pass = AddDestinations { recursive, rewrites, arguments: FxHashMap::default() };
    Def { body: pass.term(&def.body), ..def.clone() }
}

/// Gives a sum of cotangents with destinations, where it is the result, or stands beside a value, one destination.
pub fn sums_in_destinations(def: &Def, rewrites: &mut Rewrites) -> Def {
    let Some((before, value, sum, witness)) = sum_of_destinations(&def.body) else { return def.clone() };
    if !rewrites.may("into-sum") {
        return def.clone();
    }
    let (bindings, _) = def.body.as_block();
    let (before, after) = bindings.split_at(before);
    let (result, witness) = match value {
        Some(y) => (Expr::tuple([y, sum]), Expr::tuple([Expr::tuple([]), witness])),
        None => (sum, witness),
    };
    let span = result.span();
    let whole = Expr::prim(Prim::Into, [witness, Expr::block(after.to_vec(), result)]).at(span);
    Def { body: Expr::block(before.to_vec(), whole), ..def.clone() }
}

/// Returns, of a block whose result is a sum with terms that have destinations, all of them used there only: the number of
/// bindings before the first of these, the value beside the sum, the sum, and a witness of its shape.
fn sum_of_destinations(block: &Expr) -> Option<(usize, Option<Expr>, Expr, Expr)> {
    let (bindings, result) = block.as_block();
    let (value, sum) = match result.args_of(&Op::Tuple) {
        Some([y, sum]) if y.ty().has_fixed_shape() => (Some(y.clone()), sum),
        _ => (None, result),
    };
    sum.args_of_prim(Prim::Add).filter(|_| !sum.ty().has_fixed_shape())?;
    let mut terms = Vec::new();
    add_terms(sum, &mut terms);
    let placed = |term: &&Expr| destination_of(bindings, term).map(|(at, witness)| (at, witness, (*term).clone()));
    let placed: Vec<(usize, Expr, Expr)> = terms.iter().filter_map(placed).collect();
    let is_used_here_only = |(_, _, term): &(usize, Expr, Expr)| {
        let (x, _) = selection(term).expect("a part of a variable");
        let of_x = |e: &Expr| matches!(e.kind(), Kind::Var(y) if y == x);
        let mut uses = 0;
        block.visit(|e| uses += usize::from(of_x(e)));
        uses == terms.iter().filter(|term| selection(term).is_some_and(|(y, _)| y == x)).count()
    };
    let first = placed.iter().map(|(at, ..)| *at).min()?;
    let late: FxHashSet<u32> = bindings[first..].iter().flat_map(|b| b.pattern.vars()).map(Var::id).collect();
    let is_known = |w: &Expr| free_variables(w).iter().all(|x| !late.contains(&x.id()));
    let (_, witness, _) = placed.iter().find(|(_, witness, _)| is_known(witness))?;
    placed.iter().all(is_used_here_only).then(|| (first, value, sum.clone(), witness.clone()))
}

fn add_terms<'a>(e: &'a Expr, terms: &mut Vec<&'a Expr>) {
    match e.args_of_prim(Prim::Add) {
        Some(args) => args.iter().for_each(|a| add_terms(a, terms)),
        None => terms.push(e),
    }
}

/// Returns the binding that gives a term, a part of its value, a destination, and the witness of the part.
fn destination_of(bindings: &[Binding], term: &Expr) -> Option<(usize, Expr)> {
    let (x, path) = selection(term)?;
    let at = bindings.iter().position(|b| b.pattern.vars().contains(x))?;
    let witness = bindings[at].rhs.args_of_prim(Prim::Into)?[0].clone();
    let component = match &bindings[at].pattern {
        Pattern::Var(_) => None,
        Pattern::Tuple(vars) => vars.iter().position(|y| y == x).map(|i| i + 1),
    };
    let part = |w: Expr, i: usize| match w.args_of(&Op::Tuple) {
        Some(parts) => parts[i - 1].clone(),
        None => Expr::get(i, w),
    };
    let witness = component.into_iter().chain(path).fold(witness, part);
    (witness.ty().tangent() == *term.ty()).then_some((at, witness))
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
