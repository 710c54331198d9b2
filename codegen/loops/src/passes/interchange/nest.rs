//! Finds nests of loops that only add to memory, and the order of loops that suits a sum. A sum that an inner loop adds
//! up in a register (`scalar_promotion`) counts by its terms.

use crate::analyses::alias::Aliases;
use crate::ir::{Block, For, Local, Memory, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Loops around operations, loads and sums.
pub(super) struct PerfectNest<'a> {
    /// The operations and loads of the nest, in order.
    pub steps: Vec<&'a Stmt>,
    /// The sums, in order.
    pub sums: Vec<MemorySum<'a>>,
    /// On the indices of which loops a local depends.
    depends: FxHashMap<Local, BTreeSet<Local>>,
    /// The sums that inner loops carry in registers, by their results.
    totals: FxHashMap<Local, Total<'a>>,
    /// The locals that only these sums may use.
    private: FxHashSet<Local>,
    /// Whether a loop runs at all: its ends.
    runs: FxHashMap<Local, &'a [Operand]>,
}

/// `add b[e] += x`, and the loops around it, outermost first.
pub(super) struct MemorySum<'a> {
    pub loops: Vec<&'a For>,
    pub buffer: &'a Operand,
    pub index: &'a Operand,
    pub term: &'a Operand,
    /// Without which nothing is added.
    pub condition: Option<&'a Operand>,
    /// Whether the innermost loop carries it.
    is_carried: bool,
}

/// `for .. carrying (y = -0) { y + x }`, and the loops around x.
#[derive(Clone)]
struct Total<'a> {
    loops: Vec<&'a For>,
    next: Local,
    term: &'a Operand,
}

/// The loops of a sum in a new order.
pub(super) struct LoopOrder<'a> {
    /// Outermost first.
    pub loops: Vec<&'a For>,
    /// How many of them, the last, are over the terms of one sum.
    pub terms: usize,
    /// Which of them runs in lanes.
    pub in_lanes: Option<usize>,
}

/// The growth of an operand with the index of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stride {
    Zero,
    One,
    Other,
}

