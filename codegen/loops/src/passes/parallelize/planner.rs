//! What is known while loops are looked for, and how to divide those that were found.

use super::slice::IndexSlice;
use crate::analyses::alias::Aliases;
use crate::analyses::independence::FunctionEffects;
use crate::ir::{Function, Local, Module, Operand, Stmt, Ty};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Holds what is known of all functions.
pub(super) struct World {
    pub(super) effects: FunctionEffects,
    /// Which functions leave something in the arena.
    pub(super) keeps: Vec<bool>,
    /// Which ones are recursive, or call one that is.
    pub(super) recurs: Vec<bool>,
}

/// Looks for loops that can be divided.
pub(super) struct Planner<'a> {
    pub(super) module: &'a Module,
    pub(super) world: &'a World,
    pub(super) function: &'a Function,
    pub(super) aliases: Rc<Aliases>,
    /// The conditions that mostly hold.
    pub(super) likely: FxHashSet<Local>,
    /// The loops that run once at most.
    pub(super) once: FxHashSet<Local>,
    /// The statements before the current one, in its block and in those around it.
    pub(super) before: Vec<&'a [Stmt]>,
    /// Whether that is in a loop.
    pub(super) is_in_loop: bool,
    /// Whether loops call the function.
    pub(super) is_part: bool,
    pub(super) plans: FxHashMap<Local, Plan>,
}

/// How to divide a loop.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) private: Vec<Private>,
    /// The cost of one iteration.
    pub(super) cost: WorkEstimate,
}

/// How to make a copy of zeros.
#[derive(Clone, Debug)]
pub(super) struct Private {
    /// The buffer that iterations add to.
    pub(super) buffer: Local,
    pub(super) ty: Ty,
    /// Its elements.
    pub(super) count: Operand,
    /// How many numbers are in the element at an index, where elements are buffers.
    pub(super) row: Option<IndexSlice>,
}

/// A sum of products of Integers.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkEstimate {
    pub(super) terms: Vec<(i64, Vec<Local>)>,
    /// For sizes that an iteration computes, the slices that compute them for the first iteration.
    pub(super) samples: Vec<(Local, IndexSlice)>,
}
