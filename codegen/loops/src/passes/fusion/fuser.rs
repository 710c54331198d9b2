//! What is known while loops are merged.

use super::equal::Equal;
use super::neighbours::Way;
use crate::analyses::alias::Aliases;
use crate::analyses::effects::{Callees, StmtEffects};
use crate::ir::{Local, LocalInfo, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// So many statements are looked at for one: the work grows with the length of a block only.
pub const WINDOW: usize = 64;

/// Loops do not grow beyond so many statements: the work to compare them stays small, and registers suffice.
pub const MOST_STATEMENTS: usize = 160;

/// Holds what is known while loops are merged.
pub struct Fuser<'a> {
    pub(super) aliases: &'a Aliases,
    pub(super) callees: Callees<'a>,
    pub(super) locals: &'a mut Vec<LocalInfo>,
    pub(super) equal: Equal,
    /// How often each local is used.
    pub(super) uses: FxHashMap<Local, usize>,
    /// The buffers that the function makes.
    pub(super) made: FxHashSet<Local>,
    pub(super) changed: bool,
    /// The way in which loops run that pass elements on to neighbours, when those are merged.
    pub(super) way: Option<Way>,
    /// The indices of such loops.
    pub(super) merged: FxHashSet<Local>,
}

/// A statement of a block, what it does, and how many statements are in it.
pub struct Done {
    pub(super) stmt: Stmt,
    pub(super) effects: StmtEffects,
    pub(super) len: usize,
}
