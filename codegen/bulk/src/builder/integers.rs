//! What is known of Integers: sums of sizes and of numbers, their ends, and what they depend on.

use super::{Builder, Source};
use crate::ir::{Fun, Id, Op, Scalar};
use lm::term::Constant;
use std::collections::BTreeMap;

/// Sums of more levels are not looked through.
const DEEPEST: usize = 8;

/// An index that is `offset + step i`, where i runs along one axis, or along none.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The axis, if there is one.
    pub axis: Option<usize>,
    /// The step along it.
    pub step: i64,
    /// An Integer.
    pub offset: Id,
}

/// An Integer as a sum of others, each with a factor, and of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Linear {
    terms: BTreeMap<Id, i64>,
    constant: i64,
}

impl Linear {
    /// Returns `self + k other`.
    fn plus(mut self, other: &Linear, k: i64) -> Linear {
        other.terms.iter().for_each(|(id, n)| *self.terms.entry(*id).or_default() += k * n);
        self.terms.retain(|_, n| *n != 0);
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(k));
        self
    }
}

impl Builder {
    fn linear(&self, id: Id) -> Linear {
        self.linear_within(id, DEEPEST)
    }

    fn linear_within(&self, id: Id, depth: usize) -> Linear {
        let node = self.node(id);
        let of = |id: Id| self.linear_within(id, depth - 1);
        match (&node.op, node.args.as_slice()) {
            (Op::Each(_), _) if depth == 0 => Linear { terms: BTreeMap::from([(id, 1)]), constant: 0 },
            (Op::Constant(Constant::Integer(n)), _) => Linear { constant: *n, ..Linear::default() },
            (Op::Each(Fun::Add), &[a, b]) => of(a).plus(&of(b), 1),
            (Op::Each(Fun::Sub), &[a, b]) => of(a).plus(&of(b), -1),
            (Op::Each(Fun::Neg), &[a]) => Linear::default().plus(&of(a), -1),
            _ => Linear { terms: BTreeMap::from([(self.size(id), 1)]), constant: 0 },
        }
    }

    /// Returns an Integer in a simpler form, if sizes in it cancel.
    pub fn folded(&mut self, id: Id) -> Id {
        let linear = self.linear(id);
        match (linear.terms.len(), linear.constant) {
            (0, constant) => self.integer(constant),
            (1, 0) if linear.terms.values().all(|&k| k == 1) => *linear.terms.keys().next().expect("a term"),
            _ => id,
        }
    }

    /// Returns whether an Integer is known not to be negative: sizes are not, and neither is what is not below 0.
    pub fn is_natural(&self, id: Id) -> bool {
        self.is_sum_natural(self.linear(id))
    }

    fn is_sum_natural(&self, mut sum: Linear) -> bool {
        // A step lies between 0 and the last one.
        while let Some((step, k)) =
            sum.terms.iter().find(|(id, _)| self.steps.contains_key(id)).map(|(&id, &k)| (id, k))
        {
            let gone = Linear { terms: BTreeMap::from([(step, k)]), constant: 0 };
            sum = sum.plus(&gone, -1);
            if k < 0 {
                let last = Linear { constant: -1, ..Linear::default() }.plus(&self.linear(self.steps[&step]), 1);
                sum = sum.plus(&last, k);
            }
        }
        let positive = |id: &Id| self.positive_part(*id).map(|of| (*id, of));
        if let Some((part, of)) = sum.terms.iter().filter(|&(_, &k)| k < 0).find_map(|(id, _)| positive(id)) {
            // The larger of e and 0 is one of them.
            let k = sum.terms[&part];
            let none = Linear { terms: BTreeMap::from([(part, -k)]), constant: 0 };
            let without = sum.plus(&none, 1);
            return self.is_sum_natural(without.clone()) && self.is_sum_natural(without.plus(&self.linear(of), k));
        }
        let is_size = |id: &Id| matches!(self.node(*id).op, Op::InputSize(..)) || self.positive_part(*id).is_some();
        sum.constant >= 0 && sum.terms.iter().all(|(id, &k)| k > 0 && is_size(id))
    }

    /// Returns whether Integers are known to be at most others, element by element, less some number.
    pub(super) fn is_at_most(&mut self, x: Id, y: Id, less: i64) -> bool {
        let (Some(most), Some(least)) = (self.end(x, true), self.end(y, false)) else { return false };
        let mut room = least.plus(&most, -1);
        room.constant = room.constant.saturating_sub(less);
        self.is_sum_natural(room)
    }

