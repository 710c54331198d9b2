//! Makes the nest in which each element takes its terms.

use super::additions::Addition;
use super::{Gathered, Gatherer};
use crate::analyses::nests::{Loads, Nest, Slice};
use crate::analyses::places::compute;
use crate::ir::{Block, Builder, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use lm::sizes::Polynomial;
use rustc_hash::{FxHashMap, FxHashSet};

/// Where the values that iterations add come from.
pub(super) enum Values<'a> {
    /// Tables, one for each value that the nest sets.
    Tables(&'a FxHashMap<Local, Local>),
    /// They are computed again, by these loads. What is at hand is not, where an iteration adds to its own element.
    Again { loads: &'a Loads, at_hand: &'a FxHashSet<Local> },
}

impl Values<'_> {
    /// Returns the value of an iteration, by its indices.
    fn of(
        &self,
        addition: &Addition,
        at: &[Operand],
        nest: &Nest,
        locals: &mut Vec<LocalInfo>,
        out: &mut Vec<Stmt>,
    ) -> Operand {
        let value = &addition.value;
        match self {
            Values::Tables(tables) => {
                let Some(table) = value.local().and_then(|x| tables.get(&x)) else { return value.clone() };
                let mut build = Builder { locals };
                let place = build.place(at, &nest.sizes, out);
                let x = build.local(value.ty(build.locals));
                out.push(Stmt::Memory(Memory::Load(x, (*table).into(), place)));
                x.into()
            }
            Values::Again { loads, at_hand } => {
                let is_own = nest.indices.iter().zip(at).all(|(index, p)| p.local() == Some(*index));
                if is_own && value.local().is_none_or(|x| at_hand.contains(&x)) {
                    return value.clone();
                }
                let known = nest.indices.iter().copied().zip(at.iter().cloned()).collect();
                let mut slice = Slice::new(nest, known).again(loads, &addition.chosen);
                slice.value(value, locals, out).expect("it is quickly computed again")
            }
        }
    }
}

/// Conditionals that are open at a term, from outside.
struct Opened {
    /// What comes before each, its condition, and whether that holds.
    around: Vec<(Vec<Stmt>, Operand, bool)>,
    /// What comes in the innermost one.
    stmts: Vec<Stmt>,
}

