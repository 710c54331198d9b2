//! Matches the left side of a law with a term, and builds the right side.

use super::context::Context;
use super::pattern::Pat;
use crate::facts::Facts;
use crate::prim::Prim;
use crate::scope::{free_variables, renamed, substitute};
use crate::term::{Binding, Expr, Fun, FunName, Kind, Op, Pattern, Span, Supply, Var};
use crate::types::Type;
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub(super) type Name = Arc<str>;

/// The terms that the metavariables and binders of a law match.
#[derive(Clone, Debug, Default)]
pub struct Subst<'p> {
    terms: Vec<(Name, Expr)>,
    sequences: Vec<(Name, Vec<Expr>)>,
    binders: Vec<(Name, Var)>,
    /// The terms of `e{i}`, with the variables of the binders.
    bodies: Vec<(Name, Vec<Var>, Expr)>,
    /// The names that functions give inside. What stands for `e{i}` is a block of those that it uses.
    names: Vec<Binding>,
    /// The operators that were matched, their operands, and where they were.
    places: Vec<(&'p Op, &'p [Pat], Span)>,
    /// Whether what is matched is a copy: it is in the term of a name that stays.
    is_copy: bool,
    /// Whether a metavariable without arguments matches no term with a binder in it.
    is_strict: bool,
    /// Whether terms that take the same names apart each compute them.
    repeats_names: bool,
}

impl<'p> Subst<'p> {
    /// Returns a substitution of terms for metavariables.
    pub fn of(terms: impl IntoIterator<Item = (Name, Expr)>) -> Subst<'p> {
        Subst { terms: terms.into_iter().collect(), ..Subst::default() }
    }

    /// Returns an empty substitution.
    pub fn new(is_strict: bool, repeats_names: bool) -> Subst<'p> {
        Subst { is_strict, repeats_names, ..Subst::default() }
    }

    /// Returns whether a term mentions a binder around, other than these.
    fn mentions_binder(&self, e: &Expr, others: &[Var]) -> bool {
        let free = free_variables(e);
        self.binders.iter().any(|(_, x)| !others.contains(x) && free.contains(x))
    }

    /// Returns a term as a block of the inner names that it uses.
    fn with_names(&self, e: &Expr) -> Expr {
        let mut used = free_variables(e);
        let mut kept = Vec::new();
        for b in self.names.iter().rev() {
            if b.pattern.vars().iter().any(|x| used.contains(x)) {
                used.extend(free_variables(&b.rhs));
                kept.insert(0, b.clone());
            }
        }
        Expr::block(kept, e.clone())
    }

    /// Returns the term of an inner name.
    fn inner_term(&self, e: &Expr) -> Option<Expr> {
        let x = e.as_var()?;
        self.names.iter().find(|b| matches!(&b.pattern, Pattern::Var(y) if y == x)).map(|b| b.rhs.clone())
    }

    /// Takes the names of a block, if they may be there twice, and returns its result.
    fn enter_block<'e>(&mut self, e: &'e Expr, facts: &Facts) -> &'e Expr {
        let (bindings, result) = e.as_block();
        let may_repeat = self.repeats_names || bindings.iter().all(|b| facts.is_cheap(&b.rhs));
        if !self.is_strict || !may_repeat {
            return e;
        }
        self.take_names(bindings);
        result
    }

    /// Gives a binder its variable.
    pub(super) fn bind(&mut self, name: Name, x: Var) {
        self.binders.push((name, x));
    }

    /// Takes names that no letter stands for.
    pub(super) fn take_names(&mut self, bindings: &[Binding]) {
        self.binders.extend(bindings.iter().flat_map(|b| b.pattern.vars()).map(|x| ("".into(), x.clone())));
        self.names.extend_from_slice(bindings);
    }

    /// Returns the term of a metavariable.
    pub fn term(&self, name: &str) -> Option<&Expr> {
        self.terms.iter().find(|(n, _)| &**n == name).map(|(_, e)| e)
    }

    /// Gives a metavariable with arguments its term, in which these variables stand for them.
    pub fn give(&mut self, name: Name, binders: Vec<Var>, body: Expr) {
        self.bodies.push((name, binders, body));
    }

    /// Returns the place of an operator of the right side: where the same one was, or the one that had its operands. A
    /// sum over a range, and the check of a size, is where the array was made.
    fn place(&self, op: &Op, pats: &[Pat]) -> Span {
        let of = |is_like: &dyn Fn(&Op, &[Pat]) -> bool| self.places.iter().find(|(other, of, _)| is_like(other, of));
        let made = matches!(op, Op::Prim(Prim::SumBuild | Prim::AsSize)).then_some(Op::Prim(Prim::Build));
        let place = of(&|other, _| other == op)
            .or_else(|| of(&|_, operands| operands == pats))
            .or_else(|| of(&|other, _| Some(other) == made.as_ref()));
        place.map_or(Span::default(), |(.., place)| *place)
    }

    /// Replaces the term of a metavariable.
    pub fn replace(&mut self, name: &str, e: Expr) {
        let slot = self.terms.iter_mut().find(|(n, _)| &**n == name);
        slot.unwrap_or_else(|| panic!("no metavariable {name}")).1 = e;
    }
}

