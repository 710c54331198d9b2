//! Laws of adding to elements: what is added to few elements stays that, whatever is done with the array.
//!
//! ```text
//! scatter of indices that are each place once = permute      scatter where a mask guards a line = window
//! sum (scatter x) = scatter (sum x), or of fewer indices      scatter (scatter 0 x e) f = scatter x (f, e)
//! a + scatter 0 x = scatter a x      -(scatter 0 x) = scatter 0 (-x)      select c (scatter 0 x) 0 = scatter 0 (select c x 0)
//! ```

use super::Builder;
use super::integers::Line;
use crate::ir::{Fun, Id, Node, Op};
use crate::rules::Rule;
use lm::term::Constant;

impl Builder {
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
        for k in 0..places.len() {
            if let Some(axis) = self.whole_line_backwards(places[k], self.node(a).dims[k])
                // An index of a loop that runs along the axis is one that rules look for.
                && places.iter().enumerate().all(|(j, &e)| j == k || self.without_axis(e, axis).is_some())
            {
                self.by(Rule::ScatterReverse);
                x = self.reverse(x, axis);
                places = places.iter().map(|&e| self.reverse(e, axis)).collect();
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
            self.by(Rule::ScatterLine);
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
        self.by(Rule::ScatterWindow);
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
        self.by(Rule::ScatterScatter);
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

    /// Returns the axis along which an index runs from n - 1 to 0.
    fn whole_line_backwards(&mut self, e: Id, n: Id) -> Option<usize> {
        let line = self.line(e)?;
        let axis = line.axis.filter(|_| line.step == -1)?;
        let one = self.integer(1);
        let last = self.each(Fun::Sub, &[n, one]);
        let gap = self.each(Fun::Sub, &[last, line.offset]);
        let gap = self.folded(gap);
        (self.is_integer(gap, 0) && self.size(self.node(e).dims[axis]) == self.size(n)).then_some(axis)
    }

    /// Returns whether an array is zeros with some of its elements added to.
    pub(super) fn is_sparse(&self, id: Id) -> bool {
        self.sparse[id.index()]
    }

    /// Returns whether a node is that, by its operation and arguments.
    pub(super) fn makes_sparse(&self, op: &Op, args: &[Id]) -> bool {
        match op {
            Op::Scatter => self.is_zero(args[0]) || self.is_sparse(args[0]),
            // One place along an axis.
            Op::Window(axis) => self.number(self.node(args[0]).dims[*axis]) == Some(&Constant::Integer(1)),
            Op::Each(Fun::Add) => args.iter().all(|&arg| self.is_sparse(arg)),
            _ => false,
        }
    }

    /// Returns what is scattered into zeros where a condition holds, whose axes are these of it: what is added is masked,
    /// not the whole array.
    pub(crate) fn sparse_under(&mut self, c: Id, within: &[usize], id: Id) -> Option<Id> {
        let node = self.node(id).clone();
        if self.is_zero(id) {
            return Some(id);
        }
        if let Op::Window(axis) = node.op
            && self.is_sparse(id)
            && !within.contains(&axis)
        {
            self.by(Rule::SelectScatter);
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
        self.by(Rule::SelectScatter);
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
        let (base, sparse) = match (self.is_sparse(y), self.is_sparse(x)) {
            (true, _) => (x, y),
            (false, true) => (y, x),
            (false, false) => return None,
        };
        self.by(Rule::AddScatter);
        Some(self.scattered_into(base, sparse))
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
        self.by(Rule::NegScatter);
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
        self.whole_line(places[axis], node.dims[axis])
            .or_else(|| self.whole_line_backwards(places[axis], node.dims[axis]))?;
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
