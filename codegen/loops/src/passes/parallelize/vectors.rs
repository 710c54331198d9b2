//! Tells which innermost loops LLVM runs on vectors, for the cost of an iteration. Their operations exist for vectors,
//! their elements lie in order, and they carry only sums and best elements.

use crate::analyses::independence::carried;
use crate::ir::{For, Local, LocalInfo, Memory, Op, Operand, Stmt};
use rustc_hash::FxHashSet;

/// Returns whether LLVM runs a loop on vectors; `keeps_order`: sums are added up in order.
pub(super) fn runs_on_vectors(locals: &[LocalInfo], looped: &For, keeps_order: bool) -> bool {
    let mut inside: FxHashSet<Local> = looped.carried.iter().map(|(x, _)| *x).chain([looped.index]).collect();
    inside.extend(looped.body.stmts.iter().flat_map(Stmt::targets));
    let mut places = Places { inside, in_order: FxHashSet::from_iter([looped.index]) };
    let sums = looped.carried.is_empty() || !keeps_order && carried(locals, looped).is_ok();
    sums && looped.body.stmts.iter().all(|stmt| places.has_vectors(stmt))
}

/// The positions of loaded and stored elements.
struct Places {
    /// The locals that may differ between iterations.
    inside: FxHashSet<Local>,
    /// The locals that grow by one in each iteration.
    in_order: FxHashSet<Local>,
}

impl Places {
    fn has_vectors(&mut self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Let(x, op, args) => {
                if self.is_next(*op, args) {
                    self.in_order.insert(*x);
                }
                op.has_vector_instructions()
            }
            Stmt::Memory(Memory::Load(_, b, i)) => !self.varies(b) && (self.is_in_order(i) || !self.varies(i)),
            Stmt::Memory(Memory::Store(b, i, _) | Memory::Add(b, i, _)) => !self.varies(b) && self.is_in_order(i),
            _ => false,
        }
    }

    /// Returns whether what an operation gives is in order, too.
    fn is_next(&self, op: Op, args: &[Operand]) -> bool {
        match op {
            Op::AddI => [(0, 1), (1, 0)].iter().any(|(i, j)| self.is_in_order(&args[*i]) && !self.varies(&args[*j])),
            Op::SubI => self.is_in_order(&args[0]) && !self.varies(&args[1]),
            _ => false,
        }
    }

    fn is_in_order(&self, a: &Operand) -> bool {
        a.local().is_some_and(|x| self.in_order.contains(&x))
    }

    fn varies(&self, a: &Operand) -> bool {
        a.local().is_some_and(|x| self.inside.contains(&x))
    }
}
