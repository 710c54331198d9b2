//! Laws of sums: what does not vary leaves them, and a sum of products is a contraction.
//!
//! ```text
//! sum (spread a) = n a, or spread (sum a)          sum (-a) = -(sum a)          sum (a / b) = sum a / b     b the same
//! sum (a b) = a (sum b)      a the same            sum (a b) = contract a b     a and b vary
//! sum (contract a b) = contract a b                of other axes
//! sum (select c a b) = select c (sum a) (sum b)    c the same
//! sum (a + b) = sum a + sum b                      where neither array is needed whole
//! sum (loop s)  = loop (sum s)                     s is only added to
//! ```
//!
//! So a loop over products of two arrays never makes the array of all products.

use super::Builder;
use crate::ir::{Fun, Id, Op, Reduction, Scalar, Spec};
use crate::rules::Rule;

/// Products of more factors are not taken apart.
const MOST_FACTORS: usize = 8;

/// A factor of a product: its axis k is axis `axes[k]` of the product.
type Factor = (Id, Vec<usize>);

impl Builder {
    /// Returns the sum of the elements along an axis.
    pub fn sum(&mut self, id: Id, axis: usize) -> Id {
        let node = self.node(id).clone();
        let mut dims = node.dims.clone();
        let n = dims.remove(axis);
        match &node.op {
            Op::Spread(axes) => self.sum_of_spread(node.args[0], axes, axis, n, &dims),
            Op::Permute(axes) => {
                let sum = self.sum(node.args[0], axes[axis]);
                let rest: Vec<usize> =
                    axes.iter().filter(|&&a| a != axes[axis]).map(|&a| a - usize::from(a > axes[axis])).collect();
                self.permute(sum, &rest)
            }
            Op::Each(Fun::Neg) => {
                self.by(Rule::SumOutOfNeg);
                let sum = self.sum(node.args[0], axis);
                self.each(Fun::Neg, &[sum])
            }
            Op::Each(Fun::Mul) => self.sum_of_product(id, axis, &dims),
            Op::Each(Fun::Div) if node.scalar == Scalar::Float => match self.without_axis(node.args[1], axis) {
                Some(divisor) => {
                    self.by(Rule::SumOutOfQuotient);
                    let sum = self.sum(node.args[0], axis);
                    self.each(Fun::Div, &[sum, divisor])
                }
                None => self.plain_sum(id, axis, dims),
            },
            Op::Each(Fun::Select) => match self.without_axis(node.args[0], axis) {
                Some(condition) => {
                    self.by(Rule::SumOfSelect);
                    let (a, b) = (self.sum(node.args[1], axis), self.sum(node.args[2], axis));
                    self.each(Fun::Select, &[condition, a, b])
                }
                None => match self.bounded_product(&node.args, axis) {
                    Some(product) => self.sum(product, axis),
                    None => self.plain_sum(id, axis, dims),
                },
            },
            Op::Each(fun @ (Fun::Add | Fun::Sub)) if self.splits(node.args[0], node.args[1], axis) => {
                self.by(Rule::SumOfSum);
                let (a, b) = (self.sum(node.args[0], axis), self.sum(node.args[1], axis));
                self.each(*fun, &[a, b])
            }
            Op::Contract(spec) => {
                self.by(Rule::SumOfContract);
                self.sum_of_contraction(&node.args, spec, axis)
            }
            Op::Parameter if self.sums_of_states.contains_key(&(id, axis)) => self.sums_of_states[&(id, axis)],
            Op::Part(_) => match self.sum_of_accumulator(id, axis) {
                Some(sum) => {
                    self.by(Rule::SumOfLoop);
                    sum
                }
                None => self.plain_sum(id, axis, dims),
            },
            Op::Window(along) if *along != axis => {
                let (sum, n) = (self.sum(node.args[0], axis), node.dims[*along]);
                let along = along - usize::from(*along > axis);
                self.window(sum, along, node.args[1], n).expect("sizes say where it starts")
            }
            Op::Scatter => match self.sum_of_scatter(&node, axis, &dims) {
                Some(sum) => {
                    self.by(Rule::SumOfScatter);
                    sum
                }
                None => self.plain_sum(id, axis, dims),
            },
            _ => self.plain_sum(id, axis, dims),
        }
    }

