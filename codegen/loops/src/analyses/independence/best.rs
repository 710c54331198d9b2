//! Finds the largest and smallest elements that a loop carries, and the values chosen with them.
//!
//! ```text
//! c = y < x;  y', p', .. = if c { x, q, .. } else { y, p, .. }
//! y' = max x y
//! ```
//!
//! y is the best so far, x the element of the iteration, p and q what goes with them: a place, a tangent. Neither x nor
//! q may depend on what the loop carries of these, and nothing else may look at it. Then the best of all iterations is
//! the best of the bests of any groups of them, whatever group each is in, if
//!
//! ```text
//! elements are ordered      no x is NaN. Where a NaN is not taken it takes part in nothing; where it is taken,
//!                           as by `if y >= x { y } else { x }`, all before it is forgotten: see `prepare`
//! equals are told apart     by the place where each was found: the first one stays (x > y), or the last one is taken
//!                           (x >= y).
//!                           Equal Floats may differ, too: 0 and -0
//! ```
//!
//! Each group starts from the y and p that the loop starts from, which are before all places. So nothing has to be
//! known of them: what is taken is better, or as good and later, wherever it is compared.

use crate::ir::{Block, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use std::collections::BTreeSet;

/// The rule by which an element replaces the best one so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// If it is larger, not smaller.
    pub larger: bool,
    /// If it is equal, too: the last of equals is the best, not the first.
    pub last: bool,
    /// If one of the two is NaN, too.
    pub nan: bool,
}

/// A largest or smallest element that a loop carries. Carried values are told by their numbers in order.
#[derive(Clone, Debug)]
pub struct Best {
    /// The element.
    pub value: usize,
    /// The other carried values that are chosen with the best.
    pub followers: Vec<usize>,
    /// The follower that is the index of the best. It orders equal elements.
    pub place: Option<usize>,
    /// The rule by which an element replaces the best.
    pub taken: Taken,
    /// The element that each iteration compares with the best.
    pub element: Operand,
}

impl Taken {
    fn from_comparison(op: Op, best_is_first: bool, negated: bool) -> Option<Taken> {
        let (last, is_float) = match op {
            Op::LtF => (false, true),
            Op::LeF => (true, true),
            Op::LtI => (false, false),
            Op::LeI => (true, false),
            _ => return None,
        };
        Some(Taken { larger: best_is_first != negated, last: last != negated, nan: negated && is_float })
    }

    /// Returns the comparison that says so of numbers.
    pub fn comparison(self, scalar: Scalar, best: Operand, element: Operand) -> (Op, Vec<Operand>) {
        let op = match (scalar, self.last) {
            (Scalar::Float, false) => Op::LtF,
            (Scalar::Float, true) => Op::LeF,
            (_, false) => Op::LtI,
            (_, true) => Op::LeI,
        };
        (op, if self.larger { vec![best, element] } else { vec![element, best] })
    }
}

impl Best {
    /// Returns all that is carried of it.
    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        [self.value].into_iter().chain(self.followers.iter().copied())
    }

    /// Returns whether it is compared as numbers are, and equals can be told apart where they have to.
    pub fn is_ready(&self, locals: &[LocalInfo], looped: &For) -> bool {
        !self.taken.nan && !self.lacks_place(locals, looped)
    }

    pub(super) fn lacks_place(&self, locals: &[LocalInfo], looped: &For) -> bool {
        // Equal Integers without anything that goes with them are the same.
        let matters = scalar(locals, looped, self.value) == Some(Scalar::Float) || !self.followers.is_empty();
        self.place.is_none() && matters
    }
}

/// Returns the type of a carried value.
fn scalar(locals: &[LocalInfo], looped: &For, carried: usize) -> Option<Scalar> {
    locals[looped.carried[carried].0.0 as usize].ty.as_scalar()
}

