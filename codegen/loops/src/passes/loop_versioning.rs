//! Makes two versions of a loop whose checks follow from conditions that can be asked before it.
//!
//! ```text
//! for i in a..b { check c(i) .. }   =   if ok { for i in a..b { .. } } else { for i in a..b { check c(i) .. } }
//! ```
//!
//! `ok` implies c(i) at every i, by the facts of `ranges`. For an index, the ends of its range must be in range. `ok`
//! is not necessary: a check may be under a condition, or the loop may not run. If `ok` is false, the second version
//! runs, which is the original loop. It stops where the loop did, with the same error.
//!
//! The versions are made of the outermost loop before which the ranges of all its checks are known. Checks whose range
//! is known only further in, such as those of rows, get versions there. An index that is not linear in the loop
//! indices, such as one from memory, stays checked.

use super::pass::FunctionCx;
use crate::analyses::ranges::{ASSUMED, Assumed, Linear, Ranges};
use crate::ir::{Block, Local, LocalInfo, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// Longer loops get no second version: statements.
const MOST_STATEMENTS: usize = 400;

/// Larger coefficients are not asked for, so that sums of products fit into 64 bits.
const LARGEST_COEFFICIENT: i128 = 1 << 16;

pub(super) fn run(cx: &mut FunctionCx) {
    cx.rewrite(|body, function| {
        let mut ranges = Ranges::new(function);
        let likely = body.likely_conditions();
        Versions { locals: &mut function.locals, likely }.version_in_block(body, &mut ranges);
    });
}

struct Versions<'a> {
    locals: &'a mut Vec<LocalInfo>,
    /// The conditions that mostly hold: loops on the other side get no versions.
    likely: FxHashSet<Local>,
}

/// Ways to know that something is not positive: one form that is not, and what it assumes.
type Goal = Vec<(Linear, Assumed)>;

/// The checks that follow from goals, by number, in the order of the loop.
type Held = FxHashMap<usize, Vec<Goal>>;

