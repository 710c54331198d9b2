//! Definitions that take functions, and their copies, each for the functions of some calls. See `second_order.rs`.

use crate::ks::check::head::Param;
use crate::ks::reader::Sexp;
use indexmap::IndexMap;
use lm::sizes::Signature;
use lm::term::{Def, Fun, FunName};
use lm::types::Type;
use std::sync::Arc;

/// The definitions that take functions, and their copies.
#[derive(Debug, Default)]
pub struct Copies {
    pub(super) definitions: IndexMap<FunName, Definition>,
    pub(super) all: Vec<Copy>,
    /// The definitions that are being copied.
    pub(super) in_progress: Vec<FunName>,
}

#[derive(Clone, Debug)]
pub struct Definition {
    pub(super) params: Vec<Param>,
    pub(super) signature: Option<Arc<Signature>>,
    pub(super) body: Sexp,
}

#[derive(Debug)]
pub struct Copy {
    /// The functions that it is made for, as a definition that gives their tuple, with what they use of
    /// the place of a call as parameters.
    pub(super) made_for: Def,
    pub(super) fun: Arc<Fun>,
    /// Missing while it is made, and when it is wrong.
    pub(super) def: Option<Def>,
}

impl Copies {
    /// Returns the copies, in the order in which they were asked for.
    pub fn defs(&self) -> impl Iterator<Item = &Def> {
        self.all.iter().filter_map(|copy| copy.def.as_ref())
    }
}

/// Returns whether the function takes functions, so that its calls become calls of copies.
pub fn takes_functions(fun: &Fun) -> bool {
    fun.params.iter().any(is_function)
}

pub fn is_function(ty: &Type) -> bool {
    matches!(ty, Type::Lam(..))
}
