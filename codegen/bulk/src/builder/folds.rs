//! Loops whose last state needs no loop.
//!
//! ```text
//! loop n s (λi s. s)                                             = s
//! loop n s (λi s. if a[i] > s then a[i] else s)                  = the larger of s and the largest of a; < the same
//! loop n (k, s) (λi (k, s). if a[i] > s then (i, a[i]) else ..)  = the first place of that, if it is larger than s
//! ```
//!
//! An element that is NaN is larger than nothing, and never chosen.

use super::Builder;
use crate::ir::{Block, Fun, Id, Op, Reduction};
use crate::rules::Rule;

/// How a step chooses an element of an array.
struct Choice {
    /// The array, and the axis along which the steps go.
    of: Id,
    axis: usize,
    /// `Gt` or `Lt`: an element is chosen that compares so with the state; `Gte` and `Lte` as well.
    fun: Fun,
    /// The number of the state that has the best element so far.
    state: usize,
}

/// Returns the comparison that says the same of two numbers the other way round, if it is one of order.
fn mirrored(fun: Fun) -> Option<Fun> {
    Some(match fun {
        Fun::Gt => Fun::Lt,
        Fun::Gte => Fun::Lte,
        Fun::Lt => Fun::Gt,
        Fun::Lte => Fun::Gte,
        _ => return None,
    })
}

impl Builder {
    /// Returns the last state of a loop with a number, if that needs no loop. The arguments are those of the loop.
    pub(super) fn state_without_loop(&mut self, block: &Block, k: usize, args: &[Id]) -> Option<Id> {
        let (state, next, start) = (block.parameters[1 + k], block.results[k], args[1 + k]);
        if next == state {
            self.by(Rule::LoopSame);
            return Some(start);
        }
        let node = self.node(next).clone();
        // Of equal elements, the largest does not say which one the step takes.
        if self.for_derivation || !matches!(node.op, Op::Each(Fun::Select)) || node.args[2] != state {
            return None;
        }
        let choice = self.choice(block, node.args[0], node.args[1], k)?;
        // The steps go over all of the array.
        if self.size(self.node(choice.of).dims[choice.axis]) != self.size(args[0]) {
            return None;
        }
        self.by(Rule::LoopBest);
        let (best, found) = self.best(&choice, args[1 + choice.state]);
        if choice.state == k {
            return Some(self.each(Fun::Select, &[found, best, start]));
        }
        // The first of equals is chosen by a strict comparison only.
        let element = self.without_nan(&choice);
        let place = self.reduce(Reduction::Argmax, element, choice.axis);
        matches!(choice.fun, Fun::Gt | Fun::Lt).then(|| self.each(Fun::Select, &[found, place, start]))
    }

    /// Returns how a step chooses x, or its own number, where a condition holds; `state` has it then.
    fn choice(&self, block: &Block, condition: Id, x: Id, state: usize) -> Option<Choice> {
        let i = block.parameters[0];
        let Op::Each(fun) = self.node(condition).op else { return None };
        let [left, right] = self.node(condition).args[..] else { return None };
        // `best < x` says the same as `x > best`.
        let other_way = mirrored(fun)?;
        let (element, other, fun) =
            if block.parameters.contains(&left) { (right, left, other_way) } else { (left, right, fun) };
        let Op::At(axis) = self.node(element).op else { return None };
        let [of, place] = self.node(element).args[..] else { return None };
        let best = block.parameters[1..].iter().position(|&parameter| parameter == other)?;
        // The condition looks at a state that takes the element where it holds.
        let next = self.node(block.results[best]);
        let takes = matches!(next.op, Op::Each(Fun::Select)) && next.args == [condition, element, other];
        let is_number = |id: Id| match self.node(id).op {
            Op::Spread(_) => self.node(id).args[0] == i,
            _ => id == i,
        };
        let gives = if best == state { x == element } else { is_number(x) };
        let is_float = self.node(of).scalar == crate::ir::Scalar::Float;
        (takes && gives && is_float && place == i && !self.is_within(of)).then_some(Choice {
            of,
            axis,
            fun,
            state: best,
        })
    }

    /// Returns the largest element, or the smallest, and whether it is better than what the loop starts with.
    fn best(&mut self, choice: &Choice, start: Id) -> (Id, Id) {
        let element = self.without_nan(choice);
        let mut best = self.reduce(Reduction::Largest, element, choice.axis);
        if matches!(choice.fun, Fun::Lt | Fun::Lte) {
            best = self.each(Fun::Neg, &[best]);
        }
        (best, self.each(choice.fun, &[best, start]))
    }

    /// Returns the elements so that the largest is best, and NaN is the worst.
    fn without_nan(&mut self, choice: &Choice) -> Id {
        let mut element = choice.of;
        if matches!(choice.fun, Fun::Lt | Fun::Lte) {
            element = self.each(Fun::Neg, &[element]);
        }
        let (dims, least) = (self.dims(element), self.float(f64::NEG_INFINITY));
        let (least, is_number) = (self.spread(least, &[], &dims), self.each(Fun::Eq, &[element, element]));
        self.each(Fun::Select, &[is_number, element, least])
    }
}