impl Versions<'_> {
    fn version_in_block(&mut self, block: &mut Block, ranges: &mut Ranges) {
        for mut stmt in std::mem::take(&mut block.stmts) {
            if let Stmt::For(_) = stmt
                && let Some(held) = worth_two(&stmt, ranges)
            {
                ranges.learn_from(&stmt);
                self.emit_versions(stmt, &held, ranges, &mut block.stmts);
                continue;
            }
            let is_likely = matches!(&stmt, Stmt::If(_, c, ..) if c.local().is_some_and(|c| self.likely.contains(&c)));
            for i in 0..if is_likely { 1 } else { stmt.blocks().count() } {
                let mark = ranges.mark();
                ranges.enter(&stmt, i);
                self.version_in_block(stmt.block_mut(i), ranges);
                ranges.back_to(mark);
            }
            ranges.learn_from(&stmt);
            block.stmts.push(stmt);
        }
    }

    fn emit_versions(&mut self, looped: Stmt, held: &Held, ranges: &Ranges, out: &mut Vec<Stmt>) {
        let ok = self.emit_all(held, ranges, out);
        let ok = self.op(Op::Likely, [ok], out);
        let results = looped.targets();
        let whole = Block { stmts: vec![looped], results: results.iter().map(local).collect() };
        let slow = whole.copy(self.locals, FxHashMap::default());
        let mut fast = whole.copy(self.locals, FxHashMap::default());
        drop_checks(&mut fast, held, &mut 0);
        out.push(Stmt::If(results, ok, fast, slow));
    }

    /// Returns whether every goal is reached, each stated once.
    fn emit_all(&mut self, held: &Held, ranges: &Ranges, out: &mut Vec<Stmt>) -> Operand {
        let mut checks: Vec<(&usize, &Vec<Goal>)> = held.iter().collect();
        checks.sort_by_key(|(number, _)| **number);
        let mut goals: Vec<&Goal> = Vec::new();
        for goal in checks.into_iter().flat_map(|(_, goals)| goals) {
            if !goals.contains(&goal) {
                goals.push(goal);
            }
        }
        let mut asked = AskedRanges::default();
        let each: Vec<Operand> = goals.into_iter().map(|goal| self.emit_any(goal, ranges, &mut asked, out)).collect();
        self.emit_chain(Op::And, each, out)
    }

    fn emit_any(&mut self, goal: &Goal, ranges: &Ranges, asked: &mut AskedRanges, out: &mut Vec<Stmt>) -> Operand {
        let ways = goal.iter().map(|(form, assumed)| {
            let mut parts = vec![self.emit_not_positive(form, out)];
            for x in needed(form, assumed, ranges) {
                let within = asked.within.get(&x).cloned().unwrap_or_else(|| self.emit_within(x, out));
                asked.within.insert(x, within.clone());
                parts.push(within);
            }
            self.emit_chain(Op::And, parts, out)
        });
        let ways: Vec<Operand> = ways.collect();
        self.emit_chain(Op::Or, ways, out)
    }

    fn emit_within(&mut self, x: Local, out: &mut Vec<Stmt>) -> Operand {
        let end = i64::try_from(ASSUMED).expect("it is small");
        let least = self.op(Op::LeI, [Operand::Integer(-end), local(&x)], out);
        let most = self.op(Op::LeI, [local(&x), Operand::Integer(end)], out);
        self.op(Op::And, [least, most], out)
    }

    /// The terms with positive coefficients are at most the other ones.
    fn emit_not_positive(&mut self, form: &Linear, out: &mut Vec<Stmt>) -> Operand {
        let [left, right] = [1, -1].map(|sign| {
            let terms = form.terms().iter().map(|(x, k)| (Some(*x), k * sign));
            let parts = terms.chain([(None, form.at_zero() * sign)]).filter(|(_, k)| *k > 0);
            let parts: Vec<(Option<Local>, i64)> =
                parts.map(|(x, k)| (x, i64::try_from(k).expect("only small forms are asked for"))).collect();
            let parts: Vec<Operand> = parts
                .into_iter()
                .map(|part| match part {
                    (None, k) => Operand::Integer(k),
                    (Some(x), 1) => local(&x),
                    (Some(x), k) => self.op(Op::MulI, [Operand::Integer(k), local(&x)], out),
                })
                .collect();
            if parts.is_empty() { Operand::Integer(0) } else { self.emit_chain(Op::AddI, parts, out) }
        });
        self.op(Op::LeI, [left, right], out)
    }

    fn emit_chain(&mut self, op: Op, parts: Vec<Operand>, out: &mut Vec<Stmt>) -> Operand {
        let mut parts = parts.into_iter();
        let first = parts.next().expect("there is something to state");
        parts.fold(first, |all, part| self.op(op, [all, part], out))
    }

    fn op(&mut self, op: Op, args: impl Into<Vec<Operand>>, out: &mut Vec<Stmt>) -> Operand {
        let x = Local(u32::try_from(self.locals.len()).expect("a function has fewer locals"));
        self.locals.push(LocalInfo::unnamed(op.result().ty()));
        out.push(Stmt::Let(x, op, args.into()));
        local(&x)
    }
}

/// Returns the checks that a second version of the loop would be rid of, if it should have one.
fn worth_two(looped: &Stmt, ranges: &mut Ranges) -> Option<Held> {
    let held = held_before(looped, ranges);
    let is_small = looped.blocks().all(|body| body.len() <= MOST_STATEMENTS);
    let asks = held.values().any(|goals| !goals.is_empty());
    let is_best = is_small && asks && held_anywhere(looped, ranges).iter().all(|i| held.contains_key(i));
    is_best.then_some(held)
}

/// The conditions that were emitted so far.
#[derive(Default)]
struct AskedRanges {
    within: FxHashMap<Local, Operand>,
}

fn local(x: &Local) -> Operand {
    Operand::Local(*x)
}