/// Extends `subst` so that `p` becomes `e`; false when it cannot. Operators of `p` match what names stand for.
pub fn matches<'p>(p: &'p Pat, e: &Expr, subst: &mut Subst<'p>, facts: &Facts) -> bool {
    if let (Pat::App(..), Some(term)) = (p, subst.inner_term(e)) {
        return matches(p, &term, subst, facts);
    }
    if let (Pat::App(..), Some((term, is_once))) = (p, facts.term(e)) {
        let outer = subst.is_copy;
        subst.is_copy |= !is_once;
        let found = matches(p, term, subst, facts);
        subst.is_copy = outer;
        return found;
    }
    match p {
        Pat::Domain | Pat::Codomain | Pat::FloatWitness => true,
        // What is in the term of a name stays there, too.
        Pat::Meta(_) if subst.is_copy && !facts.is_cheap(e) => false,
        Pat::Applied(..) if subst.is_copy && !(facts.is_cheap(e) || facts.is_late(e) && facts.is_cheap_block(e)) => {
            false
        }
        Pat::Meta(name) => match subst.term(name) {
            Some(bound) => bound == e,
            None => {
                subst.terms.push((name.clone(), e.clone()));
                !subst.is_strict || !subst.mentions_binder(e, &[])
            }
        },
        Pat::Applied(name, args) => {
            let binder = |a: &Pat| match a {
                Pat::Bound(b) => subst.binders.iter().rev().find(|(c, _)| c == b).map(|(_, x)| x.clone()),
                _ => panic!("{a:?} is no binder"),
            };
            let binders: Vec<Var> = args.iter().map(|a| binder(a).expect("the binder is one of a λ around")).collect();
            let e = subst.with_names(e);
            let is_free = !subst.mentions_binder(&e, &binders);
            subst.bodies.push((name.clone(), binders, e));
            is_free
        }
        Pat::Const(c) => matches!(e.kind(), Kind::Const(d) if c == d),
        Pat::App(op, pats) => e.args_of(op).is_some_and(|args| {
            subst.places.push((op, pats, e.span()));
            matches_all(pats, args, subst, facts)
        }),
        Pat::Lam(binder, body) => match e.kind() {
            Kind::Lam(x, inner) => {
                subst.binders.push((binder.clone(), x.clone()));
                let inner = if matches!(**body, Pat::App(..)) { subst.enter_block(inner, facts) } else { inner };
                matches(body, inner, subst, facts)
            }
            _ => false,
        },
        Pat::Step(binders, body) => match subst.enter_step(binders, e) {
            Some(result) => matches(body, result, subst, facts),
            None => false,
        },
        Pat::Bound(binder) => e.as_var().is_some_and(|x| subst.binders.iter().any(|(b, y)| b == binder && x == y)),
        Pat::Repeat(_)
        | Pat::Component(_)
        | Pat::Total(_)
        | Pat::Prelude(..)
        | Pat::Let(..)
        | Pat::DomainOf(_)
        | Pat::CodomainOf(_) => {
            panic!("{p:?} on the left side of a law")
        }
    }
}

