//! Merges two loops that pass elements on to neighbours.
//!
//! ```text
//! for i in 0..n { store b[i] = x }; for j in 0..n { .. load b[j - 1] .. }
//!   =   for i in 0..n { store b[i] = x; .. load b[i - 1] .. }
//! zero b[0..n]; for i in 0..n { add b[i - 1] += x }; for j in 0..n { .. load b[j] .. }
//!   =   zero b[0..n]; for i from n - 1 down to 0 { add b[i - 1] += x; .. load b[i] .. }
//! ```
//!
//! So the stages of an integrator become one loop if each element depends on the one before it. So do the stages of its
//! reverse derivative, where it depends on the one after. An element that the iteration before has written is handed on
//! in a register (`handed`). LLVM makes vectors of that, but not of what goes through memory from one iteration to the
//! next. Therefore every element that the two loops do not touch at one distance from the index must be of that kind.
//!
//! Cost model: a store and a load less for each element, and a loop less. Loops with loops or functions of libm in them
//! stay as they are, since `vectorize` makes more of them than LLVM does of what carries something. `parallelize` does
//! not divide loops that carry something; but memory is what stages wait for.

use super::fuser::{Done, Fuser, MOST_STATEMENTS};
use crate::analyses::alias::Aliases;
use crate::ir::{Block, For, Local, Memory, Op, Operand, Scalar, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// How the index of a loop runs.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    Up,
    Down,
}

impl Way {
    /// Returns how far what is read in an iteration is behind what the same one writes, if it was written in the
    /// iteration before.
    fn behind(self) -> i64 {
        match self {
            Way::Up => 1,
            Way::Down => -1,
        }
    }
}

/// One access of a loop to memory.
pub(super) struct Touch {
    pub(super) buffer: Local,
    /// How far the element is from the index, if that is known.
    distance: Option<i64>,
    pub(super) kind: TouchKind,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum TouchKind {
    /// Into that local.
    Load(Local),
    /// Whether in each iteration.
    Store(bool),
    Add,
}

impl Touch {
    pub(super) fn writes(&self) -> bool {
        !matches!(self.kind, TouchKind::Load(_))
    }
}

impl Fuser<'_> {
    /// Returns whether a loop, the i-th statement, and a later one can be one loop that runs that way, and pass
    /// something on then.
    pub(super) fn fit_neighbours(&self, way: Way, done: &[Done], i: usize, second: &Done) -> bool {
        let first = &done[i];
        let (Stmt::For(p), Stmt::For(c)) = (&first.stmt, &second.stmt) else { return false };
        let runs = |looped: &For, one: &Done| {
            let is_plain = looped.carried.is_empty() && looped.lanes == 1 && looped.jam == 1 && !looped.on_threads;
            is_plain && looped.from.same(&Operand::Integer(0)) && !one.effects.may_leave && !one.effects.arena
        };
        if !runs(p, first)
            || !runs(c, second)
            || !self.equal.are(&p.to, &c.to)
            || first.len + second.len > MOST_STATEMENTS
            || !second.effects.used.is_disjoint(&first.effects.set)
        {
            return false;
        }
        let [Some(a), Some(b)] = [p, c].map(|looped| collect_touches(looped)) else { return false };
        let turns = |looped: &For, all: &[Touch]| {
            way == Way::Up || self.merged.contains(&looped.index) || is_any_order(all, self.aliases)
        };
        let before = done[..i].iter().map(|done| &done.stmt);
        turns(p, &a) && turns(c, &b) && self.meets_neighbours(way, before, p, &a, &b)
    }

