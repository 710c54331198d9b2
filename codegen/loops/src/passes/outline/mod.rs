//! Makes one function of statements that are equal but for the names of locals.
//!
//! ```text
//! for i in 0..n { s }  ..  for j in 0..m { s[i := j, n := m, x := y] }
//!                                  =  call g(n, x)  ..  call g(m, y)      with  fun g(n, x) { for i in 0..n { s } }
//! s; t; u  ..  s; t; v             =  a = call g(); u  ..  b = call g(); v      with  fun g() { s; t; yield a }
//! ```
//!
//! A program multiplies matrices in many places. Once the product is inlined, each place has the same loops, and LLVM
//! would take its time for each of them: `nests`. The reverse derivative of a fold has the step of the fold in several
//! loops: `runs`. This pass is the last one: the others see statements with all that is around them.
//!
//! Places may differ in the order of what they compute: each value comes before what uses it first. They may differ in
//! which of their numbers are one, too: a product of square matrices is a product. The function takes those apart that
//! are apart in one of the places.
//!
//! Statements stay where they are if a buffer that they write to may share memory with another one of them: parameters
//! do not.

mod nests;
mod repeats;
mod runs;
mod scope;
mod shape;
mod text;

use super::pass::ModuleCx;
use crate::analyses::cache::Analyses;
use crate::analyses::independence::FunctionEffects;
use crate::analyses::verify::at_once_in;
use crate::ir::{Block, FunId, Function, Local, Memory, Module, Operand, Stmt};
use indexmap::IndexSet;
use rustc_hash::FxHashSet;

pub(super) fn run(cx: &mut ModuleCx) {
    let number = nests::run(cx);
    runs::run(cx, number);
    // A nest in one that is called is not, itself.
    cx.module.drop_unused();
    cx.module.mark();
}

/// Adds a function, with the effects of those that it calls, unless too little is known of its parameters for its loops to run at once.
fn add(module: &mut Module, function: Function, effects: &FunctionEffects) -> Option<FunId> {
    at_once_in(module, &function, effects).ok()?;
    module.functions.push(function);
    Some(FunId(module.functions.len() - 1))
}

/// Puts calls into functions. Less is known of what a call has made, so one whose loops could no longer run at once
/// stays as it was.
fn put_calls(module: &mut Module, callers: &IndexSet<FunId>, mut put: impl FnMut(FunId, &mut Block)) {
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

/// Returns what a statement sets that only computes a value from others.
fn value_of(stmt: &Stmt) -> Option<Local> {
    match stmt {
        Stmt::Let(x, ..) | Stmt::Memory(Memory::View(x, ..)) => Some(*x),
        _ => None,
    }
}

/// Returns whether a statement makes a buffer on the stack. It stays in the function: others may need the buffer.
fn is_stack(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Memory(Memory::Stack(..)))
}
