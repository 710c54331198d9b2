//! Polynomials in Integers of a function, to compare places in buffers.
//!
//! ```text
//! z = add.i x y; w = mul.i z n        w  =  n x + n y
//! ```
//!
//! Operations wrap. Equal polynomials are equal numbers all the same: they are compared, never ordered.

use crate::ir::{Block, Local, Op, Operand, Stmt};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A sum of products of locals, each with a factor that is not 0: the locals of a product are in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Polynomial(BTreeMap<Vec<Local>, i64>);

/// A longer polynomial is none.
const MOST_PRODUCTS: usize = 16;
const MOST_FACTORS: usize = 6;

/// How the Integers of a function are computed.
#[derive(Default)]
pub(super) struct Definitions(FxHashMap<Local, (Op, Vec<Operand>)>);

impl Definitions {
    pub(super) fn of(body: &Block) -> Definitions {
        let mut definitions = FxHashMap::default();
        body.visit(&mut |stmt| {
            if let Stmt::Let(x, op @ (Op::AddI | Op::SubI | Op::MulI | Op::Count), args) = stmt {
                definitions.insert(*x, (*op, args.clone()));
            }
        });
        Definitions(definitions)
    }

    /// Returns an Integer in terms of locals that are computed in other ways.
    pub(super) fn polynomial(&self, a: &Operand) -> Option<Polynomial> {
        let x = match a {
            Operand::Integer(k) => return Some(Polynomial::constant(*k)),
            Operand::Local(x) => *x,
            Operand::Float(_) | Operand::Bool(_) | Operand::Text(_) => panic!("no Integer: {a:?}"),
        };
        let Some((op, args)) = self.0.get(&x) else { return Some(Polynomial::local(x)) };
        let mut terms = args.iter().map(|a| self.polynomial(a));
        let first = terms.next()??;
        terms.try_fold(first, |all, next| match op {
            Op::AddI => all.plus(&next?, 1),
            Op::SubI => all.plus(&next?, -1),
            _ => all.times(&next?),
        })
    }
}

impl Polynomial {
    pub(super) fn constant(k: i64) -> Polynomial {
        Polynomial(BTreeMap::from([(vec![], k)])).without_zeros()
    }

    pub(super) fn local(x: Local) -> Polynomial {
        Polynomial(BTreeMap::from([(vec![x], 1)]))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn uses(&self, x: Local) -> bool {
        self.0.keys().any(|product| product.contains(&x))
    }

    pub(super) fn next(&self) -> Option<Polynomial> {
        self.clone().plus(&Polynomial::constant(1), 1)
    }

    pub(super) fn locals(&self) -> impl Iterator<Item = Local> {
        self.0.keys().flatten().copied()
    }

    /// Adds a multiple of another one.
    pub(super) fn plus(mut self, other: &Polynomial, k: i64) -> Option<Polynomial> {
        for (product, factor) in &other.0 {
            let sum = self.0.entry(product.clone()).or_default();
            *sum = sum.checked_add(factor.checked_mul(k)?)?;
        }
        Some(self.without_zeros()).filter(|sum| sum.0.len() <= MOST_PRODUCTS)
    }

    pub(super) fn times(&self, other: &Polynomial) -> Option<Polynomial> {
        let mut all = BTreeMap::new();
        for (a, k) in &self.0 {
            for (b, l) in &other.0 {
                let mut product: Vec<Local> = a.iter().chain(b).copied().collect();
                product.sort_unstable();
                let sum: &mut i64 = all.entry(product).or_default();
                *sum = sum.checked_add(k.checked_mul(*l)?)?;
            }
        }
        let is_short = all.len() <= MOST_PRODUCTS && all.keys().all(|product| product.len() <= MOST_FACTORS);
        is_short.then(|| Polynomial(all).without_zeros())
    }

    /// Returns it with another one in the place of a local.
    pub(super) fn with(&self, x: Local, by: &Polynomial) -> Option<Polynomial> {
        self.0.iter().try_fold(Polynomial::default(), |sum, (product, factor)| {
            let is_x = |y: &&Local| **y == x;
            let rest: Vec<Local> = product.iter().filter(|y| !is_x(y)).copied().collect();
            let term = Polynomial(BTreeMap::from([(rest, *factor)]));
            let term = product.iter().filter(is_x).try_fold(term, |term, _| term.times(by))?;
            sum.plus(&term, 1)
        })
    }

    fn without_zeros(mut self) -> Polynomial {
        self.0.retain(|_, factor| *factor != 0);
        self
    }
}
