//! Writes Integers that are linear forms of the indices of nests in simpler terms.

use crate::analyses::ranges::{Linear, Ranges};
use crate::ir::{Block, Local, LocalInfo, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// The largest number of terms of a form that is written out. A longer form stays as it was computed.
const MOST_TERMS: usize = 3;

/// Holds what is known of the indices of nests.
#[derive(Default)]
pub(super) struct Forms {
    /// The indices of nests.
    parts: FxHashSet<Local>,
    /// Maps locals to their replacements.
    replaced: FxHashMap<Local, Operand>,
}

/// The place where new statements go.
pub(super) struct Behind<'a> {
    pub locals: &'a mut Vec<LocalInfo>,
    pub ranges: &'a mut Ranges,
    pub out: &'a mut Vec<Stmt>,
}

impl Behind<'_> {
    pub(super) fn compute(&mut self, form: &Linear) -> Operand {
        self.ranges.compute(form, self.locals, self.out)
    }

    pub(super) fn op(&mut self, op: Op, args: [Operand; 2]) -> Operand {
        self.ranges.op(op, args, self.locals, self.out)
    }
}

impl Forms {
    /// Adds indices of nests.
    pub(super) fn speak_of(&mut self, parts: impl IntoIterator<Item = Local>) {
        self.parts.extend(parts);
    }

    /// Replaces an operand by its replacement.
    pub(super) fn replace(&self, a: &mut Operand) {
        while let Some(other) = a.local().and_then(|x| self.replaced.get(&x)) {
            *a = other.clone();
        }
    }

    /// Replaces what is left, such as results of blocks.
    pub(super) fn replace_all(&self, body: &mut Block) {
        body.change_operands(&mut |a| self.replace(a));
    }

    /// Returns whether a statement computes what is simpler in other words: then these are there, and it is needless.
    pub(super) fn is_simpler(&mut self, stmt: &Stmt, behind: &mut Behind) -> bool {
        let Stmt::Let(x, op, args) = stmt else { return false };
        let instead = match (op, &args[..]) {
            (Op::DivI, [a, Operand::Integer(d)]) if *d > 1 => self.divided(a, *d, behind),
            (Op::AddI | Op::SubI | Op::MulI, args) => {
                behind.ranges.know(behind.locals);
                behind.ranges.learn_from(stmt);
                let form = behind.ranges.form(&Operand::Local(*x));
                if form.coefficient(*x) == 0 { self.cancelled(&form, args, behind) } else { None }
            }
            _ => None,
        };
        self.replaced.extend(instead.iter().map(|a| (*x, a.clone())));
        instead.is_some()
    }

    fn divided(&self, a: &Operand, d: i64, behind: &mut Behind) -> Option<Operand> {
        let form = behind.ranges.form(a);
        let (whole, rest) = quotient(&form, d).filter(|_| !self.parts_of(&form).is_empty())?;
        let is_counted = |form: &Linear, ranges: &mut Ranges| ranges.is_not_positive(form.times(-1));
        if !is_counted(&whole, behind.ranges) || !is_counted(&rest, behind.ranges) {
            return None;
        }
        let is_short = whole.terms().len() + rest.terms().len() <= MOST_TERMS;
        if behind.ranges.is_not_positive(rest.shifted(1 - i128::from(d))) {
            return is_short.then(|| behind.compute(&whole));
        }
        if !is_short || whole.as_constant() == Some(0) {
            return None;
        }
        let rest = behind.compute(&rest);
        let rest = behind.op(Op::DivI, [rest, Operand::Integer(d)]);
        let sum = whole.plus(&behind.ranges.form(&rest))?;
        Some(behind.compute(&sum))
    }

    /// Returns a form without an index that operands speak of.
    fn cancelled(&self, form: &Linear, args: &[Operand], behind: &mut Behind) -> Option<Operand> {
        let parts = self.parts_of(form);
        let goes = |a: &Operand| self.parts_of(&behind.ranges.form(a)).iter().any(|x| !parts.contains(x));
        let is_simpler = form.terms().len() <= MOST_TERMS && args.iter().any(goes);
        is_simpler.then(|| behind.compute(form))
    }

    fn parts_of(&self, form: &Linear) -> Vec<Local> {
        form.terms().iter().map(|(x, _)| *x).filter(|x| self.parts.contains(x)).collect()
    }
}

/// Returns the forms a and b, where a form is d a + b: a has the multiples of d, and the constant of b is less than d.
pub(super) fn quotient(form: &Linear, d: i64) -> Option<(Linear, Linear)> {
    let d = i128::from(d);
    let constant = Linear::constant(form.at_zero().div_euclid(d));
    let mut multiples = form.terms().iter().filter(|(_, k)| k % d == 0);
    let whole = multiples.try_fold(constant, |sum, (x, k)| sum.plus(&Linear::local(*x).times(k / d)?))?;
    let rest = form.minus(&whole.times(d)?)?;
    Some((whole, rest))
}