impl Gatherer<'_> {
    /// The nest in which each element takes its terms.
    pub(super) fn gather(
        &mut self,
        gathered: &Gathered,
        nest: &Nest,
        tables: &FxHashMap<Local, Local>,
        out: &mut Vec<Stmt>,
    ) {
        let mut build = Builder { locals: self.locals };
        let indices: Vec<Local> = gathered.sizes.iter().map(|_| build.local(Scalar::Integer.ty())).collect();
        let mark = self.ranges.mark();
        let mut body = Vec::new();
        let sum = self.sum(gathered, &indices, nest, &Values::Tables(tables), out, &mut body);
        self.ranges.back_to(mark);
        let Some(sum) = sum else { return };
        let mut build = Builder { locals: self.locals };
        let place = build.place(&indices, &gathered.sizes, &mut body);
        body.push(Stmt::Memory(Memory::Add(gathered.buffer.into(), place, sum)));
        for (index, size) in indices.into_iter().zip(&gathered.sizes).rev() {
            body = vec![Stmt::loop_over(index, [Operand::Integer(0), size.clone()], body)];
        }
        out.append(&mut body);
    }

    /// The sum of the terms of the element at these indices, if there are any. What does not depend on them is computed
    /// `before`.
    pub(super) fn sum(
        &mut self,
        gathered: &Gathered,
        indices: &[Local],
        nest: &Nest,
        values: &Values,
        before: &mut Vec<Stmt>,
        body: &mut Vec<Stmt>,
    ) -> Option<Operand> {
        let mut build = Builder { locals: self.locals };
        // The iterations that terms are from, a dimension each.
        let mut from: Vec<(usize, &Polynomial, Operand)> = Vec::new();
        for (offsets, _) in &gathered.terms {
            for (k, offset) in offsets.iter().enumerate() {
                if from.iter().any(|(l, known, _)| *l == k && *known == offset) {
                    continue;
                }
                let q = Operand::Local(indices[k]);
                let p = match offset.as_constant() {
                    Some(0) => q,
                    // As programs write it, so that conditions on it are the same.
                    Some(by) if by > 0 => build.op(Op::SubI, [q, Operand::Integer(by)], body),
                    Some(by) => build.op(Op::AddI, [q, Operand::Integer(-by)], body),
                    None => {
                        let by = compute(offset, &mut build, before);
                        build.op(Op::SubI, [q, by], body)
                    }
                };
                from.push((k, offset, p));
            }
        }
        self.ranges.know(self.locals);
        for (index, size) in indices.iter().zip(&gathered.sizes) {
            self.ranges.enter(&Stmt::loop_over(*index, [Operand::Integer(0), size.clone()], vec![]), 0);
        }
        body.iter().for_each(|stmt| self.ranges.learn_from(stmt));
        let mut sum: Option<Operand> = None;
        for (offsets, addition) in &gathered.terms {
            let p = |(k, offset): (usize, &Polynomial)| {
                let found = from.iter().find(|(l, known, _)| *l == k && *known == offset);
                found.expect("each offset has an index").2.clone()
            };
            let at: Vec<Operand> = offsets.iter().enumerate().map(p).collect();
            let Some(term) = self.term(addition, &at, nest, values, body) else { continue };
            sum = Some(match sum {
                None => term,
                Some(sum) => {
                    let is_float = term.ty(self.locals) == Scalar::Float.ty();
                    let add = if is_float { Op::AddF } else { Op::AddI };
                    Builder { locals: self.locals }.op(add, [sum, term], body)
                }
            });
        }
        sum
    }

    /// Returns what an element takes from an iteration: 0 where there is no such iteration, or it adds nothing. None where
    /// that is known.
    fn term(
        &mut self,
        addition: &Addition,
        at: &[Operand],
        nest: &Nest,
        values: &Values,
        out: &mut Vec<Stmt>,
    ) -> Option<Operand> {
        let mark = self.ranges.mark();
        let mut opened = Opened { around: vec![], stmts: vec![] };
        let mut is_known_not_to = false;
        for (p, size) in at.iter().zip(&nest.sizes) {
            for args in [(Op::LeI, [Operand::Integer(0), p.clone()]), (Op::LtI, [p.clone(), size.clone()])] {
                let condition = Builder { locals: self.locals }.op(args.0, args.1, &mut opened.stmts);
                is_known_not_to |= !self.ask(condition, true, 1, &mut opened);
            }
        }
        let known = nest.indices.iter().copied().zip(at.iter().cloned()).collect();
        let mut slice = Slice::new(nest, known);
        // What conditionals give is known only where all conditions hold: before that, a place by it may not be one.
        let nothing = FxHashMap::default();
        if let Values::Again { loads, .. } = values {
            slice = slice.again(loads, &nothing);
        }
        for (condition, holds) in &addition.conditions {
            let count = opened.stmts.len();
            let condition = slice.value(condition, self.locals, &mut opened.stmts).expect("it is known there");
            let new = opened.stmts.len() - count;
            is_known_not_to |= !self.ask(condition, *holds, new, &mut opened);
        }
        self.ranges.back_to(mark);
        if is_known_not_to {
            return None;
        }
        let ty = addition.value.ty(self.locals);
        let mut stmts = opened.stmts;
        let mut value = values.of(addition, at, nest, self.locals, &mut stmts);
        let mut build = Builder { locals: self.locals };
        for (mut around, condition, holds) in opened.around.into_iter().rev() {
            let x = build.local(ty);
            let takes = Block { stmts, results: vec![value] };
            let zero = ty.zero().expect("what is added has a zero");
            let leaves = Block { stmts: vec![], results: vec![zero] };
            let [then, other] = if holds { [takes, leaves] } else { [leaves, takes] };
            around.push(Stmt::If(vec![x], condition, then, other));
            (stmts, value) = (around, x.into());
        }
        out.extend(stmts);
        Some(value)
    }

    /// Asks whether a condition holds, which the last statements compute, unless that is known. Returns false where it is
    /// known not to be as wanted.
    fn ask(&mut self, condition: Operand, holds: bool, new: usize, opened: &mut Opened) -> bool {
        self.ranges.know(self.locals);
        opened.stmts[opened.stmts.len() - new..].iter().for_each(|stmt| self.ranges.learn_from(stmt));
        match self.ranges.known(&condition) {
            Some(known) => known == holds,
            None => {
                self.ranges.learn(&condition, holds);
                opened.around.push((std::mem::take(&mut opened.stmts), condition, holds));
                true
            }
        }
    }
}
