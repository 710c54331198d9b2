//! Splits a loop with a conditional on its index into loops over ranges in which the condition is known.
//!
//! ```text
//! for i in a..b { .. if i < k .. }     =   for i in a..p { .. if true .. }; for i in p..b { .. if false .. }
//! for i in a..b { .. if i == k .. }    =   for i in a..p { false }; for i in p..q { true }; for i in q..b { false }
//! ```
//!
//! p is k, and q is k + 1, put between a and b. k does not change in the loop; it is linear in Integers from outside
//! that are known to be moderate, such as sizes. What is carried goes from loop to loop. Conditionals on
//! what follows from the condition are left to `gvn`.
//!
//! Iterations that do nothing but in arms of conditionals, and pass on what they carry, are left out. Then k may be any
//! Integer, and one iteration is a conditional:
//!
//! ```text
//! for i in a..b { if i == k { s } else if i == l { t } }
//!   =  for i in a..p { if i == l { t } }; if a <= k and k < b { s[i := k] }; for i in q..b { if i == l { t } }
//! ```
//!
//! The loops for l become conditionals in the same way.
//!
//! A loop that runs once at most is not split.
//!
//! Conditions of inner loops that change with both indices are known in the interior of a loop (`interior`):
//!
//! ```text
//! for i in a..b { .. }   =   for i in a..p { .. }; for i in p..q { .. known .. }; for i in q..b { .. }
//! ```
//!
//! A comparison counts if a conditional asks for it, alone or with `and`, `or` and `not`, however deep in the loop. It
//! does not count if it only chooses the sign of a zero, for nothing could be dropped then.

mod interior;

use super::pass::FunctionCx;
use crate::analyses::ranges::{ASSUMED, Linear, Ranges};
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use interior::{Interior, interior};
use rustc_hash::{FxHashMap, FxHashSet};

/// A loop is split so often, the parts included.
const MOST_SPLITS: usize = 3;

/// The largest factor in the position of a split, so that a form of a few terms fits into 64 bits.
const LARGEST_FACTOR: i128 = 1 << 16;

/// All parts of a loop have so many statements at most.
const MOST_STATEMENTS: usize = 300;

pub(super) fn run(cx: &mut FunctionCx) {
    cx.rewrite(|body, function| {
        let mut ranges = Ranges::new(function);
        Splitter { locals: &mut function.locals }.split_in_block(body, &mut ranges);
    });
}

/// A comparison, and where in the loop it changes.
struct Turn {
    condition: Local,
    /// The first index from which on it is otherwise; for `eq.i` the only one where it holds. It fits.
    place: Linear,
    kind: SplitKind,
    /// The place itself, where it may be any Integer.
    anywhere: Option<Local>,
}

