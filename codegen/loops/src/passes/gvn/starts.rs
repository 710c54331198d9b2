//! Chooses the start of sums that may have no terms.
//!
//! ```text
//! x = for i in a..b carrying (y = -0.0) { .. }; if a < b x else 0.0
//!   =   z = if a < b -0.0 else 0.0; x = for i in a..b carrying (y = z) { .. }
//! ```
//!
//! -0 + x is x for all x, so a sum starts from -0. But a sum without terms is 0. A test before the loop is harmless. A
//! conditional after the loop would hide the sum from other passes.

use crate::ir::{Block, Builder, Local, LocalInfo, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// Sums from -0 on. By default none of them can be chosen.
#[derive(Default)]
pub(super) struct Starts {
    /// How often each local is used.
    uses: FxHashMap<Local, usize>,
    /// The ranges of their loops.
    ranges: FxHashMap<Local, [Operand; 2]>,
    /// The sums that start from 0 if they have no terms.
    chosen: FxHashSet<Local>,
}

impl Starts {
    pub(super) fn new(body: &Block) -> Starts {
        Starts { uses: body.use_counts(), ranges: FxHashMap::default(), chosen: FxHashSet::default() }
    }

    /// A loop that is done gives what it carries from a start on.
    pub(super) fn learn_sum(&mut self, result: Local, start: &Operand, range: [&Operand; 2]) {
        if start.same(&Operand::Float(-0.0)) {
            self.ranges.insert(result, range.map(Operand::clone));
        }
    }

    /// Returns whether a sum can replace a conditional on its range that gives the sum or 0. If so, the sum will start
    /// that way.
    pub(super) fn choose(&mut self, sum: Local, asked: Option<&(Op, Vec<Operand>)>) -> bool {
        let (Some([from, to]), Some((Op::LtI, args))) = (self.ranges.get(&sum), asked) else { return false };
        let is_its_range = args[0].same(from) && args[1].same(to);
        // Without a conditional, the sum keeps its -0.
        let can = is_its_range && self.uses.get(&sum) == Some(&1);
        can && {
            self.chosen.insert(sum);
            true
        }
    }

    /// Lets the chosen sums start so.
    pub(super) fn put(&self, block: &mut Block, locals: &mut Vec<LocalInfo>) {
        if self.chosen.is_empty() {
            return;
        }
        for mut stmt in std::mem::take(&mut block.stmts) {
            stmt.blocks_mut().for_each(|block| self.put(block, locals));
            if let Stmt::For(looped) = &mut stmt
                && looped.results.iter().any(|x| self.chosen.contains(x))
            {
                let mut build = Builder { locals };
                let some = build.op(Op::LtI, [looped.from.clone(), looped.to.clone()], &mut block.stmts);
                let starts = [-0.0, 0.0].map(Operand::Float);
                let start = build.choice(some, starts, Scalar::Float.ty(), &mut block.stmts);
                for (result, (_, init)) in looped.results.iter().zip(&mut looped.carried) {
                    if self.chosen.contains(result) {
                        *init = start.clone();
                    }
                }
            }
            block.stmts.push(stmt);
        }
    }
}
