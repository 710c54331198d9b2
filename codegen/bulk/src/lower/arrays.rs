//! Independent loops, and whole tensors.

use super::value::{Array, Axis, Value};
use super::{Lowering, Outcome, SizesOf};
use crate::ir::{Failure, Fun, Id, Reduction};
use crate::refusal::{Reason, Refusal};
use crate::rules::Rule;
use lm::term::{Expr, Kind};

impl Lowering<'_> {
    /// `build n (λi. e)`.
    pub(super) fn build(&mut self, n: &Expr, f: &Expr) -> Outcome {
        let sizes = self.expr(n)?.numbers();
        for size in &sizes {
            if !size.axes.is_empty() {
                return self.refuse(Reason::Jagged, "the size of an array depends on the index of a loop");
            }
            self.check_size(size);
        }
        let sizes: Vec<Id> = sizes.iter().map(|size| self.b.size(size.id)).collect();
        let (element, axes) = self.iterations(&sizes, f, None)?;
        Ok(self.tensor(&sizes, &axes, &element))
    }

    /// Returns what iterations compute, each along axes of its own, and these axes.
    fn iterations(&mut self, sizes: &[Id], f: &Expr, mask: Option<&[Array]>) -> Result<(Value, Vec<Axis>), Refusal> {
        let Kind::Lam(x, body) = f.kind() else { unreachable!("a loop has a function") };
        let first = self.sizes.len();
        self.sizes.extend(sizes);
        let axes: Vec<Axis> = (first..self.sizes.len()).collect();
        let index =
            |lowering: &mut Self, axis: Axis| Array { id: lowering.b.iota(lowering.sizes[axis]), axes: vec![axis] };
        let indices: Vec<Array> = axes.iter().map(|&axis| index(self, axis)).collect();
        let value = match indices.as_slice() {
            [one] => Value::Array(one.clone()),
            several => Value::Tuple(several.iter().cloned().map(Value::Array).collect()),
        };
        self.b.by(Rule::BulkIota);
        self.env.insert(x.id(), value);
        self.active.extend(&axes);
        let element = match mask {
            None => self.expr(body),
            Some(bounds) => self.under_bounds(&indices, bounds, body),
        };
        self.active.truncate(self.active.len() - axes.len());
        Ok((element?, axes))
    }

    /// Returns what a term is where indices are below bounds, and zero elsewhere.
    pub(super) fn under_bounds(&mut self, indices: &[Array], bounds: &[Array], body: &Expr) -> Outcome {
        let mut inside = Array::fixed(self.b.boolean(true));
        for (index, bound) in indices.iter().zip(bounds) {
            let below = self.each(Fun::Lt, &[index.clone(), bound.clone()]);
            inside = self.each(Fun::And, &[inside, below]);
        }
        self.b.bounds.insert(inside.id);
        let value = self.masked(&inside, body)?;
        let zero = value.map(&mut |array| {
            let (scalar, own) = (self.b.node(array.id).scalar, self.own(array));
            Array::fixed(self.b.zeros(scalar, &own))
        });
        Ok(self.join(&inside, &value, &zero))
    }

    /// Returns a tensor whose elements are the iterations along axes, which no later loop has.
    pub(super) fn tensor(&mut self, sizes: &[Id], axes: &[Axis], element: &Value) -> Value {
        let element = element.map(&mut |array| {
            let all = Self::union(&[array, &Array { id: array.id, axes: axes.to_vec() }]);
            if !axes.iter().any(|axis| array.axes.contains(axis)) && !axes.is_empty() {
                self.b.by(Rule::BulkSame);
            }
            // Axes of inner loops come last.
            let id = self.align(array, &all);
            Array { id, axes: all[..all.len() - axes.len()].to_vec() }
        });
        Value::Tensor { sizes: sizes.to_vec(), element: Box::new(element) }
    }

    fn check_size(&mut self, size: &Array) {
        if !self.b.is_natural(size.id) {
            let zero = Array::fixed(self.b.integer(0));
            let ok = self.each(Fun::Lte, &[zero, size.clone()]);
            self.check(&ok, Failure::NegativeSize);
        }
    }

    /// `sumbuild n (λi. e)`.
    pub(super) fn sumbuild(&mut self, n: &Expr, f: &Expr) -> Outcome {
        let counts = self.expr(n)?.numbers();
        counts.iter().for_each(|count| self.check_size(count));
        let most: Vec<Id> = counts.iter().map(|count| self.most(count)).collect();
        if self.sizes_of == SizesOf::Arguments && !most.iter().all(|&n| self.b.is_fixed(n)) {
            return self.summed_by_steps(&counts, &most, f, &[]);
        }
        let is_uniform =
            counts.iter().zip(&most).all(|(count, &n)| count.axes.is_empty() && self.b.size(count.id) == n);
        if !is_uniform {
            self.b.by(Rule::BulkTriangle);
        }
        // Otherwise as many iterations as the most, and nothing of those that are too many.
        let (element, axes) = self.iterations(&most, f, (!is_uniform).then_some(&counts))?;
        Ok(element.map(&mut |array| {
            let all = Self::union(&[array, &Array { id: array.id, axes: axes.clone() }]);
            let id = self.align(array, &all);
            let kept = all.len() - axes.len();
            if kept > 0 {
                self.b.by(Rule::BulkReduce);
            }
            let id = (kept..all.len()).rev().fold(id, |id, axis| self.b.sum(id, axis));
            Array { id, axes: all[..kept].to_vec() }
        }))
    }

    /// The same, where `w` shows the size of no terms. That is the size of a term wherever this is known.
    pub(super) fn sumbuild_like(&mut self, w: &Expr, n: &Expr, f: &Expr) -> Outcome {
        let sum = self.sumbuild(n, f)?;
        if self.b.for_derivation || self.mask.is_some() {
            return Ok(sum);
        }
        let counts = self.expr(n)?.numbers();
        let witness = self.expr(w)?;
        let like = self.zero_of(&witness);
        let mut sizes = Vec::new();
        self.differing_sizes(&sum, &like, &mut sizes);
        // Where a number of terms depends on an index, so would the size.
        if sizes.is_empty()
            || counts.iter().any(|count| !count.axes.is_empty())
            || like.leaves().len() != sum.leaves().len()
        {
            return Ok(sum);
        }
        let mut some = self.b.boolean(true);
        for count in &counts {
            let zero = self.b.integer(0);
            let is_some = self.b.each(Fun::Lt, &[zero, count.id]);
            some = self.b.each(Fun::And, &[some, is_some]);
        }
        if self.b.is_bool(some, true) {
            sizes.into_iter().for_each(|(n, m)| _ = self.b.require_same(n, m));
            return Ok(sum);
        }
        self.b.open(true);
        sizes.into_iter().for_each(|(n, m)| _ = self.b.require_same(n, m));
        let sums: Vec<Array> = sum.leaves().into_iter().cloned().collect();
        let terms = self.b.close(sums.iter().map(|array| array.id).collect());
        self.b.open(true);
        let zeros: Vec<Id> =
            like.leaves().into_iter().cloned().zip(&sums).map(|(zero, sum)| self.align(&zero, &sum.axes)).collect();
        let dims: Vec<Vec<Id>> = zeros.iter().map(|&id| self.b.dims(id)).collect();
        let none = self.b.close(zeros);
        let op = self.b.conditional(some, [terms, none]);
        let part = |(k, (sum, dims)): (usize, (&Array, Vec<Id>))| {
            let scalar = self.b.node(sum.id).scalar;
            Array { id: self.b.part(op, k, scalar, dims), axes: sum.axes.clone() }
        };
        let parts = sums.iter().zip(dims).enumerate().map(part).collect();
        Ok(like.with(parts))
    }

    /// Returns the largest of several sizes, by the ends of the loops that they depend on where that is possible.
    fn most(&mut self, count: &Array) -> Id {
        let Some(line) = self.b.line(count.id) else {
            return (0..count.axes.len()).fold(count.id, |id, _| self.b.reduce(Reduction::Max, id, 0));
        };
        let highest = match line.axis {
            Some(axis) if line.step > 0 => {
                let (one, step) = (self.b.integer(1), self.b.integer(line.step));
                let last = self.b.each(Fun::Sub, &[self.b.node(count.id).dims[axis], one]);
                let last = self.b.each(Fun::Mul, &[step, last]);
                self.b.each(Fun::Add, &[line.offset, last])
            }
            _ => line.offset,
        };
        let bound = (self.sizes_of == SizesOf::Arguments).then(|| self.b.largest(highest)).flatten();
        if count.axes.is_empty() && bound.is_none_or(|bound| bound == highest) {
            return self.b.size(highest);
        }
        let highest = self.b.folded(bound.unwrap_or(highest));
        self.natural(&Array::fixed(highest)).id
    }

    /// `sum v`.
    pub(super) fn sum_of(&mut self, v: &Value) -> Value {
        let (sizes, element) = v.tensor();
        element.map(&mut |array| self.sum_own(array, sizes.len()))
    }

    /// `imax v`.
    pub(super) fn imax(&mut self, v: &Value) -> Value {
        let (sizes, element) = v.tensor();
        let (zero, size) = (self.b.integer(0), self.b.size(sizes[0]));
        let some = Array::fixed(self.b.each(Fun::Gt, &[size, zero]));
        self.check(&some, Failure::Index);
        let array = element.array();
        let id = self.b.reduce(Reduction::Argmax, array.id, array.axes.len());
        Value::Array(Array { id, axes: array.axes.clone() })
    }

    /// `size v`.
    pub(super) fn size_of(&mut self, sizes: &[Id]) -> Value {
        let number = |&size: &Id| Value::Array(Array::fixed(self.b.size(size)));
        match sizes {
            [one] => number(one),
            several => Value::Tuple(several.iter().map(number).collect()),
        }
    }

    /// `Vec_init a b ..`.
    pub(super) fn vec_init(&mut self, parts: Vec<Value>) -> Value {
        let n = self.b.integer(parts.len() as i64);
        let (first, others) = parts.split_first().expect("a vector of no type has no elements");
        // Elements of one size, or an error.
        let alike: Vec<Value> = others.iter().map(|other| self.same_sizes(first, other)).collect();
        let columns: Vec<Vec<Array>> = (0..first.leaves().len())
            .map(|k| std::iter::once(first).chain(&alike).map(|part| part.leaves()[k].clone()).collect())
            .collect();
        let joined = |column: &Vec<Array>| {
            let axes = Self::union(&column.iter().collect::<Vec<_>>());
            let own = self.own(&column[0]);
            let ids: Vec<Id> = column.iter().map(|array| self.align_to(array, &axes, &own)).collect();
            if !axes.is_empty() {
                self.b.by(Rule::BulkStack);
            }
            Array { id: self.b.stack(&ids, axes.len()), axes }
        };
        let arrays = columns.iter().map(joined).collect();
        Value::Tensor { sizes: vec![n], element: Box::new(first.with(arrays)) }
    }

    /// Returns y, which must have the sizes of x.
    fn same_sizes(&mut self, x: &Value, y: &Value) -> Value {
        match (x, y) {
            (Value::Tuple(a), Value::Tuple(b)) => {
                Value::Tuple(a.iter().zip(b).map(|(a, b)| self.same_sizes(a, b)).collect())
            }
            (Value::Tensor { sizes: n, element: a }, Value::Tensor { sizes: m, element: b }) => {
                let sizes = n.iter().zip(m).map(|(&n, &m)| self.b.assume_same(n, m)).collect();
                Value::Tensor { sizes, element: Box::new(self.same_sizes(a, b)) }
            }
            _ => y.clone(),
        }
    }

    /// `$add_at v pairs`.
    pub(super) fn add_pairs(&mut self, v: &Value, pairs: &Value) -> Value {
        let (sizes, base) = v.tensor();
        let (count, pair) = pairs.tensor();
        // The pairs become iterations, and their sum goes into the elements.
        let first = self.sizes.len();
        self.sizes.extend(count);
        let axes: Vec<Axis> = (first..self.sizes.len()).collect();
        let pair = pair.map(&mut |array| Array { id: array.id, axes: [array.axes.clone(), axes.clone()].concat() });
        self.active.extend(&axes);
        let (index, x) = (&pair.tuple()[0], &pair.tuple()[1]);
        let places = index.numbers();
        places.iter().zip(sizes).for_each(|(place, &size)| self.check_index(place, size));
        let zero = base.map(&mut |array| {
            let (scalar, own) = (self.b.node(array.id).scalar, self.own(array));
            Array::fixed(self.b.zeros(scalar, &own))
        });
        let added = self.added(sizes, &zero, &places, x);
        self.active.truncate(self.active.len() - axes.len());
        let sum = added.map(&mut |array| {
            let kept = array.axes.iter().filter(|axis| !axes.contains(axis)).count();
            let id = (kept..array.axes.len()).rev().fold(array.id, |id, axis| self.b.sum(id, axis));
            Array { id, axes: array.axes[..kept].to_vec() }
        });
        self.zip(Fun::Add, v, &sum)
    }
}