impl Turn {
    /// Returns whether the loop does something at that index only.
    fn is_picked(&self, looped: &For) -> bool {
        self.kind == SplitKind::At && is_idle_elsewhere(looped)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum SplitKind {
    /// Holds before the place.
    Before,
    /// Holds from the place on.
    From,
    /// Holds at the place only.
    At,
}

struct Splitter<'a> {
    locals: &'a mut Vec<LocalInfo>,
}

impl Splitter<'_> {
    fn split_in_block(&mut self, block: &mut Block, ranges: &mut Ranges) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for stmt in std::mem::take(&mut block.stmts) {
            self.split_in_stmt(stmt, ranges, MOST_SPLITS, MOST_STATEMENTS, &mut out);
        }
        block.stmts = out;
    }

    fn split_in_stmt(
        &mut self,
        mut stmt: Stmt,
        ranges: &mut Ranges,
        splits: usize,
        budget: usize,
        out: &mut Vec<Stmt>,
    ) {
        ranges.know(self.locals);
        if let Some(splits) = splits.checked_sub(1)
            && let Stmt::For(looped) = &stmt
            && let Some(turn) = turn(&stmt, looped, ranges)
            && (turn.is_picked(looped) || !runs_once(looped, ranges))
            && (turn.anywhere.is_none() || turn.is_picked(looped))
            && budget >= statements_after(looped, &turn, ranges)
        {
            let parts = match turn.is_picked(looped) {
                true => self.pick(looped, &turn, ranges, out),
                false => self.split_loop(looped, &turn, ranges, out),
            };
            let budget = budget / parts.len();
            parts.into_iter().for_each(|part| self.split_in_stmt(part, ranges, splits, budget, out));
            return;
        }
        if let Stmt::For(looped) = &stmt
            && budget >= 3 * looped.body.len()
            && let Some(interior) = interior(&stmt, looped, ranges)
        {
            let [before, mut inside, behind] = self.split_borders(looped, &interior, ranges, out);
            ranges.emit(before, self.locals, out);
            self.split_inside(&mut inside, ranges);
            ranges.emit(inside, self.locals, out);
            return ranges.emit(behind, self.locals, out);
        }
        self.split_inside(&mut stmt, ranges);
        ranges.emit(stmt, self.locals, out);
    }

    fn split_inside(&mut self, stmt: &mut Stmt, ranges: &mut Ranges) {
        for i in 0..stmt.blocks().count() {
            let mark = ranges.mark();
            ranges.know(self.locals);
            ranges.enter(stmt, i);
            self.split_in_block(stmt.block_mut(i), ranges);
            ranges.back_to(mark);
        }
    }

    /// The loops before, in and behind the interior of a loop.
    fn split_borders(
        &mut self,
        looped: &For,
        interior: &Interior,
        ranges: &mut Ranges,
        out: &mut Vec<Stmt>,
    ) -> [Stmt; 3] {
        let (a, b) = (&looped.from, &looped.to);
        let mut first = a.clone();
        for place in &interior.from {
            let place = ranges.compute(place, self.locals, out);
            first = self.choice([&first, &place], [&place, &first], ranges, out);
        }
        first = self.choice([&first, b], [&first, b], ranges, out);
        let mut end = b.clone();
        for place in &interior.to {
            let place = ranges.compute(place, self.locals, out);
            end = self.choice([&place, &end], [&place, &end], ranges, out);
        }
        end = self.choice([&first, &end], [&end, &first], ranges, out);
        let mut inside = For { from: first.clone(), to: end.clone(), ..looped.clone() };
        interior.known.iter().for_each(|(condition, holds)| with_condition(&mut inside.body, *condition, *holds));
        let before = For { to: first, ..looped.clone() };
        let behind = For { from: end, ..looped.clone() };
        let mut carried: Vec<Operand> = looped.carried.iter().map(|(_, init)| init.clone()).collect();
        [(before, false), (inside, false), (behind, true)].map(|(mut part, is_last)| {
            part.carried.iter_mut().zip(&carried).for_each(|((_, init), a)| *init = a.clone());
            let part = self.copy_loop(part, is_last);
            carried = part.results.iter().map(|x| Operand::Local(*x)).collect();
            Stmt::For(Box::new(part))
        })
    }

    /// The loops that a loop becomes, at a place that fits.
    fn split_loop(&mut self, looped: &For, turn: &Turn, ranges: &mut Ranges, out: &mut Vec<Stmt>) -> Vec<Stmt> {
        let (a, b) = (&looped.from, &looped.to);
        let p = self.between(turn, 0, [a, b], ranges, out);
        let mut ends = vec![(p.clone(), turn.kind == SplitKind::Before)];
        if turn.kind == SplitKind::At {
            ends.push((self.between(turn, 1, [&p, b], ranges, out), true));
        }
        ends.push((b.clone(), turn.kind == SplitKind::From));
        let mut from = a.clone();
        ends.retain(|(to, _)| !std::mem::replace(&mut from, to.clone()).same(to));
        let mut from = a.clone();
        let mut carried: Vec<Operand> = looped.carried.iter().map(|(_, init)| init.clone()).collect();
        let last = ends.len() - 1;
        let part = |(i, (to, holds)): (usize, (Operand, bool))| {
            let mut part = For { to: to.clone(), ..looped.clone() };
            part.from = std::mem::replace(&mut from, to);
            part.carried.iter_mut().zip(&carried).for_each(|((_, init), a)| *init = a.clone());
            with_condition(&mut part.body, turn.condition, holds);
            let part = self.copy_loop(part, i == last);
            carried = part.results.iter().map(|x| Operand::Local(*x)).collect();
            Stmt::For(Box::new(part))
        };
        ends.into_iter().enumerate().map(part).collect()
    }

    /// What becomes of a loop whose iterations do nothing elsewhere: the one at the place, as a conditional, between the
    /// loops for what other conditionals ask for.
    fn pick(&mut self, looped: &For, turn: &Turn, ranges: &mut Ranges, out: &mut Vec<Stmt>) -> Vec<Stmt> {
        let (a, b) = (&looped.from, &looped.to);
        let place = match turn.anywhere {
            None => ranges.compute(&turn.place, self.locals, out),
            Some(x) => Operand::Local(x),
        };
        let [not_before, not_after] = [(Op::LeI, [a, &place]), (Op::LtI, [&place, b])]
            .map(|(op, args)| ranges.op(op, args.map(Clone::clone), self.locals, out));
        let is_index = ranges.op(Op::And, [not_before, not_after], self.locals, out);
        let carried: Vec<Operand> = looped.carried.iter().map(|(_, init)| init.clone()).collect();
        if asks_only(&looped.body, turn.condition) {
            return vec![self.iteration(looped, turn.condition, is_index, place, carried, true)];
        }
        let p = self.index_or_end(&place, [a, b], ranges, out);
        let next = ranges.op(Op::AddI, [p.clone(), Operand::Integer(1)], self.locals, out);
        let q = self.choice([&next, b], [&next, b], ranges, out);
        let before = self.rest(looped, turn.condition, [a, &p], carried, false);
        let one = self.iteration(looped, turn.condition, is_index, place, results(&before), false);
        let after = self.rest(looped, turn.condition, [&q, b], results(&one), true);
        vec![before, one, after]
    }

    /// An iteration where the condition holds, if it is one of the loop.
    fn iteration(
        &mut self,
        looped: &For,
        condition: Local,
        is_index: Operand,
        place: Operand,
        carried: Vec<Operand>,
        is_last: bool,
    ) -> Stmt {
        let mut body = looped.body.clone();
        with_condition(&mut body, condition, true);
        let given = looped.carried.iter().map(|(x, _)| *x).zip(carried.iter().cloned());
        let body = body.copy(self.locals, given.chain([(looped.index, place)]).collect());
        let mut local = |x: &Local| {
            let ty = self.locals[x.0 as usize].ty;
            Builder { locals: self.locals }.local(ty)
        };
        let results = match is_last {
            true => looped.results.clone(),
            false => looped.results.iter().map(&mut local).collect(),
        };
        Stmt::If(results, is_index, body, Block { stmts: vec![], results: carried })
    }

    /// The loop over a part of the range where the condition does not hold.
    fn rest(
        &mut self,
        looped: &For,
        condition: Local,
        [from, to]: [&Operand; 2],
        carried: Vec<Operand>,
        is_last: bool,
    ) -> Stmt {
        let mut part = For { from: from.clone(), to: to.clone(), ..looped.clone() };
        part.carried.iter_mut().zip(carried).for_each(|((_, init), a)| *init = a);
        with_condition(&mut part.body, condition, false);
        Stmt::For(Box::new(self.copy_loop(part, is_last)))
    }

    /// The loop with locals of its own; the last one sets what the whole loop did.
    fn copy_loop(&mut self, looped: For, is_last: bool) -> For {
        let part = looped.copy(self.locals);
        if is_last { For { results: looped.results, ..part } } else { part }
    }

    /// The place of a turn, plus something, put between two ends.
    fn between(
        &mut self,
        turn: &Turn,
        plus: i128,
        [a, b]: [&Operand; 2],
        ranges: &mut Ranges,
        out: &mut Vec<Stmt>,
    ) -> Operand {
        let place = turn.place.shifted(plus).expect("it fits");
        let place = ranges.compute(&place, self.locals, out);
        let low = self.choice([&place, b], [&place, b], ranges, out);
        self.choice([a, &low], [&low, a], ranges, out)
    }

    /// x where it is an index of a..b, and else b.
    fn index_or_end(
        &mut self,
        x: &Operand,
        [a, b]: [&Operand; 2],
        ranges: &mut Ranges,
        out: &mut Vec<Stmt>,
    ) -> Operand {
        let not_before = self.choice([a, x], [x, b], ranges, out);
        self.choice([b, x], [b, &not_before], ranges, out)
    }

    /// The first of two operands where x <= y, and the second otherwise.
    fn choice(
        &mut self,
        [x, y]: [&Operand; 2],
        [then, other]: [&Operand; 2],
        ranges: &mut Ranges,
        out: &mut Vec<Stmt>,
    ) -> Operand {
        if let (Operand::Integer(x), Operand::Integer(y)) = (x, y) {
            return if x <= y { then.clone() } else { other.clone() };
        }
        let before = out.len();
        let condition = ranges.op(Op::LeI, [x.clone(), y.clone()], self.locals, out);
        if let Some(known) = ranges.known(&condition) {
            out.truncate(before);
            return if known { then.clone() } else { other.clone() };
        }
        let result = Builder { locals: self.locals }.local(Scalar::Integer.ty());
        let [then, other] = [then, other].map(|a| Block { stmts: vec![], results: vec![a.clone()] });
        ranges.emit(Stmt::If(vec![result], condition, then, other), self.locals, out);
        Operand::Local(result)
    }
}

