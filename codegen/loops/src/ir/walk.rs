//! Gives the parts of statements: the locals that they set, the operands that they use, and their blocks.

use super::{Argument, Block, For, Local, Memory, Op, Operand, Returned, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

impl Stmt {
    /// Returns the locals that are set by the statement, for those that come after it.
    pub fn targets(&self) -> Vec<Local> {
        match self {
            Stmt::Let(x, ..) | Stmt::Bench { seconds: x, .. } => vec![*x],
            Stmt::Call(xs, ..) | Stmt::If(xs, ..) => xs.clone(),
            Stmt::For(looped) => looped.results.clone(),
            Stmt::External { results, .. } => results.iter().flat_map(Returned::locals).collect(),
            Stmt::Memory(memory) => memory.target().into_iter().collect(),
            Stmt::Check { .. } | Stmt::Write(_) => vec![],
        }
    }

    /// Returns the locals that are set at the start of its blocks, for these alone.
    pub fn bound(&self) -> Vec<Local> {
        match self {
            Stmt::For(looped) => [looped.index].into_iter().chain(looped.carried.iter().map(|(x, _)| *x)).collect(),
            Stmt::Bench { given, .. } => given.iter().map(|(x, _)| *x).collect(),
            Stmt::Let(..)
            | Stmt::Call(..)
            | Stmt::If(..)
            | Stmt::Check { .. }
            | Stmt::External { .. }
            | Stmt::Write(_)
            | Stmt::Memory(_) => vec![],
        }
    }

    /// Returns the operands of the statement itself, not of its blocks.
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            Stmt::Let(_, _, args) | Stmt::Call(_, _, args) => args.iter().collect(),
            Stmt::If(_, a, _, _) | Stmt::Write(a) => vec![a],
            Stmt::For(looped) => {
                let For { from, to, carried, .. } = &**looped;
                [from, to].into_iter().chain(carried.iter().map(|(_, a)| a)).collect()
            }
            Stmt::Bench { given, .. } => given.iter().map(|(_, a)| a).collect(),
            Stmt::Check { condition, numbers, .. } => [condition].into_iter().chain(numbers).collect(),
            Stmt::External { args, .. } => args.iter().flat_map(Argument::operands).collect(),
            Stmt::Memory(memory) => memory.operands(),
        }
    }

    /// As [`Stmt::operands`], to be changed.
    pub fn operands_mut(&mut self) -> Vec<&mut Operand> {
        match self {
            Stmt::Let(_, _, args) | Stmt::Call(_, _, args) => args.iter_mut().collect(),
            Stmt::If(_, a, _, _) | Stmt::Write(a) => vec![a],
            Stmt::For(looped) => {
                let For { from, to, carried, .. } = &mut **looped;
                [from, to].into_iter().chain(carried.iter_mut().map(|(_, a)| a)).collect()
            }
            Stmt::Bench { given, .. } => given.iter_mut().map(|(_, a)| a).collect(),
            Stmt::Check { condition, numbers, .. } => [condition].into_iter().chain(numbers).collect(),
            Stmt::External { args, .. } => args.iter_mut().flat_map(Argument::operands_mut).collect(),
            Stmt::Memory(memory) => memory.operands_mut(),
        }
    }

    /// Returns whether it uses a local, also in its blocks.
    pub fn mentions(&self, x: Local) -> bool {
        let is_it = |a: &Operand| a.local() == Some(x);
        self.operands().into_iter().any(is_it) || self.blocks().any(|block| block.mentions(x))
    }

    /// Returns whether it has blocks.
    pub fn has_blocks(&self) -> bool {
        self.blocks().next().is_some()
    }

    /// Returns the blocks in it.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let (first, second) = match self {
            Stmt::If(_, _, then, other) => (Some(then), Some(other)),
            Stmt::For(looped) => (Some(&looped.body), None),
            Stmt::Bench { body, .. } => (Some(body), None),
            Stmt::Let(..)
            | Stmt::Call(..)
            | Stmt::Check { .. }
            | Stmt::External { .. }
            | Stmt::Write(_)
            | Stmt::Memory(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Returns the i-th of its blocks, to be changed. Panics where it has fewer.
    pub fn block_mut(&mut self, i: usize) -> &mut Block {
        self.blocks_mut().nth(i).expect("it has so many blocks")
    }

    /// As [`Stmt::blocks`], to be changed.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let (first, second) = match self {
            Stmt::If(_, _, then, other) => (Some(then), Some(other)),
            Stmt::For(looped) => (Some(&mut looped.body), None),
            Stmt::Bench { body, .. } => (Some(body), None),
            Stmt::Let(..)
            | Stmt::Call(..)
            | Stmt::Check { .. }
            | Stmt::External { .. }
            | Stmt::Write(_)
            | Stmt::Memory(_) => (None, None),
        };
        first.into_iter().chain(second)
    }
}

