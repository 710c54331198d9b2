//! Sums, products and the first largest element.

use super::types::{Precision, list};
use super::{Printer, Ty, Val, signature};
use crate::ir::{Id, Reduction, Scalar, Spec};
use lm::term::Constant;

impl Printer<'_> {
    pub(super) fn reduce(&mut self, how: Reduction, id: Id, axis: usize, ty: Ty) -> Val {
        let of = self.value(id);
        let start = of.ty.sized(vec![]);
        match how {
            Reduction::Sum => {
                let zero = self.zeros(&start);
                self.reduced("stablehlo.add", &of, &zero, &[axis], ty)
            }
            Reduction::All => {
                let yes = self.constant(&Constant::Bool(true), &start);
                self.reduced("stablehlo.and", &of, &yes, &[axis], ty)
            }
            Reduction::Max => {
                let zero = self.zeros(&start);
                self.reduced("stablehlo.maximum", &of, &zero, &[axis], ty)
            }
            Reduction::Largest => {
                let least = self.constant(&Constant::Float(f64::NEG_INFINITY), &start);
                self.reduced("stablehlo.maximum", &of, &least, &[axis], ty)
            }
            Reduction::Argmax => self.argmax(&of, axis, ty),
        }
    }

    pub(super) fn reduced(&mut self, op: &str, of: &Val, start: &Val, axes: &[usize], ty: Ty) -> Val {
        let text = format!(
            "stablehlo.reduce({} init: {}) applies {op} across dimensions = {}",
            of.name,
            start.name,
            list(axes)
        );
        self.typed(text, &[of, start], ty)
    }

    /// Returns the place of the first largest element. NaN is larger than nothing, but stays where it is first of all.
    ///
    /// A NaN counts as the largest number if it is the first element, and as the least elsewhere. So the reduction
    /// compares numbers only, and may take them in any order.
    fn argmax(&mut self, of: &Val, axis: usize, ty: Ty) -> Val {
        let places = of.ty.of("i64");
        let place = self.assign(format!("stablehlo.iota dim = {axis} : {places}"), places.clone());
        let (zero, most) = (self.zeros(&places), self.constant(&Constant::Float(f64::INFINITY), &of.ty));
        let least = self.constant(&Constant::Float(f64::NEG_INFINITY), &of.ty);
        let is_first = self.compare("EQ", &place, &zero);
        let of_nan = self.select(&is_first, &most, &least);
        let is_nan = self.compare("NE", of, of);
        let key = self.select(&is_nan, &of_nan, of);
        let start = self.constant(&Constant::Float(f64::NEG_INFINITY), &of.ty.sized(vec![]));
        let after = self.integer(i64::MAX);
        let best = of.ty.sized(ty.dims.clone());
        let name = self.names.fresh(&self.hint);
        let (x, i) = (start.ty.to_string(), after.ty.to_string());
        let args = [&key, &place, &start, &after];
        let types: Vec<String> = args.iter().map(|arg| arg.ty.to_string()).collect();
        self.line(format!(
            "{name}:2 = stablehlo.reduce({} init: {}), ({} init: {}) across dimensions = [{axis}] : ({}) -> ({best}, {ty})",
            key.name,
            start.name,
            place.name,
            after.name,
            types.join(", ")
        ));
        let lines = [
            format!("reducer(%in.x: {x}, %in.y: {x}) (%in.i: {i}, %in.j: {i}) {{"),
            format!("  %in.above = stablehlo.compare GT, %in.x, %in.y, FLOAT : ({x}, {x}) -> tensor<i1>"),
            format!("  %in.equal = stablehlo.compare EQ, %in.x, %in.y, FLOAT : ({x}, {x}) -> tensor<i1>"),
            format!("  %in.before = stablehlo.compare LT, %in.i, %in.j, SIGNED : ({i}, {i}) -> tensor<i1>"),
            "  %in.tie = stablehlo.and %in.equal, %in.before : tensor<i1>".into(),
            "  %in.first = stablehlo.or %in.above, %in.tie : tensor<i1>".into(),
            format!("  %in.value = stablehlo.select %in.first, %in.x, %in.y : tensor<i1>, {x}"),
            format!("  %in.place = stablehlo.select %in.first, %in.i, %in.j : tensor<i1>, {i}"),
            format!("  stablehlo.return %in.value, %in.place : {x}, {i}"),
            "}".into(),
        ];
        self.depth += 1;
        lines.iter().for_each(|line| self.line(line));
        self.depth -= 1;
        Val { name: format!("{name}#1"), ty }
    }

    /// Returns a product, with axes in the order that `dot_general` has them: shared ones, then those of each factor.
    pub(super) fn contract(&mut self, spec: &Spec, a: Id, b: Id, ty: Ty) -> Val {
        let (left, left_axes) =
            self.factor(a, &spec.left, |axis| spec.right.contains(&axis) || spec.out.contains(&axis));
        let (right, right_axes) =
            self.factor(b, &spec.right, |axis| left_axes.contains(&axis) || spec.out.contains(&axis));
        let place = |axes: &[u8], axis: u8| axes.iter().position(|&a| a == axis).expect("a shared axis");
        let shared: Vec<u8> = left_axes.iter().copied().filter(|axis| right_axes.contains(axis)).collect();
        let (batch, summed): (Vec<u8>, Vec<u8>) = shared.iter().partition(|axis| spec.out.contains(axis));
        let free = |axes: &[u8]| axes.iter().copied().filter(|axis| !shared.contains(axis)).collect::<Vec<_>>();
        let order: Vec<u8> = [batch.clone(), free(&left_axes), free(&right_axes)].concat();
        let places = |axes: &[u8], of: &[u8]| list(of.iter().map(|&axis| place(axes, axis)));
        let mut numbers = String::new();
        if !batch.is_empty() {
            numbers = format!("batching_dims = {} x {}, ", places(&left_axes, &batch), places(&right_axes, &batch));
        }
        numbers += &format!("contracting_dims = {} x {}", places(&left_axes, &summed), places(&right_axes, &summed));
        if self.options.precision == Precision::F32 && self.function.node(a).scalar == Scalar::Float {
            numbers += ", precision = [HIGHEST, HIGHEST]";
        }
        let dims = order.iter().map(|&axis| ty.dims[place(&spec.out, axis)]).collect();
        let product = ty.sized(dims);
        let types = signature(&[&left, &right], &product);
        let text = format!("stablehlo.dot_general {}, {}, {numbers} : {types}", left.name, right.name);
        let value = self.assign(text, product);
        let permutation: Vec<usize> = spec.out.iter().map(|&axis| place(&order, axis)).collect();
        self.transposed(&value, &permutation)
    }

    /// Returns a factor, added up along the axes that nothing else has.
    fn factor(&mut self, id: Id, axes: &[u8], is_used: impl Fn(u8) -> bool) -> (Val, Vec<u8>) {
        let of = self.value(id);
        let alone: Vec<usize> = (0..axes.len()).filter(|&k| !is_used(axes[k])).collect();
        if alone.is_empty() {
            return (of, axes.to_vec());
        }
        let kept: Vec<usize> = (0..axes.len()).filter(|k| !alone.contains(k)).collect();
        let ty = of.ty.sized(kept.iter().map(|&k| of.ty.dims[k]).collect());
        let zero = self.zeros(&of.ty.sized(vec![]));
        let sum = self.reduced("stablehlo.add", &of, &zero, &alone, ty);
        (sum, kept.iter().map(|&k| axes[k]).collect())
    }
}
