//! What is known of numbers: which are not negative, the limits of indices, inequalities of branches.
//!
//! ```text
//! i < n in build(n, λi. ..)        0 <= g  where  g with n - 1 for i has no negative coefficient
//! assert i + 1 < n                 0 <= n - i - 2 is known inside
//! ```
//!
//! Numbers count as mathematical Integers: tensors whose sizes overflow cannot be made.

use crate::sizes::polynomial::{Atom, Polynomial};
use rustc_hash::{FxHashMap, FxHashSet};

/// What is known at a place.
#[derive(Default)]
pub(super) struct Bounds {
    natural: FxHashSet<Atom>,
    /// Indices, with what they are below.
    limits: FxHashMap<Atom, Polynomial>,
    /// Polynomials that are not negative.
    facts: Vec<Polynomial>,
    /// Atoms that are equal to polynomials of others.
    equal: Vec<(Atom, Polynomial)>,
}

/// To be given to [`Bounds::forget_since`] at the end of a branch or loop.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize, usize);

/// The most facts that one question may use.
const DEPTH: usize = 4;
/// The most polynomials that one question may come to.
const STEPS: usize = 200;

impl Bounds {
    pub(super) fn natural(&mut self, atom: Atom) {
        self.natural.insert(atom);
    }

    /// 0 <= index < limit.
    pub(super) fn limit(&mut self, index: Atom, limit: Polynomial) {
        self.natural.insert(index.clone());
        // There is an index, so the limit is not 0.
        self.facts.push(limit.shifted(-1));
        self.limits.insert(index, limit);
    }

    pub(super) fn limit_of(&self, p: &Polynomial) -> Option<&Polynomial> {
        self.limits.iter().find(|(atom, _)| Polynomial::atom((*atom).clone()) == *p).map(|(_, limit)| limit)
    }

    pub(super) fn not_negative(&mut self, p: Polynomial) {
        self.facts.push(p);
    }

    /// Learns that two numbers are equal.
    pub(super) fn equate(&mut self, a: &Polynomial, b: &Polynomial) {
        let difference = self.resolved(&a.minus(b));
        let atoms: Vec<Atom> = difference.atoms().cloned().collect();
        // The newest one goes.
        let solved = atoms.iter().max().and_then(|atom| Some((atom, difference.solved_for(atom)?)));
        if let Some((atom, (k, rest))) = solved {
            let other = if k == 1 { Polynomial::default().minus(&rest) } else { rest };
            // What is known of the one that goes holds of what it is.
            let least = self.natural.contains(atom).then(|| other.clone());
            let most = self.limits.get(atom).map(|limit| limit.shifted(-1).minus(&other));
            let learned: Vec<Polynomial> = [least, most].into_iter().flatten().collect();
            let is_new = |p: &Polynomial| p.terms().any(|(m, k)| k < 0 || m.iter().any(|a| !self.natural.contains(a)));
            self.facts.extend(learned.into_iter().filter(is_new));
            self.equal.push((atom.clone(), other));
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.facts.len(), self.equal.len())
    }

    pub(super) fn forget_since(&mut self, mark: Mark) {
        self.facts.truncate(mark.0);
        self.equal.truncate(mark.1);
    }

    /// Returns the polynomial without atoms that others are equal to.
    pub(super) fn resolved(&self, p: &Polynomial) -> Polynomial {
        self.equal.iter().fold(p.clone(), |p, (atom, other)| {
            let by = |a: &Atom| Some(if a == atom { other.clone() } else { Polynomial::atom(a.clone()) });
            p.substituted(&by).expect("every atom has a polynomial")
        })
    }

    pub(super) fn are_equal(&self, a: &Polynomial, b: &Polynomial) -> bool {
        self.resolved(&a.minus(b)).as_constant() == Some(0)
    }

    /// Returns whether two numbers are known to differ.
    pub(super) fn differ(&self, a: &Polynomial, b: &Polynomial) -> bool {
        let difference = a.minus(b);
        self.is_not_negative(&difference.shifted(-1)) || self.is_not_negative(&b.minus(a).shifted(-1))
    }

    /// Returns whether nothing can be here: what is known contradicts itself.
    pub(super) fn is_unreachable(&self) -> bool {
        self.is_not_negative(&Polynomial::constant(-1))
    }

    /// Returns whether 0 <= p is known.
    pub(super) fn is_not_negative(&self, p: &Polynomial) -> bool {
        self.follows(p, DEPTH, &mut { STEPS })
    }

    /// Indices are bounded by what is known where they are used, or else by their loops.
    fn follows(&self, p: &Polynomial, depth: usize, steps: &mut usize) -> bool {
        let p = self.resolved(p);
        let worst = self.at_worst(&p);
        (worst != p && self.follows_by_facts(&worst, depth, steps)) || self.follows_by_facts(&p, depth, steps)
    }

    fn follows_by_facts(&self, p: &Polynomial, depth: usize, steps: &mut usize) -> bool {
        let is_natural = |m: &[Atom]| m.iter().all(|a| self.natural.contains(a));
        let mut bad = p.terms().filter(|(m, k)| *k < 0 || !is_natural(m));
        let Some((m, k)) = bad.next() else { return true };
        if depth == 0 || *steps == 0 {
            return false;
        }
        *steps -= 1;
        // 0 <= fact has the term, too: enough is 0 <= p - c q fact, where the term is gone.
        self.facts.iter().any(|fact| {
            let fact = self.resolved(fact);
            fact.terms().any(|(n, l)| {
                let quotient = quotient(m, n).filter(|q| is_natural(q));
                let Some(q) = quotient.filter(|_| l.signum() == k.signum() && k % l == 0) else { return false };
                let multiple = fact.times(&Polynomial::default().with_term(q, k / l));
                self.follows(&p.minus(&multiple), depth - 1, steps)
            })
        })
    }

    /// Returns the least value of a polynomial, as to indices: those that it falls with are at their largest.
    fn at_worst(&self, p: &Polynomial) -> Polynomial {
        let mut p = p.clone();
        for _ in 0..2 * self.limits.len() {
            // The newest goes first: its limit may be of others.
            let falls = p.atoms().filter(|i| self.limits.contains_key(*i) && self.falls_with(&p, i)).max().cloned();
            let Some(i) = falls else { return p };
            let most = self.resolved(&self.limits[&i].shifted(-1));
            let by = |a: &Atom| Some(if *a == i { most.clone() } else { Polynomial::atom(a.clone()) });
            p = p.substituted(&by).expect("every atom has a polynomial");
        }
        p
    }

    fn falls_with(&self, p: &Polynomial, i: &Atom) -> bool {
        p.terms().filter(|(m, _)| m.contains(i)).all(|(m, k)| {
            let others = m.iter().filter(|a| *a != i).count();
            k < 0 && others + 1 == m.len() && m.iter().all(|a| self.natural.contains(a))
        })
    }
}

/// Returns m / n, for a product n that divides m.
fn quotient(m: &[Atom], n: &[Atom]) -> Option<Vec<Atom>> {
    let mut rest = m.to_vec();
    for atom in n {
        rest.remove(rest.iter().position(|a| a == atom)?);
    }
    Some(rest)
}