impl<'a> PerfectNest<'a> {
    /// Returns the nest that a loop is the outermost of, if it is one. Nothing is added to buffers that are known to be
    /// apart.
    pub(super) fn find(looped: &'a For, aliases: &Aliases, apart: &[Local]) -> Option<PerfectNest<'a>> {
        let mut nest = PerfectNest {
            steps: vec![],
            sums: vec![],
            depends: FxHashMap::default(),
            totals: FxHashMap::default(),
            private: FxHashSet::default(),
            runs: FxHashMap::default(),
        };
        // What it gave would be used elsewhere.
        looped.carried.is_empty().then_some(())?;
        nest.collect_loop(looped, &mut vec![])?;
        let set: FxHashSet<Local> = nest.depends.keys().copied().collect();
        let is_outside = |a: &Operand| a.local().is_none_or(|x| !set.contains(&x));
        let are_fixed =
            |sum: &MemorySum| sum.loops.iter().all(|looped| is_outside(&looped.from) && is_outside(&looped.to));
        (nest.sums.iter().all(are_fixed) && nest.loads_nothing_added(aliases, apart)).then_some(nest)
    }

    fn collect_loop(&mut self, looped: &'a For, around: &mut Vec<&'a For>) -> Option<()> {
        if looped.lanes > 1 || looped.jam > 1 || looped.on_threads {
            return None;
        }
        self.depends.insert(looped.index, BTreeSet::from([looped.index]));
        around.push(looped);
        for (i, z) in looped.results.iter().enumerate() {
            let total = total(looped, i, around)?;
            self.only_for_sums([*z, looped.carried[i].0, total.next]);
            self.totals.insert(*z, total);
        }
        self.collect_block(&looped.body, around)?;
        around.pop();
        Some(())
    }

    fn only_for_sums(&mut self, locals: impl IntoIterator<Item = Local>) {
        for x in locals {
            self.private.insert(x);
            self.depends.insert(x, BTreeSet::new());
        }
    }

    fn collect_block(&mut self, block: &'a Block, around: &mut Vec<&'a For>) -> Option<()> {
        for stmt in &block.stmts {
            match stmt {
                Stmt::For(looped) => self.collect_loop(looped, around)?,
                Stmt::Let(x, ..) if self.totals.values().any(|total| total.next == *x) => {}
                Stmt::Let(x, Op::LtI, ends) => {
                    self.only_for_sums([*x]);
                    self.runs.insert(*x, ends);
                }
                Stmt::Let(x, op, _) if op.is_cheap() => self.collect_step(*x, stmt)?,
                Stmt::Memory(Memory::Load(x, ..) | Memory::View(x, ..) | Memory::Cast(x, _)) => {
                    self.collect_step(*x, stmt)?
                }
                Stmt::Memory(Memory::Add(..)) => self.collect_sum(stmt, None, around)?,
                Stmt::If(xs, condition, then, other) if xs.is_empty() && other.is_empty() => {
                    then.stmts.iter().try_for_each(|stmt| self.collect_sum(stmt, Some(condition), around))?;
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn collect_step(&mut self, x: Local, stmt: &'a Stmt) -> Option<()> {
        let operands = stmt.operands();
        if operands.iter().any(|a| self.is_private(a)) {
            return None;
        }
        let depends = operands.into_iter().flat_map(|a| self.depends(a)).collect();
        self.depends.insert(x, depends);
        self.steps.push(stmt);
        Some(())
    }

    /// A term, or what a loop added up: then it is added if the loop runs, or under a condition from outside.
    fn collect_sum(&mut self, stmt: &'a Stmt, condition: Option<&'a Operand>, around: &[&'a For]) -> Option<()> {
        let Stmt::Memory(Memory::Add(buffer, index, term)) = stmt else { return None };
        let total = term.local().and_then(|x| self.totals.get(&x)).cloned();
        let is_carried = total.is_some();
        let (loops, term) = total.map_or((around.to_vec(), term), |total| (total.loops, total.term));
        if [buffer, index, term].into_iter().any(|a| self.is_private(a)) {
            return None;
        }
        let is_same = |ends: &[Operand], looped: &For| ends[0].same(&looped.from) && ends[1].same(&looped.to);
        let condition = match condition.map(|c| c.local().and_then(|c| self.runs.get(&c))) {
            Some(Some(ends)) if is_carried && is_same(ends, loops.last()?) => None,
            Some(None) if !self.is_private(condition?) && !self.depends.contains_key(&condition?.local()?) => condition,
            None if !is_carried || runs(loops.last()?) => None,
            _ => return None,
        };
        self.sums.push(MemorySum { loops, buffer, index, term, condition, is_carried });
        Some(())
    }

    fn is_private(&self, a: &Operand) -> bool {
        a.local().is_some_and(|x| self.private.contains(&x))
    }

    /// Returns the indices on which an operand depends.
    pub(super) fn depends(&self, a: &Operand) -> BTreeSet<Local> {
        a.local().and_then(|x| self.depends.get(&x)).cloned().unwrap_or_default()
    }

    fn loads_nothing_added(&self, aliases: &Aliases, apart: &[Local]) -> bool {
        let added: BTreeSet<Local> = self.sums.iter().filter_map(|sum| sum.buffer.local()).collect();
        let loaded = self.steps.iter().filter_map(|stmt| match stmt {
            Stmt::Memory(Memory::Load(_, b, _)) => b.local(),
            _ => None,
        });
        loaded.into_iter().filter(|b| !apart.contains(b)).all(|b| !added.iter().any(|a| aliases.may_share(*a, b)))
    }

    /// Returns whether a sum has terms that are not yet added up in a register, in the order of loops that suits it.
    pub(super) fn gains(&self, sum: &MemorySum, order: &LoopOrder) -> bool {
        let is_same = sum.loops.iter().zip(&order.loops).all(|(a, b)| a.index == b.index);
        order.terms > usize::from(sum.is_carried && is_same)
    }

    /// Returns the order of loops that suits a sum. None if it has terms, but no loop of which neighbours lie side by
    /// side.
    pub(super) fn order(&self, sum: &MemorySum<'a>) -> Option<LoopOrder<'a>> {
        let place: BTreeSet<Local> = [sum.buffer, sum.index].into_iter().flat_map(|a| self.depends(a)).collect();
        let is_place = |looped: &&For| place.contains(&looped.index);
        let (mut places, mut terms): (Vec<&For>, Vec<&For>) = sum.loops.iter().copied().partition(is_place);
        if terms.is_empty() {
            return Some(LoopOrder { loops: places, terms: 0, in_lanes: None });
        }
        let steps = self.steps_of(sum);
        let suits = |looped: &&For| self.suits(looped, &steps);
        let grows = |looped: &&For| {
            self.stride(sum.index, looped.index) == Stride::One && !self.depends(sum.buffer).contains(&looped.index)
        };
        let in_lanes = if let Some(i) = places.iter().position(|looped| grows(looped) && suits(looped)) {
            let last = places.remove(i);
            places.push(last);
            places.len() - 1
        } else {
            let i = terms.iter().position(suits)?;
            let first = terms.remove(i);
            terms.insert(0, first);
            places.len()
        };
        let count = terms.len();
        places.extend(terms);
        Some(LoopOrder { loops: places, terms: count, in_lanes: Some(in_lanes) })
    }

    /// Returns whether what is loaded for neighbours, in the order of a loop, is the same or lies side by side.
    fn suits(&self, looped: &For, steps: &[&Stmt]) -> bool {
        steps.iter().all(|stmt| match stmt {
            Stmt::Memory(Memory::Load(_, b, i) | Memory::View(_, b, i)) => {
                !self.depends(b).contains(&looped.index) && self.stride(i, looped.index) != Stride::Other
            }
            _ => true,
        })
    }

    /// Returns how much an operand grows with the index of a loop.
    fn stride(&self, a: &Operand, index: Local) -> Stride {
        let Some(x) = a.local().filter(|_| self.depends(a).contains(&index)) else { return Stride::Zero };
        if x == index {
            return Stride::One;
        }
        let of = |a: &Operand| self.stride(a, index);
        match self.steps.iter().find(|stmt| stmt.targets().contains(&x)) {
            Some(Stmt::Let(_, Op::AddI, args)) => match [of(&args[0]), of(&args[1])] {
                [Stride::Zero, other] | [other, Stride::Zero] => other,
                _ => Stride::Other,
            },
            Some(Stmt::Let(_, Op::SubI, args)) if of(&args[1]) == Stride::Zero => of(&args[0]),
            _ => Stride::Other,
        }
    }

    /// Returns what a sum needs of the operations and loads, in order.
    pub(super) fn steps_of(&self, sum: &MemorySum) -> Vec<&'a Stmt> {
        let mut needed: FxHashSet<Local> =
            [sum.buffer, sum.index, sum.term].into_iter().filter_map(Operand::local).collect();
        let mut steps = vec![];
        for stmt in self.steps.iter().rev() {
            if stmt.targets().iter().any(|x| needed.contains(x)) {
                needed.extend(stmt.operands().into_iter().filter_map(Operand::local));
                steps.push(*stmt);
            }
        }
        steps.reverse();
        steps
    }
}

/// Returns what a loop adds up in a register for its i-th result.
fn total<'a>(looped: &'a For, i: usize, loops: &[&'a For]) -> Option<Total<'a>> {
    let (y, init) = &looped.carried[i];
    let is_nothing = init.same(&Operand::Float(-0.0)) || init.same(&Operand::Integer(0));
    let next = looped.body.results[i].local().filter(|_| is_nothing)?;
    looped.body.stmts.iter().find_map(|stmt| match stmt {
        Stmt::Let(x, Op::AddF | Op::AddI, args) if *x == next && args[0].local() == Some(*y) => {
            Some(Total { loops: loops.to_vec(), next, term: &args[1] })
        }
        _ => None,
    })
}

/// Returns whether a loop is known to run.
pub(super) fn runs(looped: &For) -> bool {
    matches!((&looped.from, &looped.to), (Operand::Integer(from), Operand::Integer(to)) if from < to)
}