impl Argument {
    fn operands(&self) -> Vec<&Operand> {
        match self {
            Argument::Scalar(a) => vec![a],
            Argument::Tensor(data, sizes) => [data].into_iter().chain(sizes).collect(),
        }
    }

    fn operands_mut(&mut self) -> Vec<&mut Operand> {
        match self {
            Argument::Scalar(a) => vec![a],
            Argument::Tensor(data, sizes) => [data].into_iter().chain(sizes).collect(),
        }
    }
}

impl Memory {
    /// Returns the local that it sets.
    pub fn target(&self) -> Option<Local> {
        match self {
            Memory::Alloc { buffer: x, .. }
            | Memory::Stack(x, _)
            | Memory::Load(x, ..)
            | Memory::View(x, ..)
            | Memory::Cast(x, _)
            | Memory::Mark(x)
            | Memory::Above(x, ..)
            | Memory::Before(x, ..)
            | Memory::Slide(x, ..)
            | Memory::Slid { target: x, .. } => Some(*x),
            Memory::Zero(..) | Memory::Store(..) | Memory::Add(..) | Memory::Move { .. } | Memory::Release(_) => None,
        }
    }

    /// As [`Memory::target`], to be changed.
    pub fn target_mut(&mut self) -> Option<&mut Local> {
        match self {
            Memory::Alloc { buffer: x, .. }
            | Memory::Stack(x, _)
            | Memory::Load(x, ..)
            | Memory::View(x, ..)
            | Memory::Cast(x, _)
            | Memory::Mark(x)
            | Memory::Above(x, ..)
            | Memory::Before(x, ..)
            | Memory::Slide(x, ..)
            | Memory::Slid { target: x, .. } => Some(x),
            Memory::Zero(..) | Memory::Store(..) | Memory::Add(..) | Memory::Move { .. } | Memory::Release(_) => None,
        }
    }

    /// Returns what it uses.
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            Memory::Mark(_) => vec![],
            Memory::Alloc { count: a, .. } | Memory::Stack(_, a) | Memory::Cast(_, a) | Memory::Release(a) => vec![a],
            Memory::Zero(a, b)
            | Memory::Load(_, a, b)
            | Memory::View(_, a, b)
            | Memory::Above(_, a, b)
            | Memory::Before(_, a, b)
            | Memory::Slide(_, a, b) => vec![a, b],
            Memory::Store(a, b, c) | Memory::Add(a, b, c) => vec![a, b, c],
            Memory::Move { to, from, count } => vec![to, from, count],
            Memory::Slid { buffer, piece, distance, .. } => vec![buffer, piece, distance],
        }
    }

    /// As [`Memory::operands`], to be changed.
    pub fn operands_mut(&mut self) -> Vec<&mut Operand> {
        match self {
            Memory::Mark(_) => vec![],
            Memory::Alloc { count: a, .. } | Memory::Stack(_, a) | Memory::Cast(_, a) | Memory::Release(a) => vec![a],
            Memory::Zero(a, b)
            | Memory::Load(_, a, b)
            | Memory::View(_, a, b)
            | Memory::Above(_, a, b)
            | Memory::Before(_, a, b)
            | Memory::Slide(_, a, b) => vec![a, b],
            Memory::Store(a, b, c) | Memory::Add(a, b, c) => vec![a, b, c],
            Memory::Move { to, from, count } => vec![to, from, count],
            Memory::Slid { buffer, piece, distance, .. } => vec![buffer, piece, distance],
        }
    }
}

