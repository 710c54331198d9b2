//! Where iterations read and write: at places of their own, or anywhere.
//!
//!   b[i]                        element i is the iteration's own
//!   b[i m + j], 0 <= j < m      so is row i of a matrix (and row i of b[(i m + j) p + k], and so on)
//!   (b[i])[..]                  so is all of the i-th buffer in b, if these are different buffers

use crate::loops::{Block, For, Function, Local, Memory, Op, Operand, Stmt};
use std::collections::{HashMap, HashSet};

/// How the locals of a function are set, as far as places go.
#[derive(Default)]
pub(super) struct Places<'a> {
    ops: HashMap<Local, (Op, &'a [Operand])>,
    bounds: HashMap<Local, &'a For>,
    parts: HashMap<Local, &'a Memory>,
}

/// An element, or all elements, of a buffer from outside of a loop.
pub(super) struct Place {
    pub(super) base: Local,
    /// Whether it lies in a buffer that lies in the base.
    pub(super) is_in_row: bool,
    /// Which element of the base is the iteration's own, if it is.
    pub(super) own: Option<Own>,
}

/// The widths of the rows of rows of .. that an iteration owns; none where it owns an element.
pub(super) type Own = Vec<Operand>;

pub(super) fn is_same(a: &Own, b: &Own) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
}

impl<'a> Places<'a> {
    pub(super) fn of(function: &'a Function) -> Places<'a> {
        let mut places = Places::default();
        places.block(&function.body);
        places
    }

    fn block(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Let(x, op, args) => {
                    self.ops.insert(*x, (*op, args));
                }
                Stmt::For(looped) => {
                    self.bounds.insert(looped.index, looped);
                }
                Stmt::Memory(memory) => {
                    memory.target().map(|x| self.parts.insert(x, memory));
                }
                _ => {}
            }
            stmt.blocks().into_iter().for_each(|block| self.block(block));
        }
    }

    /// Where an iteration touches a buffer: at an index, or anywhere in it. Not known if the buffer is not, or is not
    /// a part, of one from outside.
    pub(super) fn place(
        &self,
        index: Local,
        inside: &HashSet<Local>,
        buffer: Local,
        at: Option<&Operand>,
    ) -> Option<Place> {
        let finder = Finder { places: self, index, inside };
        if !inside.contains(&buffer) {
            return Some(Place { base: buffer, is_in_row: false, own: at.and_then(|at| finder.own(at)) });
        }
        match self.parts.get(&buffer)? {
            Memory::Load(_, b, i) => {
                let base = b.local().filter(|b| !inside.contains(b))?;
                Some(Place { base, is_in_row: true, own: finder.own(i) })
            }
            Memory::View(_, b, start) => {
                let base = b.local()?;
                if inside.contains(&base) {
                    let whole = self.place(index, inside, base, None)?;
                    return whole.is_in_row.then_some(whole);
                }
                let own = at.and_then(|at| finder.element_of_row(start, at));
                Some(Place { base, is_in_row: false, own })
            }
            _ => None,
        }
    }

    /// The number of elements that a local is allocated with.
    pub(super) fn allocated(&self, buffer: Local) -> Option<&'a Operand> {
        match self.parts.get(&buffer)? {
            Memory::Alloc { count, .. } => Some(count),
            _ => None,
        }
    }
}

struct Finder<'p, 'a> {
    places: &'p Places<'a>,
    index: Local,
    inside: &'p HashSet<Local>,
}

impl Finder<'_, '_> {
    fn own(&self, e: &Operand) -> Option<Own> {
        let x = e.local()?;
        if x == self.index {
            return Some(vec![]);
        }
        match self.places.ops.get(&x)? {
            (Op::AddI, [a, b]) => self.element_of_row(a, b).or_else(|| self.element_of_row(b, a)),
            _ => None,
        }
    }

    /// `e m + j` for an own e, and j from 0 to m.
    fn element_of_row(&self, start: &Operand, j: &Operand) -> Option<Own> {
        let looped = self.places.bounds.get(&j.local()?)?;
        let (Op::MulI, [a, b]) = self.places.ops.get(&start.local()?)? else { return None };
        let (row, width) = if looped.to.same(b) { (a, b) } else { (b, a) };
        let is_constant = width.local().is_none_or(|m| !self.inside.contains(&m));
        if !looped.to.same(width) || !looped.from.same(&Operand::Integer(0)) || !is_constant {
            return None;
        }
        let mut own = self.own(row)?;
        own.push(width.clone());
        Some(own)
    }
}
