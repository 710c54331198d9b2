//! Operations on arrays over the axes of their operands, and the arithmetic of vector spaces.

use super::Lowering;
use super::value::{Array, Axis, Value};
use crate::ir::{Fun, Id, Scalar};
use crate::rules::Rule;
use lm::types::Type;

impl Lowering<'_> {
    /// Returns the axes of all the arrays.
    pub(super) fn union(arrays: &[&Array]) -> Vec<Axis> {
        let mut axes: Vec<Axis> = arrays.iter().flat_map(|array| array.axes.iter().copied()).collect();
        axes.sort_unstable();
        axes.dedup();
        axes
    }

    /// Returns the sizes of an array besides those of the loops that it depends on.
    pub(super) fn own(&self, array: &Array) -> Vec<Id> {
        self.b.node(array.id).dims[array.axes.len()..].to_vec()
    }

    /// Returns an array with these axes, which are all of its own and more.
    pub(super) fn align(&mut self, array: &Array, axes: &[Axis]) -> Id {
        let own = self.own(array);
        self.align_to(array, axes, &own)
    }

    /// Returns an array with these axes and sizes of its own. A number may get any size.
    pub(super) fn align_to(&mut self, array: &Array, axes: &[Axis], own: &[Id]) -> Id {
        let place = |axis: &Axis| axes.iter().position(|a| a == axis).expect("an axis among those asked for");
        let has_own = self.b.rank(array.id) > array.axes.len();
        let inner = if has_own { axes.len()..axes.len() + own.len() } else { 0..0 };
        let places: Vec<usize> = array.axes.iter().map(place).chain(inner).collect();
        let dims: Vec<Id> = axes.iter().map(|&axis| self.sizes[axis]).chain(own.iter().copied()).collect();
        self.b.spread(array.id, &places, &dims)
    }

    /// Returns `op(a, ..)` of arrays with the same sizes of their own, or numbers.
    pub(super) fn each(&mut self, fun: Fun, args: &[Array]) -> Array {
        if let Some(mask) = self.mask.clone().filter(|_| self.b.for_derivation && has_poles(fun)) {
            return self.guarded(fun, mask, args);
        }
        let axes = Self::union(&args.iter().collect::<Vec<_>>());
        let widest = args.iter().max_by_key(|array| self.own(array).len()).expect("an operand");
        let own = self.own(widest);
        if !axes.is_empty() {
            self.b.by(Rule::BulkEach);
        }
        let ids: Vec<Id> = args.iter().map(|array| self.align_to(array, &axes, &own)).collect();
        Array { id: self.b.each(fun, &ids), axes }
    }

    /// Returns `op(args)` where a mask holds, element by element.
    pub(super) fn guarded(&mut self, fun: Fun, mask: Array, args: &[Array]) -> Array {
        let all = [std::slice::from_ref(&mask), args].concat();
        let axes = Self::union(&all.iter().collect::<Vec<_>>());
        let widest = args.iter().max_by_key(|array| self.own(array).len()).expect("an operand");
        let own = self.own(widest);
        let ids: Vec<Id> = all.iter().map(|array| self.align_to(array, &axes, &own)).collect();
        Array { id: self.b.guarded(fun, &ids), axes }
    }

    /// Returns `op(x, y)` of two values of one type, component by component.
    pub(super) fn zip(&mut self, fun: Fun, x: &Value, y: &Value) -> Value {
        match (x, y) {
            (Value::Array(a), Value::Array(b)) => Value::Array(self.each(fun, &[a.clone(), b.clone()])),
            (Value::Tuple(a), Value::Tuple(b)) => {
                Value::Tuple(a.iter().zip(b).map(|(a, b)| self.zip(fun, a, b)).collect())
            }
            (Value::Tensor { sizes: n, element: a }, Value::Tensor { sizes: m, element: b }) => {
                let sizes = n.iter().zip(m).map(|(&n, &m)| self.b.require_same(n, m)).collect();
                Value::Tensor { sizes, element: Box::new(self.zip(fun, a, b)) }
            }
            (Value::Dummy(ty), _) | (_, Value::Dummy(ty)) => Value::Dummy(ty.clone()),
            _ => panic!("{x:?} and {y:?} are of one type"),
        }
    }

    /// Returns `-x`.
    pub(super) fn negative(&mut self, x: &Value) -> Value {
        x.map(&mut |array| self.each(Fun::Neg, std::slice::from_ref(array)))
    }

    /// Returns `k x`.
    pub(super) fn scale(&mut self, k: &Array, x: &Value) -> Value {
        x.map(&mut |array| self.each(Fun::Mul, &[k.clone(), array.clone()]))
    }

    /// Returns the inner product of two values of one type.
    pub(super) fn dot(&mut self, x: &Value, y: &Value) -> Array {
        let products = self.zip(Fun::Mul, x, y);
        let mut total = None;
        for product in products.leaves() {
            let sum = self.sum_own(product, self.own(product).len());
            total = Some(match total {
                Some(total) => self.each(Fun::Add, &[total, sum]),
                None => sum,
            });
        }
        total.unwrap_or_else(|| Array::fixed(self.b.float(0.0)))
    }

    /// Returns the sum over the first `count` dimensions of an array's own.
    pub(super) fn sum_own(&mut self, array: &Array, count: usize) -> Array {
        let first = array.axes.len();
        if first > 0 {
            self.b.by(Rule::BulkReduce);
        }
        let id = (first..first + count).rev().fold(array.id, |id, axis| self.b.sum(id, axis));
        Array { id, axes: array.axes.clone() }
    }

    /// Returns the zero of the tangents of a value.
    pub(super) fn zero_of(&mut self, w: &Value) -> Value {
        match w {
            Value::Array(array) if self.b.node(array.id).scalar == Scalar::Float => {
                let own = self.own(array);
                Value::Array(Array::fixed(self.b.zeros(Scalar::Float, &own)))
            }
            Value::Array(_) => Value::Tuple(vec![]),
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| self.zero_of(part)).collect()),
            Value::Tensor { sizes, element } => {
                Value::Tensor { sizes: sizes.clone(), element: Box::new(self.zero_of(element)) }
            }
            Value::Dummy(ty) => self.zero_of_type(&ty.tangent(), &[]),
        }
    }

    /// Returns the zero of a type whose values have one shape; of others, tensors without elements. Its arrays have
    /// `outer` dimensions in front.
    pub(super) fn zero_of_type(&mut self, ty: &Type, outer: &[Id]) -> Value {
        let zero = |lowering: &mut Self, scalar| Value::Array(Array::fixed(lowering.b.zeros(scalar, outer)));
        match ty {
            Type::Float => zero(self, Scalar::Float),
            Type::Integer => zero(self, Scalar::Integer),
            Type::Bool => zero(self, Scalar::Bool),
            Type::Tuple(parts) => Value::Tuple(parts.iter().map(|part| self.zero_of_type(part, outer)).collect()),
            Type::Tensor(rank, element) => {
                let none = self.b.integer(0);
                let sizes = vec![none; *rank];
                let element = self.zero_of_type(element, &[outer, &sizes].concat());
                Value::Tensor { sizes, element: Box::new(element) }
            }
            Type::String | Type::Lam(..) | Type::LM(..) | Type::Record(_) => Value::Tuple(vec![]),
        }
    }

    /// Returns whether two values are equal.
    pub(super) fn equal(&mut self, x: &Value, y: &Value) -> Array {
        match (x, y) {
            (Value::Array(a), Value::Array(b)) => {
                let equal = self.each(Fun::Eq, &[a.clone(), b.clone()]);
                let (first, own) = (equal.axes.len(), self.own(&equal).len());
                let all = |id, axis| self.b.reduce(crate::ir::Reduction::All, id, axis);
                Array { id: (first..first + own).rev().fold(equal.id, all), axes: equal.axes }
            }
            (Value::Tuple(a), Value::Tuple(b)) => {
                let yes = Array::fixed(self.b.boolean(true));
                a.iter().zip(b).fold(yes, |all, (a, b)| {
                    let equal = self.equal(a, b);
                    self.each(Fun::And, &[all, equal])
                })
            }
            (Value::Tensor { sizes: n, element: a }, Value::Tensor { sizes: m, element: b }) => {
                let mut same = self.b.boolean(true);
                for (&n, &m) in n.iter().zip(m) {
                    let (n, m) = (self.b.size(n), self.b.size(m));
                    let equal = self.b.each(Fun::Eq, &[n, m]);
                    same = self.b.each(Fun::And, &[same, equal]);
                }
                if self.b.is_bool(same, true) {
                    return self.equal(a, b);
                }
                self.equal_if_sizes_are(same, (n, a), (m, b))
            }
            _ => Array::fixed(self.b.boolean(true)),
        }
    }

    fn equal_if_sizes_are(&mut self, same: Id, (n, a): (&[Id], &Value), (m, b): (&[Id], &Value)) -> Array {
        self.b.open(true);
        n.iter().zip(m).for_each(|(&n, &m)| _ = self.b.require_same(n, m));
        let equal = self.equal(a, b);
        let then = self.b.close(vec![equal.id]);
        self.b.open(true);
        let no = self.b.boolean(false);
        let dims = self.b.dims(equal.id);
        let no = self.b.spread(no, &[], &dims);
        let otherwise = self.b.close(vec![no]);
        let chosen = self.b.conditional(same, [then, otherwise]);
        Array { id: self.b.part(chosen, 0, Scalar::Bool, dims), axes: equal.axes }
    }
}

/// Returns whether an operation on Floats may have an infinite partial derivative.
fn has_poles(fun: Fun) -> bool {
    matches!(fun, Fun::Div | Fun::Sqrt | Fun::Powi | Fun::Libm(_))
}