    /// Returns whether what both touch, and one of them writes, is touched at one distance or handed on, and something
    /// is.
    fn meets_neighbours<'s>(
        &self,
        way: Way,
        before: impl Iterator<Item = &'s Stmt> + Clone,
        looped: &For,
        first: &[Touch],
        second: &[Touch],
    ) -> bool {
        let mut hands_on = false;
        for x in first {
            let meets = |y: &&Touch| (x.writes() || y.writes()) && self.aliases.may_share(x.buffer, y.buffer);
            for y in second.iter().filter(meets) {
                let (true, Some(at), Some(other)) = (x.buffer == y.buffer, x.distance, y.distance) else {
                    return false;
                };
                if at == other {
                    continue;
                }
                // What the second one writes it would read, too.
                let is_written = |buffer| second.iter().any(|y| y.writes() && self.aliases.may_share(y.buffer, buffer));
                let is_handed = at - other == way.behind() && !is_written(x.buffer);
                if !is_handed || !self.hands_on(way, before.clone(), looped, first, x.buffer) {
                    return false;
                }
                hands_on = true;
            }
        }
        hands_on
    }

    /// Returns whether the iteration before, if there was one, has written what is read of a buffer at the distance.
    /// The first iteration must read zero there, or nothing. `all` is what the loop does.
    pub(super) fn hands_on<'s>(
        &self,
        way: Way,
        before: impl Iterator<Item = &'s Stmt> + Clone,
        looped: &For,
        all: &[Touch],
        buffer: Local,
    ) -> bool {
        let element = self.locals[buffer.0 as usize].ty.element().and_then(|ty| ty.as_scalar());
        let mut writes = all.iter().filter(|touch| touch.writes() && self.aliases.may_share(touch.buffer, buffer));
        let (Some(write), None, Some(Scalar::Float | Scalar::Integer)) = (writes.next(), writes.next(), element) else {
            return false;
        };
        let makes = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Alloc { buffer: b, count, .. }) if *b == buffer => Some(count.clone()),
            _ => None,
        };
        let count = before.clone().find_map(makes);
        write.buffer == buffer
            && match write.kind {
                TouchKind::Load(_) | TouchKind::Store(false) => false,
                TouchKind::Store(true) => {
                    let ends_there = || count.is_some_and(|count| self.equal.are(&count, &looped.to));
                    write.distance == Some(0) && (way == Way::Up || ends_there())
                }
                TouchKind::Add => count.is_some_and(|count| self.is_zero(before, buffer, &count)),
            }
    }

    /// Returns whether statements have made a buffer zero, and done nothing else to it.
    fn is_zero<'s>(&self, stmts: impl Iterator<Item = &'s Stmt>, buffer: Local, count: &Operand) -> bool {
        let mut writers = stmts.filter(|stmt| self.changes(stmt, buffer));
        let zeroes = |stmt: &Stmt| match stmt {
            Stmt::Memory(Memory::Zero(b, n)) => b.local() == Some(buffer) && self.equal.are(n, count),
            _ => false,
        };
        writers.next().is_some_and(zeroes) && writers.next().is_none()
    }

    fn changes(&self, stmt: &Stmt, buffer: Local) -> bool {
        self.aliases.changes(stmt, buffer, self.callees.summaries)
            || stmt.blocks().flat_map(|block| &block.stmts).any(|stmt| self.changes(stmt, buffer))
    }
}

/// Returns the loads of a buffer whose values are handed on.
pub(super) fn handed(all: &[Touch], buffer: Local, way: Way) -> Vec<Local> {
    let own = |touch: &&Touch| touch.buffer == buffer;
    let written = all.iter().filter(own).find(|touch| touch.writes()).and_then(|touch| touch.distance);
    let is_handed = |touch: &&Touch| Some(way.behind()) == written.zip(touch.distance).map(|(at, other)| at - other);
    let load = |touch: &Touch| if let TouchKind::Load(x) = touch.kind { Some(x) } else { None };
    all.iter().filter(own).filter(is_handed).filter_map(load).collect()
}

