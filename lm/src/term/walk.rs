//! Walks over terms, from the outside in.
//!
//! ```text
//! children(op(e1, .., en))           = e1, .., en
//! children(let p1 = e1; .. in e)     = e1, .., e
//! children(λx. e)                    = e
//! any(P, e)                          = P(e) or any(P, c) for a child c of e
//! ```
//!
//! A walk that builds a term is [`Expr::map_children`].

use super::{Binding, Constant, Expr, Kind, Op};
use crate::types::Type;

impl Expr {
    /// Returns the terms directly inside this one, in order of evaluation.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = &Expr> {
        let (bindings, args, body): (&[Binding], &[Expr], Option<&Expr>) = match self.kind() {
            Kind::Const(_) | Kind::Var(_) => (&[], &[], None),
            Kind::App(_, args) => (&[], args, None),
            Kind::Let(bindings, body) => (bindings, &[], Some(body)),
            Kind::Lam(_, body) => (&[], &[], Some(body)),
        };
        bindings.iter().map(|b| &b.rhs).chain(args).chain(body)
    }

    /// Calls `see` with the term and every term inside it; a term comes before its children.
    pub fn visit<'a>(&'a self, mut see: impl FnMut(&'a Expr)) {
        fn walk<'a>(e: &'a Expr, see: &mut impl FnMut(&'a Expr)) {
            see(e);
            e.children().for_each(|c| walk(c, see));
        }
        walk(self, &mut see);
    }

    /// Calls `see` with every binding in the term, at any depth.
    pub fn visit_bindings<'a>(&'a self, mut see: impl FnMut(&'a Binding)) {
        self.visit(|e| e.as_block().0.iter().for_each(&mut see));
    }

    /// Returns the first result of `find`, on the term and then on the terms inside it, from the outside in.
    pub fn find_map<'a, T>(&'a self, mut find: impl FnMut(&'a Expr) -> Option<T>) -> Option<T> {
        fn walk<'a, T>(e: &'a Expr, find: &mut impl FnMut(&'a Expr) -> Option<T>) -> Option<T> {
            find(e).or_else(|| e.children().find_map(|c| walk(c, find)))
        }
        walk(self, &mut find)
    }

    /// Returns whether the term or a term inside it has a property.
    pub fn any(&self, mut has: impl FnMut(&Expr) -> bool) -> bool {
        self.find_map(|e| has(e).then_some(())).is_some()
    }

    /// Returns whether the term and every term inside it have a property.
    pub fn all(&self, mut has: impl FnMut(&Expr) -> bool) -> bool {
        !self.any(|e| !has(e))
    }
}

/// An atom as a key: two atoms with equal keys have the same value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Atom {
    /// A literal.
    Const(Constant),
    /// A variable, by its number.
    Var(u32),
    /// A dummy of a type.
    Dummy(Type),
}

impl Atom {
    /// Returns the key of a constant, a variable or a dummy, and nothing for any other term.
    pub fn of(e: &Expr) -> Option<Atom> {
        match e.kind() {
            Kind::Const(c) => Some(Atom::Const(c.clone())),
            Kind::Var(x) => Some(Atom::Var(x.id())),
            Kind::App(Op::Dummy, _) => Some(Atom::Dummy(e.ty().clone())),
            Kind::App(..) | Kind::Let(..) | Kind::Lam(..) => None,
        }
    }
}