/// Returns what a statement sets, in order.
fn results(stmt: &Stmt) -> Vec<Operand> {
    stmt.targets().into_iter().map(Operand::Local).collect()
}

/// Returns whether iterations do nothing but in the first arms of conditionals, and pass on what they carry elsewhere.
///
/// Other loops, such as those over a vector of zeros and a one, run in lanes as they are.
fn is_idle_elsewhere(looped: &For) -> bool {
    let mut known = FxHashMap::default();
    does_nothing(&looped.body, &mut known)
        && looped
            .carried
            .iter()
            .zip(&looped.body.results)
            .all(|((x, _), next)| resolved(next, &known).local() == Some(*x))
}

/// Returns whether a block does nothing where no conditional takes its first arm. Adds to `known` what conditionals set
/// then.
fn does_nothing(block: &Block, known: &mut FxHashMap<Local, Operand>) -> bool {
    block.stmts.iter().all(|stmt| match stmt {
        Stmt::Let(..) | Stmt::Memory(Memory::Load(..)) => true,
        Stmt::If(xs, _, _, other) => {
            let is_idle = does_nothing(other, known);
            let given: Vec<Operand> = other.results.iter().map(|a| resolved(a, known)).collect();
            known.extend(xs.iter().copied().zip(given));
            is_idle
        }
        _ => false,
    })
}

