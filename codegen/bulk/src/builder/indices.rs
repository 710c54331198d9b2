//! Laws of indices: an index that runs along an axis is a part of an array, not a gather.
//!
//! ```text
//! slice (whole) = a      slice (iota) = iota + start      at (spread a) = a      at (iota) e = e
//! at (slice a) e = at a (e + start)      at (stack a b ..) 0 = a      gather (spread a) = gather a of other axes
//! scatter of indices that are each place once = permute      sum (scatter x) = scatter (sum x), or of fewer indices
//! ```

use super::{Builder, Source};
use crate::ir::{Fun, Id, Node, Op, Scalar};
use lm::term::Constant;
use std::collections::BTreeMap;

/// Sums of more levels are not looked through.
const DEEPEST: usize = 8;

/// An index that is `offset + step i`, where i runs along one axis, or along none.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The axis, if there is one.
    pub axis: Option<usize>,
    /// The step along it.
    pub step: i64,
    /// An Integer.
    pub offset: Id,
}

/// An Integer as a sum of others, each with a factor, and of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Linear {
    terms: BTreeMap<Id, i64>,
    constant: i64,
}

impl Linear {
    /// Returns `self + k other`.
    fn plus(mut self, other: &Linear, k: i64) -> Linear {
        other.terms.iter().for_each(|(id, n)| *self.terms.entry(*id).or_default() += k * n);
        self.terms.retain(|_, n| *n != 0);
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(k));
        self
    }
}

impl Builder {
    fn linear(&self, id: Id) -> Linear {
        self.linear_within(id, DEEPEST)
    }

    fn linear_within(&self, id: Id, depth: usize) -> Linear {
        let node = self.node(id);
        let of = |id: Id| self.linear_within(id, depth - 1);
        match (&node.op, node.args.as_slice()) {
            (Op::Each(_), _) if depth == 0 => Linear { terms: BTreeMap::from([(id, 1)]), constant: 0 },
            (Op::Constant(Constant::Integer(n)), _) => Linear { constant: *n, ..Linear::default() },
            (Op::Each(Fun::Add), &[a, b]) => of(a).plus(&of(b), 1),
            (Op::Each(Fun::Sub), &[a, b]) => of(a).plus(&of(b), -1),
            (Op::Each(Fun::Neg), &[a]) => Linear::default().plus(&of(a), -1),
            _ => Linear { terms: BTreeMap::from([(self.size(id), 1)]), constant: 0 },
        }
    }

    /// Returns an Integer in a simpler form, if sizes in it cancel.
    pub fn folded(&mut self, id: Id) -> Id {
        let linear = self.linear(id);
        match (linear.terms.len(), linear.constant) {
            (0, constant) => self.integer(constant),
            (1, 0) if linear.terms.values().all(|&k| k == 1) => *linear.terms.keys().next().expect("a term"),
            _ => id,
        }
    }

    /// Returns whether an Integer is known not to be negative: sizes are not, and neither is what is not below 0.
    pub fn is_natural(&self, id: Id) -> bool {
        self.is_sum_natural(self.linear(id))
    }

    fn is_sum_natural(&self, mut sum: Linear) -> bool {
        // A step lies between 0 and the last one.
        while let Some((step, k)) =
            sum.terms.iter().find(|(id, _)| self.steps.contains_key(id)).map(|(&id, &k)| (id, k))
        {
            let gone = Linear { terms: BTreeMap::from([(step, k)]), constant: 0 };
            sum = sum.plus(&gone, -1);
            if k < 0 {
                let last = Linear { constant: -1, ..Linear::default() }.plus(&self.linear(self.steps[&step]), 1);
                sum = sum.plus(&last, k);
            }
        }
        let positive = |id: &Id| self.positive_part(*id).map(|of| (*id, of));
        if let Some((part, of)) = sum.terms.iter().filter(|&(_, &k)| k < 0).find_map(|(id, _)| positive(id)) {
            // The larger of e and 0 is one of them.
            let k = sum.terms[&part];
            let none = Linear { terms: BTreeMap::from([(part, -k)]), constant: 0 };
            let without = sum.plus(&none, 1);
            return self.is_sum_natural(without.clone()) && self.is_sum_natural(without.plus(&self.linear(of), k));
        }
        let is_size = |id: &Id| matches!(self.node(*id).op, Op::InputSize(..)) || self.positive_part(*id).is_some();
        sum.constant >= 0 && sum.terms.iter().all(|(id, &k)| k > 0 && is_size(id))
    }

