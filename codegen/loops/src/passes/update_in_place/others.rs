//! Decides how a nest gets at elements of a state other than the iteration's own.
//!
//! The step may have changed such an element already, or will. It has not if the step does not change the element at
//! all: what decides whether it does is evaluated at the place of the other element.

use crate::analyses::nests::{Nest, Slice};
use crate::analyses::ranges::Ranges;
use crate::ir::{Block, Local, LocalInfo, Memory, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// The way to an element that is not the iteration's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// In the state: this step does not change it.
    InPlace,
    /// In a variable: it is the same element in all iterations.
    Fixed,
    /// In a table over one index.
    Table(usize),
    /// In a second buffer of all elements.
    Whole,
}

/// What a step does to an element.
pub(super) enum Rule {
    /// Stores a value, which may be what is there. By conditionals, and by the elements themselves.
    Store(Operand, FxHashMap<Local, [Operand; 3]>, FxHashSet<Local>),
    /// Passes the element on where it adds what it has loaded, and does nothing else with it.
    Sum { buffer: Local, loaded: Local },
}

/// Accesses to a buffer at places other than the iteration's own, in the order of the text.
pub(super) struct Others<'a> {
    pub(super) nest: &'a Nest,
    pub(super) rule: &'a Rule,
    pub(super) innermost: &'a Block,
    /// Returns the place of an access to be decided.
    pub(super) access: &'a dyn Fn(&Stmt) -> Option<Operand>,
    pub(super) ways: Vec<Way>,
}

impl Others<'_> {
    /// Goes through a statement of the nest, with what is known there.
    pub(super) fn visit(&mut self, stmt: &Stmt, ranges: &mut Ranges, locals: &mut Vec<LocalInfo>) {
        if let Some(y) = (self.access)(stmt)
            && !self.nest.is_place(&y)
        {
            let way = self.way(&y, ranges, locals);
            self.ways.push(way);
        }
        for (i, block) in stmt.blocks().enumerate() {
            let mark = ranges.mark();
            ranges.enter(stmt, i);
            block.stmts.iter().for_each(|inner| self.visit(inner, ranges, locals));
            ranges.back_to(mark);
        }
        ranges.learn_from(stmt);
    }

    fn way(&mut self, y: &Operand, ranges: &mut Ranges, locals: &mut Vec<LocalInfo>) -> Way {
        if self.is_left_alone(y, ranges, locals) {
            return Way::InPlace;
        }
        match self.nest.depends_on(y).as_deref() {
            Some([]) => Way::Fixed,
            Some([k]) if self.nest.indices.len() > 1 => Way::Table(*k),
            _ => Way::Whole,
        }
    }

    /// Returns whether the step is known not to change the element at a place.
    fn is_left_alone(&self, y: &Operand, ranges: &mut Ranges, locals: &mut Vec<LocalInfo>) -> bool {
        let Some(coordinates) = self.nest.coordinates(y) else { return false };
        let mut rows = coordinates.iter().zip(&self.nest.sizes).skip(1);
        if !rows.all(|(x, size)| ranges.is_index(x, size)) {
            return false;
        }
        let given = self.nest.indices.iter().copied().zip(coordinates);
        let mut at = Elsewhere { slice: Slice::new(self.nest, given.collect()), ranges, locals };
        match self.rule {
            Rule::Store(value, choices, own) => at.keeps(value, choices, own),
            Rule::Sum { buffer, loaded } => at.passes_on(self.innermost, *buffer, *loaded, self.nest),
        }
    }
}

/// The evaluation of conditions at another place.
struct Elsewhere<'a> {
    slice: Slice<'a>,
    ranges: &'a mut Ranges,
    locals: &'a mut Vec<LocalInfo>,
}

impl Elsewhere<'_> {
    /// Returns a condition there.
    fn condition(&mut self, condition: &Operand) -> Option<Operand> {
        let mut stmts = Vec::new();
        let there = self.slice.value(condition, self.locals, &mut stmts);
        self.ranges.know(self.locals);
        stmts.iter().for_each(|stmt| self.ranges.learn_from(stmt));
        there
    }

    /// Returns whether something holds for the arms that may be taken there.
    fn in_arms<A: Copy>(&mut self, condition: &Operand, arms: [A; 2], holds: &dyn Fn(&mut Self, A) -> bool) -> bool {
        let Some(condition) = self.condition(condition) else { return arms.into_iter().all(|arm| holds(self, arm)) };
        match self.ranges.known(&condition) {
            Some(known) => holds(self, arms[usize::from(!known)]),
            None => [true, false].into_iter().zip(arms).all(|(side, arm)| {
                let mark = self.ranges.mark();
                self.ranges.learn(&condition, side);
                let holds = holds(self, arm);
                self.ranges.back_to(mark);
                holds
            }),
        }
    }

    /// Returns whether a stored value is the element itself there.
    fn keeps(&mut self, value: &Operand, choices: &FxHashMap<Local, [Operand; 3]>, own: &FxHashSet<Local>) -> bool {
        let Some(x) = value.local() else { return false };
        match choices.get(&x) {
            Some([condition, then, other]) => {
                self.in_arms(condition, [then, other], &|at, value| at.keeps(value, choices, own))
            }
            None => own.contains(&x),
        }
    }

    /// Returns whether an element is passed on there, and else not used.
    fn passes_on(&mut self, block: &Block, buffer: Local, loaded: Local, nest: &Nest) -> bool {
        let mut passed = 0;
        for stmt in block.stmts.iter().filter(|stmt| stmt.mentions(loaded)) {
            let is_passed = is_passing(stmt, buffer, loaded, nest)
                || self.in_arms_of(stmt, loaded, &|at, arm| at.passes_on(arm, buffer, loaded, nest));
            if !is_passed && !self.leaves(stmt, loaded) {
                return false;
            }
            passed += usize::from(is_passed);
        }
        passed == 1 && !gives(block, loaded)
    }

    /// Returns whether a statement does not use an element there.
    fn leaves(&mut self, stmt: &Stmt, loaded: Local) -> bool {
        let leaves =
            |at: &mut Self, arm: &Block| arm.stmts.iter().all(|stmt| at.leaves(stmt, loaded)) && !gives(arm, loaded);
        !stmt.mentions(loaded) || self.in_arms_of(stmt, loaded, &leaves)
    }

    /// Returns whether a statement is a conditional, and something holds for the arms that may be taken there.
    fn in_arms_of(&mut self, stmt: &Stmt, loaded: Local, holds: &dyn Fn(&mut Self, &Block) -> bool) -> bool {
        match stmt {
            Stmt::If(_, condition, then, other) if condition.local() != Some(loaded) => {
                self.in_arms(condition, [then, other], holds)
            }
            _ => false,
        }
    }
}

fn gives(block: &Block, x: Local) -> bool {
    block.results.iter().any(|a| a.local() == Some(x))
}

/// Returns whether a statement adds what was loaded to the same place.
pub(super) fn is_passing(stmt: &Stmt, buffer: Local, loaded: Local, nest: &Nest) -> bool {
    match stmt {
        Stmt::Memory(Memory::Add(b, x, a)) => {
            b.local() == Some(buffer) && a.local() == Some(loaded) && nest.is_place(x)
        }
        _ => false,
    }
}