fn resolved(a: &Operand, known: &FxHashMap<Local, Operand>) -> Operand {
    a.local().and_then(|x| known.get(&x)).unwrap_or(a).clone()
}

/// Returns whether conditionals that are asked where no first arm is taken ask for one condition only.
fn asks_only(block: &Block, condition: Local) -> bool {
    block.stmts.iter().all(|stmt| match stmt {
        Stmt::If(_, asked, _, other) => asked.local() == Some(condition) && asks_only(other, condition),
        _ => true,
    })
}

/// Returns how many statements a loop has after a split, without the arms that are not taken.
fn statements_after(looped: &For, turn: &Turn, ranges: &Ranges) -> usize {
    let [mut then, mut other] = [0, 0];
    looped.body.visit(&mut |stmt| {
        if let Stmt::If(_, condition, a, b) = stmt
            && condition.local() == Some(turn.condition)
        {
            then += a.len();
            other += b.len();
        }
    });
    let starts_there = ranges.form(&looped.from) == turn.place;
    let [holds, fails] = match turn.kind {
        SplitKind::Before | SplitKind::From => [1, 1],
        SplitKind::At => [1, if starts_there { 1 } else { 2 }],
    };
    // Conditionals inside each other ask for the same only where one is dropped.
    let rest = looped.body.len().saturating_sub(then + other);
    rest * (holds + fails) + then * holds + other * fails
}

/// Returns the first comparison in a loop by which it can be split.
fn turn(stmt: &Stmt, looped: &For, ranges: &mut Ranges) -> Option<Turn> {
    let wanted = asked_in(stmt, looped)?;
    let mark = ranges.mark();
    ranges.enter(stmt, 0);
    let found = turn_in(&looped.body, &wanted, ranges);
    ranges.back_to(mark);
    found
}

