//! Nests of loops that only add to memory, and the order of loops that suits a sum.

use crate::loops::{Aliases, Block, For, Local, Memory, Op, Operand, Stmt};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Loops around operations, loads and sums.
pub(super) struct Nest<'a> {
    /// What is set, in order, by operations and loads.
    pub steps: Vec<&'a Stmt>,
    /// The sums, in order.
    pub sums: Vec<Sum<'a>>,
    /// On the indices of which loops a local depends.
    depends: HashMap<Local, BTreeSet<Local>>,
}

/// `add b[e] += x`, and the loops around it, outermost first.
pub(super) struct Sum<'a> {
    pub loops: Vec<&'a For>,
    pub buffer: &'a Operand,
    pub index: &'a Operand,
    pub term: &'a Operand,
}

/// The loops of a sum in a new order.
pub(super) struct Order<'a> {
    /// Outermost first.
    pub loops: Vec<&'a For>,
    /// How many of them, the last, are over the terms of one sum.
    pub terms: usize,
    /// Which of them runs in lanes.
    pub in_lanes: Option<usize>,
}

/// By how much an index grows with that of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stride {
    Zero,
    One,
    Other,
}

impl<'a> Nest<'a> {
    /// The nest that a loop is the outermost of, if it is one.
    pub(super) fn of(looped: &'a For, aliases: &Aliases) -> Option<Nest<'a>> {
        let mut nest = Nest { steps: vec![], sums: vec![], depends: HashMap::new() };
        nest.looped(looped, &mut vec![])?;
        let set: HashSet<Local> = nest.depends.keys().copied().collect();
        let is_outside = |a: &Operand| a.local().is_none_or(|x| !set.contains(&x));
        let are_fixed = |sum: &Sum| sum.loops.iter().all(|looped| is_outside(&looped.from) && is_outside(&looped.to));
        (nest.sums.iter().all(are_fixed) && nest.loads_nothing_added(aliases)).then_some(nest)
    }

    fn looped(&mut self, looped: &'a For, around: &mut Vec<&'a For>) -> Option<()> {
        if !looped.carried.is_empty() || looped.lanes > 1 || looped.jam > 1 || looped.on_threads {
            return None;
        }
        self.depends.insert(looped.index, BTreeSet::from([looped.index]));
        around.push(looped);
        self.block(&looped.body, around)?;
        around.pop();
        Some(())
    }

    fn block(&mut self, block: &'a Block, around: &mut Vec<&'a For>) -> Option<()> {
        for stmt in &block.stmts {
            match stmt {
                Stmt::For(looped) => self.looped(looped, around)?,
                Stmt::Memory(Memory::Add(buffer, index, term)) => {
                    self.sums.push(Sum { loops: around.clone(), buffer, index, term });
                }
                Stmt::Let(x, op, _) if is_cheap(*op) => self.step(*x, stmt),
                Stmt::Memory(Memory::Load(x, ..) | Memory::View(x, ..) | Memory::Cast(x, _)) => self.step(*x, stmt),
                _ => return None,
            }
        }
        Some(())
    }

    fn step(&mut self, x: Local, stmt: &'a Stmt) {
        let depends = stmt.operands().into_iter().flat_map(|a| self.depends(a)).collect();
        self.depends.insert(x, depends);
        self.steps.push(stmt);
    }

    /// The indices on which an operand depends.
    pub(super) fn depends(&self, a: &Operand) -> BTreeSet<Local> {
        a.local().and_then(|x| self.depends.get(&x)).cloned().unwrap_or_default()
    }

    fn loads_nothing_added(&self, aliases: &Aliases) -> bool {
        let added: BTreeSet<Local> = self.sums.iter().filter_map(|sum| sum.buffer.local()).collect();
        let loaded = self.steps.iter().filter_map(|stmt| match stmt {
            Stmt::Memory(Memory::Load(_, b, _)) => b.local(),
            _ => None,
        });
        loaded.into_iter().all(|b| !added.iter().any(|a| aliases.may_share(*a, b)))
    }

    /// The order of loops that suits a sum. None if it has terms, but no loop of which neighbours lie side by side.
    pub(super) fn order(&self, sum: &Sum<'a>) -> Option<Order<'a>> {
        let place: BTreeSet<Local> = [sum.buffer, sum.index].into_iter().flat_map(|a| self.depends(a)).collect();
        let is_place = |looped: &&For| place.contains(&looped.index);
        let (mut places, mut terms): (Vec<&For>, Vec<&For>) = sum.loops.iter().copied().partition(is_place);
        if terms.is_empty() {
            return Some(Order { loops: places, terms: 0, in_lanes: None });
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
        Some(Order { loops: places, terms: count, in_lanes: Some(in_lanes) })
    }

    /// Whether what is loaded for neighbours, in the order of a loop, is the same or lies side by side.
    fn suits(&self, looped: &For, steps: &[&Stmt]) -> bool {
        steps.iter().all(|stmt| match stmt {
            Stmt::Memory(Memory::Load(_, b, i) | Memory::View(_, b, i)) => {
                !self.depends(b).contains(&looped.index) && self.stride(i, looped.index) != Stride::Other
            }
            _ => true,
        })
    }

    /// By how much an index grows with a loop's.
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

    /// What a sum needs of the operations and loads, in order.
    pub(super) fn steps_of(&self, sum: &Sum) -> Vec<&'a Stmt> {
        let mut needed: HashSet<Local> =
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

/// Whether an operation takes no longer than to load what it gives.
fn is_cheap(op: Op) -> bool {
    use Op::{AbsF, AddF, AddI, MulF, MulI, NegF, NegI, SubF, SubI, ToFloat};
    matches!(op, AddF | SubF | MulF | NegF | AbsF | AddI | SubI | MulI | NegI | ToFloat)
}
