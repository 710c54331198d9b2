//! Tells whether conditions hold, and learns from those that do.
//!
//! ```text
//! goals      le.i a b: a - b        lt.i a b: a - b + 1        eq.i a b: a - b, b - a        and: those of both
//! holds      where none of the goals can be positive
//! ```

use super::facts::{AskKind, Assumed};
use super::linear::{Linear, difference};
use super::{CASES, Ranges};
use crate::ir::{Local, Op, Operand};

/// How many connectives a condition may be made of, one in the other.
const CONNECTIVES: usize = 3;

impl Ranges {
    /// Returns whether a condition is known to hold, or not to.
    pub fn known(&mut self, condition: &Operand) -> Option<bool> {
        self.known_within(condition, CONNECTIVES)
    }

    fn known_within(&mut self, condition: &Operand, depth: usize) -> Option<bool> {
        match condition {
            Operand::Bool(known) => Some(*known),
            condition if self.holds(condition, depth) => Some(true),
            condition if self.fails(condition, depth) => Some(false),
            _ => None,
        }
    }

    /// Forms that are enough for a condition, over locals that are not new: it holds where, for each goal, one of the
    /// forms is not positive and its assumptions hold. None where there is no such condition.
    pub fn residuals(
        &mut self,
        condition: &Operand,
        is_new: &dyn Fn(Local) -> bool,
    ) -> Option<Vec<Vec<(Linear, Assumed)>>> {
        let mut goals = Vec::new();
        self.goals(condition, &mut goals).then_some(())?;
        let open: Vec<Linear> = goals.into_iter().filter(|goal| !self.not_positive(goal, CASES)).collect();
        let kind = |x: Local| match (is_new(x), self.locals.get(x.0 as usize)) {
            (false, _) => AskKind::Old,
            (true, Some([_, true])) => AskKind::Fixed,
            (true, _) => AskKind::New,
        };
        let residuals = |goal: &Linear| Some(self.facts.residuals(goal, &kind)).filter(|found| !found.is_empty());
        open.iter().map(residuals).collect()
    }

    /// The condition holds, or does not, from here on in this block.
    pub fn learn(&mut self, condition: &Operand, holds: bool) {
        let Some((op, args)) = condition.local().and_then(|x| self.conditions.get(&x).cloned()) else { return };
        let args: Vec<&Operand> = args.iter().collect();
        match (op, holds, &args[..]) {
            (Op::And, true, both) | (Op::Or, false, both) => both.iter().for_each(|a| self.learn(a, holds)),
            (Op::Not, _, [a]) => self.learn(a, !holds),
            (Op::Likely, _, [a]) => self.learn(a, holds),
            (Op::LeI, true, [a, b]) | (Op::LtI, false, [b, a]) => self.order(a, b, 0),
            (Op::LtI, true, [a, b]) | (Op::LeI, false, [b, a]) => self.order(a, b, 1),
            (Op::EqI, true, [a, b]) => {
                self.form(a).minus(&self.form(b)).iter().for_each(|difference| self.facts.add_zero(difference));
            }
            (Op::EqI, false, [a, b]) => {
                for (a, b) in [(a, b), (b, a)] {
                    if self.ordered(a, b, 0, CASES) {
                        self.order(a, b, 1);
                    }
                }
            }
            (Op::Below, true, [a, n]) if self.ordered(&Operand::Integer(0), n, 0, CASES) => {
                self.order(&Operand::Integer(0), a, 0);
                self.order(a, n, 1);
            }
            _ => {}
        }
    }

    /// Of a comparison, the operation (`eq.i`, `le.i` or `lt.i`) and the difference of its operands.
    pub fn comparison(&self, condition: Local) -> Option<(Op, Linear)> {
        let (op, args) = self.conditions.get(&condition)?;
        let difference = || self.form(&args[0]).minus(&self.form(&args[1]));
        if let Op::EqI | Op::LeI | Op::LtI = op { Some((*op, difference()?)) } else { None }
    }

    /// The same, of the operands as they are, not as what they were computed from.
    pub fn comparison_of_locals(&self, condition: Local) -> Option<(Op, Linear)> {
        let (op, args) = self.conditions.get(&condition)?;
        let as_is = |a: &Operand| a.local().map_or_else(|| self.form(a), Linear::local);
        if let Op::EqI | Op::LeI | Op::LtI = op { Some((*op, as_is(&args[0]).minus(&as_is(&args[1]))?)) } else { None }
    }

    /// Forms that are not positive where the condition holds, and only there; false where there are none such.
    fn goals(&self, condition: &Operand, out: &mut Vec<Linear>) -> bool {
        if let Operand::Bool(known) = condition {
            return *known;
        }
        let Some((op, args)) = condition.local().and_then(|x| self.conditions.get(&x)) else { return false };
        let mut want = |a: &Operand, b: &Operand, gap| {
            let form = difference(self.form(a), self.form(b), gap);
            let found = form.is_some();
            out.extend(form);
            found
        };
        match (op, &args[..]) {
            (Op::LeI, [a, b]) => want(a, b, 0),
            (Op::LtI, [a, b]) => want(a, b, 1),
            (Op::EqI, [a, b]) => want(a, b, 0) && want(b, a, 0),
            // Where 0 <= a < n, n is not negative.
            (Op::Below, [a, n]) => want(&Operand::Integer(0), a, 0) && want(a, n, 1),
            (Op::And, [a, b]) => self.goals(a, out) && self.goals(b, out),
            _ => false,
        }
    }

    fn holds(&mut self, condition: &Operand, depth: usize) -> bool {
        let mut goals = Vec::new();
        if self.goals(condition, &mut goals) {
            return goals.iter().all(|goal| self.not_positive(goal, CASES));
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        match condition.local().and_then(|x| self.conditions.get(&x).cloned()) {
            Some((Op::Not, args)) => self.known_within(&args[0], depth) == Some(false),
            Some((Op::Or, args)) => args.iter().any(|a| self.known_within(a, depth) == Some(true)),
            Some((Op::And, args)) => args.iter().all(|a| self.known_within(a, depth) == Some(true)),
            _ => false,
        }
    }

    fn fails(&mut self, condition: &Operand, depth: usize) -> bool {
        let Some((op, args)) = condition.local().and_then(|x| self.conditions.get(&x).cloned()) else { return false };
        let mut known = |a: &Operand| depth.checked_sub(1).and_then(|depth| self.known_within(a, depth));
        match (op, &args[..]) {
            (Op::Not, [a]) => known(a) == Some(true),
            (Op::And, args) => args.iter().any(|a| known(a) == Some(false)),
            (Op::Or, args) => args.iter().all(|a| known(a) == Some(false)),
            (Op::LeI, [a, b]) => self.ordered(b, a, 1, CASES),
            (Op::LtI, [a, b]) => self.ordered(b, a, 0, CASES),
            (Op::EqI, [a, b]) => self.ordered(a, b, 1, CASES) || self.ordered(b, a, 1, CASES),
            _ => false,
        }
    }
}
