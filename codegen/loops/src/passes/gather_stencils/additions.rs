//! Finds what a nest adds, and how far each place is from that of the iteration.

use super::Gatherer;
use crate::analyses::nests::Nest;
use crate::analyses::places::locals;
use crate::ir::{Local, Memory, Operand, Stmt};
use lm::sizes::Polynomial;
use rustc_hash::FxHashMap;

/// The most conditionals that the place of an addition may depend on.
const MOST_CHOICES: usize = 6;

/// An addition in the innermost block of a nest.
pub(super) struct Addition {
    pub(super) buffer: Local,
    pub(super) place: Operand,
    /// None where nothing is known of the place.
    pub(super) at: Option<At>,
    pub(super) value: Operand,
    /// The conditions around it, and whether they hold.
    pub(super) conditions: Vec<(Operand, bool)>,
    /// What conditionals give that the place depends on, where the conditions hold.
    pub(super) chosen: FxHashMap<Local, Operand>,
}

/// The place of an addition.
pub(super) enum At {
    /// That of the iteration.
    Own,
    /// The index of each dimension less that of the nest, and the sizes of the dimensions but the first.
    Offset(Vec<Polynomial>, Vec<Operand>),
}

/// One way through the conditionals that a place depends on.
#[derive(Default)]
struct Case {
    /// What they give.
    chosen: FxHashMap<Local, Operand>,
    /// The conditions, where they are not known.
    conditions: Vec<(Operand, bool)>,
}

impl Gatherer<'_> {
    /// Returns the additions of a nest, with what is known there.
    pub(super) fn additions(&mut self, stmt: &Stmt, nest: &Nest) -> Vec<Addition> {
        let mut found = Vec::new();
        self.collect(stmt, nest, &mut vec![], &mut found);
        found
    }

    fn collect(&mut self, stmt: &Stmt, nest: &Nest, conditions: &mut Vec<(Operand, bool)>, out: &mut Vec<Addition>) {
        if let Stmt::Memory(Memory::Add(b, place, value)) = stmt
            && let Some(buffer) = b.local()
        {
            let mut add = |at, case: &Case| {
                let (place, value, chosen) = (place.clone(), value.clone(), case.chosen.clone());
                let conditions = [&conditions[..], &case.conditions].concat();
                out.push(Addition { buffer, place, at, value, conditions, chosen });
            };
            match nest.is_place(place) {
                true => add(Some(At::Own), &Case::default()),
                false => self.add_cases(place, nest, &mut Case::default(), &mut add),
            }
        }
        for (i, block) in stmt.blocks().enumerate() {
            let mark = self.ranges.mark();
            self.ranges.enter(stmt, i);
            let count = out.len();
            if let Stmt::If(_, condition, ..) = stmt {
                conditions.push((condition.clone(), i == 0));
            }
            block.stmts.iter().for_each(|inner| self.collect(inner, nest, conditions, out));
            match stmt {
                Stmt::If(..) => drop(conditions.pop()),
                // What a loop in the nest adds is not added once.
                Stmt::For(looped) if !nest.indices.contains(&looped.index) => {
                    out[count..].iter_mut().for_each(|addition| addition.at = None);
                }
                _ => {}
            }
            self.ranges.back_to(mark);
        }
        self.ranges.learn_from(stmt);
    }

    /// Adds the offsets of a place, one for each case where conditionals give what it is made of.
    fn add_cases(&mut self, place: &Operand, nest: &Nest, case: &mut Case, add: &mut impl FnMut(Option<At>, &Case)) {
        let Some(x) = nest.choice_in(place, &case.chosen) else {
            return add(self.offset(place, nest, &case.chosen), case);
        };
        if case.chosen.len() == MOST_CHOICES {
            return add(None, &Case::default());
        }
        let [condition, then, other] = &nest.choices[&x];
        let known = self.ranges.known(condition);
        for (arm, holds) in [(then, true), (other, false)] {
            if known == Some(!holds) {
                continue;
            }
            let (mark, count) = (self.ranges.mark(), case.conditions.len());
            self.ranges.learn(condition, holds);
            case.conditions.extend(known.is_none().then(|| (condition.clone(), holds)));
            case.chosen.insert(x, arm.clone());
            self.add_cases(place, nest, case, add);
            case.chosen.remove(&x);
            case.conditions.truncate(count);
            self.ranges.back_to(mark);
        }
    }

    /// Returns how far a place is from that of the iteration, in each dimension.
    fn offset(&mut self, place: &Operand, nest: &Nest, chosen: &FxHashMap<Local, Operand>) -> Option<At> {
        let (coordinates, sizes) = nest.coordinates_in_rows(place, chosen)?;
        for (x, size) in coordinates[1..].iter().zip(&sizes) {
            self.ranges.is_index(x, size).then_some(())?;
        }
        let mut offsets = Vec::new();
        for (k, x) in coordinates.iter().enumerate() {
            let x = self.chosen_polynomial(x, chosen);
            offsets.push(self.offset_of(&x, nest, k)?);
        }
        Some(At::Offset(offsets, sizes))
    }

    fn chosen_polynomial(&self, x: &Operand, chosen: &FxHashMap<Local, Operand>) -> Polynomial {
        let mut polynomial = self.places.polynomial(x);
        loop {
            let choice = locals(&polynomial).find_map(|x| Some((x, chosen.get(&x)?)));
            let Some((x, arm)) = choice else { return polynomial };
            polynomial = self.places.with(&polynomial, x, &self.places.polynomial(arm));
        }
    }

    /// Returns how far an index is from that of a dimension, which may be known to be the first or the last one.
    fn offset_of(&mut self, x: &Polynomial, nest: &Nest, k: usize) -> Option<Polynomial> {
        let (index, size) = (Operand::Local(nest.indices[k]), &nest.sizes[k]);
        let is_fixed = |offset: &Polynomial| locals(offset).all(|x| !nest.set.contains(&x));
        let offset = x.minus(&self.places.polynomial(&index));
        if is_fixed(&offset) {
            return Some(offset);
        }
        is_fixed(x).then_some(())?;
        if self.ranges.is_at_most(&index, &Operand::Integer(0)) {
            return Some(x.clone());
        }
        let after = self.ranges.form(size).minus(&self.ranges.form(&index)).and_then(|form| form.shifted(-1));
        self.ranges.is_not_positive(after).then(|| x.minus(&self.places.polynomial(size).shifted(-1)))
    }
}
