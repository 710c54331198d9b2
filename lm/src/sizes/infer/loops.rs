//! Functions, and loops that carry a state.

use super::shape::is_older;
use super::{AllOf, Atom, Claim, Polynomial, Shape, SizedType, Walk};
use crate::sizes::relation::{Place, each_size};
use crate::term::{Expr, Kind, Span};
use crate::types::Type;

impl Walk<'_> {
    /// Returns the value of a function at an argument.
    pub(super) fn apply(&mut self, f: &Expr, argument: Shape) -> Shape {
        let Kind::Lam(x, body) = f.kind() else { panic!("{f:?} is no function") };
        self.bind_variable(x, argument, f.span());
        self.term(body)
    }

    /// Walks where what is learnt holds only inside. Gives what is known outside.
    pub(super) fn inside(&mut self, walk: impl FnOnce(&mut Self) -> Shape) -> Shape {
        let (mark, since) = (self.bounds.mark(), self.next + 1);
        let shape = walk(self);
        let shape = self.outside(&shape, since);
        self.bounds.forget_since(mark);
        shape
    }

    /// Returns what is known of a value that is made with each of some numbers, those from `since` on.
    fn outside(&self, shape: &Shape, since: u32) -> Shape {
        match shape {
            Shape::Integer(k) if !is_older(k, since) => match self.bounds.limit_of(k) {
                Some(limit) if is_older(limit, since) => Shape::Below(limit.clone()),
                _ => Shape::Scalar,
            },
            Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(|part| self.outside(part, since)).collect()),
            other => other.with(&|p| {
                let p = self.bounds.resolved(p);
                is_older(&p, since).then_some(p)
            }),
        }
    }

    /// Returns what a function gives for each index below a size.
    pub(super) fn each_index(&mut self, sizes: &[Polynomial], f: &Expr) -> Shape {
        let Kind::Lam(x, _) = f.kind() else { panic!("{f:?} is no function") };
        let name = x.name().clone();
        self.inside(|walk| {
            let index = walk.index_below(sizes, &name);
            walk.apply(f, index)
        })
    }

    pub(super) fn index_below(&mut self, sizes: &[Polynomial], name: &str) -> Shape {
        let one = |walk: &mut Self, size: &Polynomial| {
            let atom = walk.fresh(name);
            walk.bounds.limit(atom.clone(), size.clone());
            Shape::Integer(Polynomial::atom(atom))
        };
        match sizes {
            [size] => one(self, size),
            several => Shape::Tuple(several.iter().map(|size| one(self, size)).collect()),
        }
    }

    /// Returns the state of a loop, from its first one and a step.
    pub(super) fn state(&mut self, first: Shape, ty: &Type, step: &mut dyn FnMut(&mut Self, Shape) -> Shape) -> Shape {
        const MOST: usize = 4;
        let mut state = first;
        for _ in 0..MOST {
            let (findings, before) = (self.found.findings.len(), state.clone());
            let next = self.inside(|walk| step(walk, before.clone()));
            let joined = self.widened(&state, &next);
            if joined == state {
                return state;
            }
            self.found.findings.truncate(findings);
            state = self.named(joined, ty, "state");
            self.note_arbitrary(&state, &before);
        }
        let any = self.unknown(ty, "state");
        self.inside(|walk| step(walk, any.clone()));
        any
    }

    /// Returns what states and their successors have in common; sizes that were found to change stay.
    fn widened(&self, state: &Shape, next: &Shape) -> Shape {
        match (state, next) {
            (Shape::Integer(k), _) if self.is_arbitrary(k) => state.clone(),
            (Shape::Tuple(a), Shape::Tuple(b)) => {
                Shape::Tuple(a.iter().zip(b).map(|(a, b)| self.widened(a, b)).collect())
            }
            (Shape::Tensor(n, a), Shape::Tensor(m, b)) => {
                let one = |(n, m): (&Option<Polynomial>, &Option<Polynomial>)| match n {
                    Some(size) if self.is_arbitrary(size) => n.clone(),
                    Some(size) => n.clone().filter(|_| m.as_ref().is_some_and(|m| self.bounds.are_equal(size, m))),
                    None => None,
                };
                Shape::Tensor(n.iter().zip(m).map(one).collect(), Box::new(a.joined(b)))
            }
            (Shape::Integer(a), Shape::Integer(b)) if self.bounds.are_equal(a, b) => state.clone(),
            _ => Shape::Scalar,
        }
    }

    fn is_arbitrary(&self, p: &Polynomial) -> bool {
        let mut atoms = p.atoms();
        matches!((atoms.next(), atoms.next()), (Some(atom), None) if self.arbitrary.contains(atom))
    }

    fn note_arbitrary(&mut self, state: &Shape, before: &Shape) {
        match (state, before) {
            (Shape::Integer(k), other) if *other != Shape::Integer(k.clone()) => self.arbitrary.extend(atom_of(k)),
            (Shape::Tuple(a), Shape::Tuple(b)) => a.iter().zip(b).for_each(|(a, b)| self.note_arbitrary(a, b)),
            (Shape::Tensor(n, _), Shape::Tensor(m, _)) => {
                let changed = n.iter().zip(m).filter(|(n, m)| n != m).filter_map(|(n, _)| n.as_ref());
                self.arbitrary.extend(changed.filter_map(atom_of));
            }
            _ => {}
        }
    }

    /// Claims that a variable has the sizes of its annotation.
    pub(super) fn annotated(&mut self, x: u32, span: Span) {
        let Some(annotation) = self.known.annotations.get(&x).cloned() else { return };
        if let SizedType::Index(_) = annotation.ty {
            self.limited.insert(x);
        }
        let mut names = Vec::new();
        for (name, e) in &annotation.names {
            let shape = self.seen(e);
            names.push((name.clone(), self.number(&shape)));
        }
        let place = Place { param: 0, path: Vec::new(), dimension: None };
        let mut sizes = Vec::new();
        each_size(&annotation.ty, &place, &mut |place, size, is_limit| sizes.push((place, size.clone(), is_limit)));
        let by = |atom: &Atom| match atom {
            Atom::Variable(name) => {
                // Other names are size variables of the definition.
                let known = names.iter().find(|(known, _)| known == name).map(|(_, n)| n.clone());
                known.or_else(|| Some(Polynomial::atom(atom.clone())))
            }
            Atom::Number(..) => None,
        };
        let shapes = [self.env[&x].clone()];
        sizes.into_iter().all_of(|(place, size, is_limit)| {
            let Some(size) = size.substituted(&by) else { return true };
            let limit = self.limit_at(&shapes, &place);
            let is_of_elements = !place.is_one();
            let claim = if is_limit { Claim::Limit { limit, is_of_elements } } else { Claim::Annotated };
            self.holds_at(&shapes, &place, &size, is_limit, span, claim)
        });
    }

    /// Claims that two tensors have one size.
    pub(super) fn one_size(&mut self, v: &Shape, w: &Shape, span: Span) {
        match (v, w) {
            (Shape::Tuple(a), Shape::Tuple(b)) => a.iter().zip(b).for_each(|(a, b)| self.one_size(a, b, span)),
            (Shape::Tensor(n, _), Shape::Tensor(m, _)) => {
                for (n, m) in n.iter().zip(m) {
                    let answer = self.equality(n.as_ref(), m.as_ref());
                    if let (Some(n), Some(m)) = (n, m) {
                        self.claim(span, Claim::Operands, [n, m], answer);
                    }
                }
            }
            _ => {}
        }
    }
}

fn atom_of(p: &Polynomial) -> Option<Atom> {
    p.atoms().next().cloned()
}
