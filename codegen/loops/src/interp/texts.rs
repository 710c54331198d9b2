//! The texts of a call, by number. Equal texts have one number, and texts end at a NUL, as in C.

use crate::ir::{Module, Operand};
use indexmap::IndexSet;
use std::sync::Arc;

/// The texts of a call.
#[derive(Debug, Default)]
pub(super) struct Texts(IndexSet<Arc<str>>);

impl Texts {
    /// All constants of a module.
    pub(super) fn of(module: &Module) -> Texts {
        let mut texts = Texts::default();
        for function in &module.functions {
            function.body.visit_operands(&mut |a| {
                if let Operand::Text(text) = a {
                    texts.add(text);
                }
            });
        }
        texts
    }

    /// The number of a text, which is known then.
    pub(super) fn add(&mut self, text: &Arc<str>) -> u32 {
        self.0.insert_full(until_nul(text)).0 as u32
    }

    /// The number of a text that is known.
    pub(super) fn number(&self, text: &Arc<str>) -> u32 {
        self.0.get_index_of(&until_nul(text)).expect("constants are known") as u32
    }

    /// The text of a number.
    pub(super) fn text(&self, number: u32) -> Arc<str> {
        self.0[number as usize].clone()
    }
}

fn until_nul(text: &Arc<str>) -> Arc<str> {
    match text.split_once('\0') {
        Some((text, _)) => text.into(),
        None => text.clone(),
    }
}
