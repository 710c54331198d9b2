//! Estimates the cost of a loop, in units of a simple instruction: one iteration after the other, or in lanes.
//!
//! It need not be right, but it must tell apart what differs by a lot: which loop of a nest makes vectors of
//! neighbours, and which one gathers.

use crate::analyses::divergence::{AllocForm, Divergence, Layout};
use crate::analyses::single_iterations::single_iterations;
use crate::ir::{Block, Cost, For, Function, Local, Memory, Op, Operand, Scalar, Stmt};
use lm::libm::Vectors;
use rustc_hash::{FxHashMap, FxHashSet};

/// How often a loop runs of which that is not known.
const ITERATIONS: f64 = 16.0;

/// How often a loop at a border runs, as the loop beside it counts as [`ITERATIONS`]: that one is long, or its borders would
/// not be apart.
const AT_BORDER: f64 = 0.25;

/// The odds of a likely condition: the other side runs one time in so many.
const LIKELY: f64 = 16.0;

/// What it costs to load an element in each of some lanes, beside a load of one number, where lanes have parted: only
/// processors with long vectors do that at once.
const PARTED: f64 = 4.0;

/// Vectors of so many Floats are long.
const LONG_VECTOR: u32 = 8;

/// How many iterations loops make.
#[derive(Clone, Debug, Default)]
pub(super) struct Trips {
    /// What is known from elsewhere, by the index of the loop.
    known: FxHashMap<Local, f64>,
}

impl Trips {
    /// What is known without measuring: loops at borders run once.
    pub(super) fn known_in(function: &Function) -> Trips {
        Trips { known: single_iterations(function).into_iter().map(|index| (index, AT_BORDER)).collect() }
    }

    /// Adds what was measured.
    pub(super) fn learn(&mut self, measured: impl Iterator<Item = (Local, f64)>) {
        self.known.extend(measured);
    }

    /// Returns how many iterations a loop makes.
    pub(super) fn of(&self, looped: &For) -> f64 {
        let known = || self.known.get(&looped.index).copied();
        looped.known_iterations().or_else(known).unwrap_or(ITERATIONS)
    }
}

/// Returns how often the two sides of a conditional run.
pub(super) fn odds(condition: &Operand, likely: &FxHashSet<Local>) -> [f64; 2] {
    match condition {
        Operand::Bool(true) => [1.0, 0.0],
        Operand::Bool(false) => [0.0, 1.0],
        Operand::Local(x) if likely.contains(x) => [1.0, 1.0 / LIKELY],
        _ => [0.5, 0.5],
    }
}

/// Returns what a statement costs, its blocks aside.
pub(super) fn scalar(stmt: &Stmt) -> f64 {
    match stmt {
        Stmt::Let(_, op, args) => operation(*op, args),
        Stmt::Check { .. } => 1.0,
        Stmt::If(..) => 1.0,
        Stmt::For(_) => 2.0,
        Stmt::Call(..) | Stmt::External { .. } | Stmt::Write(_) | Stmt::Bench { .. } => 50.0,
        Stmt::Memory(memory) => match memory {
            Memory::Load(..) | Memory::Store(..) => 1.0,
            Memory::Add(..) => 2.0,
            Memory::View(..) | Memory::Cast(..) | Memory::Stack(..) => 0.5,
            Memory::Zero(_, n) | Memory::Move { count: n, .. } => 4.0 + elements(n) / 4.0,
            Memory::Alloc { .. } => 5.0,
            Memory::Mark(_) | Memory::Release(_) | Memory::Above(..) | Memory::Before(..) | Memory::Slid { .. } => 1.0,
            Memory::Slide(..) => 50.0,
        },
    }
}

fn elements(n: &Operand) -> f64 {
    if let Operand::Integer(n) = n { *n as f64 } else { ITERATIONS }
}

fn operation(op: Op, args: &[Operand]) -> f64 {
    match op.cost() {
        Cost::Free => 0.0,
        Cost::Cheap | Cost::Simple | Cost::Runtime => 1.0,
        Cost::Division | Cost::Root => 4.0,
        Cost::IntegerDivision if matches!(args[1], Operand::Integer(_)) => 3.0,
        Cost::IntegerDivision | Cost::Hash => 10.0,
        Cost::Libm(f) if f.vectors() == Vectors::Libmvec => 20.0,
        Cost::Libm(_) => 60.0,
    }
}

