//! Polynomials in the sizes of tensors, as costs: those of [`lm::sizes`], compared by how they grow.

use lm::sizes::{Atom, Polynomial as Sizes, sum_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A polynomial in sizes, which have texts for names: `size(v)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial(Sizes);

impl Polynomial {
    /// Returns a number.
    pub fn number(n: i64) -> Polynomial {
        Polynomial(Sizes::constant(n))
    }

    /// Returns a size.
    pub fn size(name: String) -> Polynomial {
        Polynomial(Sizes::variable(&name))
    }

    /// Returns a size of which nothing is known.
    pub fn unknown() -> Polynomial {
        Polynomial::size(UNKNOWN.into())
    }

    /// Returns whether all sizes in it are known.
    pub fn is_known(&self) -> bool {
        self.0.atoms().all(|size| size.to_string() != UNKNOWN)
    }

    /// Returns the sum.
    pub fn plus(&self, other: &Polynomial) -> Polynomial {
        Polynomial(self.0.plus(&other.0))
    }

    /// Returns the product.
    pub fn times(&self, other: &Polynomial) -> Polynomial {
        Polynomial(self.0.times(&other.0))
    }

    /// Returns a polynomial that is at least each of both, at all sizes.
    pub fn or(&self, other: &Polynomial) -> Polynomial {
        let of_each: [BTreeMap<&Vec<Atom>, i64>; 2] = [self.0.terms().collect(), other.0.terms().collect()];
        let monomials: BTreeSet<&Vec<Atom>> = of_each.iter().flat_map(|terms| terms.keys().copied()).collect();
        let most = |m: &Vec<Atom>| of_each.iter().map(|terms| terms.get(m).copied().unwrap_or_default()).max();
        let add = |sum: Sizes, m: &Vec<Atom>| sum.with_term(m.clone(), most(m).unwrap_or_default());
        Polynomial(monomials.into_iter().fold(Sizes::default(), add))
    }

    /// Returns whether the polynomial is known to grow no faster than another one: each of its products is part of one
    /// there.
    pub fn grows_like(&self, other: &Polynomial) -> bool {
        self.is_known() && self.0.terms().all(|(m, _)| m.is_empty() || other.0.terms().any(|(of, _)| divides(m, of)))
    }

    /// Returns the value where every size is n.
    pub fn at(&self, n: i64) -> i64 {
        self.0.terms().map(|(monomial, k)| k * n.pow(monomial.len() as u32)).sum()
    }
}

/// The name of a size of which nothing is known.
const UNKNOWN: &str = "?";

/// Returns whether a sorted list is in another one, each item as often.
fn divides(part: &[Atom], whole: &[Atom]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|size| rest.any(|other| other == size))
}

/// The most terms of a polynomial that are shown.
const MOST_TERMS: usize = 6;

/// Products of the most sizes come first. Smaller terms of a long polynomial are counted only.
impl fmt::Display for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms: Vec<(&Vec<Atom>, i64)> = self.0.terms().collect();
        terms.sort_by_key(|(monomial, _)| std::cmp::Reverse(monomial.len()));
        f.write_str(&sum_of(terms.iter().take(MOST_TERMS).copied(), " "))?;
        let more = terms.len().saturating_sub(MOST_TERMS);
        if more > 0 { write!(f, " + {more} more terms") } else { Ok(()) }
    }
}
