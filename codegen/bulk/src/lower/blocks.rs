//! Conditionals: one branch runs where the condition is one number, otherwise both do.

use super::value::{Array, Axis, Value};
use super::{Lowering, Outcome};
use crate::ir::{Block, Fun, Id, Op, Scalar};
use lm::term::Expr;

/// Branches of up to so many operations on numbers are both computed.
const CHEAP: usize = 4;

impl Lowering<'_> {
    pub(super) fn conditional(&mut self, args: &[Expr]) -> Outcome {
        let c = self.expr(&args[0])?.array().clone();
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

    /// Returns the value of an `if` with two blocks.
    fn chosen(&mut self, c: Id, (then, x): (Block, Value), (otherwise, y): (Block, Value)) -> Value {
        let (x, y) = self.alike(&x, &y);
        let axes: Vec<Vec<Axis>> =
            x.leaves().iter().zip(y.leaves()).map(|(a, b)| Self::union(&[a, b])).collect();
        self.b.reopen(then, true);
        let aligned: Vec<Id> = x.leaves().iter().zip(&axes).map(|(a, axes)| self.align(a, axes)).collect();
        let then = self.b.close(aligned.clone());
        let sizes: Vec<Vec<Id>> = aligned.iter().map(|&id| self.b.dims(id)).collect();
        self.b.reopen(otherwise, true);
        let mut results = Vec::new();
        for ((b, axes), sizes) in y.leaves().iter().zip(&axes).zip(sizes) {
            let id = self.align(b, axes);
            let own = self.b.dims(id);
            own.iter().zip(&sizes).for_each(|(&n, &m)| self.b.equate(n, m));
            results.push(id);
        }
        let otherwise = self.b.close(results);
        let parts = self.b.conditional(c, [then, otherwise]);
        x.with(parts.into_iter().zip(axes).map(|(id, axes)| Array { id, axes }).collect())
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
                let tensor = |sizes: &[Id], element| Value::Tensor { sizes: sizes.to_vec(), element: Box::new(element) };
                (tensor(n, a), tensor(m, b))
            }
            _ => (x.clone(), y.clone()),
        }
    }

    /// Returns the value of a conditional of which both branches are computed.
    fn select(&mut self, c: &Array, args: &[Expr]) -> Outcome {
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
                let sizes = n.iter().zip(m).map(|(&n, &m)| self.b.require_same(n, m)).collect();
                Value::Tensor { sizes, element: Box::new(self.join_alike(c, a, b)) }
            }
            _ => x.clone(),
        }
    }

    fn choose(&mut self, c: &Array, a: &Array, b: &Array) -> Array {
        if self.b.node(a.id).scalar == Scalar::Bool && self.b.is_bool(b.id, false) {
            return self.each(Fun::And, &[c.clone(), a.clone()]);
        }
        if self.b.is_zero(b.id) && let Some(masked) = self.scattered_under(c, a) {
            return masked;
        }
        self.each(Fun::Select, &[c.clone(), a.clone(), b.clone()])
    }

    /// Returns what is scattered into zeros where c is true: what is added is masked, not the whole array.
    fn scattered_under(&mut self, c: &Array, a: &Array) -> Option<Array> {
        let node = self.b.node(a.id).clone();
        if !matches!(node.op, Op::Scatter) || self.b.rank(c.id) != c.axes.len() {
            return None;
        }
        let (base, x, places) = (node.args[0], node.args[1], &node.args[2..]);
        let batch = self.b.dims(places[0]);
        let axis_of = |lowering: &mut Self, axis: &Axis| {
            let k = a.axes.iter().position(|other| other == axis).filter(|&k| k < places.len())?;
            lowering.b.whole_line(places[k], node.dims[k])
        };
        let axes: Vec<usize> = c.axes.iter().map(|axis| axis_of(self, axis)).collect::<Option<_>>()?;
        let zero = Array::fixed(self.b.zeros(self.b.node(x).scalar, &[]));
        let base = match self.b.is_zero(base) {
            true => base,
            false => {
                let base = self.choose(c, &Array { id: base, axes: a.axes.clone() }, &zero);
                self.align(&base, &a.axes)
            }
        };
        let dims = self.b.dims(x);
        let condition = self.b.spread(c.id, &axes, &batch);
        let condition = self.b.spread(condition, &(0..batch.len()).collect::<Vec<_>>(), &dims);
        let zeros = self.b.zeros(self.b.node(x).scalar, &dims);
        let x = self.b.each(Fun::Select, &[condition, x, zeros]);
        Some(Array { id: self.b.scatter(base, x, places), axes: a.axes.clone() })
    }
}
