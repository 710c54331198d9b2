//! Keeps analyses of functions for those who ask again.
//!
//! An entry is found by what it was computed from: the function's text, and what the functions that it calls write to.
//! So a pass need not say what it changed, and no entry is ever out of date.

use super::alias::written::{settled, written_by};
use super::alias::{Aliases, Written};
use crate::ir::{Block, FunId, Function, Local, Module, Ty};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The analyses that were made of the functions of a module.
#[derive(Default)]
pub struct Analyses {
    /// The latest of each function, with what it was computed from.
    aliases: FxHashMap<FunId, (Question, Rc<Aliases>)>,
}

impl Analyses {
    /// Returns which buffers of a function may share memory, given what each function writes to.
    pub fn aliases(&mut self, id: FunId, function: &Function, written: &[Written]) -> Rc<Aliases> {
        match self.aliases.get(&id) {
            Some((known, aliases)) if known.is_of(function, written) => aliases.clone(),
            _ => {
                let aliases = Rc::new(Aliases::of(function, written));
                self.aliases.insert(id, (Question::of(function, written), aliases.clone()));
                aliases
            }
        }
    }

    /// Returns the parameters that each function writes to.
    pub fn written(&mut self, module: &Module) -> Vec<Written> {
        settled(module, |id, function, written| written_by(function, &self.aliases(id, function, written), written))
    }
}

/// Returns the parameters that each function of a module writes to.
pub fn written(module: &Module) -> Vec<Written> {
    Analyses::default().written(module)
}

/// All that [`Aliases::of`] looks at.
struct Question {
    params: Vec<Local>,
    types: Vec<Ty>,
    body: Block,
    /// What the functions write to that the body calls, in the order of the calls.
    written: Vec<Written>,
}

impl Question {
    fn of(function: &Function, written: &[Written]) -> Question {
        Question {
            params: function.params.clone(),
            types: function.locals.iter().map(|local| local.ty).collect(),
            body: function.body.clone(),
            written: written_in(&function.body, written).into_iter().cloned().collect(),
        }
    }

    fn is_of(&self, function: &Function, written: &[Written]) -> bool {
        self.params == function.params
            && self.types.iter().eq(function.locals.iter().map(|local| &local.ty))
            && self.body == function.body
            && self.written.iter().eq(written_in(&self.body, written))
    }
}

/// Returns what the functions write to that a block calls, in the order of the calls.
fn written_in<'a>(block: &Block, written: &'a [Written]) -> Vec<&'a Written> {
    let mut found = vec![];
    block.callees(&mut |callee| found.push(&written[callee.0]));
    found
}
