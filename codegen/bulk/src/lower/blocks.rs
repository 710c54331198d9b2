//! Conditionals: one branch runs where the condition is one number, otherwise both do.

use super::value::{Array, Axis, Value};
use super::{Lowering, Outcome};
use crate::ir::{Block, Fun, Id, Op, Scalar};
use crate::rules::Rule;
use lm::term::Expr;

/// Branches of up to so many operations on numbers are both computed.
const CHEAP: usize = 4;

/// What one of two blocks scatters into zeros.
struct Scattered {
    /// The sizes of the whole array, of what is added, and of each index.
    dims: Vec<Id>,
    x: Vec<Id>,
    places: Vec<Vec<Id>>,
    /// The number of the result that is the first index.
    first: usize,
}

impl Lowering<'_> {
    pub(super) fn conditional(&mut self, args: &[Expr]) -> Outcome {
        let c = self.expr(&args[0])?;
        let c = self.number(c).array().clone();
        if self.b.is_bool(c.id, true) {
            return self.expr(&args[1]);
        }
        if self.b.is_bool(c.id, false) {
            return self.expr(&args[2]);
        }
        if !c.axes.is_empty() {
            return self.select(&c, args);
        }
        let (then, x) = self.branch(&args[1])?;
        let (otherwise, y) = self.branch(&args[2])?;
        if self.is_cheap(&then) && self.is_cheap(&otherwise) {
            return self.select(&c, args);
        }
        Ok(self.chosen(c.id, (then, x), (otherwise, y)))
    }

    fn branch(&mut self, e: &Expr) -> Result<(Block, Value), crate::refusal::Refusal> {
        self.b.open(true);
        let value = self.expr(e);
        let block = self.b.close(vec![]);
        Ok((block, value?))
    }

    fn is_cheap(&self, block: &Block) -> bool {
        let is_number = |id: &Id| {
            let node = self.b.node(*id);
            node.dims.is_empty() && matches!(node.op, Op::Each(_) | Op::Constant(_) | Op::Spread(_))
        };
        block.nodes.len() <= CHEAP && block.nodes.iter().all(is_number)
    }

    /// Returns the value of an `if` with two blocks. Where its arrays have sizes that the blocks make, or that differ, the
    /// sizes are results, too.
    fn chosen(&mut self, c: Id, (then, x): (Block, Value), (otherwise, y): (Block, Value)) -> Value {
        self.b.reopen(then, true);
        let x = self.filled(&x, &y);
        let then = self.b.close(vec![]);
        self.b.reopen(otherwise, true);
        let y = self.filled(&y, &x);
        let otherwise = self.b.close(vec![]);
        let arrays: Vec<(Array, Array)> =
            x.leaves().into_iter().cloned().zip(y.leaves().into_iter().cloned()).collect();
        let axes: Vec<Vec<Axis>> = arrays.iter().map(|(a, b)| Self::union(&[a, b])).collect();
        let mut sizes = Vec::new();
        self.differing_sizes(&x, &y, &mut sizes);
        let close = |lowering: &mut Self, block, arrays: Vec<&Array>, sizes: Vec<Id>| {
            lowering.b.reopen(block, true);
            let aligned = arrays.into_iter().zip(&axes).map(|(array, axes)| lowering.align(array, axes));
            let results = aligned.collect::<Vec<Id>>().into_iter().chain(sizes).collect();
            lowering.b.close(results)
        };
        let mut then = close(self, then, x.leaves(), sizes.iter().map(|size| size.0).collect());
        let mut otherwise = close(self, otherwise, y.leaves(), sizes.iter().map(|size| size.1).collect());
        let scattered: Vec<Option<Scattered>> =
            (0..arrays.len()).map(|k| self.scattered_by_one(k, &mut then, &mut otherwise)).collect();
        let scalars: Vec<Scalar> = arrays.iter().map(|(a, _)| self.b.node(a.id).scalar).collect();
        let same: Vec<bool> = then.results.iter().zip(&otherwise.results).map(|(a, b)| a == b).collect();
        let op = self.b.conditional(c, [then.clone(), otherwise]);
        let count = scalars.len();
        let size = |k: usize| self.b.part(op, count + k, Scalar::Integer, vec![]);
        let parts: Vec<Id> = (0..sizes.len()).map(size).collect();
        let known: Vec<((Id, Id), Id)> = sizes.into_iter().zip(parts).collect();
        let mut places = scalars.iter().zip(&axes).enumerate();
        self.parts_of(&x, &y, &[], &known, &mut |lowering, dims| {
            let (k, (&scalar, axes)) = places.next().expect("a part for each array");
            if let Some(Scattered { dims, x, places, first }) = &scattered[k] {
                let x = lowering.b.part(op, k, scalar, x.clone());
                let place =
                    |(k, dims): (usize, &Vec<Id>)| lowering.b.part(op, first + k, Scalar::Integer, dims.clone());
                let places: Vec<Id> = places.iter().enumerate().map(place).collect();
                let zeros = lowering.b.zeros(scalar, dims);
                return Array { id: lowering.b.scatter(zeros, x, &places), axes: axes.clone() };
            }
            // What both blocks read from outside needs no choice.
            if same[k] && !lowering.b.is_within(then.results[k]) {
                return Array { id: then.results[k], axes: axes.clone() };
            }
            let outer = axes.iter().map(|&axis| lowering.sizes[axis]);
            let dims = outer.chain(dims.iter().copied()).collect();
            Array { id: lowering.b.part(op, k, scalar, dims), axes: axes.clone() }
        })
    }

    /// Where a result of one block is scattered into zeros, and that of the other is zero: makes what is added, and where,
    /// the results, so that no block makes the whole array.
    fn scattered_by_one(&mut self, k: usize, then: &mut Block, otherwise: &mut Block) -> Option<Scattered> {
        let is_zero = |lowering: &Self, block: &Block| lowering.b.is_zero(block.results[k]);
        let (one, other) = match (is_zero(self, then), is_zero(self, otherwise)) {
            (false, true) => (then, otherwise),
            (true, false) => (otherwise, then),
            _ => return None,
        };
        let node = self.b.node(one.results[k]).clone();
        if !matches!(node.op, Op::Scatter) || !self.b.is_zero(node.args[0]) {
            return None;
        }
        let dims: Vec<Vec<Id>> = node.args[1..].iter().map(|&id| self.b.dims(id)).collect();
        if node.dims.iter().chain(dims.iter().flatten()).any(|&size| self.b.is_within(self.b.size(size))) {
            return None;
        }
        self.b.by(Rule::SelectScatter);
        let first = one.results.len();
        one.results[k] = node.args[1];
        one.results.extend(&node.args[2..]);
        let results = std::mem::take(&mut other.results);
        self.b.reopen(std::mem::take(other), true);
        let nothing: Vec<Id> =
            (node.args[1..].iter().zip(&dims)).map(|(&id, dims)| self.b.zeros(self.b.node(id).scalar, dims)).collect();
        *other = self.b.close(results);
        other.results[k] = nothing[0];
        other.results.extend(&nothing[1..]);
        let (x, places) = (dims[0].clone(), dims[1..].to_vec());
        Some(Scattered { dims: node.dims, x, places, first })
    }

    /// Returns a value whose parts that are never read are zeros like those of the other.
    pub(super) fn filled(&mut self, x: &Value, like: &Value) -> Value {
        match (x, like) {
            (Value::Dummy(ty), Value::Dummy(_)) => self.zero_of_type(ty, &[]),
            (Value::Dummy(_), like) => self.zeros_like(like),
            (Value::Tuple(a), Value::Tuple(b)) => {
                Value::Tuple(a.iter().zip(b).map(|(a, b)| self.filled(a, b)).collect())
            }
            (Value::Tensor { sizes, element: a }, Value::Tensor { element: b, .. }) => {
                Value::Tensor { sizes: sizes.clone(), element: Box::new(self.filled(a, b)) }
            }
            _ => x.clone(),
        }
    }

    /// Returns zeros of the sizes of a value, where these are known outside; other tensors have no elements.
    fn zeros_like(&mut self, like: &Value) -> Value {
        let is_there = |array: &&Array| self.own(array).iter().all(|&size| self.b.is_outer(size));
        match like {
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| self.zeros_like(part)).collect()),
            _ if like.has_dummy() || !like.leaves().iter().all(is_there) => self.empty_like(like, &[]),
            _ => like.map(&mut |array| {
                let (scalar, own) = (self.b.node(array.id).scalar, self.own(array));
                Array::fixed(self.b.zeros(scalar, &own))
            }),
        }
    }

    /// Returns zeros with `outer` dimensions in front; tensors have no elements.
    fn empty_like(&mut self, like: &Value, outer: &[Id]) -> Value {
        match like {
            Value::Array(array) => {
                let scalar = self.b.node(array.id).scalar;
                Value::Array(Array::fixed(self.b.zeros(scalar, outer)))
            }
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| self.empty_like(part, outer)).collect()),
            Value::Tensor { sizes, element } => {
                let sizes = vec![self.b.integer(0); sizes.len()];
                let element = self.empty_like(element, &[outer, &sizes].concat());
                Value::Tensor { sizes, element: Box::new(element) }
            }
            Value::Dummy(ty) => self.zero_of_type(ty, outer),
        }
    }

    /// Collects pairs of sizes of two values that are not one, or not known outside of their blocks.
    pub(super) fn differing_sizes(&self, x: &Value, y: &Value, pairs: &mut Vec<(Id, Id)>) {
        match (x, y) {
            (Value::Tuple(a), Value::Tuple(b)) => {
                a.iter().zip(b).for_each(|(a, b)| self.differing_sizes(a, b, pairs));
            }
            (Value::Tensor { sizes: n, element: a }, Value::Tensor { sizes: m, element: b }) => {
                for pair in n.iter().zip(m).map(|(&n, &m)| (self.b.size(n), self.b.size(m))) {
                    if (pair.0 != pair.1 || self.b.is_within(pair.0)) && !pairs.contains(&pair) {
                        pairs.push(pair);
                    }
                }
                self.differing_sizes(a, b, pairs);
            }
            _ => {}
        }
    }

    /// Returns the value of which each array is made by `part`, given its own sizes.
    fn parts_of(
        &mut self,
        x: &Value,
        y: &Value,
        outer: &[Id],
        known: &[((Id, Id), Id)],
        part: &mut impl FnMut(&mut Self, &[Id]) -> Array,
    ) -> Value {
        match (x, y) {
            (Value::Tuple(a), Value::Tuple(b)) => {
                Value::Tuple(a.iter().zip(b).map(|(a, b)| self.parts_of(a, b, outer, known, part)).collect())
            }
            (Value::Tensor { sizes: n, element: a }, Value::Tensor { sizes: m, element: b }) => {
                let size = |(&n, &m): (&Id, &Id)| {
                    let pair = (self.b.size(n), self.b.size(m));
                    known.iter().find(|(known, _)| *known == pair).map_or(pair.0, |(_, size)| *size)
                };
                let sizes: Vec<Id> = n.iter().zip(m).map(size).collect();
                let element = self.parts_of(a, b, &[outer, &sizes].concat(), known, part);
                Value::Tensor { sizes, element: Box::new(element) }
            }
            _ => Value::Array(part(self, outer)),
        }
    }

    /// Returns two values of one type in one form: where one is never read, it is as the other.
    pub(super) fn alike(&mut self, x: &Value, y: &Value) -> (Value, Value) {
        match (x, y) {
            (Value::Dummy(_), other) => (other.clone(), other.clone()),
            (one, Value::Dummy(_)) => (one.clone(), one.clone()),
            (Value::Tuple(a), Value::Tuple(b)) => {
                let (a, b) = a.iter().zip(b).map(|(a, b)| self.alike(a, b)).unzip();
                (Value::Tuple(a), Value::Tuple(b))
            }
            (Value::Tensor { sizes: n, element: a }, Value::Tensor { sizes: m, element: b }) => {
                let (a, b) = self.alike(a, b);
                let tensor =
                    |sizes: &[Id], element| Value::Tensor { sizes: sizes.to_vec(), element: Box::new(element) };
                (tensor(n, a), tensor(m, b))
            }
            _ => (x.clone(), y.clone()),
        }
    }

    /// Returns the value of a conditional of which both branches are computed.
    fn select(&mut self, c: &Array, args: &[Expr]) -> Outcome {
        self.b.by(Rule::BulkIf);
        let not = self.each(Fun::Not, std::slice::from_ref(c));
        let x = self.masked(c, &args[1])?;
        let y = self.masked(&not, &args[2])?;
        Ok(self.join(c, &x, &y))
    }

    /// Returns the value of a term that is used only where an array is true.
    pub(super) fn masked(&mut self, c: &Array, e: &Expr) -> Outcome {
        let outer = self.mask.clone();
        let inner = match &outer {
            Some(mask) => self.each(Fun::And, &[mask.clone(), c.clone()]),
            None => c.clone(),
        };
        self.mask = Some(inner);
        let value = self.expr(e);
        self.mask = outer;
        value
    }

    /// Returns x where c is true, and y elsewhere.
    pub(super) fn join(&mut self, c: &Array, x: &Value, y: &Value) -> Value {
        let (x, y) = self.alike(x, y);
        self.join_alike(c, &x, &y)
    }

    fn join_alike(&mut self, c: &Array, x: &Value, y: &Value) -> Value {
        match (x, y) {
            (Value::Array(a), Value::Array(b)) => Value::Array(self.choose(c, a, b)),
            (Value::Tuple(a), Value::Tuple(b)) => {
                Value::Tuple(a.iter().zip(b).map(|(a, b)| self.join_alike(c, a, b)).collect())
            }
            (Value::Tensor { sizes: n, element: a }, Value::Tensor { sizes: m, element: b }) => {
                let sizes = n.iter().zip(m).map(|(&n, &m)| self.b.assume_same(n, m)).collect();
                Value::Tensor { sizes, element: Box::new(self.join_alike(c, a, b)) }
            }
            _ => x.clone(),
        }
    }

    pub(super) fn choose(&mut self, c: &Array, a: &Array, b: &Array) -> Array {
        if self.b.node(a.id).scalar == Scalar::Bool && self.b.is_bool(b.id, false) {
            return self.each(Fun::And, &[c.clone(), a.clone()]);
        }
        let parts = [(c.clone(), a), (self.each(Fun::Not, std::slice::from_ref(c)), b)];
        let some: Vec<&(Array, &Array)> = parts.iter().filter(|(_, array)| !self.b.is_zero(array.id)).collect();
        // What is added where c is true, and what is added elsewhere.
        let masked: Option<Vec<Array>> = some.into_iter().map(|(c, array)| self.scattered_under(c, array)).collect();
        match masked.and_then(|masked| masked.into_iter().reduce(|a, b| self.each(Fun::Add, &[a, b]))) {
            Some(sum) => sum,
            None => self.each(Fun::Select, &[c.clone(), a.clone(), b.clone()]),
        }
    }

    /// Returns what is scattered into zeros where c is true: what is added is masked, not the whole array.
    fn scattered_under(&mut self, c: &Array, a: &Array) -> Option<Array> {
        if self.b.rank(c.id) != c.axes.len() {
            return None;
        }
        let place = |axis: &Axis| a.axes.iter().position(|other| other == axis);
        let within: Vec<usize> = c.axes.iter().map(place).collect::<Option<_>>()?;
        Some(Array { id: self.b.sparse_under(c.id, &within, a.id)?, axes: a.axes.clone() })
    }
}