/// Returns whether a block calls a function of libm that libmvec may have.
pub(super) fn calls_libm(block: &Block) -> bool {
    let has_vectors = |op: &Op| matches!(op, Op::Libm(f) if f.vectors() == Vectors::Libmvec);
    let mut calls = false;
    block.visit(&mut |stmt| calls |= matches!(stmt, Stmt::Let(_, op, _) if has_vectors(op)));
    calls
}

/// How long it takes until the next operation may use a result, where two may begin in each unit of time: of Floats, of a
/// division or a root, and of a function of libm.
const WAIT: f64 = 8.0;
const LONG_WAIT: f64 = 30.0;
const CALL_WAIT: f64 = 150.0;

/// What it takes to begin and end a loop in lanes: the last iterations get a mask.
const MASK: f64 = 10.0;

/// Returns what a loop in lanes costs each time that it runs, its iterations aside. What it carries is put together at
/// its end, by halves, of which each waits for the one before it. That is much for the loops of short rows.
pub(super) fn around_lanes(looped: &For, lanes: u32) -> f64 {
    MASK + WAIT * f64::from(lanes.ilog2()) * looped.carried.len() as f64
}

/// Returns how long an iteration of a loop waits for the one before it. Sums do not count: `unroll_and_jam` runs several
/// side by side.
pub(super) fn wait(looped: &For) -> f64 {
    let uses = looped.body.use_counts();
    let is_sum = |(y, next): (&(Local, Operand), &Operand)| {
        let made = looped.body.stmts.iter().find(|stmt| next.local().is_some_and(|x| stmt.targets().contains(&x)));
        matches!(made, Some(Stmt::Let(_, Op::AddF, args)) if args.iter().any(|a| a.local() == Some(y.0)) && uses.get(&y.0) == Some(&1))
    };
    if looped.carried.iter().zip(&looped.body.results).all(is_sum) {
        return 0.0;
    }
    let mut known: FxHashMap<Local, f64> = looped.carried.iter().map(|(y, _)| (*y, 0.0)).collect();
    waits_in(&looped.body, &mut known);
    looped.body.results.iter().filter_map(|a| known.get(&a.local()?)).fold(0.0, |most, wait| most.max(*wait))
}

/// Learns how long the results of statements wait for what is known.
fn waits_in(block: &Block, known: &mut FxHashMap<Local, f64>) {
    for stmt in &block.stmts {
        let own = match stmt {
            Stmt::Let(_, op, _) => match op.cost() {
                _ if op.result() != Scalar::Float => 2.0,
                Cost::Division | Cost::Root => LONG_WAIT,
                Cost::Libm(_) => CALL_WAIT,
                _ => WAIT,
            },
            Stmt::Memory(Memory::Load(..)) => WAIT,
            Stmt::If(..) => 2.0,
            _ => continue,
        };
        stmt.blocks().for_each(|inner| waits_in(inner, known));
        let given = stmt.operands().into_iter().chain(stmt.blocks().flat_map(|inner| &inner.results));
        let before = given
            .filter_map(|a| known.get(&a.local()?).copied())
            .fold(None, |most: Option<f64>, wait| Some(most.map_or(wait, |most| most.max(wait))));
        if let Some(before) = before {
            known.extend(stmt.targets().into_iter().map(|x| (x, before + own)));
        }
    }
}

/// The price of a loop's body in lanes.
pub(super) struct InLanes<'a> {
    pub spread: &'a Divergence,
    pub likely: &'a FxHashSet<Local>,
    pub trips: &'a Trips,
    /// How many Floats a vector holds.
    pub floats: u32,
    /// How many iterations run at once.
    pub lanes: u32,
}

