//! Prepares loops that carry a best element for running in groups of iterations: in lanes or in chunks (`best`).
//!
//! ```text
//! y', p' = if y < x { x, q } else { y, p }       y', p', z' = if y < x { x, q, i } else { y, p, z }
//! ```
//!
//! z is the place, where none is carried already. And where a NaN is taken,
//!
//! ```text
//! y' = if y >= x { y } else { x }                y', z' = if y < x { x, i } else { y, z }
//!                                                n' = max n (if x == x then none else i)
//!
//! y in the end                                   if n == none then y else that of the loop as it was, from n on
//! ```
//!
//! The iteration n takes its NaN whatever was before, so that the second loop may start from the initial values, once
//! more. n is the first iteration where an initial value is NaN and no x is. Where there are several x, the second loop
//! is all of the loop.

use super::best::{BEFORE_ALL, Best, bests, conditions};
use crate::ir::{Block, Builder, For, Local, LocalInfo, Op, Operand, Scalar, Stmt, Ty};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

const INTEGER: Scalar = Scalar::Integer;

/// Returns the loop, with what comes before and after it; all its bests are ready.
pub fn prepare(looped: For, locals: &mut Vec<LocalInfo>) -> Vec<Stmt> {
    let found = bests(locals, &looped);
    if found.iter().all(|best| best.is_ready(locals, &looped)) {
        return vec![Stmt::For(Box::new(looped))];
    }
    let original = looped.clone();
    let mut preparing = Preparing { builder: Builder { locals }, looped };
    found.iter().for_each(|best| preparing.order(best));
    let unordered: Vec<&Best> = found.iter().filter(|best| best.taken.nan).collect();
    if unordered.is_empty() {
        return vec![Stmt::For(Box::new(preparing.looped))];
    }
    preparing.with_rest(&unordered, original)
}

struct Preparing<'a> {
    builder: Builder<'a>,
    looped: For,
}

