//! Finds the loops that are known to run once at most, such as those at the borders of a box.

use crate::analyses::ranges::Ranges;
use crate::ir::{Block, For, Function, Local, Stmt};
use rustc_hash::FxHashSet;

/// Returns the indices of the loops of a function that run once at most.
pub fn single_iterations(function: &Function) -> FxHashSet<Local> {
    let mut found = FxHashSet::default();
    visit(&function.body, &mut Ranges::new(function), &mut found);
    found
}

/// Returns whether a loop is known to have no second iteration.
pub fn runs_once(looped: &For, ranges: &mut Ranges) -> bool {
    let [from, to] = [&looped.from, &looped.to].map(|a| ranges.form(a));
    let second = to.minus(&from).and_then(|count| count.shifted(-1));
    ranges.is_not_positive(second)
}

fn visit(block: &Block, ranges: &mut Ranges, found: &mut FxHashSet<Local>) {
    for stmt in &block.stmts {
        if let Stmt::For(looped) = stmt
            && runs_once(looped, ranges)
        {
            found.insert(looped.index);
        }
        for (i, inner) in stmt.blocks().enumerate() {
            let mark = ranges.mark();
            ranges.enter(stmt, i);
            visit(inner, ranges, found);
            ranges.back_to(mark);
        }
        ranges.learn_from(stmt);
    }
}
