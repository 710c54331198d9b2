//! Puts functions into a module, and calls of them into others.

use super::shape::value_of;
use crate::analyses::cache::Analyses;
use crate::analyses::independence::FunctionEffects;
use crate::analyses::verify::at_once_in;
use crate::ir::{Block, FunId, Function, Local, Module, Operand};
use indexmap::IndexSet;
use rustc_hash::FxHashSet;

/// Adds a function, with the effects of those that it calls. None where too little is known of its parameters for its
/// loops to run at once.
pub(super) fn add(module: &mut Module, function: Function, effects: &FunctionEffects) -> Option<FunId> {
    at_once_in(module, &function, effects).ok()?;
    module.functions.push(function);
    Some(FunId(module.functions.len() - 1))
}

/// Puts calls into functions. Less is known of what a call has made, so one whose loops could no longer run at once
/// stays as it was.
pub(super) fn put_calls(module: &mut Module, callers: &IndexSet<FunId>, mut put: impl FnMut(FunId, &mut Block)) {
    let mut before: Vec<(FunId, Block)> = Vec::new();
    for id in callers {
        let body = &mut module.functions[id.0].body;
        before.push((*id, body.clone()));
        put(*id, body);
        drop_unused(body, &mut FxHashSet::default());
    }
    let effects = FunctionEffects::of(module, &mut Analyses::default());
    for (id, body) in before {
        if at_once_in(module, &module.functions[id.0], &effects).is_err() {
            module.functions[id.0].body = body;
        }
    }
}

/// Drops values that nothing uses any more.
fn drop_unused(block: &mut Block, used: &mut FxHashSet<Local>) {
    used.extend(block.results.iter().filter_map(Operand::local));
    let mut kept = vec![];
    for mut stmt in std::mem::take(&mut block.stmts).into_iter().rev() {
        if value_of(&stmt).is_some_and(|x| !used.contains(&x)) {
            continue;
        }
        stmt.blocks_mut().for_each(|inner| drop_unused(inner, used));
        used.extend(stmt.operands().into_iter().filter_map(Operand::local));
        kept.push(stmt);
    }
    block.stmts.extend(kept.into_iter().rev());
}