impl InLanes<'_> {
    /// Returns what a block costs, run once for all lanes.
    pub(super) fn block_cost(&self, block: &Block) -> f64 {
        self.cost_of(block, false)
    }

    /// As [`InLanes::block_cost`], where lanes may have parted.
    fn cost_of(&self, block: &Block, parted: bool) -> f64 {
        block.stmts.iter().map(|stmt| self.stmt_cost(stmt, parted)).sum()
    }

    /// Returns what it costs to do something simple in all lanes.
    fn vector(&self) -> f64 {
        f64::from(self.lanes.div_ceil(self.floats))
    }

    fn lanes(&self) -> f64 {
        f64::from(self.lanes)
    }

    fn stmt_cost(&self, stmt: &Stmt, parted: bool) -> f64 {
        match stmt {
            Stmt::Let(x, op, args) if self.spread.varies(&Operand::Local(*x)) => self.operation_cost(*op, args),
            Stmt::If(xs, condition, then, other) => {
                let varies = self.spread.varies(condition);
                // Where a condition is likely, all lanes go one way.
                let part = varies && !condition.local().is_some_and(|c| self.likely.contains(&c));
                let [then, other] = [then, other].map(|arm| self.cost_of(arm, parted || part));
                if varies {
                    return 2.0 + then + other + xs.len() as f64 * self.vector();
                }
                let [often, else_often] = odds(condition, self.likely);
                1.0 + often * then + else_often * other
            }
            Stmt::For(looped) => {
                let parts = self.spread.varies(&looped.from) || self.spread.varies(&looped.to);
                let masks = if parts { (1 + looped.carried.len()) as f64 * self.vector() } else { 0.0 };
                let each = self.cost_of(&looped.body, parted || parts) + masks + 1.0;
                scalar(stmt) + self.trips.of(looped) * each.max(wait(looped))
            }
            Stmt::Check { condition, .. } if self.spread.varies(condition) => 1.0 + self.vector(),
            Stmt::Memory(memory) => self.memory_cost(memory, scalar(stmt), parted),
            stmt => scalar(stmt),
        }
    }

    fn operation_cost(&self, op: Op, args: &[Operand]) -> f64 {
        let one = operation(op, args);
        match op.cost() {
            // A vector takes little longer than a number.
            Cost::Libm(f) if f.vectors() == Vectors::Libmvec => 1.5 * one * self.vector(),
            Cost::Libm(_) => (one + 2.0) * self.lanes(),
            Cost::IntegerDivision if !matches!(args[1], Operand::Integer(_)) => one * self.lanes(),
            _ => one * self.vector(),
        }
    }

    fn memory_cost(&self, memory: &Memory, one: f64, parted: bool) -> f64 {
        let gather = if parted && self.floats < LONG_VECTOR { PARTED } else { 1.0 };
        match memory {
            Memory::Load(_, b, i) => self.cell(b, i, gather),
            Memory::Store(b, i, _) => self.cell(b, i, 2.0),
            Memory::Add(b, i, _) => match self.spread.layout(b) {
                // The lanes are added up, or one after the other adds its own.
                Layout::Plain if self.is_uniform(b, i) => self.vector() + f64::from(self.lanes.ilog2()) + one,
                Layout::Plain if self.spread.stride(i) != Some(1) => 3.0 * self.lanes(),
                _ => 2.0 * self.cell(b, i, 2.0),
            },
            Memory::Zero(b, n) => self.copied(b, n, one),
            Memory::Move { to, from, count } => self.copied(to, count, one).max(self.copied(from, count, one)),
            Memory::Alloc { buffer, .. } if self.spread.form(*buffer) == AllocForm::Rows => one * self.lanes(),
            _ => one,
        }
    }

    fn is_uniform(&self, b: &Operand, i: &Operand) -> bool {
        !self.spread.varies(b) && !self.spread.varies(i)
    }

    /// Returns an element in each lane; what it costs if they are scattered.
    fn cell(&self, b: &Operand, i: &Operand, scattered: f64) -> f64 {
        match self.spread.layout(b) {
            Layout::Shared | Layout::Plain if self.is_uniform(b, i) => 1.0,
            Layout::Each if self.is_uniform(b, i) => self.vector(),
            Layout::Plain | Layout::Shared if !self.spread.varies(b) && self.spread.stride(i) == Some(1) => {
                self.vector()
            }
            _ => scattered * self.lanes(),
        }
    }

    fn copied(&self, b: &Operand, n: &Operand, one: f64) -> f64 {
        match self.spread.layout(b) {
            Layout::Each => 4.0 + elements(n) * self.cell(b, &Operand::Integer(0), 2.0),
            Layout::Plain if self.spread.varies(b) => one * self.lanes(),
            Layout::Plain | Layout::Shared => one,
        }
    }
}