impl Preparing<'_> {
    /// Compares as numbers are, and carries the place.
    fn order(&mut self, best: &Best) {
        let next: BTreeSet<Local> = best.members().filter_map(|i| self.looped.body.results[i].local()).collect();
        let replaced = conditions(&self.looped.body, &next);
        let mine: Vec<Local> = best.members().map(|i| self.looped.carried[i].0).collect();
        let y = mine[0];
        let mut place = best.lacks_place(self.builder.locals, &self.looped).then(|| self.carry(BEFORE_ALL));
        let mut better = None;
        for stmt in std::mem::take(&mut self.looped.body.stmts) {
            let targets = stmt.targets();
            if targets.iter().any(|x| replaced.contains(x)) {
                continue;
            }
            if !targets.iter().any(|x| next.contains(x)) {
                self.looped.body.stmts.push(stmt);
                continue;
            }
            let better = *better.get_or_insert_with(|| self.better(best, y));
            let (mut xs, mut taken, mut kept) = arms(stmt, best, &mine);
            if let Some((z, next)) = place.take() {
                xs.push(next);
                taken.results.push(self.looped.index.into());
                kept.results.push(z.into());
            }
            self.looped.body.stmts.push(Stmt::If(xs, better.into(), taken, kept));
        }
    }

    /// Returns whether the element is better.
    fn better(&mut self, best: &Best, y: Local) -> Local {
        let scalar = self.builder.locals[y.0 as usize].ty.as_scalar().expect("bests are numbers");
        let (op, args) = best.taken.comparison(scalar, y.into(), best.element.clone());
        let x = self.builder.local(Scalar::Bool.ty());
        self.looped.body.stmts.push(Stmt::Let(x, op, args));
        x
    }

    /// An Integer that the loop carries: what it is in an iteration, and what in the next.
    fn carry(&mut self, init: Operand) -> (Local, Local) {
        let [z, next, result] = [(); 3].map(|()| self.builder.local(INTEGER.ty()));
        self.looped.carried.push((z, init));
        self.looped.body.results.push(next.into());
        self.looped.results.push(result);
        (z, next)
    }

    /// Returns the loop, and the loop as it was from the last iteration on that takes a NaN.
    fn with_rest(mut self, unordered: &[&Best], original: For) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        let inits: Vec<Operand> = unordered.iter().map(|best| original.carried[best.value].1.clone()).collect();
        let init = self.where_nan(&inits, &original.from, &mut stmts);
        let (n, next) = self.carry(init);
        let elements: Vec<Operand> = unordered.iter().map(|best| best.element.clone()).collect();
        let mut body = std::mem::take(&mut self.looped.body.stmts);
        let found = self.where_nan(&elements, &original.index.into(), &mut body);
        let later = self.builder.op(Op::LtI, [n.into(), found.clone()], &mut body);
        body.push(Stmt::If(vec![next], later, given(vec![found]), given(vec![n.into()])));
        self.looped.body.stmts = body;
        let last = *self.looped.results.last().expect("it was just put there");
        let members: BTreeSet<usize> = unordered.iter().flat_map(|best| best.members()).collect();
        let results: Vec<Local> = members.iter().map(|i| original.results[*i]).collect();
        let types: Vec<Ty> = results.iter().map(|x| self.builder.locals[x.0 as usize].ty).collect();
        let ends: Vec<Local> = types.into_iter().map(|ty| self.builder.local(ty)).collect();
        members.iter().zip(&ends).for_each(|(i, end)| self.looped.results[*i] = *end);
        // What has no NaN there needs all its elements.
        let is_one = elements.iter().all(|element| element.same(&elements[0]));
        let start = if is_one { last.into() } else { original.from.clone() };
        let rest = self.rest(original, start, &members);
        stmts.push(Stmt::For(Box::new(self.looped)));
        let none = self.builder.op(Op::EqI, [last.into(), BEFORE_ALL], &mut stmts);
        let none = self.builder.op(Op::Likely, [none], &mut stmts);
        stmts.push(Stmt::If(results, none, given(ends.into_iter().map(Operand::Local).collect()), rest));
        stmts
    }

    /// An index where one of the numbers is NaN, and what is before all otherwise.
    fn where_nan(&mut self, numbers: &[Operand], index: &Operand, out: &mut Vec<Stmt>) -> Operand {
        let mut ordered = Operand::Bool(true);
        for a in numbers.iter().filter(|a| !matches!(a, Operand::Float(x) if !x.is_nan())) {
            let own = self.builder.op(Op::EqF, [a.clone(), a.clone()], out);
            ordered = match ordered {
                Operand::Bool(_) => own,
                ordered => self.builder.op(Op::And, [ordered, own], out),
            };
        }
        if let Operand::Bool(true) = ordered {
            return BEFORE_ALL;
        }
        let x = self.builder.local(INTEGER.ty());
        out.push(Stmt::If(vec![x], ordered, given(vec![BEFORE_ALL]), given(vec![index.clone()])));
        x.into()
    }

    /// A copy of the loop, from an iteration on; gives what it leaves of some of what it carries.
    fn rest(&mut self, original: For, from: Operand, members: &BTreeSet<usize>) -> Block {
        let stmt = Stmt::For(Box::new(For { from, lanes: 1, ..original }));
        let Stmt::For(looped) = &stmt else { unreachable!("a loop was made") };
        let results = members.iter().map(|i| looped.results[*i].into()).collect();
        Block { stmts: vec![stmt], results }.copy(self.builder.locals, FxHashMap::default())
    }
}

fn given(results: Vec<Operand>) -> Block {
    Block { stmts: vec![], results }
}

/// Returns what a statement that chooses sets, if the element is taken and if not.
fn arms(stmt: Stmt, best: &Best, mine: &[Local]) -> (Vec<Local>, Block, Block) {
    let stays = |arm: &Block| arm.results.iter().all(|a| a.local().is_some_and(|x| mine.contains(&x)));
    match stmt {
        Stmt::If(xs, _, then, other) if stays(&then) => (xs, other, then),
        Stmt::If(xs, _, then, other) => (xs, then, other),
        Stmt::Let(x, _, _) => (vec![x], given(vec![best.element.clone()]), given(vec![mine[0].into()])),
        stmt => panic!("nothing is chosen by {stmt:?}"),
    }
}
