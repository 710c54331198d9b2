//! Finds indices that belong to one iteration: no other iteration has the same index.
//!
//! ```text
//! i + u,  u - i               u the same in all iterations
//! c e,    e owned             c a constant, not 0
//! e m + j + u,  0 <= j < m    a row; e owned, m the same in all iterations; j also in a part of the range, which is
//!                             clamped (`clamps`); or m a constant, and j a sum of
//!                             constants and of indices of loops between constants, each times a constant
//! m e + .. + i + u,  0 <= i < m    a column; e a size, the index of a loop, or a constant
//! ```
//!
//! Operations wrap, but elements are far fewer than 2^64, and no loop runs 2^48 times. A factor that is just any number
//! could make a multiple of m of anything.

use crate::analyses::clamps::Clamps;
use crate::ir::{For, Function, Local, Op, Operand, Stmt};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// To which iteration an index belongs: indices of two iterations differ if their owners are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The one that it tells, but for what is the same in all, with the sign of the index.
    Index(bool, Same),
    /// The one to which, multiplied, the other index belongs.
    Times(i64, Box<Owner>, Same),
    /// The one to which the row belongs.
    Row(Size, Box<Owner>, Same),
    /// The one to which the column belongs.
    Column(Size, Same),
}

/// A sum of Integers that are the same in all iterations: how often each is added, and a constant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Same {
    terms: BTreeMap<Local, i64>,
    constant: i64,
}

/// A number of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Local(Local),
    Constant(i64),
}

/// The factors of constant products are below this.
const LARGEST_FACTOR: i64 = 1 << 16;

/// Holds what is needed to find the owners of an element.
pub(super) struct Owning<'a> {
    function: &'a Function,
    clamps: &'a Clamps,
    looped: &'a For,
    /// The locals that the loop sets.
    set: BTreeSet<Local>,
    operations: FxHashMap<Local, (Op, Vec<Operand>)>,
    /// The loops inside: first index, and one past the last.
    ranges: FxHashMap<Local, [Operand; 2]>,
}

/// A term of a sum of Integers that may differ between iterations; whether it is added.
type Term = (Operand, bool);

