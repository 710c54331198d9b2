//! What is known of the value of a term.

use crate::sizes::polynomial::{Atom, Polynomial};

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Nothing that matters: a number or a truth value.
    Scalar,
    /// An Integer.
    Integer(Polynomial),
    /// An Integer in an element: not negative, and below the polynomial.
    Below(Polynomial),
    /// A tuple.
    Tuple(Vec<Shape>),
    /// A tensor: its size, and what is known of each element. An unknown size may differ from element to element.
    Tensor(Vec<Option<Polynomial>>, Box<Shape>),
}

impl Shape {
    pub(super) fn parts(&self) -> &[Shape] {
        if let Shape::Tuple(parts) = self { parts } else { &[] }
    }

    /// Returns what is known of one of two values.
    pub(super) fn joined(&self, other: &Shape) -> Shape {
        match (self, other) {
            (a, b) if a == b => a.clone(),
            (Shape::Tuple(a), Shape::Tuple(b)) if a.len() == b.len() => {
                Shape::Tuple(a.iter().zip(b).map(|(a, b)| a.joined(b)).collect())
            }
            (Shape::Tensor(n, a), Shape::Tensor(m, b)) if n.len() == m.len() => {
                let sizes = n.iter().zip(m).map(|(n, m)| n.clone().filter(|_| n == m));
                Shape::Tensor(sizes.collect(), Box::new(a.joined(b)))
            }
            _ => Shape::Scalar,
        }
    }

    /// Returns the shape with other polynomials; sizes are unknown where there is none.
    pub(super) fn with(&self, of: &dyn Fn(&Polynomial) -> Option<Polynomial>) -> Shape {
        match self {
            Shape::Scalar => Shape::Scalar,
            Shape::Integer(p) => of(p).map_or(Shape::Scalar, Shape::Integer),
            Shape::Below(p) => of(p).map_or(Shape::Scalar, Shape::Below),
            Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(|part| part.with(of)).collect()),
            Shape::Tensor(sizes, element) => {
                let sizes = sizes.iter().map(|n| n.as_ref().and_then(of));
                Shape::Tensor(sizes.collect(), Box::new(element.with(of)))
            }
        }
    }
}

/// Returns whether a polynomial mentions no number from `since` on.
pub(super) fn is_older(p: &Polynomial, since: u32) -> bool {
    p.atoms().all(|atom| !matches!(atom, Atom::Number(id, _) if *id >= since))
}
