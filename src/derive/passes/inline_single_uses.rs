//! Moves an expression that is used once to its use, as a person would write it.
//!
//! ```text
//! let t = e in b   =   b[t := e]     t occurs once in b, e has no effect, and b[t := e] stays short;
//!                                    or e is an atom, or a short tuple of atoms
//! let (x, y) = e in (x, y)   =   e
//! ```
//!
//! A condition that chooses between tensors keeps its name: terms that are added to either tensor read it
//! (`lm::destination`). No work is copied, and none is moved into a function. A term that moves into a branch is
//! evaluated at most as often as before. Takes and gives: any term.

use crate::derive::forms::smallest_binding;
use crate::derive::postcondition::Facts;
use lm::effect::Effects;
use lm::scope::occurrences;
use lm::term::{Binding, Def, Expr, Kind, Op, Pattern, Var};
use rustc_hash::{FxHashMap, FxHashSet};

/// The longest line that inlining makes, in nodes. Longer terms keep their names, which also keeps terms shallow.
const LINE: usize = 24;

/// Inlines single uses.
pub fn inline_single_uses(def: &Def, effects: &Effects) -> Def {
    let mut pass = InlineSingleUses::new(&def.body, effects);
    Def { body: pass.term(&def.body), ..def.clone() }
}

struct InlineSingleUses<'a> {
    uses: FxHashMap<u32, usize>,
    /// The conditions that choose a destination: their names must be known before the conditional.
    conditions: FxHashSet<u32>,
    effects: &'a Effects,
    by: FxHashMap<u32, Expr>,
}

impl<'a> InlineSingleUses<'a> {
    fn new(body: &Expr, effects: &'a Effects) -> InlineSingleUses<'a> {
        InlineSingleUses { uses: occurrences(body), conditions: chosen_by(body), effects, by: FxHashMap::default() }
    }

    fn term(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Const(_) => e.clone(),
            Kind::Var(x) => self.by.get(&x.id()).unwrap_or(e).clone(),
            Kind::App(..) | Kind::Lam(..) => e.map_children(|c| self.term(c)),
            Kind::Let(bindings, body) => {
                let mut kept = Vec::new();
                for b in bindings {
                    let rhs = self.term(&b.rhs);
                    match &b.pattern {
                        Pattern::Var(x) if self.moves(x.id(), &rhs) => {
                            self.by.insert(x.id(), rhs);
                        }
                        pattern => kept.push(Binding { pattern: pattern.clone(), rhs }),
                    }
                }
                let body = self.term(body);
                match kept.pop() {
                    Some(last) if gives(&last.pattern, &body) => Expr::block(kept, last.rhs),
                    last => Expr::block(kept.into_iter().chain(last).collect(), body),
                }
            }
        }
    }

    fn moves(&self, x: u32, rhs: &Expr) -> bool {
        let once = self.uses.get(&x) == Some(&1) && !self.conditions.contains(&x);
        rhs.is_atom()
            || rhs.is_short_tuple()
            || (once && rhs.size() <= LINE && is_expression(rhs) && !self.effects.in_term(rhs))
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

/// Returns whether the term has no block, conditional or function in it.
fn is_expression(e: &Expr) -> bool {
    !e.any(|e| matches!(e.kind(), Kind::Let(..) | Kind::Lam(..) | Kind::App(Op::If, _)))
}

/// Returns what breaks the postcondition: a binding that can move to its use.
pub fn violation(def: &Def, facts: &Facts) -> Option<Expr> {
    let pass = InlineSingleUses::new(&def.body, facts.effects);
    smallest_binding(&def.body, |b| matches!(&b.pattern, Pattern::Var(x) if pass.moves(x.id(), &b.rhs)))
}
