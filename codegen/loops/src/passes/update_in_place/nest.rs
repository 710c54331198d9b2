//! Finds nests of loops that go through the elements of a state, each at a place of its own.
//!
//! ```text
//! for i in 0..p { row = i m; for j in 0..m { x = row + j; .. } }         x is another place in each iteration
//! ```

use crate::ir::{Block, For, Local, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// A nest, and how it names the elements.
pub(super) struct Nest {
    pub(super) indices: Vec<Local>,
    /// The ends of the loops; they do not change in the nest.
    pub(super) sizes: Vec<Operand>,
    /// The statements to go down to, from the body of the outermost loop on, except the innermost block's.
    pub(super) path: Vec<usize>,
    /// The locals that the nest sets.
    pub(super) set: FxHashSet<Local>,
    /// The operations in it.
    pub(super) made: FxHashMap<Local, (Op, Vec<Operand>)>,
}

impl Nest {
    /// Matches a nest. In each block one statement is of interest, down to a block in which one is a leaf.
    pub(super) fn of(
        stmt: &Stmt,
        is_leaf: &dyn Fn(&Stmt) -> bool,
        is_of_interest: &dyn Fn(&Stmt) -> bool,
    ) -> Option<Nest> {
        let mut nest = Nest {
            indices: vec![],
            sizes: vec![],
            path: vec![],
            set: FxHashSet::default(),
            made: FxHashMap::default(),
        };
        let mut stmt = stmt;
        loop {
            let Stmt::For(looped) = stmt else { return None };
            nest.enter(looped)?;
            let stmts = &looped.body.stmts;
            if stmts.iter().any(is_leaf) {
                break;
            }
            let mut found = stmts.iter().enumerate().filter(|(_, stmt)| is_of_interest(stmt));
            let (at, inner) = found.next()?;
            if found.next().is_some() {
                return None;
            }
            nest.path.push(at);
            stmt = inner;
        }
        Some(nest)
    }

    fn enter(&mut self, looped: &For) -> Option<()> {
        let is_plain = looped.lanes == 1 && looped.jam == 1 && !looped.on_threads;
        let is_fixed = looped.to.local().is_none_or(|x| !self.set.contains(&x));
        (is_plain && is_fixed && looped.from.same(&Operand::Integer(0))).then_some(())?;
        if self.indices.is_empty() {
            self.collect(&looped.body);
            self.set.insert(looped.index);
            self.set.extend(looped.carried.iter().map(|(x, _)| *x));
        }
        self.indices.push(looped.index);
        self.sizes.push(looped.to.clone());
        Some(())
    }

    fn collect(&mut self, block: &Block) {
        block.visit(&mut |stmt| {
            self.set.extend(stmt.targets().into_iter().chain(stmt.bound()));
            if let Stmt::Let(x, op, args) = stmt {
                self.made.insert(*x, (*op, args.clone()));
            }
        });
    }

    /// Returns whether an operand is the place of the nest's iteration, in row-major order.
    pub(super) fn is_place(&self, x: &Operand) -> bool {
        let index = |k: usize| Operand::Local(self.indices[k]);
        let mut x = x.clone();
        for k in (1..self.indices.len()).rev() {
            let Some((row, last)) = self.split(&x, k) else { return false };
            if !last.same(&index(k)) {
                return false;
            }
            x = row;
        }
        x.same(&index(0))
    }

    /// Returns the indices that give a place, if it is made of rows of the nest's sizes.
    pub(super) fn coordinates(&self, y: &Operand) -> Option<Vec<Operand>> {
        let mut coordinates = Vec::new();
        let mut y = y.clone();
        for k in (1..self.indices.len()).rev() {
            let (row, last) = self.split(&y, k)?;
            coordinates.insert(0, last);
            y = row;
        }
        coordinates.insert(0, y);
        Some(coordinates)
    }

    /// Matches `row size + last`.
    fn split(&self, x: &Operand, k: usize) -> Option<(Operand, Operand)> {
        let (Op::AddI, args) = self.made.get(&x.local()?)? else { return None };
        [(0, 1), (1, 0)].into_iter().find_map(|(first, second)| {
            let (Op::MulI, factors) = self.made.get(&args[first].local()?)? else { return None };
            let row = match &factors[..] {
                [row, size] if size.same(&self.sizes[k]) => row,
                [size, row] if size.same(&self.sizes[k]) => row,
                _ => return None,
            };
            Some((row.clone(), args[second].clone()))
        })
    }

    /// Returns the numbers of the indices that an operand depends on, if it is made of them and of what does not change
    /// in the nest, by operations that need no check.
    pub(super) fn depends_on(&self, a: &Operand) -> Option<Vec<usize>> {
        let Some(x) = a.local().filter(|x| self.set.contains(x)) else { return Some(vec![]) };
        if let Some(k) = self.indices.iter().position(|index| *index == x) {
            return Some(vec![k]);
        }
        let (Op::AddI | Op::SubI | Op::MulI | Op::NegI, args) = self.made.get(&x)? else { return None };
        let mut found = Vec::new();
        for arg in args {
            found.extend(self.depends_on(arg)?);
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// Returns the innermost block of the nest.
    pub(super) fn innermost<'a>(&self, stmt: &'a Stmt) -> &'a Block {
        let outer = stmt.blocks().next().expect("a nest is loops");
        self.path.iter().fold(outer, |block, at| block.stmts[*at].blocks().next().expect("a nest is loops"))
    }

    /// As [`Nest::innermost`], to be changed.
    pub(super) fn innermost_mut<'a>(&self, stmt: &'a mut Stmt) -> &'a mut Block {
        self.path.iter().fold(stmt.block_mut(0), |block, at| block.stmts[*at].block_mut(0))
    }
}