    /// Returns a product whose terms outside of the bounds of a loop are 0, with the bounds inside of a factor: then no
    /// array of all products is made. Another factor is 0 where no iteration is inside; elsewhere it must be finite, or
    /// more is NaN than without bounds.
    fn bounded_product(&mut self, args: &[Id], axis: usize) -> Option<Id> {
        let (c, x) = (args[0], args[1]);
        let (bounds, within) = match self.node(c).op.clone() {
            Op::Spread(axes) => (self.node(c).args[0], axes),
            _ => (c, (0..self.rank(c)).collect()),
        };
        if !self.bounds.contains(&bounds) || !self.is_zero(args[2]) || !matches!(self.node(x).op, Op::Each(Fun::Mul)) {
            return None;
        }
        let whole = self.dims(x);
        let factors = self.factors(x);
        let has_all = |axes: &[usize]| within.iter().all(|axis| axes.contains(axis));
        let chosen = factors.iter().position(|(_, axes)| has_all(axes) && axes.len() < whole.len())?;
        let place = |own: &[usize], axis: usize| own.iter().position(|&a| a == axis);
        let mut product: Option<Id> = None;
        for (k, (factor, axes)) in factors.iter().enumerate() {
            let sizes = self.dims(*factor);
            let condition = if k == chosen {
                let places: Vec<usize> = within.iter().filter_map(|&a| place(axes, a)).collect();
                Some(self.spread(bounds, &places, &sizes))
            } else if axes.contains(&axis) {
                // Whether any iteration is inside, along the axes that the factor lacks.
                let outside = self.each(Fun::Not, &[bounds]);
                let lacking = (0..within.len()).rev().filter(|&i| !axes.contains(&within[i]));
                let none = lacking.fold(outside, |none, i| self.reduce(Reduction::All, none, i));
                let any = self.each(Fun::Not, &[none]);
                let places: Vec<usize> = within.iter().filter_map(|&a| place(axes, a)).collect();
                Some(self.spread(any, &places, &sizes))
            } else {
                None
            };
            let factor = match condition {
                Some(condition) => {
                    let zeros = self.zeros(self.node(*factor).scalar, &sizes);
                    self.each(Fun::Select, &[condition, *factor, zeros])
                }
                None => *factor,
            };
            let factor = self.spread(factor, axes, &whole);
            product = Some(match product {
                Some(product) => self.each(Fun::Mul, &[product, factor]),
                None => factor,
            });
        }
        product
    }

    fn plain_sum(&mut self, id: Id, axis: usize, dims: Vec<Id>) -> Id {
        self.make(Op::Reduce(Reduction::Sum, axis), vec![id], self.node(id).scalar, dims)
    }

    fn sum_of_spread(&mut self, inner: Id, axes: &[usize], axis: usize, n: Id, dims: &[Id]) -> Id {
        self.by(Rule::SumSpread);
        let moved: Vec<usize> = axes.iter().filter(|&&a| a != axis).map(|&a| a - usize::from(a > axis)).collect();
        let sum = match axes.iter().position(|&a| a == axis) {
            Some(k) => self.sum(inner, k),
            None => self.times(inner, n),
        };
        self.spread(sum, &moved, dims)
    }

    /// Returns the sum of n times the same.
    fn times(&mut self, id: Id, n: Id) -> Id {
        if self.is_zero(id) {
            return id;
        }
        let dims = self.dims(id);
        if self.node(id).scalar == Scalar::Integer {
            let n = self.spread(n, &[], &dims);
            return self.each(Fun::Mul, &[n, id]);
        }
        let count = self.each(Fun::ToFloat, &[n]);
        let count = self.spread(count, &[], &dims);
        let product = self.each(Fun::Mul, &[count, id]);
        // No term is 0, whatever the terms would be.
        let zero = self.integer(0);
        let any = self.each(Fun::Gt, &[n, zero]);
        let (any, zeros) = (self.spread(any, &[], &dims), self.zeros(Scalar::Float, &dims));
        self.each(Fun::Select, &[any, product, zeros])
    }

    /// Returns an array without an axis along which it does not vary.
    pub fn without_axis(&mut self, id: Id, axis: usize) -> Option<Id> {
        let node = self.node(id).clone();
        let Op::Spread(axes) = &node.op else { return None };
        if axes.contains(&axis) {
            return None;
        }
        let moved: Vec<usize> = axes.iter().map(|&a| a - usize::from(a > axis)).collect();
        let mut dims = node.dims.clone();
        dims.remove(axis);
        Some(self.spread(node.args[0], &moved, &dims))
    }

