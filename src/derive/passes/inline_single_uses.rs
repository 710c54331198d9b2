//! Moves an expression that is used once to its use, as a person would write it.
//!
//! ```text
//! let t = e in b   =   b[t := e]     t occurs once in b, e has no effect, and b[t := e] stays short;
//!                                    or e is an atom, or a short tuple of atoms
//!                                    or e is a zero tensor that is only added, or a part of the result
//! let (x, y) = e in (x, y)   =   e
//! ```
//!
//! A zero that is added where it stands costs nothing; with a name it is as large as any tensor.
//!
//! A condition that chooses between tensors keeps its name: terms that are added to either tensor read it
//! (`lm::destination`). No work is copied, and none is moved into a function. A term that moves into a branch is
//! evaluated at most as often as before. Takes and gives: any term.

use crate::derive::forms::smallest_binding;
use crate::derive::postcondition::Facts;
use lm::destination::selection;
use lm::effect::Effects;
use lm::prim::Prim;
use lm::rewrites::Rewrites;
use lm::scope::occurrences;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The longest line that inlining makes, in nodes. Longer terms keep their names, which also keeps terms shallow.
const LINE: usize = 24;

/// Inlines single uses.
pub fn inline_single_uses(def: &Def, effects: &Effects, rewrites: &mut Rewrites) -> Def {
    let mut pass = InlineSingleUses::new(&def.body, effects);
    Def { body: pass.term(&def.body, rewrites), ..def.clone() }
}

struct InlineSingleUses<'a> {
    uses: FxHashMap<u32, usize>,
    /// The conditions that choose a destination: their names must be known before the conditional.
    conditions: FxHashSet<u32>,
    /// The variables with a use that is not an addition, or is in a function where they are bound outside of it.
    read: FxHashSet<u32>,
    effects: &'a Effects,
    by: FxHashMap<u32, Expr>,
}

impl<'a> InlineSingleUses<'a> {
    fn new(body: &Expr, effects: &'a Effects) -> InlineSingleUses<'a> {
        let (uses, conditions, read) = (occurrences(body), chosen_by(body), read_in(body));
        InlineSingleUses { uses, conditions, read, effects, by: FxHashMap::default() }
    }

    fn term(&mut self, e: &Expr, rewrites: &mut Rewrites) -> Expr {
        match e.kind() {
            Kind::Const(_) => e.clone(),
            Kind::Var(x) => self.by.get(&x.id()).unwrap_or(e).clone(),
            Kind::App(..) | Kind::Lam(..) => e.map_children(|c| self.term(c, rewrites)),
            Kind::Let(bindings, body) => {
                let mut kept = Vec::new();
                for b in bindings {
                    let rhs = self.term(&b.rhs, rewrites);
                    match &b.pattern {
                        Pattern::Var(x) if self.moved_by(x.id(), &rhs).is_some_and(|law| rewrites.may(law)) => {
                            self.by.insert(x.id(), rhs);
                        }
                        pattern => kept.push(Binding { pattern: pattern.clone(), rhs }),
                    }
                }
                let body = self.term(body, rewrites);
                match kept.pop() {
                    Some(last) if gives(&last.pattern, &body) && rewrites.may("let-result") => {
                        Expr::block(kept, last.rhs)
                    }
                    last => Expr::block(kept.into_iter().chain(last).collect(), body),
                }
            }
        }
    }

    /// Returns the law by which an expression takes the place of its variable.
    fn moved_by(&self, x: u32, rhs: &Expr) -> Option<&'static str> {
        if rhs.is_atom() || rhs.is_short_tuple() {
            return Some("let-atom");
        }
        if !self.read.contains(&x) && is_zero_tensor(rhs) {
            return Some("let-zero");
        }
        let once = self.uses.get(&x) == Some(&1) && !self.conditions.contains(&x);
        let is_short = rhs.size() <= LINE && is_expression(rhs) && !self.effects.in_term(rhs);
        (once && is_short).then_some("let-single-use")
    }
}

/// Returns whether the term gives what the pattern takes.
fn gives(pattern: &Pattern, e: &Expr) -> bool {
    match pattern {
        Pattern::Var(x) => e.as_var() == Some(x),
        Pattern::Tuple(xs) => e
            .args_of(&Op::Tuple)
            .is_some_and(|parts| parts.len() == xs.len() && parts.iter().zip(xs).all(|(p, x)| p.as_var() == Some(x))),
    }
}

/// Returns the conditions that choose between tensors, or between tuples of them.
fn chosen_by(e: &Expr) -> FxHashSet<u32> {
    let mut conditions = FxHashSet::default();
    e.visit(|e| {
        if let Some([c, ..]) = e.args_of(&Op::If)
            && !e.ty().has_fixed_shape()
        {
            conditions.extend(c.as_var().map(Var::id));
        }
    });
    conditions
}

/// Returns whether the term is `ts_zero w`, where w costs nothing and its shape is not fixed.
fn is_zero_tensor(e: &Expr) -> bool {
    !e.ty().has_fixed_shape() && e.args_of_prim(Prim::ZeroOf).is_some_and(|args| selection(&args[0]).is_some())
}

/// Returns the variables with a use that is not a term of a sum, a component of a tuple, a branch, or the result of the
/// function in which they are bound.
fn read_in(body: &Expr) -> FxHashSet<u32> {
    let mut uses = AddedUses::default();
    uses.visit(body, true);
    uses.read
}

#[derive(Default)]
struct AddedUses {
    /// The number of functions around each binding.
    bound: FxHashMap<u32, usize>,
    /// The number of functions around the term at hand.
    depth: usize,
    read: FxHashSet<u32>,
}

impl AddedUses {
    /// Visits a term, which is added or not.
    fn visit(&mut self, e: &Expr, is_added: bool) {
        match e.kind() {
            Kind::Const(_) => {}
            Kind::Var(x) if is_added && self.bound.get(&x.id()) == Some(&self.depth) => {}
            Kind::Var(x) => {
                self.read.insert(x.id());
            }
            Kind::Lam(_, body) => {
                self.depth += 1;
                self.visit(body, true);
                self.depth -= 1;
            }
            Kind::Let(bindings, body) => {
                for b in bindings {
                    self.visit(&b.rhs, false);
                    self.bound.extend(b.pattern.vars().iter().map(|x| (x.id(), self.depth)));
                }
                self.visit(body, is_added);
            }
            Kind::App(Op::If, args) => {
                self.visit(&args[0], false);
                args[1..].iter().for_each(|branch| self.visit(branch, is_added));
            }
            Kind::App(op, args) => {
                let adds = matches!(op, Op::Tuple | Op::Prim(Prim::Add));
                args.iter().for_each(|arg| self.visit(arg, adds));
            }
        }
    }
}

/// Returns whether the term has no block, conditional or function in it.
fn is_expression(e: &Expr) -> bool {
    !e.any(|e| matches!(e.kind(), Kind::Let(..) | Kind::Lam(..) | Kind::App(Op::If, _)))
}

/// Returns what breaks the postcondition: a binding that can move to its use.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let pass = InlineSingleUses::new(&def.body, facts.effects);
    smallest_binding(&def.body, |b| matches!(&b.pattern, Pattern::Var(x) if pass.moved_by(x.id(), &b.rhs).is_some()))
}