impl<'a> Owning<'a> {
    pub(super) fn new(function: &'a Function, clamps: &'a Clamps, looped: &'a For, set: BTreeSet<Local>) -> Owning<'a> {
        let (mut operations, mut ranges) = (FxHashMap::default(), FxHashMap::default());
        looped.body.visit(&mut |stmt| match stmt {
            Stmt::Let(x, op, args) => drop(operations.insert(*x, (*op, args.clone()))),
            Stmt::For(inner) => drop(ranges.insert(inner.index, [inner.from.clone(), inner.to.clone()])),
            _ => {}
        });
        Owning { function, clamps, looped, set, operations, ranges }
    }

    /// Returns those to which the sum of some indices belongs, or so many that follow it.
    pub(super) fn owners(&self, index: &[&Operand], count: Option<&Operand>) -> Vec<Owner> {
        let (mut terms, mut same) = (Vec::new(), Same::default());
        index.iter().for_each(|a| self.split(a, true, &mut terms, &mut same));
        let others =
            if count.is_none() { [self.column(&terms, &same), self.part_of_row(&terms, &same)] } else { [None, None] };
        self.own(&terms, count, same).into_iter().chain(others.into_iter().flatten()).collect()
    }

    fn owner(&self, index: &Operand) -> Option<Owner> {
        let (mut terms, mut same) = (Vec::new(), Same::default());
        self.split(index, true, &mut terms, &mut same);
        self.own(&terms, None, same)
    }

    fn own(&self, terms: &[Term], count: Option<&Operand>, same: Same) -> Option<Owner> {
        match (terms, count) {
            ([(a, sign)], None) if self.is_index(a) => Some(Owner::Index(*sign, same)),
            ([(q, true)], None) => {
                let (e, c) = self.product(q, |c| matches!(c, Operand::Integer(_)))?;
                let Operand::Integer(c) = c else { return None };
                let owner = self.owner(&e)?;
                (c != 0 && c.abs() < LARGEST_FACTOR).then(|| Owner::Times(c, Box::new(owner), same))
            }
            ([(q, true)], Some(count)) => self.row(q, count, same),
            ([(q, true), (j, true)], None) | ([(j, true), (q, true)], None) if self.is_product(q) => {
                let [from, to] = self.ranges.get(&j.local()?)?;
                (self.is_not_negative(from) && !self.is_index(j)).then(|| self.row(q, to, same)).flatten()
            }
            _ => None,
        }
    }

    /// Returns the owner of a column: what is left of the index if what is divided by the number of columns is left
    /// out.
    fn column(&self, terms: &[Term], same: &Same) -> Option<Owner> {
        let columns = &self.looped.to;
        let is_multiple = |a: &Operand| {
            let factor = self.product(a, |m| m.same(columns)).map(|(e, _)| e);
            a.same(columns) || factor.is_some_and(|e| self.is_moderate(&e))
        };
        let mut rest = terms.iter().filter(|(a, _)| !is_multiple(a));
        let is_column = matches!(rest.next(), Some((a, true)) if self.is_index(a)) && rest.next().is_none();
        let mut same = same.clone();
        same.terms.retain(|x, _| !is_multiple(&Operand::Local(*x)));
        (is_column && self.is_not_negative(&self.looped.from)).then_some(Owner::Column(size(columns)?, same))
    }

    /// Returns the owner of a row of a constant number of columns, where the rest of the index is known to be one of
    /// these.
    fn part_of_row(&self, terms: &[Term], same: &Same) -> Option<Owner> {
        terms.iter().enumerate().find_map(|(at, (q, sign))| {
            let (e, c) = self.product(q, |c| matches!(c, Operand::Integer(_))).filter(|_| *sign)?;
            let Operand::Integer(c @ 2..LARGEST_FACTOR) = c else { return None };
            let first = same.constant.rem_euclid(c);
            let others = terms.iter().enumerate().filter(|(i, _)| *i != at);
            let last = others.map(|(_, term)| self.largest(term)).try_fold(first, |sum, x| sum.checked_add(x?))?;
            let same = Same { constant: same.constant.wrapping_sub(first), ..same.clone() };
            (last < c).then_some(Owner::Row(Size::Constant(c), Box::new(self.owner(&e)?), same))
        })
    }

    /// Returns how large an index of a loop inside, or a multiple, becomes, if it is never negative.
    fn largest(&self, (a, sign): &Term) -> Option<i64> {
        if let Some((e, Operand::Integer(c))) = self.product(a, |c| matches!(c, Operand::Integer(_))) {
            return self.largest(&(e, *sign))?.checked_mul(c).filter(|_| c >= 0);
        }
        match self.ranges.get(&a.local()?)? {
            [Operand::Integer(0..), Operand::Integer(to @ 1..)] if *sign => Some(to - 1),
            _ => None,
        }
    }

    fn is_moderate(&self, a: &Operand) -> bool {
        match a {
            Operand::Integer(k) => k.abs() < LARGEST_FACTOR,
            Operand::Local(x) => {
                let is_counted = self.ranges.get(x).is_some_and(|[from, _]| self.is_not_negative(from));
                is_counted || self.is_size(*x)
            }
            Operand::Float(_) | Operand::Bool(_) | Operand::Text(_) => false,
        }
    }

    fn is_index(&self, a: &Operand) -> bool {
        a.local() == Some(self.looped.index)
    }

    fn is_size(&self, x: Local) -> bool {
        self.function.locals[x.0 as usize].is_size
    }

    fn is_not_negative(&self, a: &Operand) -> bool {
        self.clamps.is_not_negative(a, &|x| self.is_size(x))
    }

    /// Returns the owner of a row of so many columns, or more, whose first element is a product.
    fn row(&self, q: &Operand, columns: &Operand, same: Same) -> Option<Owner> {
        let (e, m) = self.product(q, |m| self.clamps.is_at_most(columns, m, &|x| self.is_size(x)))?;
        self.is_same(&m).then_some(())?;
        Some(Owner::Row(size(&m)?, Box::new(self.owner(&e)?), same))
    }

    fn is_product(&self, q: &Operand) -> bool {
        self.product(q, |_| true).is_some()
    }

    /// Returns the factors of a product, the wanted one last.
    fn product(&self, q: &Operand, wanted: impl Fn(&Operand) -> bool) -> Option<(Operand, Operand)> {
        let (Op::MulI, args) = self.operations.get(&q.local()?)? else { return None };
        match &args[..] {
            [a, b] if wanted(b) => Some((a.clone(), b.clone())),
            [a, b] if wanted(a) => Some((b.clone(), a.clone())),
            _ => None,
        }
    }

    fn split(&self, a: &Operand, sign: bool, terms: &mut Vec<Term>, same: &mut Same) {
        let signed = |k: i64| if sign { k } else { k.wrapping_neg() };
        let x = match a {
            Operand::Integer(k) => return same.constant = same.constant.wrapping_add(signed(*k)),
            Operand::Local(x) => *x,
            Operand::Float(_) | Operand::Bool(_) | Operand::Text(_) => panic!("no Integer: {a:?}"),
        };
        match self.operations.get(&x).map(|(op, args)| (op, &args[..])) {
            Some((Op::AddI, [a, b])) => [a, b].into_iter().for_each(|a| self.split(a, sign, terms, same)),
            Some((Op::SubI, [a, b])) => {
                self.split(a, sign, terms, same);
                self.split(b, !sign, terms, same);
            }
            Some((Op::NegI, [a])) => self.split(a, !sign, terms, same),
            _ if self.is_same(a) => {
                let count = same.terms.entry(x).or_insert(0);
                *count = count.wrapping_add(signed(1));
                same.terms.retain(|_, count| *count != 0);
            }
            _ => terms.push((a.clone(), sign)),
        }
    }

    /// Returns whether an operand is the same in all iterations.
    fn is_same(&self, a: &Operand) -> bool {
        let Some(x) = a.local() else { return true };
        let made = || self.operations.get(&x).is_some_and(|(_, args)| args.iter().all(|a| self.is_same(a)));
        !self.set.contains(&x) || made()
    }
}

fn size(a: &Operand) -> Option<Size> {
    match a {
        Operand::Local(x) => Some(Size::Local(*x)),
        Operand::Integer(k) => Some(Size::Constant(*k)),
        Operand::Float(_) | Operand::Bool(_) | Operand::Text(_) => None,
    }
}
