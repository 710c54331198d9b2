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
mod turns;

use super::pass::FunctionCx;
use crate::analyses::ranges::Ranges;
use crate::analyses::single_iterations::runs_once;
use crate::ir::{Block, Builder, For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use interior::{Interior, interior};
use rustc_hash::FxHashMap;
use turns::{SplitKind, Turn, turn};

/// A loop is split so often, the parts included.
const MOST_SPLITS: usize = 3;

/// The largest factor in the position of a split, so that a form of a few terms fits into 64 bits.
const LARGEST_FACTOR: i128 = 1 << 16;

/// All parts of a loop have so many statements at most.
const MOST_STATEMENTS: usize = 500;

/// As [`MOST_STATEMENTS`], for a loop that runs only in one iteration of the loop around it, at a border.
const MOST_AT_BORDERS: usize = 200;

pub(super) fn run(cx: &mut FunctionCx) {
    cx.rewrite(|body, function| {
        let mut ranges = Ranges::new(function);
        Splitter { locals: &mut function.locals }.split_in_block(body, MOST_STATEMENTS, &mut ranges);
    });
}

struct Splitter<'a> {
    locals: &'a mut Vec<LocalInfo>,
}

impl Splitter<'_> {
    fn split_in_block(&mut self, block: &mut Block, budget: usize, ranges: &mut Ranges) {
        let mut out = Vec::with_capacity(block.stmts.len());
        for stmt in std::mem::take(&mut block.stmts) {
            self.split_in_stmt(stmt, ranges, MOST_SPLITS, budget, &mut out);
        }
        block.stmts = out;
    }

    /// Returns how many statements the parts have that a statement becomes, as they are before their inner loops are split.
    fn split_in_stmt(
        &mut self,
        mut stmt: Stmt,
        ranges: &mut Ranges,
        splits: usize,
        budget: usize,
        out: &mut Vec<Stmt>,
    ) -> usize {
        ranges.know(self.locals);
        if let Some(splits) = splits.checked_sub(1)
            && let Stmt::For(looped) = &stmt
            && let Some(turn) = turn(&stmt, looped, ranges)
            && (turn.is_picked(looped) || !runs_once(looped, ranges))
            && (!turn.is_anywhere || turn.is_picked(looped))
            && budget >= statements_after(looped, &turn, ranges)
        {
            let parts = match turn.is_picked(looped) {
                true => self.pick(looped, &turn, ranges, out),
                false => self.split_loop(looped, &turn, ranges, out),
            };
            // What the parts that are not split yet have now is theirs.
            let mut all: usize = parts.iter().map(length).sum();
            for part in parts {
                all -= length(&part);
                all += self.split_in_stmt(part, ranges, splits, budget.saturating_sub(all), out);
            }
            return all;
        }
        if let Stmt::For(looped) = &stmt
            && budget >= 3 * looped.body.len()
            && let Some(interior) = interior(&stmt, looped, ranges)
        {
            let parts = self.split_borders(looped, &interior, ranges, out);
            for (i, mut part) in parts.into_iter().enumerate() {
                if i == 1 || interior.has_wide_borders {
                    self.split_inside(&mut part, ranges);
                }
                ranges.emit(part, self.locals, out);
            }
            return 3 * looped.body.len();
        }
        let length = length(&stmt);
        self.split_inside(&mut stmt, ranges);
        ranges.emit(stmt, self.locals, out);
        length
    }

    fn split_inside(&mut self, stmt: &mut Stmt, ranges: &mut Ranges) {
        let is_border = matches!(stmt, Stmt::For(looped) if runs_once(looped, ranges));
        let budget = if is_border { MOST_AT_BORDERS } else { MOST_STATEMENTS };
        for i in 0..stmt.blocks().count() {
            let mark = ranges.mark();
            ranges.know(self.locals);
            ranges.enter(stmt, i);
            self.split_in_block(stmt.block_mut(i), budget, ranges);
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
            turn.known(holds).for_each(|(condition, holds)| with_condition(&mut part.body, condition, holds));
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
        let place = match turn.local {
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
    passes_on(looped, &mut FxHashMap::default())
}

/// Returns whether the iterations of a loop do nothing, and pass on what they carry, where no conditional takes its first
/// arm.
fn passes_on(looped: &For, known: &mut FxHashMap<Local, Operand>) -> bool {
    does_nothing(&looped.body, known)
        && looped
            .carried
            .iter()
            .zip(&looped.body.results)
            .all(|((x, _), next)| resolved(next, known).local() == Some(*x))
}

/// Returns whether a block does nothing where no conditional takes its first arm. Adds to `known` what conditionals and
/// loops set then.
fn does_nothing(block: &Block, known: &mut FxHashMap<Local, Operand>) -> bool {
    block.stmts.iter().all(|stmt| match stmt {
        Stmt::Let(..) | Stmt::Memory(Memory::Load(..)) => true,
        Stmt::If(xs, _, _, other) => {
            let is_idle = does_nothing(other, known);
            let given: Vec<Operand> = other.results.iter().map(|a| resolved(a, known)).collect();
            known.extend(xs.iter().copied().zip(given));
            is_idle
        }
        Stmt::For(inner) => {
            let is_idle = passes_on(inner, known);
            let given: Vec<Operand> = inner.carried.iter().map(|(_, init)| resolved(init, known)).collect();
            known.extend(inner.results.iter().copied().zip(given));
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
        Stmt::For(inner) => asks_only(&inner.body, condition),
        _ => true,
    })
}

/// Returns how many statements a loop has after a split, without the arms that are not taken.
fn statements_after(looped: &For, turn: &Turn, ranges: &Ranges) -> usize {
    let [mut then, mut other] = [0, 0];
    looped.body.visit(&mut |stmt| {
        if let Stmt::If(_, condition, a, b) = stmt
            && let Some((_, same)) = turn.known(true).find(|(x, _)| condition.local() == Some(*x))
        {
            let [taken, left] = if same { [a, b] } else { [b, a] };
            then += taken.len();
            other += left.len();
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

fn length(stmt: &Stmt) -> usize {
    1 + stmt.blocks().map(Block::len).sum::<usize>()
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
