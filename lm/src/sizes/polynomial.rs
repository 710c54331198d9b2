//! Sizes as polynomials over atoms, in a normal form: equal polynomials are written in one way.
//!
//! ```text
//! n (n + 1) - n  =  n n      as  {[n, n]: 1}
//! ```
//!
//! Numbers of 64 bits wrap, and so do coefficients. Wrapping keeps sums and products, so equal forms have equal values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What a polynomial is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A size variable of a definition.
    Variable(Arc<str>),
    /// A number that a term has, with its number, which tells it from others, and a text for people.
    Number(u32, Arc<str>),
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Variable(name) | Atom::Number(_, name) => f.write_str(name),
        }
    }
}

/// A product of atoms, in order.
pub type Monomial = Vec<Atom>;

/// A polynomial. The coefficients are not 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Polynomial(BTreeMap<Monomial, i64>);

impl Polynomial {
    /// Returns a number.
    pub fn constant(k: i64) -> Polynomial {
        Polynomial::default().with_term(Vec::new(), k)
    }

    /// Returns an atom.
    pub fn atom(atom: Atom) -> Polynomial {
        Polynomial::default().with_term(vec![atom], 1)
    }

    /// Returns a size variable.
    pub fn variable(name: &str) -> Polynomial {
        Polynomial::atom(Atom::Variable(name.into()))
    }

    /// Returns a sum with one more term, a multiple of a product.
    pub fn with_term(mut self, monomial: Monomial, k: i64) -> Polynomial {
        let sum = self.0.get(&monomial).copied().unwrap_or(0).wrapping_add(k);
        if sum == 0 {
            self.0.remove(&monomial);
        } else {
            self.0.insert(monomial, sum);
        }
        self
    }

    /// Returns the sum.
    pub fn plus(&self, other: &Polynomial) -> Polynomial {
        other.0.iter().fold(self.clone(), |sum, (m, k)| sum.with_term(m.clone(), *k))
    }

    /// Returns the difference.
    pub fn minus(&self, other: &Polynomial) -> Polynomial {
        other.0.iter().fold(self.clone(), |sum, (m, k)| sum.with_term(m.clone(), k.wrapping_neg()))
    }

    /// Returns the product.
    pub fn times(&self, other: &Polynomial) -> Polynomial {
        let mut product = Polynomial::default();
        for (m, k) in &self.0 {
            for (n, l) in &other.0 {
                let mut both = [m.as_slice(), n].concat();
                both.sort();
                product = product.with_term(both, k.wrapping_mul(*l));
            }
        }
        product
    }

    /// Returns the sum with a number.
    pub fn shifted(&self, k: i64) -> Polynomial {
        self.clone().with_term(Vec::new(), k)
    }

    /// Returns the number that it is, if it mentions no atom.
    pub fn as_constant(&self) -> Option<i64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    /// Returns the terms: products of atoms, with their coefficients.
    pub fn terms(&self) -> impl Iterator<Item = (&Monomial, i64)> {
        self.0.iter().map(|(m, k)| (m, *k))
    }

    /// Returns the atoms, some of them more than once.
    pub fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.0.keys().flatten()
    }

    /// Returns the polynomial with others in place of atoms; `None` where one is missing.
    pub fn substituted(&self, by: &dyn Fn(&Atom) -> Option<Polynomial>) -> Option<Polynomial> {
        let mut sum = Polynomial::default();
        for (m, k) in &self.0 {
            let product = m.iter().try_fold(Polynomial::constant(*k), |p, atom| Some(p.times(&by(atom)?)))?;
            sum = sum.plus(&product);
        }
        Some(sum)
    }

    /// Returns (k, rest) with self = k atom + rest, if the atom occurs by itself only, with k = 1 or -1.
    pub(super) fn solved_for(&self, atom: &Atom) -> Option<(i64, Polynomial)> {
        let alone = vec![atom.clone()];
        let k = self.0.get(&alone).copied().filter(|k| k.abs() == 1)?;
        let rest = self.clone().with_term(alone, -k);
        let is_gone = rest.atoms().all(|other| other != atom);
        is_gone.then_some((k, rest))
    }
}

impl Polynomial {
    /// Returns the polynomial as types have it: `(add n 1)`.
    pub fn spelled(&self) -> String {
        let product = |(m, k): (&Monomial, i64)| {
            let number = (k != 1 || m.is_empty()).then(|| k.to_string());
            let factors = number.into_iter().chain(m.iter().map(Atom::to_string));
            factors.reduce(|a, b| format!("(mul {a} {b})")).expect("a product has a factor")
        };
        let (numbers, others): (Vec<_>, Vec<_>) = self.terms().partition(|(m, _)| m.is_empty());
        let (less, more): (Vec<_>, Vec<_>) = others.into_iter().chain(numbers).partition(|(_, k)| *k < 0);
        let sum = more.into_iter().map(product).reduce(|a, b| format!("(add {a} {b})"));
        let negated = less.into_iter().map(|(m, k)| product((m, k.wrapping_neg())));
        negated.fold(sum.unwrap_or("0".into()), |a, b| format!("(sub {a} {b})"))
    }
}

/// Writes `n`, `n + 1`, `2 * n * m - 1`.
impl fmt::Display for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The number comes last.
        let (numbers, products): (Vec<_>, Vec<_>) = self.terms().partition(|(m, _)| m.is_empty());
        f.write_str(&sum_of(products.into_iter().chain(numbers), " * "))
    }
}

/// Returns the text of a sum of products, whose factors have a sign between them.
pub fn sum_of<'a>(terms: impl IntoIterator<Item = (&'a Monomial, i64)>, times: &str) -> String {
    let mut text = String::new();
    for (m, k) in terms {
        text.push_str(match (text.is_empty(), k < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        });
        let size = k.unsigned_abs();
        let number = (size != 1 || m.is_empty()).then(|| size.to_string());
        let factors: Vec<String> = number.into_iter().chain(m.iter().map(Atom::to_string)).collect();
        text.push_str(&factors.join(times));
    }
    if text.is_empty() { "0".into() } else { text }
}