/// Returns whether iterations may run in any order: what is written is touched at one distance only.
fn is_any_order(all: &[Touch], aliases: &Aliases) -> bool {
    let free = |x: &Touch, y: &Touch| {
        x.buffer == y.buffer && x.distance.is_some() && x.distance == y.distance
            || !aliases.may_share(x.buffer, y.buffer)
    };
    all.iter().filter(|x| x.writes()).all(|x| all.iter().all(|y| free(x, y)))
}

/// Returns what a loop does to memory, if it does nothing but operations of few cycles, conditionals, loads, stores and
/// additions.
pub(super) fn collect_touches(looped: &For) -> Option<Vec<Touch>> {
    let mut set = FxHashSet::default();
    looped.body.visit(&mut |stmt| set.extend(stmt.targets()));
    let distances = FxHashMap::from_iter([(looped.index, 0)]);
    let mut toucher = Toucher { set, distances, zeros: FxHashMap::default(), touches: vec![] };
    toucher.collect_in_block(&looped.body, None, true).then_some(toucher.touches)
}

struct Toucher {
    /// The locals that the loop sets.
    set: FxHashSet<Local>,
    /// How far Integers are from the index.
    distances: FxHashMap<Local, i64>,
    /// Conditions that the index is a number.
    zeros: FxHashMap<Local, i64>,
    touches: Vec<Touch>,
}

impl Toucher {
    /// The index is `known`, if that is a number; whether the block runs in each iteration.
    fn collect_in_block(&mut self, block: &Block, known: Option<i64>, always: bool) -> bool {
        block.stmts.iter().all(|stmt| match stmt {
            Stmt::Let(x, op, args) => {
                self.learn_distance(*x, *op, args);
                !op.is_libm()
            }
            Stmt::If(_, condition, then, other) => {
                let number = condition.local().and_then(|c| self.zeros.get(&c).copied());
                self.collect_in_block(then, number.or(known), false) && self.collect_in_block(other, known, false)
            }
            Stmt::Memory(Memory::Load(x, b, at)) => self.add_touch(b, at, known, TouchKind::Load(*x)),
            Stmt::Memory(Memory::Store(b, at, _)) => self.add_touch(b, at, known, TouchKind::Store(always)),
            Stmt::Memory(Memory::Add(b, at, _)) => self.add_touch(b, at, known, TouchKind::Add),
            Stmt::Memory(_)
            | Stmt::For(_)
            | Stmt::Check { .. }
            | Stmt::Call(..)
            | Stmt::External { .. }
            | Stmt::Bench { .. }
            | Stmt::Write(_) => false,
        })
    }

    fn learn_distance(&mut self, x: Local, op: Op, args: &[Operand]) {
        let distance = |a: &Operand| a.local().and_then(|x| self.distances.get(&x).copied());
        let number = |a: &Operand| if let Operand::Integer(k) = a { Some(*k) } else { None };
        let either = || match (distance(&args[0]), number(&args[1])) {
            (Some(d), Some(k)) => Some((d, k)),
            _ => distance(&args[1]).zip(number(&args[0])),
        };
        match op {
            Op::AddI => drop(either().and_then(|(d, k)| self.distances.insert(x, d.checked_add(k)?))),
            Op::SubI => {
                let parts = distance(&args[0]).zip(number(&args[1]));
                parts.and_then(|(d, k)| self.distances.insert(x, d.checked_sub(k)?));
            }
            Op::EqI => drop(either().and_then(|(d, k)| self.zeros.insert(x, k.checked_sub(d)?))),
            _ => {}
        }
    }

    fn add_touch(&mut self, b: &Operand, at: &Operand, known: Option<i64>, kind: TouchKind) -> bool {
        let Some(buffer) = b.local().filter(|b| !self.set.contains(b)) else { return false };
        let distance = match at {
            Operand::Local(x) => self.distances.get(x).copied(),
            Operand::Integer(k) => known.and_then(|known| k.checked_sub(known)),
            _ => None,
        };
        self.touches.push(Touch { buffer, distance, kind });
        true
    }
}
