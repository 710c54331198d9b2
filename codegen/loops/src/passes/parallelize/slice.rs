//! Slices a block: takes the statements that one value needs, to compute it elsewhere, too.

use crate::ir::{Block, Local, LocalInfo, Memory, Op, Operand, Stmt};
use rustc_hash::FxHashMap;

/// Statements that compute a value from the index of a loop, and from what was there before the loop.
#[derive(Clone, Debug)]
pub(super) struct IndexSlice {
    index: Local,
    stmts: Vec<Stmt>,
    value: Operand,
}

impl IndexSlice {
    /// Returns what an operand of a loop's own block needs. There is none if it needs more than operations that cannot
    /// fail and loads of buffers that `is_fixed`, from in front of all that may leave the loop.
    pub(super) fn find_for(
        index: Local,
        body: &Block,
        value: &Operand,
        is_fixed: &impl Fn(Local) -> bool,
    ) -> Option<IndexSlice> {
        let mut needed: Vec<Local> = value.local().into_iter().collect();
        let mut stmts = Vec::new();
        let safe = body.stmts.iter().take_while(|stmt| !may_leave(stmt)).count();
        for (i, stmt) in body.stmts.iter().enumerate().rev() {
            if !stmt.targets().iter().any(|x| needed.contains(x)) {
                continue;
            }
            let fine = match stmt {
                Stmt::Let(_, op, _) => *op != Op::DivI || i < safe,
                Stmt::Memory(Memory::Load(_, b, _)) => i < safe && b.local().is_some_and(is_fixed),
                _ => false,
            };
            if !fine {
                return None;
            }
            needed.extend(stmt.operands().into_iter().filter_map(Operand::local));
            stmts.insert(0, stmt.clone());
        }
        Some(IndexSlice { index, stmts, value: value.clone() })
    }

    /// Returns whether the value is the same in each iteration, and set before.
    pub(super) fn is_constant(&self) -> bool {
        self.stmts.is_empty() && self.value.local() != Some(self.index)
    }

    /// Returns the value at an index, and the statements for it, with locals of their own.
    pub(super) fn at(&self, index: &Operand, locals: &mut Vec<LocalInfo>) -> (Vec<Stmt>, Operand) {
        let block = Block { stmts: self.stmts.clone(), results: vec![self.value.clone()] };
        let mut copy = block.copy(locals, FxHashMap::from_iter([(self.index, index.clone())]));
        let value = copy.results.pop().expect("there is one");
        (copy.stmts, value)
    }
}

fn may_leave(stmt: &Stmt) -> bool {
    let leaves = match stmt {
        Stmt::Check { .. } | Stmt::Call(..) | Stmt::External { .. } | Stmt::Write(_) | Stmt::Bench { .. } => true,
        // Beyond the end of the arena there is nothing.
        Stmt::Memory(Memory::Alloc { .. }) => false,
        Stmt::Let(..) | Stmt::If(..) | Stmt::For(_) | Stmt::Memory(_) => false,
    };
    leaves || stmt.blocks().flat_map(|block| &block.stmts).any(may_leave)
}