/// Returns what is looked for in a loop, if there may be something.
fn asked_in(stmt: &Stmt, looped: &For) -> Option<SplitCondition> {
    let asked = asked(&looped.body);
    if asked.is_empty() || looped.from.same(&looped.to) {
        return None;
    }
    let mut set: FxHashSet<Local> = stmt.bound().into_iter().collect();
    looped.body.visit(&mut |stmt| set.extend(stmt.targets().into_iter().chain(stmt.bound())));
    Some(SplitCondition { asked, set, index: looped.index })
}

struct SplitCondition {
    /// The conditions of conditionals.
    asked: FxHashSet<Local>,
    /// The locals that the loop sets.
    set: FxHashSet<Local>,
    index: Local,
}

fn turn_in(block: &Block, wanted: &SplitCondition, ranges: &mut Ranges) -> Option<Turn> {
    block.stmts.iter().find_map(|stmt| {
        for (i, inner) in stmt.blocks().enumerate() {
            let mark = ranges.mark();
            ranges.enter(stmt, i);
            let found = turn_in(inner, wanted, ranges);
            ranges.back_to(mark);
            if found.is_some() {
                return found;
            }
        }
        ranges.learn_from(stmt);
        match stmt {
            Stmt::Let(x, ..) if wanted.asked.contains(x) && ranges.known(&Operand::Local(*x)).is_none() => {
                turn_of(*x, wanted, ranges)
            }
            _ => None,
        }
    })
}

/// Returns where a comparison changes: it is linear in the index, and else in what does not change. What it is compared
/// with may be known better than the locals that it was computed from.
fn turn_of(condition: Local, wanted: &SplitCondition, ranges: &Ranges) -> Option<Turn> {
    let (op, difference) = ranges.comparison(condition)?;
    let is_moderate = |x: Local| ranges.is_within(x);
    turn_at(condition, op, &difference, wanted, &is_moderate).or_else(|| {
        let (op, difference) = ranges.comparison_of_locals(condition)?;
        turn_at(condition, op, &difference, wanted, &|x| ranges.has_value_within(x)).or_else(|| {
            let turn = turn_at(condition, op, &difference, wanted, &|_| true)?;
            let mut terms = turn.place.terms().iter();
            match (turn.kind, terms.next(), terms.next()) {
                (SplitKind::At, Some((x, 1)), None) if turn.place.at_zero() == 0 => {
                    Some(Turn { anywhere: Some(*x), ..turn })
                }
                _ => None,
            }
        })
    })
}

/// Returns whether a loop is known to have no second iteration. A condition in it is asked once, so that nothing is won
/// by splitting it.
fn runs_once(looped: &For, ranges: &mut Ranges) -> bool {
    let [from, to] = [&looped.from, &looped.to].map(|a| ranges.form(a));
    let second = to.minus(&from).and_then(|count| count.shifted(-1));
    ranges.is_not_positive(second)
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
    fits.then_some(Turn { condition, place, kind, anywhere: None })
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

/// Puts what is known of a condition in its place, and the arm that is taken in the place of a conditional on it.
fn with_condition(block: &mut Block, condition: Local, holds: bool) {
    drop_condition(block, condition);
    let mut known = FxHashMap::from_iter([(condition, Operand::Bool(holds))]);
    take_arms(block, condition, holds, &mut known);
    block.change_operands(&mut |a| {
        while let Some(other) = a.local().and_then(|x| known.get(&x)) {
            *a = other.clone();
        }
    });
}

fn take_arms(block: &mut Block, condition: Local, holds: bool, known: &mut FxHashMap<Local, Operand>) {
    for mut stmt in std::mem::take(&mut block.stmts) {
        stmt.blocks_mut().for_each(|inner| take_arms(inner, condition, holds, known));
        match stmt {
            Stmt::If(xs, asked, then, other) if asked.local() == Some(condition) => {
                let taken = if holds { then } else { other };
                known.extend(xs.into_iter().zip(taken.results));
                block.stmts.extend(taken.stmts);
            }
            stmt => block.stmts.push(stmt),
        }
    }
}

fn drop_condition(block: &mut Block, condition: Local) {
    block.stmts.retain_mut(|stmt| {
        stmt.blocks_mut().for_each(|block| drop_condition(block, condition));
        !matches!(stmt, Stmt::Let(x, ..) if *x == condition)
    });
}
