//! What is set in a block, and what needs it: which values a run takes along, and which of its results others need.

use super::shape::value_of;
use crate::ir::{Block, Function, Local, Operand, Scalar};
use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// What is set in a block, and what uses it.
pub(super) struct Scope {
    /// Where each value is computed that is computed from others alone.
    values: FxHashMap<Local, usize>,
    /// The statements that use each local; the number of statements for the results of the block.
    users: FxHashMap<Local, Vec<usize>>,
}

impl Scope {
    pub(super) fn of(block: &Block) -> Scope {
        let mut scope = Scope { values: FxHashMap::default(), users: FxHashMap::default() };
        for (i, stmt) in block.stmts.iter().enumerate() {
            scope.values.extend(value_of(stmt).map(|x| (x, i)));
            let mut used: FxHashSet<Local> = stmt.operands().into_iter().filter_map(Operand::local).collect();
            stmt.blocks().for_each(|inner| inner.visit_operands(&mut |a| used.extend(a.local())));
            used.into_iter().for_each(|x| scope.users.entry(x).or_default().push(i));
        }
        let results: FxHashSet<Local> = block.results.iter().filter_map(Operand::local).collect();
        results.into_iter().for_each(|x| scope.users.entry(x).or_default().push(block.stmts.len()));
        scope
    }

    /// Returns whether a value is computed again in a function that needs it. Floats are passed, but for those that are
    /// computed from what the run sets.
    fn is_copied(&self, i: usize, block: &Block, first: usize, function: &Function) -> bool {
        let is_float = |x: Local| function.locals[x.0 as usize].ty.as_scalar() == Some(Scalar::Float);
        i > first || !value_of(&block.stmts[i]).is_some_and(is_float)
    }

    /// Returns the statements of a run and those that compute what it needs.
    pub(super) fn with_values(&self, block: &Block, run: &BTreeSet<usize>, function: &Function) -> BTreeSet<usize> {
        let first = *run.first().expect("a run has statements");
        let mut moved = run.clone();
        let mut waiting: Vec<usize> = run.iter().copied().collect();
        while let Some(i) = waiting.pop() {
            let mut used: Vec<Local> = block.stmts[i].operands().into_iter().filter_map(Operand::local).collect();
            block.stmts[i].blocks().for_each(|inner| inner.visit_operands(&mut |a| used.extend(a.local())));
            let values = used.into_iter().filter_map(|x| self.values.get(&x).copied());
            let new = values.filter(|i| self.is_copied(*i, block, first, function)).filter(|i| moved.insert(*i));
            waiting.extend(new.collect::<Vec<_>>());
        }
        moved
    }

    /// Returns what is needed of a run afterwards, and the statements that go.
    pub(super) fn needed(
        &self,
        block: &Block,
        run: &BTreeSet<usize>,
        moved: &BTreeSet<usize>,
        function: &Function,
    ) -> (IndexSet<Local>, BTreeSet<usize>) {
        let first = *run.first().expect("a run has statements");
        let is_float = |i: usize| {
            value_of(&block.stmts[i])
                .is_some_and(|x| function.locals[x.0 as usize].ty.as_scalar() == Some(Scalar::Float))
        };
        let mut gone = run.clone();
        gone.extend(moved.iter().copied().filter(|i| *i > first && is_float(*i)));
        let mut lives: FxHashMap<usize, bool> = FxHashMap::default();
        let targets = gone.iter().flat_map(|i| block.stmts[*i].targets());
        let needed = targets.filter(|x| self.is_needed(*x, block, &gone, &mut lives)).collect();
        (needed, gone)
    }

    /// Returns whether something outside of a run needs a local, directly or by values that are computed from it.
    fn is_needed(&self, x: Local, block: &Block, gone: &BTreeSet<usize>, lives: &mut FxHashMap<usize, bool>) -> bool {
        let users = self.users.get(&x).map_or(&[][..], |users| users);
        users.iter().any(|user| {
            if gone.contains(user) {
                return false;
            }
            let Some(value) = block.stmts.get(*user).and_then(value_of) else { return true };
            if let Some(known) = lives.get(user) {
                return *known;
            }
            let lives_on = self.is_needed(value, block, gone, lives);
            lives.insert(*user, lives_on);
            lives_on
        })
    }
}
