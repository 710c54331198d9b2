//! The functions that are to be lowered: the entries, and what is met on the way.

use super::target::Form;
use crate::ir::FunId;
use indexmap::IndexMap;
use lm::effect::Effects;
use lm::term::FunName;
use std::collections::HashSet;

/// The functions met so far, with the form of what their results go to; those beyond the ones lowered are
/// still to do.
pub struct Wanted {
    pub(super) functions: IndexMap<(FunName, Form), ()>,
    /// The functions that are implemented elsewhere.
    pub(super) externals: HashSet<FunName>,
    /// The functions that derivations made.
    pub(super) derived: HashSet<FunName>,
    /// The functions that print.
    pub(super) effects: Effects,
}

impl Wanted {
    pub(super) fn id(&mut self, name: &FunName, form: Form) -> FunId {
        FunId(self.functions.insert_full((name.clone(), form), ()).0)
    }
}
