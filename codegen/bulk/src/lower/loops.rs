//! Folds and loops, whose iterations depend on those before. The states of all iterations around them are one array.

use super::value::{Array, Axis, Value};
use super::{Lowering, Outcome, SizesOf};
use crate::builder::Builder;
use crate::ir::{Fun, Id, Op};
use crate::refusal::{Reason, Refusal};
use crate::rules::Rule;
use lm::term::{Expr, Kind, Var};
use lm::types::Type;

/// The result of a step: the next state, and what to keep of the step.
type Step = Result<(Value, Vec<Value>), Refusal>;

/// A loop that was lowered.
struct Repeated {
    first: Value,
    last: Value,
    kept: Vec<Value>,
    /// Which arrays of the state each step only adds to, if no step needs what one before it made: then there is no loop
    /// yet, and `last` is the first state.
    added: Option<Vec<bool>>,
}

impl Lowering<'_> {
    /// Returns the last state of a loop: a sum where no step needs what one before it made, otherwise that of the loop.
    fn repeat_or_add(
        &mut self,
        n: &Array,
        start: &Value,
        mut step: impl FnMut(&mut Self, &Array, &Value) -> Step,
    ) -> Result<Repeated, Refusal> {
        let may_add = self.sizes_of == SizesOf::Data || self.b.is_fixed(n.id);
        let repeated = self.repeat(n, start, may_add, &mut step)?;
        let Some(added) = &repeated.added else { return Ok(repeated) };
        let (calls, active, mask) = (self.calls.clone(), self.active.clone(), self.mask.clone());
        match self.added_steps(n, &repeated.first, added, &mut step) {
            Ok(last) => Ok(Repeated { last, ..repeated }),
            Err(_) => {
                (self.calls, self.active, self.mask) = (calls, active, mask);
                self.repeat(n, start, false, &mut step)
            }
        }
    }

    /// Returns the last state of a loop whose steps only add to it: all steps are iterations along an axis.
    ///
    /// Errors: that takes more memory than the loop, or has no form.
    fn added_steps(
        &mut self,
        n: &Array,
        start: &Value,
        added: &[bool],
        step: &mut impl FnMut(&mut Self, &Array, &Value) -> Step,
    ) -> Outcome {
        let axis = self.sizes.len();
        let size = self.b.size(n.id);
        self.sizes.push(size);
        let index = Array { id: self.b.iota(size), axes: vec![axis] };
        let mut states = Vec::new();
        for (array, is_added) in start.leaves().into_iter().cloned().zip(added) {
            states.push(match is_added {
                true => {
                    let own = self.own(&array);
                    Array::fixed(self.b.zeros(self.b.node(array.id).scalar, &own))
                }
                false => array,
            });
        }
        self.b.by(Rule::FoldSum);
        self.active.push(axis);
        let (terms, _) = step(self, &index, &start.with(states))?;
        self.active.pop();
        let (start, terms) = self.alike(start, &terms);
        let pairs: Vec<(Array, Array)> =
            start.leaves().into_iter().cloned().zip(terms.leaves().into_iter().cloned()).collect();
        let mut last = Vec::new();
        for ((first, term), is_added) in pairs.into_iter().zip(added) {
            if !is_added {
                last.push(first);
                continue;
            }
            let all = Self::union(&[&term, &Array { id: term.id, axes: vec![axis] }]);
            let id = self.align(&term, &all);
            let kept = all.len() - 1;
            let needs_array = !self.own(&term).is_empty() && !self.b.needs_no_array(id);
            let sum = Array { id: self.b.sum(id, kept), axes: all[..kept].to_vec() };
            if needs_array && matches!(self.b.node(sum.id).op, Op::Reduce(..)) {
                return self.refuse(Reason::Operation, "the terms of all steps would be one array");
            }
            last.push(self.each(Fun::Add, &[first, sum]));
        }
        Ok(start.with(last))
    }

    /// Returns the last state of a loop, and what it keeps of each step, stacked.
    fn repeat(
        &mut self,
        n: &Array,
        start: &Value,
        may_add: bool,
        mut step: impl FnMut(&mut Self, &Array, &Value) -> Step,
    ) -> Result<Repeated, Refusal> {
        if !n.axes.is_empty() {
            return self.refuse(Reason::Jagged, "the number of steps of a loop depends on an index");
        }
        // What is never read of the first state is as the next one has it, as far as that is known before the loop.
        let raw = start.clone();
        let (mut start, mut is_refined) = (self.filled(&raw, &raw), false);
        let mut axes: Vec<Vec<Axis>> = start.leaves().iter().map(|array| array.axes.clone()).collect();
        // A state has the axes of all that it becomes: they grow until a step adds none.
        loop {
            let ids: Vec<Id> = start.leaves().iter().zip(&axes).map(|(array, axes)| self.align(array, axes)).collect();
            self.b.open(false);
            let i = self.step_below(n.id);
            let state = self.parameters(&start, &ids, &axes);
            let (next, kept) = match step(self, &i, &state) {
                Ok(result) => result,
                Err(refusal) => {
                    self.b.close(vec![]);
                    return Err(refusal);
                }
            };
            if !std::mem::replace(&mut is_refined, true) && raw.has_dummy() {
                start = self.filled(&raw, &next);
                start = self.filled(&start.clone(), &start);
                self.b.close(vec![]);
                axes = start.leaves().iter().map(|array| array.axes.clone()).collect();
                continue;
            }
            let (_, next) = self.alike(&start, &next);
            let wider: Vec<Vec<Axis>> = (next.leaves().iter().zip(&axes))
                .map(|(array, axes)| Self::union(&[array, &Array { id: array.id, axes: axes.clone() }]))
                .collect();
            if wider != axes {
                self.b.close(vec![]);
                axes = wider;
                continue;
            }
            let mut results = Vec::new();
            for ((array, axes), &id) in next.leaves().iter().zip(&axes).zip(&ids) {
                let result = self.align(array, axes);
                let sizes = self.b.dims(id).into_iter().zip(self.b.dims(result)).collect::<Vec<_>>();
                sizes.into_iter().for_each(|(n, m)| _ = self.b.assume_same_in_loop(n, m));
                results.push(result);
            }
            results.extend(kept.iter().flat_map(Value::leaves).map(|array| array.id));
            let kept: Vec<Value> = kept.iter().map(|value| self.with_outer_sizes(value)).collect();
            let dims: Vec<Vec<Id>> = (kept.iter().flat_map(Value::leaves))
                .map(|array| self.b.dims(array.id).into_iter().map(|size| self.b.size(size)).collect())
                .collect();
            if axes.iter().any(|axes| !axes.is_empty()) {
                self.b.by(Rule::BulkFold);
            }
            let are_outer = dims.iter().flatten().all(|&size| self.b.is_outer(size));
            let block = self.b.close(results);
            if !are_outer {
                return self.refuse(Reason::Jagged, "what a loop keeps of its steps differs in size");
            }
            let is_small = |builder: &Builder, k: usize, term: Id| {
                builder.rank(term) == axes[k].len() || builder.needs_no_array(term)
            };
            let added = may_add.then(|| self.b.added_states(&block, ids.len(), &is_small)).flatten();
            if added.is_some() {
                return Ok(Repeated { last: start.clone(), first: start, kept: vec![], added });
            }
            let parts = self.b.repeat(n.id, ids, block, dims);
            let (states, stacks) = parts.split_at(axes.len());
            let last =
                start.with(states.iter().zip(&axes).map(|(&id, axes)| Array { id, axes: axes.clone() }).collect());
            let mut stacks = stacks.iter();
            let kept = kept.iter().map(|value| self.stacked(n.id, value, &mut stacks)).collect();
            return Ok(Repeated { first: start, last, kept, added: None });
        }
    }

    /// Returns the number of a step, a parameter of the present block.
    fn step_below(&mut self, n: Id) -> Array {
        let i = self.b.parameter(crate::ir::Scalar::Integer, vec![]);
        self.b.steps.insert(i, n);
        Array::fixed(i)
    }

    /// Returns a value whose sizes are those that stand for them.
    fn with_outer_sizes(&self, value: &Value) -> Value {
        match value {
            Value::Tuple(parts) => Value::Tuple(parts.iter().map(|part| self.with_outer_sizes(part)).collect()),
            Value::Tensor { sizes, element } => {
                let sizes = sizes.iter().map(|&size| self.b.size(size)).collect();
                Value::Tensor { sizes, element: Box::new(self.with_outer_sizes(element)) }
            }
            other => other.clone(),
        }
    }

    fn parameters(&mut self, start: &Value, ids: &[Id], axes: &[Vec<Axis>]) -> Value {
        let array = |(&id, axes): (&Id, &Vec<Axis>)| {
            let (scalar, dims) = (self.b.node(id).scalar, self.b.dims(id));
            Array { id: self.b.parameter(scalar, dims), axes: axes.clone() }
        };
        let arrays = ids.iter().zip(axes).map(array).collect();
        start.with(arrays)
    }

    /// Returns a vector of the values of all steps. The steps come after the axes.
    fn stacked<'a>(&mut self, n: Id, value: &Value, stacks: &mut impl Iterator<Item = &'a Id>) -> Value {
        let element = value.map(&mut |array| {
            let (id, count) = (*stacks.next().expect("a stack for each array"), array.axes.len());
            let order: Vec<usize> = (1..=count).chain([0]).chain(count + 1..self.b.rank(id)).collect();
            Array { id: self.b.permute(id, &order), axes: array.axes.clone() }
        });
        Value::Tensor { sizes: vec![n], element: Box::new(element) }
    }

    fn steps(&mut self, e: &Expr) -> (Vec<u32>, Expr) {
        match e.kind() {
            Kind::Lam(x, body) => (vec![Var::id(x)], body.clone()),
            _ => unreachable!("the step of a loop is a function"),
        }
    }

    /// Applies a function of a pair, or of one value.
    fn apply(&mut self, f: &Expr, x: Value) -> Outcome {
        let (xs, body) = self.steps(f);
        self.env.insert(xs[0], x);
        self.expr(&body)
    }

    /// `fold f s v`.
    pub(super) fn fold(&mut self, f: &Expr, start: &Expr, v: &Expr) -> Outcome {
        Ok(self.folded(f, start, v, false)?.0)
    }

    /// `scanl f s v`: the states before and after all steps.
    pub(super) fn scanl(&mut self, f: &Expr, start: &Expr, v: &Expr) -> Outcome {
        let (_, first, kept) = self.folded(f, start, v, true)?;
        let kept = kept.expect("a scan keeps its states");
        let (sizes, states) = kept.tensor();
        let one = self.b.integer(1);
        let arrays: Vec<(Array, Array)> =
            first.leaves().into_iter().cloned().zip(states.leaves().into_iter().cloned()).collect();
        // The loop requires so of each step; without steps, the states would have sizes that the first has not.
        for (first, rest) in &arrays {
            let sizes = self.own(first).into_iter().zip(self.own(rest).into_iter().skip(1)).collect::<Vec<_>>();
            sizes.into_iter().for_each(|(n, m)| _ = self.b.assume_same(n, m));
        }
        let joined = |(first, rest): &(Array, Array)| {
            let axes = rest.axes.clone();
            let own = [vec![one], self.own(first)].concat();
            let first = self.align(first, &axes);
            let dims: Vec<Id> = axes.iter().map(|&axis| self.sizes[axis]).chain(own).collect();
            let places: Vec<usize> = (0..axes.len()).chain(axes.len() + 1..dims.len()).collect();
            let first = self.b.spread(first, &places, &dims);
            Array { id: self.b.concat(first, rest.id, axes.len()), axes }
        };
        let arrays = arrays.iter().map(joined).collect();
        let size = self.b.each(Fun::Add, &[one, sizes[0]]);
        Ok(Value::Tensor { sizes: vec![size], element: Box::new(states.with(arrays)) })
    }

    /// `$states l f s v`: the states before steps 0, l, 2 l, .. and the last.
    pub(super) fn states(&mut self, stride: &Expr, f: &Expr, start: &Expr, v: &Expr) -> Outcome {
        let stride = self.expr(stride)?.array().clone();
        let all = self.scanl(f, start, v)?;
        let (sizes, states) = all.tensor();
        let one = Array::fixed(self.b.integer(1));
        // A stride is at least 1. Of n steps, (n + l - 1) / l begin a segment.
        let small = self.each(Fun::Lt, &[stride.clone(), one.clone()]);
        let stride = self.each(Fun::Select, &[small, one.clone(), stride]);
        let steps = self.each(Fun::Sub, &[Array::fixed(sizes[0]), one.clone()]);
        let up = self.each(Fun::Add, &[steps.clone(), stride.clone()]);
        let up = self.each(Fun::Sub, &[up, one.clone()]);
        let segments = self.each(Fun::Div, &[up, stride.clone()]);
        let count = self.each(Fun::Add, &[segments, one]);
        if !count.axes.is_empty() {
            return self.refuse(Reason::Jagged, "the number of states kept depends on an index");
        }
        let axis = self.sizes.len();
        self.sizes.push(count.id);
        let index = Array { id: self.b.iota(count.id), axes: vec![axis] };
        let place = self.each(Fun::Mul, &[index, stride]);
        let late = self.each(Fun::Gt, &[place.clone(), steps.clone()]);
        let place = self.each(Fun::Select, &[late, steps, place]);
        let kept = self.read(&[place], sizes, states);
        Ok(self.tensor(&[count.id], &[axis], &kept))
    }

    /// Returns the last state of a fold, its first, and the states after each step if they are kept.
    fn folded(
        &mut self,
        f: &Expr,
        start: &Expr,
        v: &Expr,
        keeps: bool,
    ) -> Result<(Value, Value, Option<Value>), Refusal> {
        let first = self.expr(start)?;
        let v = self.expr(v)?;
        let (sizes, element) = v.tensor();
        let (sizes, element) = (sizes.to_vec(), element.clone());
        let n = Array::fixed(sizes[0]);
        let step = |lowering: &mut Self, i: &Array, state: &Value| {
            let x = match i.axes.is_empty() {
                true => lowering.read_step(i, &element),
                false => lowering.read(std::slice::from_ref(i), &sizes, &element),
            };
            let next = lowering.apply(f, Value::Tuple(vec![state.clone(), x]))?;
            let kept = if keeps { vec![lowering.wide(&next, state)] } else { vec![] };
            Ok((next, kept))
        };
        let repeated = if keeps { self.repeat(&n, &first, false, step) } else { self.repeat_or_add(&n, &first, step) };
        let Repeated { first, last, mut kept, .. } = repeated?;
        Ok((last, first, kept.pop()))
    }

    /// Returns a next state with at least the axes of the state.
    fn wide(&mut self, next: &Value, state: &Value) -> Value {
        let (next, state) = self.alike(next, state);
        let arrays: Vec<(Array, Array)> =
            next.leaves().into_iter().cloned().zip(state.leaves().into_iter().cloned()).collect();
        let wide = |(next, state): &(Array, Array)| {
            let axes = Self::union(&[next, state]);
            Array { id: self.align(next, &axes), axes }
        };
        let arrays = arrays.iter().map(wide).collect();
        next.with(arrays)
    }

    /// Returns element i of a vector, which is known to be there.
    fn read_step(&mut self, i: &Array, element: &Value) -> Value {
        element.map(&mut |array| Array { id: self.b.at(array.id, array.axes.len(), i.id), axes: array.axes.clone() })
    }

    /// `$place c f s v`: the last place whose element is chosen, or -1.
    pub(super) fn place(&mut self, c: &Expr, f: &Expr, start: &Expr, v: &Expr) -> Outcome {
        let first = self.expr(start)?;
        let v = self.expr(v)?;
        let (sizes, element) = v.tensor();
        let (sizes, element) = (sizes.to_vec(), element.clone());
        let none = Value::Array(Array::fixed(self.b.integer(-1)));
        let start = Value::Tuple(vec![none, first]);
        let Repeated { last, .. } = self.repeat(&Array::fixed(sizes[0]), &start, false, |lowering, i, state| {
            let x = lowering.read_step(i, &element);
            let parts = state.tuple().to_vec();
            let chosen = lowering.apply(c, Value::Tuple(vec![parts[1].clone(), x.clone()]))?.array().clone();
            let outer = lowering.mask.clone();
            let mask = match &outer {
                Some(mask) => lowering.each(Fun::And, &[mask.clone(), chosen.clone()]),
                None => chosen.clone(),
            };
            lowering.mask = Some(mask);
            let value = lowering.apply(f, x);
            lowering.mask = outer;
            let next = Value::Tuple(vec![Value::Array(i.clone()), value?]);
            Ok((lowering.join(&chosen, &next, state), vec![]))
        })?;
        Ok(last.tuple()[0].clone())
    }

    /// `$loop n f s w`: the last state, and the sum of what the steps give beside it.
    pub(super) fn accumulate(&mut self, n: &Expr, f: &Expr, start: &Expr, w: &Expr, ty: &Type) -> Outcome {
        let n = self.expr(n)?.array().clone();
        let first = self.expr(start)?;
        let w = self.expr(w)?;
        let zero = match &w {
            Value::Dummy(_) => self.zero_of_type(&ty.as_tuple().expect("a state and a sum")[1], &[]),
            w => self.zero_of(w),
        };
        let count = self.natural(&n);
        let start = Value::Tuple(vec![first, zero]);
        let Repeated { last, .. } = self.repeat_or_add(&count, &start, |lowering, i, state| {
            let parts = state.tuple();
            let pair = lowering.apply(f, Value::Tuple(vec![Value::Array(i.clone()), parts[0].clone()]))?;
            let (next, term) = (&pair.tuple()[0], &pair.tuple()[1]);
            let sum = lowering.zip(Fun::Add, &parts[1], term);
            Ok((Value::Tuple(vec![next.clone(), sum]), vec![]))
        })?;
        Ok(last)
    }

    /// Returns the sum of terms that are computed step by step, as their number depends on data: no array has a size like
    /// that. `most` are as many steps as any element needs; `counts` are the numbers for each.
    pub(super) fn summed_by_steps(&mut self, counts: &[Array], most: &[Id], f: &Expr, places: &[Array]) -> Outcome {
        let Kind::Lam(x, body) = f.kind() else { unreachable!("a loop has a function") };
        let Some((&n, rest)) = most.split_first() else {
            let place = match places {
                [one] => Value::Array(one.clone()),
                several => Value::Tuple(several.iter().cloned().map(Value::Array).collect()),
            };
            self.env.insert(x.id(), place);
            return self.under_bounds(places, counts, body);
        };
        let term = |lowering: &mut Self, i: &Array| {
            lowering.summed_by_steps(counts, rest, f, &[places, std::slice::from_ref(i)].concat())
        };
        // A first walk tells the sizes of a term.
        self.b.open(false);
        let i = self.step_below(n);
        let first = term(self, &i).map(|first| self.with_outer_sizes(&first));
        let are_outer = first.iter().flat_map(Value::leaves).all(|array| {
            let own = self.own(array).into_iter().map(|size| self.b.size(size));
            own.into_iter().all(|size| self.b.is_outer(size))
        });
        self.b.close(vec![]);
        let first = first?;
        if !are_outer {
            return self.refuse(Reason::Jagged, "the terms of a sum differ in size");
        }
        let start = self.zero_of(&first);
        let n = self.natural(&Array::fixed(n));
        let Repeated { last, .. } = self.repeat(&n, &start, false, |lowering, i, state| {
            let term = term(lowering, i)?;
            Ok((lowering.zip(Fun::Add, state, &term), vec![]))
        })?;
        Ok(last)
    }

    /// Returns a number of steps, where one below 0 is none.
    pub(super) fn natural(&mut self, n: &Array) -> Array {
        if self.b.is_natural(n.id) {
            return n.clone();
        }
        let zero = Array::fixed(self.b.integer(0));
        let positive = self.each(Fun::Gt, &[n.clone(), zero.clone()]);
        self.each(Fun::Select, &[positive, n.clone(), zero])
    }
}
