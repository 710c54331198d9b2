//! Holds the state of a function under construction.

use indexmap::IndexMap;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, MetadataValue, PhiValue, PointerValue, VectorValue};
use loops::analyses::alias::Aliases;
use loops::analyses::divergence::Divergence;
use loops::ir::{Function, Local, Operand};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A value, and the block from which control comes with it.
pub(super) type Incoming<'ctx> = (BasicValueEnum<'ctx>, BasicBlock<'ctx>);

/// A function under construction: the values of the locals set so far, and the statuses with which
/// it is left, with the blocks they come from.
pub(super) struct Frame<'ctx, 'f> {
    pub(super) function: &'f Function,
    pub(super) value: FunctionValue<'ctx>,
    hidden: Hidden<'ctx>,
    pub(super) locals: Vec<Option<BasicValueEnum<'ctx>>>,
    pub(super) failed: BasicBlock<'ctx>,
    pub(super) errors: Vec<Incoming<'ctx>>,
    reports: Reports<'ctx>,
    /// Which buffers may share memory, where that is known.
    pub(super) aliases: Option<Rc<Aliases>>,
    /// The alias scopes of the current loop.
    pub(super) scopes: Option<Scopes<'ctx>>,
    /// The locals that hold the next value of a sum that a loop carries.
    pub(super) sums: FxHashSet<Local>,
    /// The conditions that mostly hold.
    pub(super) likely: Rc<FxHashSet<Local>>,
    /// For each number of chunks, whether it is one.
    pub(super) single: FxHashMap<Local, IntValue<'ctx>>,
    /// The loop in lanes at hand.
    pub(super) lanes: Option<ActiveLanes<'ctx>>,
    /// The function that this one is a slice of, if it is a slice.
    pub(super) origin: Option<usize>,
}

/// The hidden parameters of every function.
#[derive(Clone, Copy)]
pub(super) struct Hidden<'ctx> {
    pub(super) ctx: PointerValue<'ctx>,
    pub(super) limit: PointerValue<'ctx>,
    pub(super) depth: IntValue<'ctx>,
    pub(super) arena: PointerValue<'ctx>,
}

/// How many parameters that takes.
pub(super) const HIDDEN: usize = 4;

impl<'ctx, 'f> Frame<'ctx, 'f> {
    pub(super) fn new(
        function: &'f Function,
        value: FunctionValue<'ctx>,
        hidden: Hidden<'ctx>,
        failed: BasicBlock<'ctx>,
    ) -> Self {
        Frame {
            function,
            value,
            hidden,
            locals: vec![None; function.locals.len()],
            failed,
            errors: vec![],
            reports: Reports::new(),
            aliases: None,
            scopes: None,
            sums: FxHashSet::default(),
            likely: Rc::default(),
            single: FxHashMap::default(),
            lanes: None,
            origin: None,
        }
    }

