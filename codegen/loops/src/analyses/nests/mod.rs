//! Finds nests of loops that go through the elements of a state, each at a place of its own.
//!
//! ```text
//! for i in 0..p { row = i m; for j in 0..m { x = row + j; .. } }         x is another place in each iteration
//! ```

mod slice;

pub use slice::{Loads, Slice};

use crate::ir::{Block, For, Local, Op, Operand, Stmt};
use rustc_hash::{FxHashMap, FxHashSet};

/// A nest, and how it names the elements.
pub struct Nest {
    /// The indices, the outermost first.
    pub indices: Vec<Local>,
    /// The ends of the loops; they do not change in the nest.
    pub sizes: Vec<Operand>,
    /// The statements to go down to, from the body of the outermost loop on, except the innermost block's.
    pub path: Vec<usize>,
    /// The locals that the nest sets.
    pub set: FxHashSet<Local>,
    /// The operations in it.
    pub made: FxHashMap<Local, (Op, Vec<Operand>)>,
    /// The operations before it, as far as they are known.
    made_before: FxHashMap<Local, (Op, Vec<Operand>)>,
    /// What conditionals in it give: the condition, and what either arm gives.
    pub choices: FxHashMap<Local, [Operand; 3]>,
}

impl Nest {
    /// Matches a nest. In each block one statement is of interest, down to a block in which one is a leaf.
    pub fn of(stmt: &Stmt, is_leaf: &dyn Fn(&Stmt) -> bool, is_of_interest: &dyn Fn(&Stmt) -> bool) -> Option<Nest> {
        let mut nest = Nest {
            indices: vec![],
            sizes: vec![],
            path: vec![],
            set: FxHashSet::default(),
            made: FxHashMap::default(),
            made_before: FxHashMap::default(),
            choices: FxHashMap::default(),
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

    /// Lets places be made by operations before the nest, too: rows that do not change in it start there.
    pub fn know_before(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            if let Stmt::Let(x, op, args) = stmt {
                self.made_before.insert(*x, (*op, args.clone()));
            }
        }
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
            match stmt {
                Stmt::Let(x, op, args) => drop(self.made.insert(*x, (*op, args.clone()))),
                Stmt::If(xs, condition, then, other) => {
                    for (x, (a, b)) in xs.iter().zip(then.results.iter().zip(&other.results)) {
                        self.choices.insert(*x, [condition.clone(), a.clone(), b.clone()]);
                    }
                }
                _ => {}
            }
        });
    }

    /// Returns whether an operand is the place of the nest's iteration, in row-major order.
    pub fn is_place(&self, x: &Operand) -> bool {
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
    pub fn coordinates(&self, y: &Operand) -> Option<Vec<Operand>> {
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

    /// Returns the indices that give a place, and the sizes of the rows that it is made of, if these do not change in the
    /// nest, and there are as many as in it. What conditionals give is taken as it was chosen.
    pub fn coordinates_in_rows(
        &self,
        y: &Operand,
        chosen: &FxHashMap<Local, Operand>,
    ) -> Option<(Vec<Operand>, Vec<Operand>)> {
        let (mut coordinates, mut sizes) = (Vec::new(), Vec::new());
        let resolved = |a: &Operand| {
            let mut a = a.clone();
            while let Some(b) = a.local().and_then(|x| chosen.get(&x)) {
                a = b.clone();
            }
            a
        };
        let mut y = resolved(y);
        for _ in 1..self.indices.len() {
            let (row, size, last) = self.split_by(&y, &|size| !self.changes(size))?;
            coordinates.insert(0, resolved(&last));
            sizes.insert(0, size);
            y = resolved(&row);
        }
        coordinates.insert(0, y);
        Some((coordinates, sizes))
    }

    /// Returns what a conditional gives that a number is made of, other than those that are chosen already.
    pub fn choice_in(&self, a: &Operand, chosen: &FxHashMap<Local, Operand>) -> Option<Local> {
        self.ends(a, chosen, &|_| true)?.into_iter().find(|x| self.choices.contains_key(x))
    }

    /// Returns whether a number or a condition is made of indices and of what does not change in the nest.
    pub fn is_made_of_indices(&self, a: &Operand) -> bool {
        let ends = self.ends(a, &FxHashMap::default(), &|_| true);
        ends.is_some_and(|ends| ends.iter().all(|x| self.indices.contains(x)))
    }

    /// Returns what a number is made of by some operations, of what the nest sets in other ways; none where there are others.
    fn ends(
        &self,
        a: &Operand,
        chosen: &FxHashMap<Local, Operand>,
        is_followed: &dyn Fn(Op) -> bool,
    ) -> Option<Vec<Local>> {
        let (mut ends, mut seen, mut waiting) = (Vec::new(), FxHashSet::default(), vec![a]);
        while let Some(a) = waiting.pop() {
            let Some(x) = a.local().filter(|x| self.set.contains(x) && seen.insert(*x)) else { continue };
            match (chosen.get(&x), self.made.get(&x)) {
                (Some(arm), _) => waiting.push(arm),
                (None, Some((op, args))) if is_followed(*op) => waiting.extend(args.iter().rev()),
                (None, Some(_)) => return None,
                (None, None) => ends.push(x),
            }
        }
        Some(ends)
    }

    fn changes(&self, a: &Operand) -> bool {
        a.local().is_some_and(|x| self.set.contains(&x))
    }

    /// Matches `row size + last`.
    fn split(&self, x: &Operand, k: usize) -> Option<(Operand, Operand)> {
        let (row, _, last) = self.split_by(x, &|size| size.same(&self.sizes[k]))?;
        Some((row, last))
    }

    fn split_by(&self, x: &Operand, is_size: &dyn Fn(&Operand) -> bool) -> Option<(Operand, Operand, Operand)> {
        let made = |a: &Operand| a.local().and_then(|x| self.made.get(&x).or_else(|| self.made_before.get(&x)));
        let (Op::AddI, args) = made(x)? else { return None };
        [(0, 1), (1, 0)].into_iter().find_map(|(first, second)| {
            let (Op::MulI, factors) = made(&args[first])? else { return None };
            let (row, size) = match &factors[..] {
                [row, size] if is_size(size) => (row, size),
                [size, row] if is_size(size) => (row, size),
                _ => return None,
            };
            Some((row.clone(), size.clone(), args[second].clone()))
        })
    }

    /// Returns the numbers of the indices that an operand depends on, if it is made of them and of what does not change
    /// in the nest, by operations that need no check.
    pub fn depends_on(&self, a: &Operand) -> Option<Vec<usize>> {
        let is_followed = |op| matches!(op, Op::AddI | Op::SubI | Op::MulI | Op::NegI);
        let ends = self.ends(a, &FxHashMap::default(), &is_followed)?;
        let number = |x: &Local| self.indices.iter().position(|index| index == x);
        let mut found = ends.iter().map(number).collect::<Option<Vec<usize>>>()?;
        found.sort_unstable();
        Some(found)
    }

    /// Returns the locals that the nest has set at the end of its innermost block.
    pub fn at_hand(&self, stmt: &Stmt) -> FxHashSet<Local> {
        let mut found = FxHashSet::default();
        let mut path = self.path.iter();
        let mut stmt = stmt;
        loop {
            found.extend(stmt.bound());
            let block = stmt.blocks().next().expect("a nest is loops");
            let inner = path.next();
            let before = &block.stmts[..inner.copied().unwrap_or(block.stmts.len())];
            found.extend(before.iter().flat_map(Stmt::targets));
            match inner {
                Some(at) => stmt = &block.stmts[*at],
                None => return found,
            }
        }
    }

    /// Returns the innermost block of the nest.
    pub fn innermost<'a>(&self, stmt: &'a Stmt) -> &'a Block {
        let outer = stmt.blocks().next().expect("a nest is loops");
        self.path.iter().fold(outer, |block, at| block.stmts[*at].blocks().next().expect("a nest is loops"))
    }

    /// As [`Nest::innermost`], to be changed.
    pub fn innermost_mut<'a>(&self, stmt: &'a mut Stmt) -> &'a mut Block {
        self.path.iter().fold(stmt.block_mut(0), |block, at| block.stmts[*at].block_mut(0))
    }
}