/// Returns the bests that a loop carries, in the order of their elements.
pub fn bests(locals: &[LocalInfo], looped: &For) -> Vec<Best> {
    let choices: Vec<Option<ChosenFrom>> =
        (0..looped.carried.len()).map(|i| ChosenFrom::find(locals, looped, i)).collect();
    let each = choices.iter().enumerate().filter_map(|(i, choice)| Some((i, choice.as_ref()?)));
    let found =
        each.filter(|(i, choice)| choice.best == *i && choice.chosen.same(&choice.element)).map(|(value, own)| {
            let goes_with = |(i, choice): (usize, &Option<ChosenFrom>)| {
                let choice = choice.as_ref().filter(|choice| i != value && choice.best == value)?;
                (choice.taken == own.taken && choice.element.same(&own.element)).then_some(i)
            };
            let followers: Vec<usize> = choices.iter().enumerate().filter_map(goes_with).collect();
            let is_place = |i: &&usize| {
                let chosen = choices[**i].as_ref().and_then(|choice| choice.chosen.local());
                // The first of equals is better than what the loop starts from.
                chosen == Some(looped.index) && (!own.taken.last || is_before_all(&looped.carried[**i].1))
            };
            let place = followers.iter().find(is_place).copied();
            Best { value, place, followers, taken: own.taken, element: own.element.clone() }
        });
    let chosen = |i: usize| &choices[i].as_ref().expect("all that is carried of a best is chosen").chosen;
    let is_best = |best: &Best| {
        let chosen: Vec<&Operand> = best.members().map(chosen).collect();
        is_apart(looped, best, &chosen) && (!best.taken.nan || is_repeatable(&looped.body, true))
    };
    found.filter(is_best).collect()
}

/// The place of what a loop starts from.
pub(super) const BEFORE_ALL: Operand = Operand::Integer(i64::MIN);

fn is_before_all(a: &Operand) -> bool {
    a.same(&BEFORE_ALL)
}

/// The operands that a carried value is chosen from.
struct ChosenFrom {
    /// The carried value that is compared.
    best: usize,
    /// The element that the best is compared with.
    element: Operand,
    taken: Taken,
    /// The new value if the element is taken. Otherwise the carried value stays.
    chosen: Operand,
}

impl ChosenFrom {
    fn find(locals: &[LocalInfo], looped: &For, carried: usize) -> Option<ChosenFrom> {
        let (y, next) = (looped.carried[carried].0, looped.body.results[carried].local()?);
        matches!(scalar(locals, looped, carried)?, Scalar::Float | Scalar::Integer | Scalar::Bool).then_some(())?;
        match definition(&looped.body, next)? {
            Stmt::Let(_, op @ (Op::MaxF | Op::MinF), args) => {
                let is_first = args[0].local() == Some(y);
                let element = args[usize::from(is_first)].clone();
                (is_first || args[1].local() == Some(y)).then_some(())?;
                // The first operand stays where it is as good.
                let taken = Taken { larger: *op == Op::MaxF, last: !is_first, nan: is_first };
                Some(ChosenFrom { best: carried, chosen: element.clone(), element, taken })
            }
            Stmt::If(xs, condition, then, other) => {
                let i = xs.iter().position(|x| *x == next)?;
                let [then, other] = [then, other].map(|arm| &arm.results[i]);
                let negated = then.local() == Some(y);
                let chosen = if negated { other } else { then }.clone();
                (negated != (other.local() == Some(y))).then_some(())?;
                let (best, element, taken) = compared(looped, condition.local()?, negated)?;
                Some(ChosenFrom { best, element, taken, chosen })
            }
            _ => None,
        }
    }
}

