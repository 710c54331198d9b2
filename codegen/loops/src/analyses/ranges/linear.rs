//! Linear forms `c + k1 x1 + .. + kn xn` over Integer locals, as mathematical Integers: they do not wrap.
//!
//! Arithmetic gives none where a form would have too many terms, or numbers beyond 2^100: then nothing is known.

use crate::ir::Local;

/// A linear form. No coefficient is 0, and each local occurs once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Linear {
    /// The terms, in order of their locals.
    terms: Vec<(Local, i128)>,
    constant: i128,
}

const MOST_TERMS: usize = 8;
const LARGEST: i128 = 1 << 100;

impl Linear {
    /// Returns the form c.
    pub fn constant(c: i128) -> Linear {
        Linear { terms: vec![], constant: c }
    }

    /// Returns the form x.
    pub fn local(x: Local) -> Linear {
        Linear { terms: vec![(x, 1)], constant: 0 }
    }

    /// Returns the locals with their coefficients.
    pub fn terms(&self) -> &[(Local, i128)] {
        &self.terms
    }

    /// Returns the form at 0.
    pub fn at_zero(&self) -> i128 {
        self.constant
    }

    /// Returns the number, where it is one.
    pub fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Returns the coefficient of a local.
    pub fn coefficient(&self, x: Local) -> i128 {
        self.terms.binary_search_by_key(&x, |(y, _)| *y).map_or(0, |i| self.terms[i].1)
    }

    /// a self + b other.
    pub fn combined(&self, a: i128, other: &Linear, b: i128) -> Option<Linear> {
        let mut terms: Vec<(Local, i128)> = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut xs, mut ys) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        while let Some(x) = [xs.peek(), ys.peek()].into_iter().flatten().map(|(x, _)| *x).min() {
            let part = |terms: &mut std::iter::Peekable<std::slice::Iter<(Local, i128)>>| {
                terms.next_if(|(y, _)| *y == x).map_or(0, |(_, k)| *k)
            };
            let k = sum(product(a, part(&mut xs))?, product(b, part(&mut ys))?)?;
            if k != 0 {
                terms.push((x, k));
            }
        }
        let constant = sum(product(a, self.constant)?, product(b, other.constant)?)?;
        (terms.len() <= MOST_TERMS).then_some(Linear { terms, constant })
    }

    /// Returns the sum.
    pub fn plus(&self, other: &Linear) -> Option<Linear> {
        self.combined(1, other, 1)
    }

    /// Returns the difference.
    pub fn minus(&self, other: &Linear) -> Option<Linear> {
        self.combined(1, other, -1)
    }

    /// Returns the sum with a number.
    pub fn shifted(&self, c: i128) -> Option<Linear> {
        self.plus(&Linear::constant(c))
    }

    /// Returns the multiple.
    pub fn times(&self, k: i128) -> Option<Linear> {
        self.combined(k, &Linear::constant(0), 0)
    }

    /// Returns the form with another one in place of a local.
    pub fn with(&self, x: Local, form: &Linear) -> Option<Linear> {
        let k = self.coefficient(x);
        self.minus(&Linear::local(x).times(k)?)?.plus(&form.times(k)?)
    }

    /// Returns a form that is not positive for the same Integers, its coefficients without common divisor.
    pub fn tightened(mut self) -> Linear {
        let divisor = self.terms.iter().fold(0, |d, (_, k)| greatest_divisor(d, k.abs()));
        if divisor > 1 {
            self.terms.iter_mut().for_each(|(_, k)| *k /= divisor);
            // Rounded up: the terms are a whole number that is at most -c / d.
            self.constant = -((-self.constant).div_euclid(divisor));
        }
        self
    }
}

/// a - b + gap.
pub(super) fn difference(a: Linear, b: Linear, gap: i128) -> Option<Linear> {
    a.minus(&b)?.shifted(gap)
}

fn sum(a: i128, b: i128) -> Option<i128> {
    a.checked_add(b).filter(|c| c.abs() <= LARGEST)
}

fn product(a: i128, b: i128) -> Option<i128> {
    a.checked_mul(b).filter(|c| c.abs() <= LARGEST)
}

fn greatest_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
