//! Integers between limits that are polynomials in sizes.
//!
//! ```text
//! n              is n              i < n          is from 0 to n - 1
//! size(g[i])     is from 0 to size(g[_]), the largest one
//! off[i]         is at most off[_], the largest element; nothing else is known of it
//! a - b          is at most what a is at most, without what b is at least
//! ```
//!
//! So two elements of a tensor are not taken for equal: their difference is not known, unless both have names.

use super::polynomial::Polynomial;

/// The limits of an Integer. Those that are equal are the number itself; one that is not known has no terms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limits {
    least: Polynomial,
    most: Polynomial,
    /// Whether it belongs to a value that is never read.
    is_unread: bool,
}

impl Limits {
    /// Returns a number itself.
    pub(super) fn exactly(n: Polynomial) -> Limits {
        Limits { least: n.clone(), most: n, is_unread: false }
    }

    /// Returns a number of which nothing is known.
    pub(super) fn unknown() -> Limits {
        Limits::between(Polynomial::unknown(), Polynomial::unknown())
    }

    /// Returns the number of a value that is never read.
    pub(super) fn unread() -> Limits {
        Limits { is_unread: true, ..Limits::unknown() }
    }

    /// Returns a size or an index that is at most another number.
    pub(super) fn natural(most: Polynomial) -> Limits {
        Limits::between(Polynomial::number(0), most)
    }

    /// Returns a number that is at most another one.
    pub(super) fn at_most(most: Polynomial) -> Limits {
        Limits::between(Polynomial::unknown(), most)
    }

    fn between(least: Polynomial, most: Polynomial) -> Limits {
        let known = |limit: Polynomial| if limit.is_known() { limit.into_limit() } else { Polynomial::unknown() };
        Limits { least: known(least), most: known(most), is_unread: false }
    }

    /// Returns the number itself, where it is known.
    pub(super) fn exact(&self) -> Option<&Polynomial> {
        self.most.is_exact().then_some(&self.most)
    }

    /// Returns what the number is at most.
    pub(super) fn most(&self) -> &Polynomial {
        &self.most
    }

    /// Returns the limits of an index below this size.
    pub(super) fn index(&self) -> Limits {
        Limits::natural(self.most.plus(&Polynomial::number(-1)))
    }

    /// Returns limits by a function on numbers, if these are known, or else by two others on limits.
    fn with(
        &self,
        other: &Limits,
        exactly: &dyn Fn(&Polynomial, &Polynomial) -> Polynomial,
        limits: &dyn Fn() -> [Polynomial; 2],
    ) -> Limits {
        match (self.exact(), other.exact()) {
            (Some(a), Some(b)) => Limits::exactly(exactly(a, b)),
            _ => {
                let [least, most] = limits();
                Limits::between(least, most)
            }
        }
    }

    /// Returns the sum.
    pub(super) fn plus(&self, other: &Limits) -> Limits {
        let sums = || [self.least.plus(&other.least), self.most.plus(&other.most)];
        self.with(other, &Polynomial::plus, &sums)
    }

    /// Returns the difference.
    pub(super) fn minus(&self, other: &Limits) -> Limits {
        let differences = || [minus(&self.least, &other.most), minus(&self.most, &other.least)];
        self.with(other, &minus, &differences)
    }

    /// Returns the product.
    pub(super) fn times(&self, other: &Limits) -> Limits {
        let [a, b] = [self, other].map(|n| n.least.is_natural());
        let products = || match (a, b) {
            (true, true) => [self.least.times(&other.least), self.most.times(&other.most)],
            // What is negative is at most 0.
            (true, false) if other.most.is_positive() => [Polynomial::unknown(), self.most.times(&other.most)],
            (false, true) if self.most.is_positive() => [Polynomial::unknown(), self.most.times(&other.most)],
            _ => [Polynomial::unknown(), Polynomial::unknown()],
        };
        self.with(other, &Polynomial::times, &products)
    }

    /// Returns limits of what is one of two numbers. That of a value which is never read is the other one.
    pub(super) fn or(&self, other: &Limits) -> Limits {
        match (self.is_unread, other.is_unread) {
            (true, _) => other.clone(),
            (_, true) => self.clone(),
            _ if self == other => self.clone(),
            _ if self.least.is_natural() && other.least.is_natural() => Limits::natural(self.most.or(&other.most)),
            _ if self.most.has_integers() || other.most.has_integers() => Limits::unknown(),
            _ => Limits::at_most(self.most.or(&other.most)),
        }
    }
}

fn minus(a: &Polynomial, b: &Polynomial) -> Polynomial {
    a.plus(&b.times(&Polynomial::number(-1)))
}