    /// Returns the largest or the smallest of Integers, if they lie on a line.
    fn end(&mut self, id: Id, is_largest: bool) -> Option<Linear> {
        let line = self.line(id)?;
        let offset = self.linear(line.offset);
        Some(match line.axis {
            Some(axis) if (line.step > 0) == is_largest => {
                let last = Linear { constant: -1, ..Linear::default() }.plus(&self.linear(self.node(id).dims[axis]), 1);
                offset.plus(&last, line.step)
            }
            _ => offset,
        })
    }

    /// Returns e where a node is e, or 0 where that is negative.
    fn positive_part(&self, id: Id) -> Option<Id> {
        let node = self.node(id);
        let Op::Each(Fun::Select) = node.op else { return None };
        let condition = self.node(node.args[0]);
        let is_zero = |id: Id| self.number(id) == Some(&Constant::Integer(0));
        let compares = matches!(condition.op, Op::Each(Fun::Gt)) && condition.args[0] == node.args[1];
        (compares && is_zero(condition.args[1]) && is_zero(node.args[2])).then_some(node.args[1])
    }

    /// Returns whether a number depends on sizes and Integer inputs only, so that a size may be made of it.
    pub fn is_fixed(&mut self, id: Id) -> bool {
        self.source(id) <= Source::Integers
    }

    /// Returns whether a number depends on sizes only.
    pub fn is_of_sizes(&mut self, id: Id) -> bool {
        self.source(id) == Source::Sizes
    }

    fn source(&mut self, id: Id) -> Source {
        if let Some(&known) = self.sources.get(&id) {
            return known;
        }
        let node = self.node(id).clone();
        let is_number = node.dims.is_empty();
        let source = match node.op {
            Op::InputSize(..) | Op::Constant(_) => Source::Sizes,
            Op::Input(_) if is_number && node.scalar == Scalar::Integer => Source::Integers,
            Op::Each(_) if is_number => node.args.iter().map(|&arg| self.source(arg)).max().unwrap_or(Source::Sizes),
            _ => Source::Data,
        };
        self.sources.insert(id, source);
        source
    }

    /// Returns a number that an Integer does not exceed and that a size may be made of, if one is known. A step of a loop
    /// lies between 0 and the last one.
    pub fn largest(&mut self, id: Id) -> Option<Id> {
        if self.is_fixed(id) {
            return Some(id);
        }
        let Linear { terms, constant } = self.linear(id);
        let mut largest = self.integer(constant);
        for (term, k) in terms {
            let most = match self.steps.get(&term).copied() {
                Some(_) if k < 0 => continue,
                Some(count) => {
                    let one = self.integer(1);
                    self.each(Fun::Sub, &[count, one])
                }
                None => term,
            };
            if !self.is_fixed(most) {
                return None;
            }
            let k = self.integer(k);
            let part = self.each(Fun::Mul, &[k, most]);
            largest = self.each(Fun::Add, &[largest, part]);
        }
        Some(self.folded(largest))
    }

    /// Returns an index as a line, if it is one.
    pub fn line(&mut self, id: Id) -> Option<Line> {
        self.line_within(id, DEEPEST)
    }

    fn line_within(&mut self, id: Id, depth: usize) -> Option<Line> {
        let depth = depth.checked_sub(1)?;
        let node = self.node(id).clone();
        if node.dims.is_empty() {
            return Some(Line { axis: None, step: 0, offset: id });
        }
        match node.op {
            Op::Iota => Some(Line { axis: Some(0), step: 1, offset: self.integer(0) }),
            Op::Spread(axes) => {
                let line = self.line_within(node.args[0], depth)?;
                Some(Line { axis: line.axis.map(|axis| axes[axis]), ..line })
            }
            Op::Each(fun @ (Fun::Add | Fun::Sub)) => {
                let (a, b) = (self.line_within(node.args[0], depth)?, self.line_within(node.args[1], depth)?);
                let sign = if fun == Fun::Add { 1 } else { -1 };
                let axis = match (a.axis, b.axis) {
                    (Some(a), Some(b)) if a != b => return None,
                    (a, b) => a.or(b),
                };
                let step = a.step.checked_add(b.step.checked_mul(sign)?)?;
                Some(Line { axis: axis.filter(|_| step != 0), step, offset: self.each(fun, &[a.offset, b.offset]) })
            }
            Op::Each(Fun::Neg) => {
                let line = self.line_within(node.args[0], depth)?;
                Some(Line { step: -line.step, offset: self.each(Fun::Neg, &[line.offset]), ..line })
            }
            _ => None,
        }
    }
}
