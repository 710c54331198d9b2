//! Laws of reading: an index that runs along an axis is a part of an array, not a gather.
//!
//! ```text
//! slice (whole) = a      slice (iota) = iota + start      at (spread a) = a      at (iota) e = e
//! at (slice a) e = at a (e + start)      at (stack a b ..) 0 = a      gather (spread a) = gather a of other axes
//! ```

use super::Builder;
use crate::ir::{Fun, Id, Op, Scalar};
use crate::rules::Rule;
use lm::term::Constant;

impl Builder {
    /// Returns 0, 1, .. n - 1.
    pub fn iota(&mut self, n: Id) -> Id {
        self.make(Op::Iota, vec![], Scalar::Integer, vec![n])
    }

    /// Returns n elements along an axis, from place `start` on.
    pub fn slice(&mut self, id: Id, axis: usize, start: Id, n: Id) -> Id {
        let (node, n) = (self.node(id).clone(), self.size(n));
        if self.number(start) == Some(&Constant::Integer(0)) && self.size(node.dims[axis]) == n {
            self.by(Rule::SliceWhole);
            return id;
        }
        let mut dims = node.dims.clone();
        dims[axis] = n;
        match &node.op {
            Op::Iota => {
                let (iota, start) = (self.iota(n), self.spread(start, &[], &dims));
                self.each(Fun::Add, &[iota, start])
            }
            Op::Spread(axes) => match axes.iter().position(|&a| a == axis) {
                Some(k) => {
                    let part = self.slice(node.args[0], k, start, n);
                    self.spread(part, axes, &dims)
                }
                None => self.spread(node.args[0], axes, &dims),
            },
            _ => self.make(Op::Slice(axis), vec![id, start], node.scalar, dims),
        }
    }

    /// Returns n elements along an axis, from place `start` on, and 0 where there are none. None if more than sizes tells
    /// where that is.
    pub fn window(&mut self, id: Id, axis: usize, start: Id, n: Id) -> Option<Id> {
        if !self.is_of_sizes(start) {
            return None;
        }
        let (node, n, start) = (self.node(id).clone(), self.size(n), self.folded(start));
        let mut dims = node.dims.clone();
        dims[axis] = n;
        if self.is_integer(start, 0) && self.size(node.dims[axis]) == n {
            return Some(id);
        }
        match &node.op {
            _ if self.is_zero(id) => Some(self.zeros(node.scalar, &dims)),
            Op::Spread(axes) if axes.contains(&axis) => {
                let k = axes.iter().position(|&a| a == axis).expect("one of the axes");
                let part = self.window(node.args[0], k, start, n)?;
                Some(self.spread(part, axes, &dims))
            }
            _ => Some(self.make(Op::Window(axis), vec![id, start], node.scalar, dims)),
        }
    }

    /// Returns an array backwards along an axis.
    pub fn reverse(&mut self, id: Id, axis: usize) -> Id {
        let node = self.node(id).clone();
        // n - 1 - i in place of i backwards: a line, by which parts are read.
        let is_line = |line: &super::Line| line.axis == Some(axis) && line.step.abs() == 1;
        if let Some(line) = self.line(id).filter(|line| is_line(line) && node.dims.len() == 1) {
            self.by(Rule::ReverseLine);
            let (one, iota) = (self.integer(1), self.iota(node.dims[axis]));
            let last = self.each(Fun::Sub, &[node.dims[axis], one]);
            let (to_end, back) = if line.step == 1 { (Fun::Add, Fun::Sub) } else { (Fun::Sub, Fun::Add) };
            let end = self.each(to_end, &[line.offset, last]);
            let end = self.folded(end);
            let end = self.spread(end, &[], &node.dims);
            return self.each(back, &[end, iota]);
        }
        match node.op {
            Op::Spread(ref axes) if axes.contains(&axis) => {
                let k = axes.iter().position(|&a| a == axis).expect("one of the axes");
                let inner = self.reverse(node.args[0], k);
                self.spread(inner, axes, &node.dims)
            }
            Op::Spread(_) => id,
            Op::Reverse(other) if other == axis => {
                self.by(Rule::ReverseReverse);
                node.args[0]
            }
            _ => self.make(Op::Reverse(axis), vec![id], node.scalar, node.dims),
        }
    }

    /// Returns place e of an axis.
    pub fn at(&mut self, id: Id, axis: usize, e: Id) -> Id {
        let node = self.node(id).clone();
        let mut dims = node.dims.clone();
        dims.remove(axis);
        if self.number(node.dims[axis]) == Some(&Constant::Integer(0)) {
            return self.zeros(node.scalar, &dims);
        }
        match &node.op {
            Op::Iota => {
                self.by(Rule::IndexIota);
                e
            }
            Op::Spread(axes) => {
                self.by(Rule::IndexSpread);
                let moved: Vec<usize> =
                    axes.iter().filter(|&&a| a != axis).map(|&a| a - usize::from(a > axis)).collect();
                let inner = match axes.iter().position(|&a| a == axis) {
                    Some(k) => self.at(node.args[0], k, e),
                    None => node.args[0],
                };
                self.spread(inner, &moved, &dims)
            }
            Op::Slice(other) if *other == axis => {
                self.by(Rule::IndexSlice);
                let place = self.each(Fun::Add, &[e, node.args[1]]);
                self.at(node.args[0], axis, place)
            }
            Op::Stack(other) if *other == axis => match self.number(e) {
                Some(&Constant::Integer(k)) if (0..node.args.len() as i64).contains(&k) => {
                    self.by(Rule::IndexStack);
                    node.args[k as usize]
                }
                _ => self.make(Op::At(axis), vec![id, e], node.scalar, dims),
            },
            _ => self.make(Op::At(axis), vec![id, e], node.scalar, dims),
        }
    }

    /// Returns `a[.., e1[i ..], .., em[i ..], ..]`, with indices from an axis on. Takes at least one index.
    pub fn gather(&mut self, id: Id, axis: usize, places: &[Id]) -> Id {
        let node = self.node(id).clone();
        if self.rank(places[0]) == 0 {
            // The same axis again and again, as each index takes one away.
            return places.iter().fold(id, |part, &e| self.at(part, axis, e));
        }
        let batch = self.dims(places[0]);
        let dims: Vec<Id> = [&node.dims[..axis], &batch, &node.dims[axis + places.len()..]].concat();
        if let (Op::Iota, [e]) = (&node.op, places) {
            self.by(Rule::IndexIota);
            return *e;
        }
        if let Op::Spread(axes) = &node.op {
            self.by(Rule::GatherSpread);
            // The part that varies; some of its axes are indexed.
            let end = axis + places.len();
            let used: Vec<Id> = axes.iter().filter(|&&a| (axis..end).contains(&a)).map(|&a| places[a - axis]).collect();
            let before: Vec<usize> = axes.iter().copied().filter(|&a| a < axis).collect();
            let after = axes.iter().filter(|&&a| a >= end).map(|&a| a - places.len() + batch.len());
            let inner = match used.is_empty() {
                true => node.args[0],
                false => self.gather(node.args[0], before.len(), &used),
            };
            let middle = if used.is_empty() { 0..0 } else { axis..axis + batch.len() };
            let all: Vec<usize> = before.iter().copied().chain(middle).chain(after).collect();
            return self.spread(inner, &all, &dims);
        }
        self.make(Op::Gather(axis), [vec![id], places.to_vec()].concat(), node.scalar, dims)
    }
}