    /// Returns whether Integers are known to be at most others, element by element, less some number.
    pub(super) fn is_at_most(&mut self, x: Id, y: Id, less: i64) -> bool {
        let (Some(most), Some(least)) = (self.end(x, true), self.end(y, false)) else { return false };
        let mut room = least.plus(&most, -1);
        room.constant = room.constant.saturating_sub(less);
        self.is_sum_natural(room)
    }

    /// Returns the largest or the smallest of Integers, if they lie on a line.
    fn end(&mut self, id: Id, is_largest: bool) -> Option<Linear> {
        let line = self.line(id)?;
        let offset = self.linear(line.offset);
        Some(match line.axis {
            Some(axis) if (line.step > 0) == is_largest => {
                let last = Linear { constant: -1, ..Linear::default() }.plus(&self.linear(self.node(id).dims[axis]), 1);
                offset.plus(&last, line.step)
            }
            _ => offset,
        })
    }

    /// Returns e where a node is e, or 0 where that is negative.
    fn positive_part(&self, id: Id) -> Option<Id> {
        let node = self.node(id);
        let Op::Each(Fun::Select) = node.op else { return None };
        let condition = self.node(node.args[0]);
        let is_zero = |id: Id| self.number(id) == Some(&Constant::Integer(0));
        let compares = matches!(condition.op, Op::Each(Fun::Gt)) && condition.args[0] == node.args[1];
        (compares && is_zero(condition.args[1]) && is_zero(node.args[2])).then_some(node.args[1])
    }

    /// Returns whether a number depends on sizes and Integer inputs only, so that a size may be made of it.
    pub fn is_fixed(&mut self, id: Id) -> bool {
        self.source(id) <= Source::Integers
    }

    /// Returns whether a number depends on sizes only.
    pub fn is_of_sizes(&mut self, id: Id) -> bool {
        self.source(id) == Source::Sizes
    }

    fn source(&mut self, id: Id) -> Source {
        if let Some(&known) = self.sources.get(&id) {
            return known;
        }
        let node = self.node(id).clone();
        let is_number = node.dims.is_empty();
        let source = match node.op {
            Op::InputSize(..) | Op::Constant(_) => Source::Sizes,
            Op::Input(_) if is_number && node.scalar == Scalar::Integer => Source::Integers,
            Op::Each(_) if is_number => node.args.iter().map(|&arg| self.source(arg)).max().unwrap_or(Source::Sizes),
            _ => Source::Data,
        };
        self.sources.insert(id, source);
        source
    }

    /// Returns a number that an Integer does not exceed and that a size may be made of, if one is known. A step of a loop
    /// lies between 0 and the last one.
    pub fn largest(&mut self, id: Id) -> Option<Id> {
        if self.is_fixed(id) {
            return Some(id);
        }
        let Linear { terms, constant } = self.linear(id);
        let mut largest = self.integer(constant);
        for (term, k) in terms {
            let most = match self.steps.get(&term).copied() {
                Some(_) if k < 0 => continue,
                Some(count) => {
                    let one = self.integer(1);
                    self.each(Fun::Sub, &[count, one])
                }
                None => term,
            };
            if !self.is_fixed(most) {
                return None;
            }
            let k = self.integer(k);
            let part = self.each(Fun::Mul, &[k, most]);
            largest = self.each(Fun::Add, &[largest, part]);
        }
        Some(self.folded(largest))
    }

