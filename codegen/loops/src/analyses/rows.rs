//! Finds the inner loops of a loop in lanes that go along rows of memory, one row for each lane.
//!
//! ```text
//! for i lanes W { s = for j in 0..m carrying (z = 0) { z + w[i m + j] x[j] }; .. }
//! ```
//!
//! All lanes together read w a row apart, an element at a time. One lane after the other reads its row in order, and
//! LLVM makes vectors of that. This is less work where rows are long, as long as a lane does nothing else in the loop.

use super::divergence::{Divergence, Layout, find_strides, stride};
use super::independence::{Carried, carried};
use crate::ir::{Block, For, Function, Local, Memory, Operand, Stmt};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Returns whether a loop inside of a loop in lanes goes along rows, so that one lane may run it after the other.
///
/// All lanes have the same bounds. There are operations and accesses only, and sums that differ from lane to lane. No
/// memory is the lanes' own, and none that they share is written. In the loop's own index each access has stride 0 or
/// 1; between lanes, one has neither.
pub fn goes_along_rows(function: &Function, spread: &Divergence, looped: &For) -> bool {
    let is_uniform = [&looped.from, &looped.to].iter().all(|bound| !spread.varies(bound));
    let is_apart = looped.carried.iter().all(|(x, _)| spread.varies(&Operand::Local(*x)));
    let is_sum = |all: Vec<Carried>| all.iter().all(|carried| matches!(carried, Carried::Sum));
    let has_sums = || carried(&function.locals, looped).is_ok_and(is_sum);
    is_uniform && is_apart && is_of_accesses(&looped.body) && has_sums() && {
        let accesses = accesses(&looped.body);
        let set: BTreeSet<Local> = looped.body.stmts.iter().flat_map(Stmt::targets).collect();
        let along = Along::of(looped);
        let is_plain = |access: &Access| {
            let is_outer = access.buffer.local().is_some_and(|b| !set.contains(&b));
            let layout = spread.layout(access.buffer);
            is_outer && (layout == Layout::Plain || layout == Layout::Shared && !access.writes)
        };
        let is_apart = |access: &Access| {
            spread.varies(access.buffer) || spread.varies(access.index) && spread.stride(access.index) != Some(1)
        };
        accesses.iter().all(|access| is_plain(access) && along.is_near(access.index)) && accesses.iter().any(is_apart)
    }
}

struct Access<'a> {
    buffer: &'a Operand,
    index: &'a Operand,
    writes: bool,
}

/// Returns whether there are only accesses and operations with vector instructions.
fn is_of_accesses(body: &Block) -> bool {
    body.stmts.iter().all(|stmt| match stmt {
        Stmt::Let(_, op, _) => op.has_vector_instructions(),
        Stmt::Memory(memory) => matches!(memory, Memory::Load(..) | Memory::Store(..) | Memory::Add(..)),
        _ => false,
    })
}

fn accesses(body: &Block) -> Vec<Access<'_>> {
    body.stmts
        .iter()
        .filter_map(|stmt| match stmt {
            Stmt::Memory(Memory::Load(_, buffer, index)) => Some(Access { buffer, index, writes: false }),
            Stmt::Memory(Memory::Store(buffer, index, _) | Memory::Add(buffer, index, _)) => {
                Some(Access { buffer, index, writes: true })
            }
            _ => None,
        })
        .collect()
}

/// How Integers differ from one iteration of a loop to the next.
struct Along {
    varying: BTreeSet<Local>,
    strides: FxHashMap<Local, i64>,
}

impl Along {
    fn of(looped: &For) -> Along {
        let mut varying: BTreeSet<Local> = looped.carried.iter().map(|(x, _)| *x).chain([looped.index]).collect();
        for stmt in &looped.body.stmts {
            if stmt.operands().into_iter().filter_map(Operand::local).any(|x| varying.contains(&x)) {
                varying.extend(stmt.targets());
            }
        }
        let mut strides = FxHashMap::from_iter([(looped.index, 1)]);
        find_strides(&looped.body, &varying, &mut strides);
        Along { varying, strides }
    }

    fn is_near(&self, index: &Operand) -> bool {
        matches!(stride(index, &self.varying, &self.strides), Some(0 | 1))
    }
}