    pub(super) fn ctx(&self) -> PointerValue<'ctx> {
        self.hidden.ctx
    }

    pub(super) fn limit(&self) -> PointerValue<'ctx> {
        self.hidden.limit
    }

    pub(super) fn depth(&self) -> IntValue<'ctx> {
        self.hidden.depth
    }

    pub(super) fn arena(&self) -> PointerValue<'ctx> {
        self.hidden.arena
    }

    /// Returns the statuses with which the function is left so far, and where they come together.
    pub(super) fn failures(&self) -> (BasicBlock<'ctx>, &[Incoming<'ctx>]) {
        (self.failed, &self.errors)
    }

    /// Leaves the function with a status, from a block.
    pub(super) fn failed(&mut self, status: IntValue<'ctx>, from: BasicBlock<'ctx>) -> BasicBlock<'ctx> {
        self.errors.push((status.into(), from));
        self.failed
    }

    /// The blocks that report errors.
    pub(super) fn reports(&mut self) -> &mut Reports<'ctx> {
        &mut self.reports
    }

    /// Returns the frame of another LLVM function that does a part of this one's work.
    pub(super) fn part(&self, value: FunctionValue<'ctx>, hidden: Hidden<'ctx>, failed: BasicBlock<'ctx>) -> Self {
        let (aliases, sums, likely) = (self.aliases.clone(), self.sums.clone(), self.likely.clone());
        let origin = self.origin;
        Frame { aliases, sums, likely, origin, ..Frame::new(self.function, value, hidden, failed) }
    }

    /// Returns what the function is a slice of, if it is one.
    pub(super) fn origin(&self) -> Option<usize> {
        self.origin
    }

    /// Returns whether a condition mostly holds.
    pub(super) fn is_likely(&self, condition: &Operand) -> bool {
        condition.local().is_some_and(|x| self.likely.contains(&x))
    }

    /// Returns the function as LLVM has it.
    pub(super) fn llvm(&self) -> FunctionValue<'ctx> {
        self.value
    }

    pub(super) fn function(&self) -> &Function {
        self.function
    }

    pub(super) fn aliases(&self) -> Option<&Aliases> {
        self.aliases.as_deref()
    }

    pub(super) fn scopes(&self) -> Option<&Scopes<'ctx>> {
        self.scopes.as_ref()
    }

    /// Returns the loop in lanes at hand.
    pub(super) fn lanes(&self) -> Option<&ActiveLanes<'ctx>> {
        self.lanes.as_ref()
    }

    /// Returns how many lanes there are, in a loop in lanes.
    pub(super) fn width(&self) -> u32 {
        self.lanes.as_ref().expect("a loop in lanes is at hand").width
    }

    /// From now on, the loop at hand runs in so many lanes.
    pub(super) fn set_width(&mut self, width: u32) {
        let lanes = self.lanes.as_mut().expect("a loop in lanes is at hand");
        (lanes.width, lanes.mask) = (width, Mask { on: None, parted: false });
    }

    pub(super) fn set_lanes(&mut self, lanes: Option<ActiveLanes<'ctx>>) {
        self.lanes = lanes;
    }

    /// Other lanes are on from now on.
    pub(super) fn set_mask(&mut self, mask: Mask<'ctx>) {
        self.lanes.as_mut().expect("a loop in lanes is at hand").mask = mask;
    }

    pub(super) fn set(&mut self, Local(i): Local, value: BasicValueEnum<'ctx>) {
        self.locals[i as usize] = Some(value);
    }
}

/// The loop in lanes at hand.
#[derive(Clone)]
pub(super) struct ActiveLanes<'ctx> {
    /// How many there are.
    pub width: u32,
    /// The divergence of the loop.
    pub spread: Rc<Divergence>,
    /// Which are on.
    pub mask: Mask<'ctx>,
}

/// Which lanes are on.
#[derive(Clone, Copy)]
pub(super) struct Mask<'ctx> {
    /// All of them, if there is none.
    pub on: Option<VectorValue<'ctx>>,
    /// Whether some that are off may be on later. What the others do to their own memory does not matter.
    pub parted: bool,
}

impl<'ctx> ActiveLanes<'ctx> {
    pub(super) fn varies(&self, x: Local) -> bool {
        self.spread.varies(&Operand::Local(x))
    }
}

/// The scopes of the buffers that are written in a loop.
pub(super) struct Scopes<'ctx> {
    pub(super) written: BTreeMap<Local, MetadataValue<'ctx>>,
}

/// The blocks of a function that report errors.
pub(super) type Reports<'ctx> = IndexMap<Report, (BasicBlock<'ctx>, Vec<PhiValue<'ctx>>)>;

/// The error that a block reports.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Report {
    /// Errors with so many numbers. What differs: the site, the status, the numbers.
    Numbers(usize),
    /// The arena is exhausted. The numbers are the site, the requested elements, and their bytes.
    Exhausted,
}
