//! Replaces calls by the body of the function.
//!
//! ```text
//! x = call f(a)   with   fun f(y) -> (t) { s; yield r }     =     s[y := a], with locals of its own;  x := r[y := a]
//! ```

use super::{Block, Function, Local, LocalInfo, Operand};
use rustc_hash::FxHashMap;

/// Maps the results of inlined calls to operands.
#[derive(Default)]
pub struct Inlined(FxHashMap<Local, Operand>);

impl Inlined {
    /// Replaces a result of an inlined call by its value.
    pub fn rename(&self, a: &mut Operand) {
        if let Some(other) = a.local().and_then(|x| self.0.get(&x)) {
            *a = other.clone();
        }
    }

    /// Appends an inlined body to a block. The results are those of the call that it replaces.
    pub fn put(&mut self, body: Block, results: Vec<Local>, block: &mut Block) {
        block.stmts.extend(body.stmts);
        self.0.extend(results.into_iter().zip(body.results));
    }
}

/// Returns what a call does, with locals of the caller.
pub fn body_of(function: &Function, args: Vec<Operand>, locals: &mut Vec<LocalInfo>) -> Block {
    let given = function.params.iter().copied().zip(args).collect();
    function.body.copy_from(&function.locals, locals, given)
}