/// Returns the locals that must be within [`ASSUMED`] for a form to fit into 64 bits and to mean what it should.
fn needed(form: &Linear, assumed: &Assumed, ranges: &Ranges) -> Vec<Local> {
    let wide = form.terms().iter().map(|(x, _)| *x).filter(|x| !ranges.is_within(*x));
    let mut needed: Vec<Local> = assumed.iter().copied().chain(wide).collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// Returns whether the form can be computed without wrapping, where its locals are within [`ASSUMED`].
fn is_small(form: &Linear) -> bool {
    form.at_zero().abs() <= ASSUMED && form.terms().iter().all(|(_, k)| k.abs() <= LARGEST_COEFFICIENT)
}

/// Returns the checks in a loop that hold if goals do that can be stated before it.
fn held_before(stmt: &Stmt, ranges: &mut Ranges) -> Held {
    let mut new: FxHashSet<Local> = stmt.bound().into_iter().collect();
    stmt.blocks().for_each(|block| {
        block.visit(&mut |stmt| new.extend(stmt.targets().into_iter().chain(stmt.bound())));
    });
    let mut held = Held::default();
    let mut next = 0;
    checks(stmt, ranges, &mut |condition, ranges| {
        let goals = ranges.residuals(condition, &|x| new.contains(&x));
        let stated = |goal: Goal| -> Option<Goal> {
            let is_sound =
                |(form, assumed): &(Linear, Assumed)| is_small(form) && assumed.iter().all(|x| !new.contains(x));
            Some(goal.into_iter().filter(is_sound).collect::<Goal>()).filter(|goal| !goal.is_empty())
        };
        let goals = goals.and_then(|goals| goals.into_iter().map(stated).collect::<Option<Vec<Goal>>>());
        held.extend(goals.map(|goals| (next, goals)));
        next += 1;
    });
    held
}

/// Returns the checks in a loop that would hold so before it, or before some loop in it.
fn held_anywhere(stmt: &Stmt, ranges: &mut Ranges) -> FxHashSet<usize> {
    let mut all: FxHashSet<usize> = held_before(stmt, ranges).into_keys().collect();
    let mut next = 0;
    loops_in(stmt, ranges, &mut next, &mut |looped, number, ranges| {
        all.extend(held_anywhere(looped, ranges).into_iter().map(|check| number + check));
    });
    all
}

/// Visits the checks in a statement, with what is known at each.
fn checks(stmt: &Stmt, ranges: &mut Ranges, visit: &mut dyn FnMut(&Operand, &mut Ranges)) {
    if let Stmt::Check { condition, .. } = stmt {
        visit(condition, ranges);
    }
    for (i, block) in stmt.blocks().enumerate() {
        let mark = ranges.mark();
        ranges.enter(stmt, i);
        block.stmts.iter().for_each(|stmt| checks(stmt, ranges, visit));
        ranges.back_to(mark);
    }
    ranges.learn_from(stmt);
}

/// Visits the loops in a statement, but for those in them, with the number of checks before each.
fn loops_in(stmt: &Stmt, ranges: &mut Ranges, next: &mut usize, visit: &mut dyn FnMut(&Stmt, usize, &mut Ranges)) {
    for (i, block) in stmt.blocks().enumerate() {
        let mark = ranges.mark();
        ranges.enter(stmt, i);
        for stmt in &block.stmts {
            match stmt {
                Stmt::For(_) => {
                    visit(stmt, *next, ranges);
                    *next += checks_in(stmt);
                    ranges.learn_from(stmt);
                }
                Stmt::Check { .. } => {
                    *next += 1;
                    ranges.learn_from(stmt);
                }
                stmt => loops_in(stmt, ranges, next, visit),
            }
        }
        ranges.back_to(mark);
    }
    ranges.learn_from(stmt);
}

fn checks_in(stmt: &Stmt) -> usize {
    let mut count = 0;
    let mut visit = |stmt: &Stmt| count += usize::from(matches!(stmt, Stmt::Check { .. }));
    stmt.blocks().for_each(|block| block.visit(&mut visit));
    count
}

/// Leaves out the checks that are held; `next` is the number of the next one.
fn drop_checks(block: &mut Block, held: &Held, next: &mut usize) {
    block.stmts.retain_mut(|stmt| {
        if let Stmt::Check { .. } = stmt {
            *next += 1;
            return !held.contains_key(&(*next - 1));
        }
        stmt.blocks_mut().for_each(|block| drop_checks(block, held, next));
        true
    });
}