    /// Returns an index as a line, if it is one.
    pub fn line(&mut self, id: Id) -> Option<Line> {
        self.line_within(id, DEEPEST)
    }

    fn line_within(&mut self, id: Id, depth: usize) -> Option<Line> {
        let depth = depth.checked_sub(1)?;
        let node = self.node(id).clone();
        if node.dims.is_empty() {
            return Some(Line { axis: None, step: 0, offset: id });
        }
        match node.op {
            Op::Iota => Some(Line { axis: Some(0), step: 1, offset: self.integer(0) }),
            Op::Spread(axes) => {
                let line = self.line_within(node.args[0], depth)?;
                Some(Line { axis: line.axis.map(|axis| axes[axis]), ..line })
            }
            Op::Each(fun @ (Fun::Add | Fun::Sub)) => {
                let (a, b) = (self.line_within(node.args[0], depth)?, self.line_within(node.args[1], depth)?);
                let sign = if fun == Fun::Add { 1 } else { -1 };
                let axis = match (a.axis, b.axis) {
                    (Some(a), Some(b)) if a != b => return None,
                    (a, b) => a.or(b),
                };
                let step = a.step.checked_add(b.step.checked_mul(sign)?)?;
                Some(Line { axis: axis.filter(|_| step != 0), step, offset: self.each(fun, &[a.offset, b.offset]) })
            }
            Op::Each(Fun::Neg) => {
                let line = self.line_within(node.args[0], depth)?;
                Some(Line { step: -line.step, offset: self.each(Fun::Neg, &[line.offset]), ..line })
            }
            _ => None,
        }
    }

    /// Returns 0, 1, .. n - 1.
    pub fn iota(&mut self, n: Id) -> Id {
        self.make(Op::Iota, vec![], Scalar::Integer, vec![n])
    }

