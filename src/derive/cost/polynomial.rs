//! Polynomials in the sizes of tensors, as costs: those of [`lm::sizes`], compared by how they grow.

use lm::sizes::{Atom, Polynomial as Sizes, sum_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A polynomial in sizes, which have texts for names: `size(v)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial {
    terms: Sizes,
    known: Known,
}

/// What a polynomial says of a number. A sum is known as well as its worst part is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    /// It is the number.
    #[default]
    Exactly,
    /// The number is no larger.
    AtMost,
    /// The number has other parts, of which nothing is known.
    InPart,
}

impl Polynomial {
    fn exactly(terms: Sizes) -> Polynomial {
        Polynomial { terms, known: Known::Exactly }
    }

    /// Returns a number.
    pub fn number(n: i64) -> Polynomial {
        Polynomial::exactly(Sizes::constant(n))
    }

    /// Returns a size.
    pub fn size(name: String) -> Polynomial {
        Polynomial::exactly(Sizes::variable(&name))
    }

    /// Returns an Integer of this name, which may be negative.
    pub(super) fn integer(name: String) -> Polynomial {
        Polynomial::exactly(Sizes::atom(Atom::Number(0, name.into())))
    }

    /// Returns a number of which nothing is known.
    pub fn unknown() -> Polynomial {
        Polynomial { known: Known::InPart, ..Polynomial::default() }
    }

    /// Returns the polynomial as an upper limit of a number.
    pub(super) fn into_limit(self) -> Polynomial {
        Polynomial { known: self.known.max(Known::AtMost), ..self }
    }

    /// Returns whether all sizes in it are known.
    pub fn is_known(&self) -> bool {
        self.known != Known::InPart
    }

    /// Returns whether it is known to be the number itself.
    pub(super) fn is_exact(&self) -> bool {
        self.known == Known::Exactly
    }

    /// Returns whether it mentions no size, and all is known of it.
    pub(super) fn is_number(&self) -> bool {
        self.is_known() && self.terms.as_constant().is_some()
    }

    /// Returns whether it is a sum of products of sizes and numbers that are not negative.
    pub(super) fn is_natural(&self) -> bool {
        self.is_known() && self.terms.terms().all(|(m, k)| k >= 0 && m.iter().all(is_size))
    }

    /// Returns whether nothing is subtracted in it.
    pub(super) fn is_positive(&self) -> bool {
        self.is_known() && self.terms.terms().all(|(_, k)| k >= 0)
    }

    /// Returns the sum.
    pub fn plus(&self, other: &Polynomial) -> Polynomial {
        Polynomial { terms: self.terms.plus(&other.terms), known: self.known.max(other.known) }
    }

    /// Returns the product. Nothing is not computed, however often.
    pub fn times(&self, other: &Polynomial) -> Polynomial {
        let zero = Polynomial::default();
        if [self, other].contains(&&zero) {
            return zero;
        }
        Polynomial { terms: self.terms.times(&other.terms), known: self.known.max(other.known) }
    }

    /// Returns whether it has numbers that may be negative.
    pub(super) fn has_integers(&self) -> bool {
        !self.terms.atoms().all(is_size)
    }

    /// Returns a polynomial that is at least each of both, which are not negative, at all sizes: of each product the
    /// larger multiple, or the sum where numbers in it may be negative.
    pub fn or(&self, other: &Polynomial) -> Polynomial {
        if self != other && (self.has_integers() || other.has_integers()) {
            return self.plus(other);
        }
        let of_each: [BTreeMap<&Vec<Atom>, i64>; 2] = [self.terms.terms().collect(), other.terms.terms().collect()];
        let monomials: BTreeSet<&Vec<Atom>> = of_each.iter().flat_map(|terms| terms.keys().copied()).collect();
        let most = |m: &Vec<Atom>| of_each.iter().map(|terms| terms.get(m).copied().unwrap_or_default()).max();
        let add = |sum: Sizes, m: &Vec<Atom>| sum.with_term(m.clone(), most(m).unwrap_or_default());
        let terms = monomials.into_iter().fold(Sizes::default(), add);
        Polynomial { terms, known: self.known.max(other.known) }
    }

    /// Returns whether the polynomial is known to grow no faster than another one: each of its products is part of one
    /// there with the same sign. What is subtracted counts where it may be negative.
    pub fn grows_like(&self, other: &Polynomial) -> bool {
        let is_part = |m: &Vec<Atom>, k: i64| other.terms.terms().any(|(of, l)| (k < 0) == (l < 0) && divides(m, of));
        let is_less = |m: &Vec<Atom>, k: i64| k < 0 && m.iter().all(is_size);
        self.is_known() && self.terms.terms().all(|(m, k)| m.is_empty() || is_less(m, k) || is_part(m, k))
    }

    /// Returns whether all its terms are shown.
    pub(super) fn is_short(&self) -> bool {
        self.terms.terms().count() <= MOST_TERMS
    }

    /// Returns the value where every size is n.
    pub fn at(&self, n: i64) -> i64 {
        self.terms.terms().map(|(monomial, k)| k * n.pow(monomial.len() as u32)).sum()
    }
}

/// Returns whether an atom is a size, which is not negative.
fn is_size(atom: &Atom) -> bool {
    matches!(atom, Atom::Variable(_))
}

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
        let mut terms: Vec<(&Vec<Atom>, i64)> = self.terms.terms().collect();
        terms.sort_by_key(|(monomial, k)| (std::cmp::Reverse(monomial.len()), *k < 0));
        f.write_str(if self.known == Known::AtMost { "at most " } else { "" })?;
        f.write_str(&sum_of(terms.iter().take(MOST_TERMS).copied(), " "))?;
        let more = terms.len().saturating_sub(MOST_TERMS);
        if more > 0 { write!(f, " + {more} more terms") } else { Ok(()) }
    }
}