/// Returns what a condition compares: a carried value with what, and when that is taken, or is not.
fn compared(looped: &For, condition: Local, negated: bool) -> Option<(usize, Operand, Taken)> {
    let Stmt::Let(_, op, args) = definition(&looped.body, condition)? else { return None };
    if *op == Op::Not {
        return compared(looped, args[0].local()?, !negated);
    }
    let changes = |a: &Operand| {
        let i = looped.carried.iter().position(|(y, _)| a.local() == Some(*y))?;
        (!looped.body.results[i].same(a)).then_some(i)
    };
    let [a, b] = args.as_slice() else { return None };
    let (best, element, is_first) = match (changes(a), changes(b)) {
        (Some(best), None) => (best, b, true),
        (None, Some(best)) => (best, a, false),
        _ => return None,
    };
    Some((best, element.clone(), Taken::from_comparison(*op, is_first, negated)?))
}

fn definition(block: &Block, x: Local) -> Option<&Stmt> {
    block.stmts.iter().find(|stmt| stmt.targets().contains(&x))
}

/// Returns whether nothing in a loop depends on a best but its own next values.
fn is_apart(looped: &For, best: &Best, chosen: &[&Operand]) -> bool {
    let body = &looped.body;
    let next: BTreeSet<Local> = best.members().filter_map(|i| body.results[i].local()).collect();
    let mut own: BTreeSet<Local> = best.members().map(|i| looped.carried[i].0).chain(next.iter().copied()).collect();
    let conditions = conditions(body, &next);
    own.extend(&conditions);
    let uses_own = |a: &Operand| a.local().is_some_and(|x| own.contains(&x));
    let others = body.results.iter().enumerate().filter(|(i, _)| !best.members().any(|member| member == *i));
    let mut rest = body.stmts.iter().filter(|stmt| !stmt.targets().iter().any(|x| conditions.contains(x)));
    let mut given = others.map(|(_, a)| a).chain(chosen.iter().copied()).chain([&best.element]);
    !given.any(uses_own)
        && rest.all(|stmt| match stmt {
            stmt if !stmt.targets().iter().any(|x| next.contains(x)) => !mentions(stmt, &own),
            Stmt::If(xs, _, then, other) => {
                let arms = [then, other];
                xs.iter().all(|x| next.contains(x))
                    && arms.into_iter().all(|arm| is_repeatable(arm, false))
                    && !arms.into_iter().flat_map(|arm| &arm.stmts).any(|stmt| mentions(stmt, &own))
            }
            // `max` and `min`.
            _ => true,
        })
}

/// Returns the conditions of what is chosen, which nothing but comparisons give.
pub(super) fn conditions(body: &Block, next: &BTreeSet<Local>) -> BTreeSet<Local> {
    let asked = |stmt: &Stmt| match stmt {
        Stmt::If(xs, condition, ..) if xs.iter().any(|x| next.contains(x)) => condition.local(),
        _ => None,
    };
    let mut found: BTreeSet<Local> = body.stmts.iter().filter_map(asked).collect();
    for stmt in body.stmts.iter().rev() {
        if let Stmt::Let(x, Op::Not, args) = stmt
            && found.contains(x)
        {
            found.extend(args[0].local());
        }
    }
    found
}

fn mentions(stmt: &Stmt, locals: &BTreeSet<Local>) -> bool {
    let is_one = |a: &Operand| a.local().is_some_and(|x| locals.contains(&x));
    let inside =
        |block: &Block| block.results.iter().any(is_one) || block.stmts.iter().any(|stmt| mentions(stmt, locals));
    stmt.operands().into_iter().any(is_one) || stmt.blocks().any(inside)
}

/// Returns whether a block does nothing that matters if it is done once more: but for errors, if these may be.
fn is_repeatable(block: &Block, checks: bool) -> bool {
    let mut repeatable = true;
    block.visit(&mut |stmt| {
        repeatable &= match stmt {
            Stmt::Let(..) | Stmt::If(..) => true,
            Stmt::For(looped) => !looped.on_threads,
            Stmt::Check { .. } => checks,
            Stmt::Memory(Memory::Load(..) | Memory::View(..) | Memory::Cast(..)) => true,
            Stmt::Memory(_) | Stmt::Call(..) | Stmt::Bench { .. } | Stmt::External { .. } | Stmt::Write(_) => false,
        };
    });
    repeatable
}
