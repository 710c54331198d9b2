//! Computes with polynomials in the sizes of tensors.

use std::collections::BTreeMap;
use std::fmt;

/// A product of sizes, in order: `size(v) * size(v)`.
type Monomial = Vec<String>;

/// A polynomial in sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polynomial(BTreeMap<Monomial, i64>);

impl Polynomial {
    /// Returns a number.
    pub fn number(n: i64) -> Polynomial {
        Polynomial(BTreeMap::from_iter([(Vec::new(), n)])).without_zeros()
    }

    /// Returns a size.
    pub fn size(name: String) -> Polynomial {
        Polynomial(BTreeMap::from_iter([(vec![name], 1)]))
    }

    /// Returns a size of which nothing is known.
    pub fn unknown() -> Polynomial {
        Polynomial::size(UNKNOWN.into())
    }

    /// Returns whether all sizes in it are known.
    pub fn is_known(&self) -> bool {
        self.0.keys().flatten().all(|size| size != UNKNOWN)
    }

    /// Returns the sum.
    pub fn plus(mut self, other: &Polynomial) -> Polynomial {
        for (monomial, k) in &other.0 {
            let sum = self.0.entry(monomial.clone()).or_default();
            *sum = sum.saturating_add(*k);
        }
        self.without_zeros()
    }

    /// Returns the product.
    pub fn times(&self, other: &Polynomial) -> Polynomial {
        let mut product = Polynomial::default();
        for (a, k) in &self.0 {
            for (b, l) in &other.0 {
                let mut both = [&a[..], &b[..]].concat();
                both.sort();
                product = product.plus(&Polynomial(BTreeMap::from_iter([(both, k.saturating_mul(*l))])));
            }
        }
        product
    }

    /// Returns a polynomial that is at least each of both, at all sizes.
    pub fn or(mut self, other: &Polynomial) -> Polynomial {
        for (monomial, k) in &other.0 {
            let most = self.0.entry(monomial.clone()).or_default();
            *most = (*most).max(*k);
        }
        self.without_zeros()
    }

    /// Returns whether the polynomial is known to grow no faster than another one: each of its products is part of one
    /// there.
    pub fn grows_like(&self, other: &Polynomial) -> bool {
        self.is_known()
            && self.0.keys().all(|monomial| monomial.is_empty() || other.0.keys().any(|of| divides(monomial, of)))
    }

    /// Returns the value where every size is n.
    pub fn at(&self, n: i64) -> i64 {
        self.0.iter().map(|(monomial, k)| k * n.pow(monomial.len() as u32)).sum()
    }

    fn without_zeros(mut self) -> Polynomial {
        self.0.retain(|_, k| *k != 0);
        self
    }
}

/// The name of a size of which nothing is known.
const UNKNOWN: &str = "?";

/// Returns whether a sorted list is in another one, each item as often.
fn divides(part: &[String], whole: &[String]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|size| rest.any(|other| other == size))
}

/// The most terms of a polynomial that are shown.
const MOST_TERMS: usize = 6;

/// Products of the most sizes come first. Smaller terms of a long polynomial are counted only.
impl fmt::Display for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut terms: Vec<(&Monomial, &i64)> = self.0.iter().collect();
        terms.sort_by_key(|(monomial, _)| std::cmp::Reverse(monomial.len()));
        let shown = |(monomial, k): (&Monomial, &i64)| match (k, monomial.as_slice()) {
            (k, []) => k.to_string(),
            (1, sizes) => sizes.join(" "),
            (k, sizes) => format!("{k} {}", sizes.join(" ")),
        };
        let more = terms.len().saturating_sub(MOST_TERMS);
        let mut all: Vec<String> = terms.into_iter().take(MOST_TERMS).map(shown).collect();
        all.extend((more > 0).then(|| format!("{more} more terms")));
        f.write_str(if all.is_empty() { "0" } else { "" })?;
        f.write_str(&all.join(" + "))
    }
}
