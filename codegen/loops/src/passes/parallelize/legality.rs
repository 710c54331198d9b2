//! Chooses the loops that can be divided. Their iterations are independent (`independence`) and give back to the arena
//! what they take. They watch no stack, and what several of them add to can be copied (`private`).

use super::cost::estimate;
use super::planner::{Plan, Planner};
use crate::analyses::arena_balance::gives_all_back;
use crate::analyses::independence::{Carried, Independence};
use crate::ir::{For, Local, LocalInfo, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::FxHashSet;

/// A body of so few statements is short.
const SHORT: usize = 16;

/// Returns whether a loop may take less time than to begin its chunks. It finds out no size before it begins.
pub(super) fn is_short(looped: &For) -> bool {
    let is_simple = |stmt: &Stmt| !stmt.has_blocks() && !matches!(stmt, Stmt::Call(..));
    looped.lanes == 1 && looped.body.len() <= SHORT && looped.body.stmts.iter().all(is_simple)
}

/// Returns whether a loop does nothing but store numbers. One thread does that about as fast as memory takes them, and a
/// loop that LLVM sees whole is a call of `memset`.
pub(super) fn only_fills(looped: &For) -> bool {
    let mut fills = looped.carried.is_empty();
    looped.body.visit(&mut |stmt| {
        fills &= match stmt {
            Stmt::Memory(Memory::Store(_, _, value)) => value.local().is_none(),
            Stmt::Let(_, op, _) => op.result() == Scalar::Integer,
            Stmt::For(inner) => inner.carried.is_empty(),
            _ => false,
        }
    });
    fills
}

/// The form of a carried value in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkPart {
    /// A value that does not change.
    Same,
    /// A sum of Floats.
    Float,
    /// A sum of Integers.
    Integer,
    /// The best of elements, or what is chosen with it.
    Best,
}

impl ChunkPart {
    /// Returns the sum of nothing, and its addition.
    pub(super) fn sum(self) -> Option<(Operand, Op)> {
        match self {
            ChunkPart::Same | ChunkPart::Best => None,
            // -0 + x is x, for all x.
            ChunkPart::Float => Some((Operand::Float(-0.0), Op::AddF)),
            ChunkPart::Integer => Some((Operand::Integer(0), Op::AddI)),
        }
    }
}

/// Returns what chunks know of what a loop carries.
pub(super) fn parts(carried: &[Carried], locals: &[LocalInfo], looped: &For) -> Vec<ChunkPart> {
    let part = |(carried, (x, _)): (&Carried, &(Local, Operand))| match carried {
        Carried::Same => ChunkPart::Same,
        Carried::Best(_) => ChunkPart::Best,
        Carried::Sum if locals[x.0 as usize].ty == Scalar::Float.ty() => ChunkPart::Float,
        Carried::Sum => ChunkPart::Integer,
    };
    carried.iter().zip(&looped.carried).map(part).collect()
}

impl<'a> Planner<'a> {
    /// Returns how to divide a loop, if that is possible.
    pub(super) fn plan(&self, looped: &'a For) -> Option<Plan> {
        let mut inside: FxHashSet<Local> = looped.carried.iter().map(|(x, _)| *x).chain([looped.index]).collect();
        looped.body.visit(&mut |stmt| inside.extend(stmt.targets().into_iter().chain(stmt.bound())));
        if !gives_all_back(&looped.body, &inside, &self.world.keeps) || !self.is_shallow(looped) {
            return None;
        }
        let found = self.independence(looped)?;
        let carried = parts(&found.carried, &self.function.locals, looped);
        let adds_up = carried.contains(&ChunkPart::Float) || !found.summed.is_empty();
        if adds_up && self.module.keeps_order {
            return None;
        }
        let private = found.summed.iter().map(|b| self.private(*b, looped)).collect::<Option<Vec<_>>>()?;
        let cost = estimate(self, looped, &inside);
        Some(Plan { private, cost })
    }

    pub(super) fn independence(&self, looped: &For) -> Option<Independence> {
        Independence::of(self.function, &self.aliases, &self.world.effects, looped).ok()
    }

    /// Returns whether no function that it calls is recursive: other threads have stacks of their own.
    fn is_shallow(&self, looped: &For) -> bool {
        let mut shallow = true;
        looped.body.callees(&mut |callee| shallow &= !self.world.recurs[callee.0]);
        shallow
    }
}
