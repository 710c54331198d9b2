//! Represents the two sides of a law: terms with metavariables.

use crate::term::{Constant, Op};
use std::sync::Arc;

/// A pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Pat {
    /// A metavariable: on the left any term (the same one each time), on the right that term.
    Meta(Arc<str>),
    /// A literal.
    Const(Constant),
    /// An operator and its arguments.
    App(Op, Vec<Pat>),
    /// A call of a prelude function from Floats to Float, such as `digamma(x)`.
    Prelude(Arc<str>, Vec<Pat>),
    /// `p ..`: p once for each of a sequence of arguments, its metavariables numbered.
    Repeat(Box<Pat>),
    /// `λi. p`; metavariables in p may match terms that mention i. Binders are Integers.
    Lam(Arc<str>, Box<Pat>),
    /// `λ(i, x). p`: a function of a tuple, which it takes apart first.
    Step(Vec<Binder>, Box<Pat>),
    /// `let t = p in q`, on the right.
    Let(Arc<str>, Box<Pat>, Box<Pat>),
    /// The binder of an enclosing `λi`.
    Bound(Arc<str>),
    /// `e{i, j}`: on the left, a term in which the binders i and j may occur, and no other one; on the right that term,
    /// with the arguments in their place.
    Applied(Arc<str>, Vec<Pat>),
    /// `p.i`, under `..`: the component of p at the number of the repetition.
    Component(Box<Pat>),
    /// `Σ(p ..)`: the sum of vectors, or of maps, as a balanced tree of binary sums.
    Total(Box<Pat>),
    /// `dom(m)`: a witness of the domain of m.
    DomainOf(Box<Pat>),
    /// `cod(m)`: a witness of the codomain of m.
    CodomainOf(Box<Pat>),
    /// A witness left out: on the left any term; on the right the domain of the law's left side.
    Domain,
    /// A witness left out: on the left any term; on the right the codomain of the law's left side.
    Codomain,
    /// A witness left out that is of Float.
    FloatWitness,
}

/// A binder of a function of a tuple.
#[derive(Clone, Debug, PartialEq)]
pub enum Binder {
    /// A component.
    Name(Arc<str>),
    /// The two components of a component that is a pair.
    Pair([Arc<str>; 2]),
}

impl Binder {
    /// Returns a name for the component.
    pub fn name(&self) -> &str {
        match self {
            Binder::Name(name) => name,
            Binder::Pair(_) => "t",
        }
    }

    /// Returns the names that it binds.
    pub fn names(&self) -> &[Arc<str>] {
        match self {
            Binder::Name(name) => std::slice::from_ref(name),
            Binder::Pair(names) => names,
        }
    }
}

impl Pat {
    /// Calls `f` on this pattern and all below it.
    pub fn visit(&self, f: &mut impl FnMut(&Pat)) {
        f(self);
        match self {
            Pat::App(_, args) | Pat::Prelude(_, args) | Pat::Applied(_, args) => args.iter().for_each(|a| a.visit(f)),
            Pat::Repeat(p)
            | Pat::Lam(_, p)
            | Pat::Step(_, p)
            | Pat::Component(p)
            | Pat::Total(p)
            | Pat::DomainOf(p)
            | Pat::CodomainOf(p) => p.visit(f),
            Pat::Let(_, p, q) => {
                p.visit(f);
                q.visit(f);
            }
            Pat::Meta(_) | Pat::Const(_) | Pat::Bound(_) | Pat::Domain | Pat::Codomain | Pat::FloatWitness => {}
        }
    }

    /// Returns the metavariables, each with the number of its uses. A use under `..` of a metavariable that is no
    /// sequence counts twice. A use in a branch of a conditional counts as any other.
    pub fn uses(&self, sequences: &[Arc<str>]) -> Vec<(Arc<str>, usize)> {
        let mut uses: Vec<(Arc<str>, usize)> = Vec::new();
        self.count(1, sequences, &mut uses);
        uses
    }

    fn count(&self, weight: usize, sequences: &[Arc<str>], uses: &mut Vec<(Arc<str>, usize)>) {
        match self {
            Pat::Meta(name) => {
                let weight = if sequences.contains(name) { 1 } else { weight };
                match uses.iter_mut().find(|(n, _)| n == name) {
                    Some((_, count)) => *count += weight,
                    None => uses.push((name.clone(), weight)),
                }
            }
            Pat::Repeat(p) => p.count(2, sequences, uses),
            Pat::App(_, args) | Pat::Prelude(_, args) | Pat::Applied(_, args) => {
                args.iter().for_each(|a| a.count(weight, sequences, uses));
            }
            Pat::Let(_, p, q) => {
                p.count(weight, sequences, uses);
                q.count(weight, sequences, uses);
            }
            Pat::Lam(_, p) | Pat::Step(_, p) | Pat::Component(p) | Pat::Total(p) => p.count(weight, sequences, uses),
            // A witness is looked at for its shape only, so it copies nothing.
            Pat::DomainOf(_) | Pat::CodomainOf(_) => {}
            Pat::Const(_) | Pat::Bound(_) | Pat::Domain | Pat::Codomain | Pat::FloatWitness => {}
        }
    }

    /// Returns the metavariables under `..`: on the left side of a law, its sequences.
    pub fn sequences(&self) -> Vec<Arc<str>> {
        let mut out = Vec::new();
        self.visit(&mut |p| {
            if let Pat::Repeat(inner) = p {
                inner.visit(&mut |q| {
                    if let Pat::Meta(name) = q {
                        out.push(name.clone());
                    }
                });
            }
        });
        out
    }
}