    /// Returns n elements along an axis, from place `start` on.
    pub fn slice(&mut self, id: Id, axis: usize, start: Id, n: Id) -> Id {
        let (node, n) = (self.node(id).clone(), self.size(n));
        if self.number(start) == Some(&Constant::Integer(0)) && self.size(node.dims[axis]) == n {
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
        match node.op {
            Op::Reverse(other) if other == axis => node.args[0],
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
            Op::Iota => e,
            Op::Spread(axes) => {
                let moved: Vec<usize> =
                    axes.iter().filter(|&&a| a != axis).map(|&a| a - usize::from(a > axis)).collect();
                let inner = match axes.iter().position(|&a| a == axis) {
                    Some(k) => self.at(node.args[0], k, e),
                    None => node.args[0],
                };
                self.spread(inner, &moved, &dims)
            }
            Op::Slice(other) if *other == axis => {
                let place = self.each(Fun::Add, &[e, node.args[1]]);
                self.at(node.args[0], axis, place)
            }
            Op::Stack(other) if *other == axis => match self.number(e) {
                Some(Constant::Integer(k)) if (0..node.args.len() as i64).contains(k) => node.args[*k as usize],
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
            return *e;
        }
        if let Op::Spread(axes) = &node.op {
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

    /// Returns the array `a` of some size, with `x[i ..]` added to the element at `e1[i ..], .., em[i ..]` for each i.
    pub fn scatter(&mut self, a: Id, x: Id, places: &[Id]) -> Id {
        if self.is_zero(x) {
            return a;
        }
        let (mut x, mut places) = (x, places.to_vec());
        let Some(&first) = places.first() else { return self.each(Fun::Add, &[a, x]) };
        for axis in (0..self.rank(first)).rev() {
            let same: Option<Vec<Id>> = places.iter().map(|&e| self.without_axis(e, axis)).collect();
            if let Some(same) = same {
                (x, places) = (self.sum(x, axis), same);
            }
        }
        if let Some(sum) = self.scatter_along_lines(a, x, &places) {
            return sum;
        }
        if let Some(sum) = self.scatter_of_sparse(a, x, &places) {
            return sum;
        }
        let batch = self.dims(places[0]);
        let lines: Vec<Option<usize>> =
            (0..places.len()).map(|k| self.whole_line(places[k], self.node(a).dims[k])).collect();
        let mut axes: Vec<usize> = lines.iter().flatten().copied().collect();
        axes.sort_unstable();
        axes.dedup();
        if axes.len() == places.len() && axes.len() == batch.len() {
            let rest = batch.len()..self.rank(x);
            let order: Vec<usize> = lines.into_iter().flatten().chain(rest).collect();
            let x = self.permute(x, &order);
            return self.each(Fun::Add, &[a, x]);
        }
        let node = self.node(a).clone();
        self.make(Op::Scatter, [vec![a, x], places].concat(), node.scalar, node.dims)
    }

    /// Returns a scatter whose indices run along an axis each, or along none, but only where x is not 0: windows of x are
    /// added.
    fn scatter_along_lines(&mut self, a: Id, x: Id, places: &[Id]) -> Option<Id> {
        let rank = self.rank(places[0]);
        let (_, condition, within) = self.masked(x).filter(|(_, _, axes)| axes.iter().all(|&axis| axis < rank))?;
        let (mut lines, mut is_masked) = (Vec::new(), false);
        for &place in places {
            let e = match self.masked(place) {
                Some((e, c, axes)) if c == condition && axes == within => {
                    is_masked = true;
                    e
                }
                _ => place,
            };
            let is_known = |line: &Line, lines: &[Line]| match line.axis {
                Some(axis) => line.step.abs() == 1 && lines.iter().all(|other| other.axis != Some(axis)),
                None => true,
            };
            let line = self.line(e)?;
            if !is_known(&line, &lines) || !self.is_of_sizes(line.offset) {
                return None;
            }
            lines.push(line);
        }
        // Where all is inside, a part of a is added to.
        if !is_masked {
            return None;
        }
        let mut part = x;
        for axis in (0..rank).rev().filter(|&axis| lines.iter().all(|line| line.axis != Some(axis))) {
            part = self.sum(part, axis);
        }
        let used: Vec<usize> = (0..rank).filter(|&axis| lines.iter().any(|line| line.axis == Some(axis))).collect();
        let place = |line: &Line| line.axis.map(|axis| used.iter().position(|&a| a == axis).expect("a used axis"));
        let order: Vec<usize> = lines.iter().filter_map(place).chain(used.len()..self.rank(part)).collect();
        part = self.permute(part, &order);
        // An index that is one place has an axis with one element.
        let (mut dims, one) = (self.dims(part), self.integer(1));
        let one_place = |k: &usize| lines.get(*k).is_some_and(|line| line.axis.is_none());
        (0..lines.len()).filter(one_place).for_each(|k| dims.insert(k, one));
        let own: Vec<usize> = (0..dims.len()).filter(|k| !one_place(k)).collect();
        part = self.spread(part, &own, &dims);
        for (k, line) in lines.iter().enumerate() {
            let mut start = self.each(Fun::Neg, &[line.offset]);
            if line.step < 0 {
                part = self.reverse(part, k);
                let last = self.each(Fun::Sub, &[self.node(part).dims[k], one]);
                start = self.each(Fun::Add, &[start, last]);
            }
            part = self.window(part, k, start, self.node(a).dims[k])?;
        }
        Some(self.each(Fun::Add, &[a, part]))
    }

    /// Returns a scatter of rows that are 0 but for some of their elements: of these elements.
    fn scatter_of_sparse(&mut self, a: Id, x: Id, places: &[Id]) -> Option<Id> {
        if !self.is_sparse(x) || !matches!(self.node(x).op, Op::Scatter) {
            return None;
        }
        let (args, sizes) = (self.node(x).args.clone(), self.dims(x));
        let rank = self.rank(places[0]);
        let inner = args[2..].get(..rank)?;
        let lines: Vec<usize> =
            inner.iter().zip(&sizes).map(|(&e, &n)| self.whole_line(e, n)).collect::<Option<_>>()?;
        if (1..rank).any(|k| lines[..k].contains(&lines[k])) {
            return None;
        }
        let batch = self.dims(args[2]);
        let outer = places.iter().map(|&e| self.spread(e, &lines, &batch));
        let all: Vec<Id> = outer.collect::<Vec<_>>().into_iter().chain(args[2 + rank..].iter().copied()).collect();
        let a = if self.is_zero(args[0]) { a } else { self.scatter(a, args[0], places) };
        Some(self.scatter(a, args[1], &all))
    }

    /// Takes apart an array that is 0 where a condition does not hold: the array without that, and the condition with
    /// the axes that it has.
    fn masked(&mut self, id: Id) -> Option<(Id, Id, Vec<usize>)> {
        let node = self.node(id).clone();
        match node.op {
            Op::Spread(axes) => {
                let (inner, condition, within) = self.masked(node.args[0])?;
                let within = within.into_iter().map(|axis| axes[axis]).collect();
                Some((self.spread(inner, &axes, &node.dims), condition, within))
            }
            Op::Each(Fun::Select) if self.is_zero(node.args[2]) => {
                let condition = self.node(node.args[0]).clone();
                let (condition, within) = match condition.op {
                    Op::Spread(axes) => (condition.args[0], axes),
                    _ => (node.args[0], (0..node.dims.len()).collect()),
                };
                Some((node.args[1], condition, within))
            }
            _ => None,
        }
    }

    /// Returns the axis along which an index runs from 0 to n.
    pub fn whole_line(&mut self, e: Id, n: Id) -> Option<usize> {
        let line = self.line(e)?;
        let axis = line.axis.filter(|_| line.step == 1)?;
        let starts = self.number(line.offset) == Some(&Constant::Integer(0));
        (starts && self.size(self.node(e).dims[axis]) == self.size(n)).then_some(axis)
    }

    /// Returns whether an array is zeros with some of its elements added to.
    pub(super) fn is_sparse(&self, id: Id) -> bool {
        let node = self.node(id);
        match node.op {
            Op::Scatter => self.is_zero(node.args[0]) || self.is_sparse(node.args[0]),
            Op::Window(axis) => self.is_column(node.args[0], axis),
            Op::Each(Fun::Add) => node.args.iter().all(|&arg| self.is_sparse(arg)),
            _ => false,
        }
    }

    /// Returns whether an array has one element along an axis.
    fn is_column(&self, id: Id, axis: usize) -> bool {
        self.number(self.node(id).dims[axis]) == Some(&Constant::Integer(1))
    }

    /// Returns what is scattered into zeros where a condition holds, whose axes are these of it: what is added is masked,
    /// not the whole array.
    pub(crate) fn sparse_under(&mut self, c: Id, within: &[usize], id: Id) -> Option<Id> {
        let node = self.node(id).clone();
        if self.is_zero(id) {
            return Some(id);
        }
        if let Op::Window(axis) = node.op
            && self.is_column(node.args[0], axis)
            && !within.contains(&axis)
        {
            let x = self.under(c, within, node.args[0]);
            return self.window(x, axis, node.args[1], node.dims[axis]);
        }
        if matches!(node.op, Op::Each(Fun::Add)) && self.is_sparse(id) {
            let terms: Vec<Id> = node.args.iter().map(|&arg| self.under(c, within, arg)).collect();
            return Some(self.each(Fun::Add, &terms));
        }
        if !matches!(node.op, Op::Scatter) {
            return None;
        }
        let places = &node.args[2..];
        let line = |builder: &mut Self, &axis: &usize| builder.whole_line(*places.get(axis)?, node.dims[axis]);
        let lines: Vec<usize> = within.iter().map(|axis| line(self, axis)).collect::<Option<_>>()?;
        let base = self.under(c, within, node.args[0]);
        let x = self.under(c, &lines, node.args[1]);
        Some(self.scatter(base, x, places))
    }

    /// Returns an array where a condition holds, whose axes are these of it, and 0 elsewhere.
    fn under(&mut self, c: Id, within: &[usize], id: Id) -> Id {
        if let Some(sparse) = self.sparse_under(c, within, id) {
            return sparse;
        }
        if self.masked(id).is_some_and(|(_, condition, axes)| condition == c && axes == within) {
            return id;
        }
        let (scalar, dims) = (self.node(id).scalar, self.dims(id));
        let (condition, zeros) = (self.spread(c, within, &dims), self.zeros(scalar, &dims));
        self.each(Fun::Select, &[condition, id, zeros])
    }

    /// Returns a sum of which one term is scattered into zeros: into the other term.
    pub(super) fn sum_with_scatter(&mut self, x: Id, y: Id) -> Option<Id> {
        match (self.is_sparse(y), self.is_sparse(x)) {
            (true, _) => Some(self.scattered_into(x, y)),
            (false, true) => Some(self.scattered_into(y, x)),
            (false, false) => None,
        }
    }

    /// Returns an array with what is scattered into zeros added to it.
    fn scattered_into(&mut self, base: Id, sparse: Id) -> Id {
        let node = self.node(sparse).clone();
        match node.op {
            Op::Each(_) => return node.args.iter().fold(base, |base, &arg| self.scattered_into(base, arg)),
            Op::Window(_) => return self.make(Op::Each(Fun::Add), vec![base, sparse], node.scalar, node.dims),
            _ => {}
        }
        let base = if self.is_zero(node.args[0]) { base } else { self.scattered_into(base, node.args[0]) };
        self.scatter(base, node.args[1], &node.args[2..])
    }

    /// Returns what is scattered into zeros with the other sign.
    pub(super) fn negative_sparse(&mut self, sparse: Id) -> Option<Id> {
        let node = self.node(sparse).clone();
        match node.op {
            Op::Scatter => {
                let (base, x) = (self.each(Fun::Neg, &[node.args[0]]), self.each(Fun::Neg, &[node.args[1]]));
                Some(self.scatter(base, x, &node.args[2..]))
            }
            Op::Window(axis) => {
                let x = self.each(Fun::Neg, &[node.args[0]]);
                self.window(x, axis, node.args[1], node.dims[axis])
            }
            Op::Each(Fun::Add) => {
                let terms: Vec<Id> = node.args.iter().map(|&arg| self.each(Fun::Neg, &[arg])).collect();
                Some(self.each(Fun::Add, &terms))
            }
            _ => None,
        }
    }

    /// Returns whether indices may name a place several times, as far as is known.
    fn may_repeat(&mut self, e: Id) -> bool {
        let e = self.masked(e).map_or(e, |(e, ..)| e);
        self.line(e).is_none()
    }

    /// Returns the sum of a scatter along an axis of its result.
    pub(super) fn sum_of_scatter(&mut self, node: &Node, axis: usize, dims: &[Id]) -> Option<Id> {
        let (a, x, places) = (node.args[0], node.args[1], &node.args[2..]);
        if axis >= places.len() {
            let x = self.sum(x, self.rank(places[0]) + axis - places.len());
            let a = self.sum(a, axis);
            return Some(self.scatter(a, x, places));
        }
        self.whole_line(places[axis], node.dims[axis])?;
        let mut fewer = places.to_vec();
        fewer.remove(axis);
        // Where the array is there anyway, its rows are added up: elements of all rows may meet at few places.
        let is_sparse =
            self.is_zero(a) || self.is_sparse(a) || self.needs_no_array(a) || self.has_sum_of_state(a, axis);
        if !is_sparse && fewer.iter().any(|&e| self.may_repeat(e)) {
            return None;
        }
        let a = self.sum(a, axis);
        if fewer.is_empty() {
            let sum = (0..self.rank(places[0])).rev().fold(x, |x, axis| self.sum(x, axis));
            return Some(self.each(Fun::Add, &[a, sum]));
        }
        debug_assert_eq!(self.rank(a), dims.len(), "one axis fewer");
        Some(self.scatter(a, x, &fewer))
    }
}