fn matches_all<'p>(pats: &'p [Pat], args: &[Expr], subst: &mut Subst<'p>, facts: &Facts) -> bool {
    match pats {
        [Pat::Repeat(p)] => {
            let mut columns: Vec<(Name, Vec<Expr>)> = Vec::new();
            for e in args {
                let mut row = Subst { is_copy: subst.is_copy, is_strict: subst.is_strict, ..Subst::default() };
                if !matches(p, e, &mut row, facts) {
                    return false;
                }
                for (name, term) in row.terms {
                    match columns.iter_mut().find(|(n, _)| *n == name) {
                        Some((_, column)) => column.push(term),
                        None => columns.push((name, vec![term])),
                    }
                }
            }
            subst.sequences.extend(columns);
            true
        }
        _ => pats.len() == args.len() && pats.iter().zip(args).all(|(p, e)| matches(p, e, subst, facts)),
    }
}

/// Builds the right side of a law.
pub struct Builder<'a> {
    /// The terms that the left side matched.
    pub subst: &'a Subst<'a>,
    /// The term that the left side matched: gives the witnesses that the text leaves out.
    pub whole: &'a Expr,
    /// For binders of the right side.
    pub supply: &'a mut Supply,
    /// What is known in scope.
    pub cx: &'a Context,
}

