//! What is set in a block, and what needs it: which values a run takes along, and which of its results others need.

use super::shape::{used_by, value_of};
use crate::ir::{Block, Function, Local, Operand, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// What is set in a block, and what uses it.
pub(super) struct Scope<'a> {
    block: &'a Block,
    function: &'a Function,
    /// Where each value is computed that is computed from others alone.
    values: FxHashMap<Local, usize>,
    /// The statements that use each local, in order; the number of statements for the results of the block.
    users: FxHashMap<Local, Vec<usize>>,
}

impl<'a> Scope<'a> {
    pub(super) fn of(block: &'a Block, function: &'a Function) -> Scope<'a> {
        let mut scope = Scope { block, function, values: FxHashMap::default(), users: FxHashMap::default() };
        for (i, stmt) in block.stmts.iter().enumerate() {
            scope.values.extend(value_of(stmt).map(|x| (x, i)));
            let used: FxHashSet<Local> = used_by(stmt).into_iter().collect();
            used.into_iter().for_each(|x| scope.users.entry(x).or_default().push(i));
        }
        let results: FxHashSet<Local> = block.results.iter().filter_map(Operand::local).collect();
        results.into_iter().for_each(|x| scope.users.entry(x).or_default().push(block.stmts.len()));
        scope
    }

    fn is_float(&self, i: usize) -> bool {
        let is_float = |x: Local| self.function.locals[x.0 as usize].ty.as_scalar() == Some(Scalar::Float);
        value_of(&self.block.stmts[i]).is_some_and(is_float)
    }

    /// Returns the statements of a run and those that compute what it needs. Floats are passed, but for those that are
    /// computed within the run.
    pub(super) fn with_values(&self, run: &BTreeSet<usize>) -> BTreeSet<usize> {
        let first = *run.first().expect("a run has statements");
        let mut moved = run.clone();
        let mut waiting: Vec<usize> = run.iter().copied().collect();
        while let Some(i) = waiting.pop() {
            let values = used_by(&self.block.stmts[i]).into_iter().filter_map(|x| self.values.get(&x).copied());
            let copied = values.filter(|i| *i > first || !self.is_float(*i));
            waiting.extend(copied.filter(|i| moved.insert(*i)));
        }
        moved
    }

    /// Returns the statements of a run that go, and what is needed of them afterwards.
    pub(super) fn needed(&self, run: &BTreeSet<usize>, moved: &BTreeSet<usize>) -> (BTreeSet<usize>, Vec<Local>) {
        let first = *run.first().expect("a run has statements");
        let mut gone = run.clone();
        gone.extend(moved.iter().copied().filter(|i| *i > first && self.is_float(*i)));
        let targets: Vec<Local> = gone.iter().flat_map(|i| self.block.stmts[*i].targets()).collect();
        let lives = self.living_values(&targets, &gone);
        let needed = targets.into_iter().filter(|x| self.is_needed(*x, &gone, &lives)).collect();
        (gone, needed)
    }

    /// Returns the values that are computed from these locals, directly or not, and needed outside of a run. Chains of
    /// values are long.
    fn living_values(&self, of: &[Local], gone: &BTreeSet<usize>) -> FxHashSet<usize> {
        let mut reached: BTreeSet<usize> = BTreeSet::new();
        let mut waiting = of.to_vec();
        while let Some(x) = waiting.pop() {
            for user in self.users_of(x).iter().filter(|user| !gone.contains(user)) {
                let value = self.block.stmts.get(*user).and_then(value_of);
                waiting.extend(value.filter(|_| reached.insert(*user)));
            }
        }
        let mut lives = FxHashSet::default();
        // What uses a value comes behind it.
        for i in reached.into_iter().rev() {
            if value_of(&self.block.stmts[i]).is_some_and(|x| self.is_needed(x, gone, &lives)) {
                lives.insert(i);
            }
        }
        lives
    }

    /// Returns whether something outside of a run needs a local: directly, or by a value that lives.
    fn is_needed(&self, x: Local, gone: &BTreeSet<usize>, lives: &FxHashSet<usize>) -> bool {
        let is_value = |i: usize| self.block.stmts.get(i).and_then(value_of).is_some();
        self.users_of(x).iter().any(|user| !gone.contains(user) && (!is_value(*user) || lives.contains(user)))
    }

    fn users_of(&self, x: Local) -> &[usize] {
        self.users.get(&x).map_or(&[], |users| users)
    }
}