    /// Returns whether the sum of a sum is better made of two sums: no whole array is needed then.
    fn splits(&self, a: Id, b: Id, axis: usize) -> bool {
        let has_sum = |id: Id| self.has_sum_of_state(id, axis);
        has_sum(a)
            || has_sum(b)
            || self.is_sparse(a)
            || self.is_sparse(b)
            || (self.needs_no_array(a) && self.needs_no_array(b))
    }

    /// Returns whether an array need not be there for its sum.
    pub(crate) fn needs_no_array(&self, id: Id) -> bool {
        match &self.node(id).op {
            Op::Spread(_) | Op::Contract(_) => true,
            Op::Each(Fun::Mul) => {
                let rank = self.rank(id);
                self.factors(id).iter().all(|(_, axes)| axes.len() < rank)
            }
            Op::Part(_) => self.accumulator(id).is_some(),
            _ => self.is_sparse(id),
        }
    }

    /// Returns the factors of a product.
    fn factors(&self, id: Id) -> Vec<Factor> {
        fn go(builder: &Builder, id: Id, axes: Vec<usize>, all: &mut Vec<Factor>) {
            let node = builder.node(id);
            match &node.op {
                _ if all.len() > MOST_FACTORS => {}
                Op::Each(Fun::Mul) => node.args.iter().for_each(|&arg| go(builder, arg, axes.clone(), all)),
                Op::Spread(inner) => go(builder, node.args[0], inner.iter().map(|&a| axes[a]).collect(), all),
                Op::Permute(inner) => {
                    let mut outer = vec![0; axes.len()];
                    inner.iter().enumerate().for_each(|(k, &a)| outer[a] = axes[k]);
                    go(builder, node.args[0], outer, all)
                }
                _ => all.push((id, axes)),
            }
        }
        let axes: Vec<usize> = (0..self.rank(id)).collect();
        let mut all = Vec::new();
        go(self, id, axes.clone(), &mut all);
        // Powers by squaring have more factors than nodes: they are numbers like others.
        if all.len() > MOST_FACTORS { vec![(id, axes)] } else { all }
    }

    fn sum_of_product(&mut self, id: Id, axis: usize, dims: &[Id]) -> Id {
        let whole = self.dims(id);
        let (varying, same): (Vec<Factor>, Vec<Factor>) =
            self.factors(id).into_iter().partition(|(_, axes)| axes.contains(&axis));
        if varying.is_empty() {
            // The product of factors that are the same along the axis is spread along it.
            let product = same.into_iter().reduce(|a, b| self.product(a, b, &whole)).expect("a product has factors");
            let spread = self.spread(product.0, &product.1, &whole);
            return self.sum(spread, axis);
        }
        if !same.is_empty() {
            self.by(Rule::SumOutOfProduct);
        }
        let groups = self.grouped(varying, &whole);
        let (core, axes) = match groups.as_slice() {
            [(one, axes)] => {
                let place = axes.iter().position(|&a| a == axis).expect("the axis varies");
                let sum = match self.node(*one).op {
                    Op::Each(Fun::Mul) => {
                        let dims: Vec<Id> = axes.iter().filter(|&&a| a != axis).map(|&a| whole[a]).collect();
                        self.plain_sum(*one, place, dims)
                    }
                    _ => self.sum(*one, place),
                };
                (sum, without(axes, axis))
            }
            [(a, left), (b, right)] => {
                let mut out: Vec<usize> = [left.as_slice(), right].concat();
                out.sort_unstable();
                out.dedup();
                let out = without(&out, axis);
                (self.contract(*a, left, *b, right, &out), out)
            }
            _ => unreachable!("two groups are left"),
        };
        let axes = axes.iter().map(|&a| a - usize::from(a > axis)).collect();
        let moved = |(id, axes): Factor| (id, axes.iter().map(|&a| a - usize::from(a > axis)).collect());
        let all = same.into_iter().map(moved).chain([(core, axes)]).collect::<Vec<Factor>>();
        let product = all.into_iter().reduce(|a, b| self.product(a, b, dims)).expect("the core");
        self.spread(product.0, &product.1, dims)
    }

    /// Returns the product of two factors, over the axes of both.
    fn product(&mut self, a: Factor, b: Factor, dims: &[Id]) -> Factor {
        let mut axes: Vec<usize> = [a.1.as_slice(), &b.1].concat();
        axes.sort_unstable();
        axes.dedup();
        let size: Vec<Id> = axes.iter().map(|&axis| dims[axis]).collect();
        let place = |own: &[usize]| -> Vec<usize> {
            own.iter().map(|a| axes.iter().position(|b| a == b).expect("one of the axes")).collect()
        };
        let (left, right) = (self.spread(a.0, &place(&a.1), &size), self.spread(b.0, &place(&b.1), &size));
        (self.each(Fun::Mul, &[left, right]), axes)
    }