impl Builder<'_> {
    /// Returns the instance of the pattern `p`; `None` when it would have no type, or a witness is not known.
    pub fn build(&mut self, p: &Pat) -> Option<Expr> {
        self.at(p, None, &mut Vec::new())
    }

    pub(super) fn at(&mut self, p: &Pat, repetition: Option<usize>, scope: &mut Vec<(Name, Var)>) -> Option<Expr> {
        match p {
            Pat::Meta(name) => self.meta(name, repetition),
            Pat::Const(c) => Some(Expr::constant(c.clone())),
            Pat::App(op, pats) => {
                let args = match (op, pats.as_slice()) {
                    // The index of a tensor of any rank.
                    (Op::Prim(Prim::Build | Prim::SumBuild), [before @ .., Pat::Lam(binder, body)]) => {
                        let mut args = self.all(before, repetition, scope)?;
                        let index = args.last().expect("a size").ty().clone();
                        args.push(self.lambda(binder, index, body, repetition, scope)?);
                        args
                    }
                    (Op::Prim(p), pats) if pats.iter().any(|p| matches!(p, Pat::Step(..))) => {
                        self.with_step(*p, pats, scope)?
                    }
                    _ => self.all(pats, repetition, scope)?,
                };
                Expr::try_app(op.clone(), args, self.subst.place(op, pats))
            }
            Pat::Applied(name, pats) => {
                let args = self.all(pats, repetition, scope)?;
                self.applied(name, args)
            }
            Pat::Prelude(name, pats) => {
                let args = self.all(pats, repetition, scope)?;
                let params = args.iter().map(|a| a.ty().clone()).collect();
                let fun = Fun { name: FunName::base(name), params, result: Type::Float };
                Expr::try_app(Op::Call(Arc::new(fun)), args, Span::default())
            }
            Pat::Lam(binder, body) => self.lambda(binder, Type::Integer, body, repetition, scope),
            Pat::Bound(binder) => {
                let x = scope.iter().rev().find(|(b, _)| b == binder).map(|(_, x)| x);
                Some(Expr::var(x.unwrap_or_else(|| panic!("{binder} is bound by a λ"))))
            }
            Pat::Component(p) => {
                let whole = self.at(p, None, scope)?;
                Some(Expr::get(repetition.expect("`.i` is under `..`") + 1, whole))
            }
            Pat::Total(p) => {
                let parts = self.all(std::slice::from_ref(&**p), repetition, scope)?;
                sum(parts)
            }
            Pat::DomainOf(m) => self.cx.spaces.domain(&self.at(m, repetition, scope)?),
            Pat::CodomainOf(m) => self.cx.spaces.codomain(&self.at(m, repetition, scope)?),
            Pat::Domain => self.cx.spaces.domain(self.whole),
            Pat::Codomain => self.cx.spaces.codomain(self.whole),
            Pat::FloatWitness => Some(Expr::dummy(Type::Float)),
            Pat::Let(name, value, body) => self.let_in(name, value, body, scope),
            Pat::Step(..) => panic!("a step outside of a loop"),
            Pat::Repeat(_) => panic!("`..` outside a list"),
        }
    }

    fn let_in(&mut self, name: &Name, value: &Pat, body: &Pat, scope: &mut Vec<(Name, Var)>) -> Option<Expr> {
        let value = self.at(value, None, scope)?;
        let x = self.supply.fresh(name, value.ty().clone());
        scope.push((name.clone(), x.clone()));
        let body = self.at(body, None, scope);
        scope.pop();
        Some(Expr::block(vec![Binding { pattern: Pattern::Var(x), rhs: value }], body?))
    }

    /// Returns `e{args}`; names arguments that are not free to copy.
    fn applied(&mut self, name: &Name, args: Vec<Expr>) -> Option<Expr> {
        let (_, binders, body) = self.subst.bodies.iter().find(|(n, ..)| n == name)?;
        let mut by = FxHashMap::default();
        let mut bindings = Vec::new();
        for (x, a) in binders.iter().zip(args) {
            if a.ty() != x.ty() {
                return None;
            }
            by.insert(x.id(), name_it(&a, self.supply, &mut bindings));
        }
        Some(Expr::block(bindings, renamed(&substitute(body, &by), self.supply)))
    }

    fn lambda(
        &mut self,
        binder: &Name,
        ty: Type,
        body: &Pat,
        repetition: Option<usize>,
        scope: &mut Vec<(Name, Var)>,
    ) -> Option<Expr> {
        // A term of a metavariable may mention the binder of the left side. In `e{i}` it does not: that is e with i in the
        // place of that binder, and the right side may have i twice.
        let known = self.subst.binders.iter().find(|(b, _)| b == binder && !self.subst.is_strict);
        let x = known.map_or_else(|| self.supply.fresh(binder, ty), |(_, x)| x.clone());
        scope.push((binder.clone(), x.clone()));
        let body = self.at(body, repetition, scope);
        scope.pop();
        Some(Expr::lam(x, body?))
    }

    fn meta(&self, name: &Name, repetition: Option<usize>) -> Option<Expr> {
        let sequence = self.subst.sequences.iter().find(|(n, _)| n == name);
        match (sequence, repetition) {
            (Some((_, terms)), Some(i)) => terms.get(i).cloned(),
            _ => Some(self.subst.term(name).unwrap_or_else(|| panic!("{name} is not on the left side")).clone()),
        }
    }

    fn all(&mut self, pats: &[Pat], repetition: Option<usize>, scope: &mut Vec<(Name, Var)>) -> Option<Vec<Expr>> {
        let mut out = Vec::new();
        for p in pats {
            match p {
                Pat::Repeat(p) => {
                    for i in 0..self.count(p)? {
                        out.push(self.at(p, Some(i), scope)?);
                    }
                }
                p => out.push(self.at(p, repetition, scope)?),
            }
        }
        Some(out)
    }

    /// Returns the number of repetitions of `p ..`: the length of its sequences, which must agree.
    fn count(&self, p: &Pat) -> Option<usize> {
        let mut lengths = Vec::new();
        p.visit(&mut |q| {
            if let Pat::Meta(name) = q {
                lengths.extend(self.subst.sequences.iter().filter(|(n, _)| n == name).map(|(_, s)| s.len()));
            }
        });
        let first = *lengths.first()?;
        lengths.iter().all(|&n| n == first).then_some(first)
    }
}

/// Returns the sum of vectors or of maps, as a balanced tree; `None` for no parts.
pub fn sum(mut parts: Vec<Expr>) -> Option<Expr> {
    match parts.len() {
        0 => None,
        1 => parts.pop(),
        n => {
            let right = sum(parts.split_off(n.div_ceil(2)))?;
            let left = sum(parts)?;
            let op = if left.ty().as_lm().is_some() { Prim::LmAdd } else { Prim::Add };
            Expr::try_app(Op::Prim(op), vec![left, right], Default::default())
        }
    }
}

/// Makes `e` free to copy: names it by a binding pushed on `floats`, tuples component by component.
pub fn name_it(e: &Expr, supply: &mut Supply, floats: &mut Vec<Binding>) -> Expr {
    if e.is_atom() {
        return e.clone();
    }
    if let Some(parts) = e.args_of(&Op::Tuple) {
        return Expr::tuple(parts.iter().map(|p| name_it(p, supply, floats)).collect::<Vec<_>>());
    }
    let x = supply.fresh("t", e.ty().clone());
    let use_ = Expr::var(&x);
    floats.push(Binding { pattern: Pattern::Var(x), rhs: e.clone() });
    use_
}
