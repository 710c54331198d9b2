//! Keeps analyses of functions for those who ask again.
//!
//! An entry is found by what it was computed from: the function's text, and summaries of the functions that it calls.
//! So a pass need not say what it changed, and no entry is ever out of date.

use super::alias::summary::{settled, summary};
use super::alias::{Aliases, Summary};
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
    /// Returns which buffers of a function may share memory, given a summary of each function.
    pub fn aliases(&mut self, id: FunId, function: &Function, summaries: &[Summary]) -> Rc<Aliases> {
        match self.aliases.get(&id) {
            Some((known, aliases)) if known.is_of(function, summaries) => aliases.clone(),
            _ => {
                let aliases = Rc::new(Aliases::of(function, summaries));
                self.aliases.insert(id, (Question::of(function, summaries), aliases.clone()));
                aliases
            }
        }
    }

    /// Returns a summary of each function.
    pub fn summaries(&mut self, module: &Module) -> Vec<Summary> {
        settled(module, |id, function, summaries| summary(function, &self.aliases(id, function, summaries), summaries))
    }
}

/// Returns a summary of each function of a module.
pub fn summaries(module: &Module) -> Vec<Summary> {
    Analyses::default().summaries(module)
}

/// All that [`Aliases::of`] looks at.
struct Question {
    params: Vec<Local>,
    types: Vec<Ty>,
    body: Block,
    /// What the functions write to that the body calls, in the order of the calls.
    summaries: Vec<Summary>,
}

impl Question {
    fn of(function: &Function, summaries: &[Summary]) -> Question {
        Question {
            params: function.params.clone(),
            types: function.locals.iter().map(|local| local.ty).collect(),
            body: function.body.clone(),
            summaries: summaries_in(&function.body, summaries).into_iter().cloned().collect(),
        }
    }

    fn is_of(&self, function: &Function, summaries: &[Summary]) -> bool {
        self.params == function.params
            && self.types.iter().eq(function.locals.iter().map(|local| &local.ty))
            && self.body == function.body
            && self.summaries.iter().eq(summaries_in(&self.body, summaries))
    }
}

/// Returns what the functions write to that a block calls, in the order of the calls.
fn summaries_in<'a>(block: &Block, summaries: &'a [Summary]) -> Vec<&'a Summary> {
    let mut found = vec![];
    block.callees(&mut |callee| found.push(&summaries[callee.0]));
    found
}