    /// Returns at most two factors with the same product. Those with the same axes become one, then those of which one
    /// has the axes of the other, so that no larger array is made than there is.
    fn grouped(&mut self, factors: Vec<Factor>, dims: &[Id]) -> Vec<Factor> {
        let is_within = |a: &[usize], b: &[usize]| a.iter().all(|axis| b.contains(axis));
        let mut groups = factors;
        if let [a, b] = groups.as_slice()
            && is_within(&a.1, &b.1)
            && is_within(&b.1, &a.1)
        {
            return groups;
        }
        let is_same = |a: &[usize], b: &[usize]| is_within(a, b) && is_within(b, a);
        loop {
            let pairs: Vec<(usize, usize)> =
                (0..groups.len()).flat_map(|i| (i + 1..groups.len()).map(move |j| (i, j))).collect();
            if pairs.is_empty() {
                return groups;
            }
            let same = pairs.iter().find(|(i, j)| is_same(&groups[*i].1, &groups[*j].1));
            let within = || {
                let nested = |&&(i, j): &&(usize, usize)| {
                    is_within(&groups[i].1, &groups[j].1) || is_within(&groups[j].1, &groups[i].1)
                };
                pairs.iter().find(nested).or_else(|| {
                    pairs.iter().min_by_key(|(i, j)| {
                        groups[*j].1.iter().filter(|a| !groups[*i].1.contains(a)).count() + groups[*i].1.len()
                    })
                })
            };
            let chosen = match same {
                Some(pair) => *pair,
                None if groups.len() <= 2 => return groups,
                None => *within().expect("there are pairs"),
            };
            let second = groups.remove(chosen.1);
            let first = groups.remove(chosen.0);
            let product = self.product(first, second, dims);
            groups.insert(chosen.0, product);
        }
    }

    /// Returns the contraction of two arrays with the axes `left` and `right`, to the axes `out`.
    pub fn contract(&mut self, a: Id, left: &[usize], b: Id, right: &[usize], out: &[usize]) -> Id {
        let (mut a, mut b, mut left, mut right) = (a, b, left.to_vec(), right.to_vec());
        // An axis of one factor only is summed there.
        while let Some(k) = left.iter().position(|axis| !right.contains(axis) && !out.contains(axis)) {
            a = self.sum(a, k);
            left.remove(k);
        }
        while let Some(k) = right.iter().position(|axis| !left.contains(axis) && !out.contains(axis)) {
            b = self.sum(b, k);
            right.remove(k);
        }
        let size = |builder: &Builder, axis: usize| match left.iter().position(|&l| l == axis) {
            Some(k) => builder.node(a).dims[k],
            None => builder.node(b).dims[right.iter().position(|&r| r == axis).expect("an axis of a factor")],
        };
        let dims: Vec<Id> = out.iter().map(|&axis| size(self, axis)).collect();
        if left.iter().chain(&right).all(|axis| out.contains(axis)) {
            let place = |own: &[usize]| -> Vec<usize> {
                own.iter().map(|a| out.iter().position(|b| a == b).expect("an axis of the result")).collect()
            };
            let (a, b) = (self.spread(a, &place(&left), &dims), self.spread(b, &place(&right), &dims));
            return self.each(Fun::Mul, &[a, b]);
        }
        let mut letters: Vec<usize> = Vec::new();
        for &axis in left.iter().chain(&right) {
            if !letters.contains(&axis) {
                letters.push(axis);
            }
        }
        let letter = |axes: &[usize]| -> Vec<u8> {
            axes.iter().map(|a| letters.iter().position(|l| l == a).expect("a letter for each axis") as u8).collect()
        };
        self.by(Rule::SumContract);
        let spec = Spec { left: letter(&left), right: letter(&right), out: letter(out) };
        self.make(Op::Contract(spec), vec![a, b], self.node(a).scalar, dims)
    }

    fn sum_of_contraction(&mut self, args: &[Id], spec: &Spec, axis: usize) -> Id {
        let axes = |letters: &[u8]| letters.iter().map(|&l| usize::from(l)).collect::<Vec<usize>>();
        let mut out = axes(&spec.out);
        out.remove(axis);
        self.contract(args[0], &axes(&spec.left), args[1], &axes(&spec.right), &out)
    }
}

fn without(axes: &[usize], axis: usize) -> Vec<usize> {
    axes.iter().copied().filter(|&a| a != axis).collect()
}
