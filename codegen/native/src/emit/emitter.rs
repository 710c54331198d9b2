//! The state of emission. The methods are in the other files, by what they emit.

use super::hotness::Hotness;
use crate::options::Math;
use crate::source::SourceInfo;
use crate::target::Target;
use indexmap::IndexMap;
use inkwell::builder::{Builder, BuilderError};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{FunctionValue, PointerValue};
use loops::analyses::slices::Slices;
use loops::ir;
use loops::ir::Failure;
use loops::lower::Outside;
use loops::symbol::Symbol;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// What to emit.
pub(crate) struct Request<'a> {
    /// The functions, entries first.
    pub module: &'a ir::Module,
    /// The symbols of the entries.
    pub symbols: &'a [Symbol],
    /// The entries as C calls them; those without a form in C are not exported.
    pub interfaces: &'a [Outside],
    /// Where errors point.
    pub source: &'a SourceInfo,
    /// The machine.
    pub target: &'a Target,
    /// How Floats are computed.
    pub math: Math,
    /// The least work of a chunk.
    pub grain: u64,
    /// Whether entries get a second form, `lmc.packed.<symbol>(ctx, in, out)`, with every argument
    /// and result a 64-bit word in an array: that is what the JIT calls.
    pub packed: bool,
    /// Whether the code counts what it does: see `counters`.
    pub counted: bool,
    /// The slices that tell workspaces, where entries get queries for them; then `module` is theirs.
    pub slices: Option<&'a Slices>,
}

/// What there is while a module is emitted.
pub(super) struct Emitter<'ctx, 'a> {
    pub(super) context: &'ctx Context,
    pub(super) module: Module<'ctx>,
    pub(super) builder: Builder<'ctx>,
    pub(super) request: &'a Request<'a>,
    pub(super) functions: Vec<FunctionValue<'ctx>>,
    pub(super) texts: IndexMap<Arc<str>, PointerValue<'ctx>>,
    /// What each function of the module writes to.
    pub(super) written: Vec<loops::analyses::alias::Written>,
    /// How many alias scopes there are.
    pub(super) scopes: usize,
    /// The errors that may be reported, by what they are and where they point.
    pub(super) sites: IndexMap<(Failure, u32, u32, usize), PointerValue<'ctx>>,
    /// Which functions may run more than once in a call of an entry.
    pub(super) repeated: Vec<bool>,
    /// How often the code at hand runs.
    pub(super) hotness: Hotness,
    /// Which buffers may share memory, in functions of which there are slices with loops in lanes.
    pub(super) aliases: HashMap<usize, Rc<loops::analyses::alias::Aliases>>,
}

/// What a builder gave. It refuses only where it stands nowhere or types clash: both are bugs of ours.
pub(super) fn built<T>(result: Result<T, BuilderError>) -> T {
    result.expect("loops are well-typed and the builder stands in a block")
}
