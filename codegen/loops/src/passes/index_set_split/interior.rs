//! Finds the part of a loop in which conditions of its inner loops are known.
//!
//! ```text
//! for i in a..b { for k in 0..m { .. if i + k < c .. } }       the condition holds for all k where i < c - m + 1
//!                                                              it holds for no k where i >= c
//! ```
//!
//! So a window that is clamped to a grid, or wraps around, is the window as it is but for some places at the ends.
//! Several conditions have one interior, in which each of them is known. It counts where the part that is left out does
//! not grow with the loop: a condition like `k < i` is known nowhere, or for one index.

use super::LARGEST_FACTOR;
use super::turns::{SplitCondition, asked_in};
use crate::analyses::ranges::{ASSUMED, Linear, Ranges};
use crate::ir::{Block, For, Local, Memory, Op, Operand, Stmt};
use rustc_hash::FxHashSet;

/// The part of a loop from the largest of some places to the smallest of others.
#[derive(Default)]
pub(super) struct Interior {
    pub from: Vec<Linear>,
    pub to: Vec<Linear>,
    /// What holds there.
    pub known: Vec<(Local, bool)>,
    /// Whether what is left out has a length that is not known: it may be most of the loop.
    pub has_wide_borders: bool,
}

/// Returns the interior of a loop, if conditions of inner loops have one.
///
/// Not of a loop that updates a buffer, as those of a fold do: there a condition on both indices is one on a triangle,
/// more often than not.
pub(super) fn interior(stmt: &Stmt, looped: &For, ranges: &mut Ranges) -> Option<Interior> {
    let wanted = asked_in(stmt, looped)?;
    if reads_what_it_writes(&looped.body) {
        return None;
    }
    let ends = [&looped.from, &looped.to].map(|a| ranges.form(a));
    let mut finder = Finder { wanted, ends, inner: vec![], found: Interior::default() };
    let mark = ranges.mark();
    ranges.enter(stmt, 0);
    finder.look_into(&looped.body, ranges);
    ranges.back_to(mark);
    (!finder.found.known.is_empty()).then_some(finder.found)
}

struct Finder {
    wanted: SplitCondition,
    ends: [Linear; 2],
    /// The indices of the inner loops around, from the first to the last.
    inner: Vec<(Local, [Linear; 2])>,
    found: Interior,
}

impl Finder {
    fn look_into(&mut self, block: &Block, ranges: &mut Ranges) {
        for stmt in &block.stmts {
            let loops = self.inner.len();
            if let Stmt::For(looped) = stmt
                && let [from, to] = [&looped.from, &looped.to].map(|a| ranges.form(a))
                && let Some(last) = to.shifted(-1)
            {
                self.inner.push((looped.index, [from, last]));
            }
            for (i, inner) in stmt.blocks().enumerate() {
                let mark = ranges.mark();
                ranges.enter(stmt, i);
                self.look_into(inner, ranges);
                ranges.back_to(mark);
            }
            self.inner.truncate(loops);
            ranges.learn_from(stmt);
            if let Stmt::Let(x, ..) = stmt
                && self.wanted.asked.contains(x)
                && ranges.known(&Operand::Local(*x)).is_none()
            {
                self.add_condition(*x, ranges);
            }
        }
    }

    fn add_condition(&mut self, condition: Local, ranges: &Ranges) -> Option<()> {
        let (op, difference) = ranges.comparison(condition)?;
        let gap = match op {
            Op::LeI => 0,
            Op::LtI => 1,
            _ => return None,
        };
        let index = self.wanted.index;
        let k = difference.coefficient(index);
        let rest = difference.minus(&Linear::local(index).times(k)?)?;
        let [least, most] = self.extremes(&rest)?;
        // With k = 1, it holds where index + rest <= -gap; with k = -1, where rest + gap <= index.
        let (holds_before, fails_from, holds_from, fails_before) = match k {
            1 => (Some(most.times(-1)?.shifted(1 - gap)?), Some(least.times(-1)?.shifted(1 - gap)?), None, None),
            -1 => (None, None, Some(most.shifted(gap)?), Some(least.shifted(gap)?)),
            _ => return None,
        };
        let before = [(holds_before, true), (fails_before, false)];
        let from = [(holds_from, true), (fails_from, false)];
        let [first, end] = self.ends.clone();
        for (places, is_before) in [(before, true), (from, false)] {
            for (place, holds) in places {
                let Some(place) = place.filter(|place| self.fits(place, ranges)) else { continue };
                let left_out = if is_before { end.minus(&place)? } else { place.minus(&first)? };
                if self.is_border(&left_out) {
                    let places = if is_before { &mut self.found.to } else { &mut self.found.from };
                    if !places.contains(&place) {
                        places.push(place);
                    }
                    self.found.has_wide_borders |= left_out.as_constant().is_none();
                    self.found.known.push((condition, holds));
                    return Some(());
                }
            }
        }
        None
    }

    /// The least and the largest value of a form in all iterations of inner loops. At least one of them is in the form.
    fn extremes(&self, form: &Linear) -> Option<[Linear; 2]> {
        let mut extremes = [form.clone(), form.clone()];
        let mut varies = false;
        // Ranges of loops may depend on those around.
        for (x, [first, last]) in self.inner.iter().rev() {
            for (extreme, is_most) in extremes.iter_mut().zip([false, true]) {
                let k = extreme.coefficient(*x);
                if k != 0 {
                    varies = true;
                    *extreme = extreme.with(*x, if (k > 0) == is_most { last } else { first })?;
                }
            }
        }
        varies.then_some(extremes)
    }

    /// Returns whether a place can be computed before the loop.
    fn fits(&self, place: &Linear, ranges: &Ranges) -> bool {
        let fits =
            |(x, k): &(Local, i128)| !self.wanted.set.contains(x) && ranges.is_within(*x) && k.abs() <= LARGEST_FACTOR;
        place.terms().iter().all(fits) && place.at_zero().abs() < ASSUMED
    }

    /// Returns whether what is left out of a loop does not grow with it; of a loop of known length, whether it is less
    /// than half.
    fn is_border(&self, left_out: &Linear) -> bool {
        let Some(length) = self.ends[1].minus(&self.ends[0]) else { return false };
        match length.as_constant() {
            None => length.terms().iter().all(|(x, _)| left_out.coefficient(*x) == 0),
            Some(length) => left_out.at_zero() <= length / 2,
        }
    }
}

/// Returns whether a block reads from a buffer that it writes to.
fn reads_what_it_writes(block: &Block) -> bool {
    let [mut written, mut read] = [FxHashSet::default(), FxHashSet::default()];
    block.visit(&mut |stmt| match stmt {
        Stmt::Memory(Memory::Store(b, ..) | Memory::Add(b, ..)) => written.extend(b.local()),
        Stmt::Memory(Memory::Load(_, b, _)) => read.extend(b.local()),
        _ => {}
    });
    !written.is_disjoint(&read)
}