impl Block {
    /// Returns the conditions that mostly hold. What is on the other side of a conditional with one is not worth much
    /// code.
    pub fn likely_conditions(&self) -> FxHashSet<Local> {
        let mut likely = FxHashSet::default();
        self.visit(&mut |stmt| likely.extend(if let Stmt::Let(x, Op::Likely, _) = stmt { Some(*x) } else { None }));
        likely
    }

    /// Visits the statements, and those of blocks inside.
    pub fn visit(&self, f: &mut impl FnMut(&Stmt)) {
        for stmt in &self.stmts {
            f(stmt);
            stmt.blocks().for_each(|block| block.visit(f));
        }
    }

    /// Returns whether the block uses a local.
    pub fn mentions(&self, x: Local) -> bool {
        self.stmts.iter().any(|stmt| stmt.mentions(x)) || self.results.iter().any(|a| a.local() == Some(x))
    }

    /// Returns the locals from outside that the block uses, in the order of their numbers.
    pub fn uses(&self) -> Vec<Local> {
        let mut used = BTreeSet::new();
        self.visit_operands(&mut |a| used.extend(a.local()));
        let mut set = BTreeSet::new();
        self.visit(&mut |stmt| set.extend(stmt.targets().into_iter().chain(stmt.bound())));
        used.difference(&set).copied().collect()
    }

    /// Visits every operand, also of blocks inside.
    pub fn visit_operands(&self, f: &mut impl FnMut(&Operand)) {
        for stmt in &self.stmts {
            stmt.operands().into_iter().for_each(&mut *f);
            stmt.blocks().for_each(|block| block.visit_operands(f));
        }
        self.results.iter().for_each(f);
    }

    /// Returns whether loops of the block run in lanes.
    pub fn has_lanes(&self) -> bool {
        let mut found = false;
        self.visit(&mut |stmt| found |= matches!(stmt, Stmt::For(looped) if looped.lanes > 1));
        found
    }

    /// Returns how often each local is used.
    pub fn use_counts(&self) -> FxHashMap<Local, usize> {
        let mut counts = FxHashMap::default();
        self.visit_operands(&mut |a| *a.local().map_or(&mut 0, |x| counts.entry(x).or_insert(0)) += 1);
        counts
    }

    /// Visits every operand, also of blocks inside, to change it.
    pub fn change_operands(&mut self, f: &mut impl FnMut(&mut Operand)) {
        for stmt in &mut self.stmts {
            stmt.operands_mut().into_iter().for_each(&mut *f);
            stmt.blocks_mut().for_each(|block| block.change_operands(f));
        }
        self.results.iter_mut().for_each(f);
    }

    /// Returns how many statements there are, those of blocks inside included.
    pub fn len(&self) -> usize {
        let mut count = 0;
        self.visit(&mut |_| count += 1);
        count
    }

    /// Returns whether there is no statement.
    pub fn is_empty(&self) -> bool {
        self.stmts.is_empty()
    }
}

impl Operand {
    /// Returns the local, when it is one.
    pub fn local(&self) -> Option<Local> {
        match self {
            Operand::Local(x) => Some(*x),
            Operand::Float(_) | Operand::Integer(_) | Operand::Bool(_) | Operand::Text(_) => None,
        }
    }

    /// Returns whether two operands are the same local or, to the bit, the same constant.
    pub fn same(&self, other: &Operand) -> bool {
        match (self, other) {
            (Operand::Local(x), Operand::Local(y)) => x == y,
            (Operand::Float(x), Operand::Float(y)) => x.to_bits() == y.to_bits(),
            (Operand::Integer(x), Operand::Integer(y)) => x == y,
            (Operand::Bool(x), Operand::Bool(y)) => x == y,
            (Operand::Text(x), Operand::Text(y)) => x == y,
            (Operand::Local(_) | Operand::Float(_) | Operand::Integer(_) | Operand::Bool(_) | Operand::Text(_), _) => {
                false
            }
        }
    }
}
