//! Values that are the same for all inputs of some sizes: what indices, and checks of them, are made of.

use super::{Array, Run, Value};
use crate::ir::{Function, Id, Op, Reduction};
use lm::term::Constant;

/// Larger arrays are not computed.
const LARGEST: i64 = 1 << 20;

/// The values of a function's nodes that depend on sizes alone.
pub struct Closed<'a> {
    run: Run<'a>,
    /// The nodes that were tried.
    tried: Vec<bool>,
}

impl<'a> Closed<'a> {
    /// Returns what is known of a function, given the sizes of inputs as far as they are known.
    pub fn new(function: &'a Function) -> Closed<'a> {
        let count = function.nodes.len();
        Closed { run: Run { function, inputs: &[], values: vec![None; count], written: 0 }, tried: vec![false; count] }
    }

    /// Says that a node is a number.
    pub fn set(&mut self, id: Id, n: i64) {
        self.run.values[id.index()] = Some(Value::One(Array::number(Constant::Integer(n))));
        // What was not known may be now.
        self.tried.fill(false);
    }

    /// Returns the value of a node, if it depends on sizes alone, and these are known.
    pub fn value(&mut self, id: Id) -> Option<&Array> {
        self.compute(id);
        match &self.run.values[id.index()] {
            Some(Value::One(array)) => Some(array),
            _ => None,
        }
    }

    /// Returns the value of a node without dimensions.
    pub fn number(&mut self, id: Id) -> Option<Constant> {
        match self.run.function.node(id).dims.is_empty() {
            true => self.value(id).map(|array| array.elements[0].clone()),
            false => None,
        }
    }

    /// Returns the value of an Integer node without dimensions.
    pub fn size(&mut self, id: Id) -> Option<i64> {
        match self.number(id) {
            Some(Constant::Integer(n)) => Some(n),
            _ => None,
        }
    }

    fn compute(&mut self, id: Id) {
        let k = id.index();
        if self.run.values[k].is_some() || std::mem::replace(&mut self.tried[k], true) {
            return;
        }
        let function = self.run.function;
        let node = function.node(id);
        let is_total = match &node.op {
            Op::Constant(_)
            | Op::Each(_)
            | Op::Guarded(_)
            | Op::Iota
            | Op::Spread(_)
            | Op::Permute(_)
            | Op::Reverse(_) => true,
            Op::Stack(_) | Op::Concat(_) => true,
            Op::Reduce(how, _) => !matches!(how, Reduction::Argmax | Reduction::Largest),
            // Others may read outside of an array, or depend on data.
            Op::Input(_)
            | Op::InputSize(..)
            | Op::Parameter
            | Op::Slice(_)
            | Op::Window(_)
            | Op::At(_)
            | Op::Gather(_) => false,
            Op::Scatter | Op::Contract(_) | Op::If(_) | Op::Loop(_) | Op::Part(_) | Op::Check(_) => false,
        };
        if !is_total {
            return;
        }
        let sizes: Option<Vec<i64>> = node.dims.iter().map(|&size| self.size(size)).collect();
        let Some(sizes) = sizes.filter(|sizes| sizes.iter().all(|n| (0..=LARGEST).contains(n))) else { return };
        let count = sizes.iter().try_fold(1i64, |count, n| count.checked_mul(*n));
        if count.is_none_or(|count| count > LARGEST) || !node.args.iter().all(|&arg| self.value(arg).is_some()) {
            return;
        }
        let dims: Vec<usize> = sizes.iter().map(|&n| n as usize).collect();
        if self.fits(id, &dims) {
            self.run.values[k] = Some(Value::One(self.run.plain(node, &dims)));
        }
    }

    /// Returns whether the arguments have the sizes that the node takes: they need not, if a check fails.
    fn fits(&self, id: Id, dims: &[usize]) -> bool {
        let node = self.run.function.node(id);
        let of = |k: usize| &self.run.array(node.args[k]).dims;
        match &node.op {
            Op::Each(_) | Op::Guarded(_) => (0..node.args.len()).all(|k| of(k) == dims),
            Op::Spread(axes) => axes.iter().zip(of(0)).all(|(&axis, &n)| dims[axis] == n),
            Op::Stack(_) => (1..node.args.len()).all(|k| of(k) == of(0)),
            Op::Concat(axis) => of(0).iter().zip(of(1)).enumerate().all(|(k, (n, m))| k == *axis || n == m),
            _ => true,
        }
    }
}
