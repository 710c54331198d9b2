//! Finds the comparisons by which a loop can be split.

use super::{LARGEST_FACTOR, is_idle_elsewhere};
use crate::analyses::ranges::{ASSUMED, Linear, Ranges};
use crate::ir::{Block, For, Local, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// A comparison, and where in the loop it changes.
pub(super) struct Turn {
    pub(super) condition: Local,
    /// Other comparisons that hold where the first does, or where it does not.
    pub(super) others: Vec<(Local, bool)>,
    /// The first index from which on it is otherwise; for `eq.i` the only one where it holds. It fits.
    pub(super) place: Linear,
    pub(super) kind: SplitKind,
    /// Whether the place may be any Integer: it is a local then.
    pub(super) is_anywhere: bool,
    /// The place itself, where it is a local: what is done there is done at a place of that name.
    pub(super) local: Option<Local>,
}

impl Turn {
    /// Returns whether a comparison holds wherever the other one does, and only there, or wherever it does not.
    fn as_often_as(&self, other: &Turn) -> Option<bool> {
        let is_same = self.place == other.place && self.is_anywhere == other.is_anywhere;
        match (self.kind, other.kind) {
            _ if !is_same => None,
            (kind, of_other) if kind == of_other => Some(true),
            (SplitKind::Before, SplitKind::From) | (SplitKind::From, SplitKind::Before) => Some(false),
            _ => None,
        }
    }

    /// What is known where the comparison holds, or where it does not.
    pub(super) fn known(&self, holds: bool) -> impl Iterator<Item = (Local, bool)> {
        let others = self.others.iter().map(move |(x, same)| (*x, *same == holds));
        [(self.condition, holds)].into_iter().chain(others)
    }

    /// Returns whether the loop does something at that index only.
    pub(super) fn is_picked(&self, looped: &For) -> bool {
        self.kind == SplitKind::At && is_idle_elsewhere(looped)
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum SplitKind {
    /// Holds before the place.
    Before,
    /// Holds from the place on.
    From,
    /// Holds at the place only.
    At,
}

/// Returns the first comparison in a loop by which it can be split.
pub(super) fn turn(stmt: &Stmt, looped: &For, ranges: &mut Ranges) -> Option<Turn> {
    let wanted = asked_in(stmt, looped)?;
    let mark = ranges.mark();
    ranges.enter(stmt, 0);
    let mut found: Option<Turn> = None;
    turns_in(&looped.body, &wanted, ranges, &mut |turn| match &mut found {
        None => found = Some(turn),
        Some(first) => first.others.extend(turn.as_often_as(first).map(|holds| (turn.condition, holds))),
    });
    ranges.back_to(mark);
    found
}

/// Returns what is looked for in a loop, if there may be something.
pub(super) fn asked_in(stmt: &Stmt, looped: &For) -> Option<SplitCondition> {
    let asked = asked(&looped.body);
    if asked.is_empty() || looped.from.same(&looped.to) {
        return None;
    }
    let mut set: FxHashSet<Local> = stmt.bound().into_iter().collect();
    looped.body.visit(&mut |stmt| set.extend(stmt.targets().into_iter().chain(stmt.bound())));
    Some(SplitCondition { asked, set, index: looped.index })
}

pub(super) struct SplitCondition {
    /// The conditions of conditionals.
    pub(super) asked: FxHashSet<Local>,
    /// The locals that the loop sets.
    pub(super) set: FxHashSet<Local>,
    pub(super) index: Local,
}

fn turns_in(block: &Block, wanted: &SplitCondition, ranges: &mut Ranges, see: &mut impl FnMut(Turn)) {
    for stmt in &block.stmts {
        for (i, inner) in stmt.blocks().enumerate() {
            let mark = ranges.mark();
            ranges.enter(stmt, i);
            turns_in(inner, wanted, ranges, see);
            ranges.back_to(mark);
        }
        ranges.learn_from(stmt);
        match stmt {
            Stmt::Let(x, ..) if wanted.asked.contains(x) && ranges.known(&Operand::Local(*x)).is_none() => {
                turn_of(*x, wanted, ranges).into_iter().for_each(&mut *see);
            }
            _ => {}
        }
    }
}

/// Returns where a comparison changes: it is linear in the index, and else in what does not change. What it is compared
/// with may be known better than the locals that it was computed from.
fn turn_of(condition: Local, wanted: &SplitCondition, ranges: &Ranges) -> Option<Turn> {
    let (op, difference) = ranges.comparison(condition)?;
    let is_moderate = |x: Local| ranges.is_within(x);
    let local = local_place(condition, wanted, ranges);
    let turn = turn_at(condition, op, &difference, wanted, &is_moderate).or_else(|| {
        let (op, difference) = ranges.comparison_of_locals(condition)?;
        turn_at(condition, op, &difference, wanted, &|x| ranges.has_value_within(x)).or_else(|| {
            let place = Linear::local(local?);
            Some(Turn { condition, others: vec![], place, kind: SplitKind::At, is_anywhere: true, local })
        })
    })?;
    Some(Turn { local, ..turn })
}

/// Returns what the index is compared with, where it is a local that the loop does not change.
fn local_place(condition: Local, wanted: &SplitCondition, ranges: &Ranges) -> Option<Local> {
    let (op, difference) = ranges.comparison_of_locals(condition)?;
    let turn = turn_at(condition, op, &difference, wanted, &|_| true)?;
    let mut terms = turn.place.terms().iter();
    match (turn.kind, terms.next(), terms.next()) {
        (SplitKind::At, Some((x, 1)), None) if turn.place.at_zero() == 0 => Some(*x),
        _ => None,
    }
}

/// Returns where the difference of what is compared changes its sign.
fn turn_at(
    condition: Local,
    op: Op,
    difference: &Linear,
    wanted: &SplitCondition,
    is_moderate: &dyn Fn(Local) -> bool,
) -> Option<Turn> {
    let k = difference.coefficient(wanted.index);
    // With k = 1, index + rest <= -gap; with k = -1, rest + gap <= index.
    let rest = difference.minus(&Linear::local(wanted.index).times(k)?)?;
    let gap = i128::from(op == Op::LtI);
    let (place, kind) = match (op, k) {
        (Op::EqI, 1) => (rest.times(-1)?, SplitKind::At),
        (Op::EqI, -1) => (rest, SplitKind::At),
        (_, 1) => (rest.times(-1)?.shifted(1 - gap)?, SplitKind::Before),
        (_, -1) => (rest.shifted(gap)?, SplitKind::From),
        _ => return None,
    };
    let fits = |(x, k): &(Local, i128)| !wanted.set.contains(x) && is_moderate(*x) && k.abs() <= LARGEST_FACTOR;
    let fits = place.terms().iter().all(fits) && place.at_zero().abs() < ASSUMED;
    fits.then_some(Turn { condition, others: vec![], place, kind, is_anywhere: false, local: None })
}

/// Returns the comparisons that conditionals ask for, alone or with others.
fn asked(body: &Block) -> FxHashSet<Local> {
    let mut asked = FxHashSet::default();
    let mut parts: FxHashMap<Local, Vec<Local>> = FxHashMap::default();
    body.visit(&mut |stmt| match stmt {
        Stmt::If(xs, condition, then, other) => {
            asked.extend(condition.local().filter(|_| !gives_zeros(then) || !gives_zeros(other)));
            for (x, results) in xs.iter().zip(then.results.iter().zip(&other.results)) {
                parts.insert(*x, [results.0, results.1].into_iter().filter_map(Operand::local).collect());
            }
        }
        Stmt::Let(x, Op::And | Op::Or | Op::Not, args) => {
            parts.insert(*x, args.iter().filter_map(Operand::local).collect());
        }
        _ => {}
    });
    let mut waiting: Vec<Local> = asked.iter().copied().collect();
    while let Some(x) = waiting.pop() {
        let new = parts.get(&x).into_iter().flatten().filter(|part| asked.insert(**part));
        waiting.extend(new);
    }
    asked
}

/// Returns whether a block is zeros, with any signs.
fn gives_zeros(block: &Block) -> bool {
    block.stmts.is_empty() && block.results.iter().all(|a| matches!(a, Operand::Float(0.0)))
}
