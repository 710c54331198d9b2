//! Finds loops that fill buffers of numbers, which are only read then.

use crate::ir::{Block, For, Local, LocalInfo, Memory, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the loops that fill buffers of Integers which nothing else changes or shows.
pub(super) fn fillings(body: &Block, locals: &[LocalInfo]) -> FxHashMap<Local, For> {
    let mut changes: FxHashMap<Local, usize> = FxHashMap::default();
    let mut made = FxHashSet::default();
    let mut found = FxHashMap::default();
    let is_buffer = |x: &Local| locals[x.0 as usize].ty.element() == Some(Scalar::Integer.ty());
    body.visit(&mut |stmt| {
        if let Stmt::Memory(Memory::Alloc { buffer, .. }) = stmt {
            made.insert(*buffer);
        }
        if !matches!(stmt, Stmt::Memory(Memory::Load(..))) {
            let shown = stmt.blocks().flat_map(|block| &block.results).chain(stmt.operands());
            shown.filter_map(Operand::local).filter(is_buffer).for_each(|x| *changes.entry(x).or_default() += 1);
        }
        if let Stmt::For(looped) = stmt {
            let stored = looped.body.stmts.iter().filter_map(|stmt| match stmt {
                Stmt::Memory(Memory::Store(b, ..)) => b.local().filter(is_buffer),
                _ => None,
            });
            found.extend(stored.map(|b| (b, (**looped).clone())));
        }
    });
    body.results.iter().filter_map(Operand::local).for_each(|x| *changes.entry(x).or_default() += 1);
    found.retain(|b, _| made.contains(b) && changes.get(b) == Some(&1));
    found
}
