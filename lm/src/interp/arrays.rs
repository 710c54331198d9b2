//! Defines the value of each primitive on tensors.

use super::calls::Calls;
use super::interpreter::{Interpreter, witness};
use super::sizes::{common_size, offset, size_of};
use super::target::{Target, all_floats, own_floats, shared_floats};
use crate::prim::Prim;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::tensor::{Position, Tensor};
use crate::types::Type;
use crate::value::Closure;
use crate::value::Value::{self, Function, Integer, Tuple};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Outcome = Result<Value, RuntimeError>;

/// `$BENCH` repeats a call until so much time has passed; a longer call is made once.
pub const BENCH_TIME: Duration = Duration::from_millis(20);

impl Interpreter<'_> {
    /// Returns the value of `p(args)`, of type `ty`; `None` when `p` is no primitive on tensors.
    pub(super) fn array(&mut self, p: Prim, args: &[Value], ty: &Type) -> Option<Outcome> {
        Some(match (p, args) {
            (Prim::Build, [n, Function(f)]) => self.build(&Position::of(n), f),
            (Prim::SumBuild, [n, Function(f)]) => self.sum_build(None, n, f, ty),
            (Prim::SumBuild, [w, n, Function(f)]) => self.sum_build(Some(w), n, f, ty),
            (Prim::Loop, [Integer(n), Function(f), a, w]) => self.loop_into(*n, f, a, w, &Target::Own),
            (Prim::Size, [Value::Tensor(v)]) => {
                self.counts.accesses += 2;
                Ok(Position::from(v.size()).value())
            }
            (Prim::CommonSize, [Value::Tensor(v), Value::Tensor(w)]) => {
                common_size(v, w).map(|size| Position::from(size).value())
            }
            (Prim::AsSize, [n]) => match Position::of(n) {
                size if size.as_size().is_none() => Err(RuntimeError::new(ErrorKind::NegativeSize(size))),
                _ => Ok(n.clone()),
            },
            (Prim::SameSize, [n, m]) if n == m => Ok(Value::Bool(true)),
            (Prim::SameSize, [n, m]) => {
                let [left, right] = [n, m].map(Position::of);
                Err(RuntimeError::new(ErrorKind::SizeMismatch { left, right }))
            }
            (Prim::InRange, [Integer(k), Integer(n)]) if (0..*n).contains(k) => Ok(Value::Bool(true)),
            (Prim::InRange, [k, n]) => {
                let [index, size] = [k, n].map(Position::of);
                Err(RuntimeError::new(ErrorKind::IndexOutOfRange { index, size }))
            }
            (Prim::Unzip, [Value::Tensor(v)]) => Ok(unzip(v, ty)),
            (Prim::Index, [i, Value::Tensor(v)]) => {
                self.counts.accesses += 3;
                offset(v, i).map(|offset| v.elements()[offset].clone())
            }
            (Prim::Sum, [Value::Tensor(v)]) => self.sum_of(v, ty),
            (Prim::Imax, [Value::Tensor(v)]) => self.place_of_largest(v),
            (Prim::VecInit, _) => {
                self.counts.accesses += args.len() as u64;
                Ok(Value::vector(args.to_vec()))
            }
            (Prim::Bench, [Function(f)]) => self.seconds_per_call(f),
            (Prim::Fold, [Function(f), a, Value::Tensor(v)]) => self.fold(f, a, v),
            (Prim::Place, [Function(c), Function(f), a, Value::Tensor(v)]) => self.last_place([c, f], a, v),
            (Prim::Scanl, [Function(f), a, Value::Tensor(v)])
            | (Prim::Replay, [_, Function(f), a, Value::Tensor(v)]) => self.scan(f, a, v),
            (Prim::Map2, [Function(f), Value::Tensor(v), Value::Tensor(w)]) => self.map2(f, v, w),
            (Prim::Reduce, [Function(f), a, Value::Tensor(v)]) => self.fold(f, a, v),
            (Prim::Scanr, [Function(f), a, Value::Tensor(v)]) => self.scan_from_right(f, a, v),
            (Prim::Shift1L, [Value::Tensor(v)]) => Ok(self.shifted(v.elements().get(1..).unwrap_or_default())),
            (Prim::Shift1R, [Value::Tensor(v)]) => {
                let elements = v.elements();
                Ok(self.shifted(&elements[..elements.len().saturating_sub(1)]))
            }
            (Prim::Checkpoint, [_, Function(f), a, Value::Tensor(v)]) => self.fold(f, a, v),
            (Prim::States, [Integer(stride), Function(f), a, Value::Tensor(v)]) => self.states(*stride, f, a, v),
            (Prim::AddAt, [v, Value::Tensor(pairs)]) => self.add_at(v, pairs),
            (Prim::DeltaAt, [w, i, x]) => self.delta_at(w, i, x),
            _ => return None,
        })
    }

    fn build(&mut self, n: &Position, f: &Closure) -> Outcome {
        let size = size_of(n)?;
        let mut elements = Vec::with_capacity(size.iter().product());
        let mut calls = Calls::of(f);
        for i in Tensor::positions(&size) {
            let x = calls.value(self, i.value())?;
            self.counts.moves += own_floats(&x);
            self.counts.shared += shared_floats(&x);
            elements.push(x);
        }
        Ok(Value::Tensor(Arc::new(Tensor::new(size, elements))))
    }

    /// Returns the sum of `f(i)`; adds each term in place.
    fn sum_build(&mut self, w: Option<&Value>, n: &Value, f: &Closure, ty: &Type) -> Outcome {
        if let Some(w) = w {
            return self.sum_into(Some(w), n, f, &Target::Own);
        }
        let size = size_of(&Position::of(n))?;
        let mut calls = Calls::of(f);
        let mut positions = Tensor::positions(&size);
        let Some(first) = positions.next() else {
            return witness(ty).ok_or(RuntimeError::shape_unknown());
        };
        let first = calls.value(self, first.value())?;
        self.adding_to(first, |cx, target| positions.try_for_each(|i| calls.run(cx, i.value(), target).map(drop)))
    }

    /// Returns zeros of the shape of `w`, with x at i.
    fn delta_at(&mut self, w: &Value, i: &Value, x: &Value) -> Outcome {
        let mut zero = self.zero(w);
        let Value::Tensor(zeros) = &mut zero else { panic!("{w:?} is no tensor") };
        let offset = offset(zeros, i)?;
        Arc::make_mut(zeros).elements_mut()[offset] = x.clone();
        Ok(zero)
    }

    fn sum_of(&mut self, v: &Tensor, ty: &Type) -> Outcome {
        let sum = self.sum(v.elements().to_vec())?.or_else(|| witness(ty));
        sum.ok_or(RuntimeError::shape_unknown())
    }

    /// Returns the seconds that a call takes, measured over as many calls as fill [`BENCH_TIME`].
    fn seconds_per_call(&mut self, f: &Closure) -> Outcome {
        let start = Instant::now();
        let mut calls = Calls::of(f);
        let mut count = 0;
        while count == 0 || start.elapsed() < BENCH_TIME {
            calls.value(self, Tuple(vec![]))?;
            count += 1;
        }
        Ok(Value::Float(start.elapsed().as_secs_f64() / f64::from(count)))
    }

    fn fold(&mut self, f: &Closure, a: &Value, v: &Tensor) -> Outcome {
        let mut calls = Calls::of(f);
        v.elements().iter().try_fold(a.clone(), |a, x| {
            let next = calls.value(self, Tuple(vec![a, x.clone()]))?;
            self.counts.states += all_floats(&next);
            Ok(next)
        })
    }

    /// Returns the place of the first of the largest elements. What is not a number is larger than nothing, and nothing
    /// is larger than it.
    fn place_of_largest(&mut self, v: &Tensor) -> Outcome {
        self.counts.accesses += v.elements().len() as u64;
        let number = |x: &Value| x.as_float().expect("an element is a Float");
        let (mut place, mut largest) = (0, number(&v.elements()[offset(v, &Integer(0))?]));
        for (k, x) in v.elements().iter().map(number).enumerate() {
            if x > largest {
                (place, largest) = (k, x);
            }
        }
        Ok(Integer(place as i64))
    }

    /// Returns the place of the last element that gives the next state, where `c` holds; -1 if there is none.
    fn last_place(&mut self, [c, f]: [&Closure; 2], a: &Value, v: &Tensor) -> Outcome {
        let (mut conditions, mut states) = (Calls::of(c), Calls::of(f));
        let (mut place, mut state) = (-1, a.clone());
        for (k, x) in v.elements().iter().enumerate() {
            if conditions.value(self, Tuple(vec![state.clone(), x.clone()]))? == Value::Bool(true) {
                (place, state) = (k as i64, states.value(self, x.clone())?);
            }
        }
        Ok(Integer(place))
    }

    fn scan(&mut self, f: &Closure, a: &Value, v: &Tensor) -> Outcome {
        let results = self.states_of(f, a, v.elements().iter())?;
        Ok(Value::vector(results))
    }

    /// Returns the states of a fold from the right, the start last.
    fn scan_from_right(&mut self, f: &Closure, a: &Value, v: &Tensor) -> Outcome {
        let mut results = self.states_of(f, a, v.elements().iter().rev())?;
        results.reverse();
        Ok(Value::vector(results))
    }

    /// Returns all states of a fold over elements, the start first.
    fn states_of<'a>(
        &mut self,
        f: &Closure,
        a: &Value,
        elements: impl Iterator<Item = &'a Value>,
    ) -> Result<Vec<Value>, RuntimeError> {
        let mut results = vec![a.clone()];
        let mut calls = Calls::of(f);
        for x in elements {
            let before = results[results.len() - 1].clone();
            let next = calls.value(self, Tuple(vec![before, x.clone()]))?;
            results.push(next);
        }
        self.counts.accesses += results.len() as u64 - 1;
        self.count_written(&results);
        Ok(results)
    }

    fn map2(&mut self, f: &Closure, v: &Tensor, w: &Tensor) -> Outcome {
        let size = common_size(v, w)?.to_vec();
        let mut elements = Vec::with_capacity(v.elements().len());
        let mut calls = Calls::of(f);
        for (x, y) in v.elements().iter().zip(w.elements()) {
            elements.push(calls.value(self, Tuple(vec![x.clone(), y.clone()]))?);
        }
        self.count_written(&elements);
        Ok(Value::Tensor(Arc::new(Tensor::new(size, elements))))
    }

    /// Returns a vector of elements of another one.
    fn shifted(&mut self, elements: &[Value]) -> Value {
        self.counts.accesses += elements.len() as u64;
        self.count_written(elements);
        Value::vector(elements.to_vec())
    }

    /// Counts the Floats of the elements of a new tensor.
    fn count_written(&mut self, elements: &[Value]) {
        self.counts.moves += elements.iter().map(own_floats).sum::<u64>();
        self.counts.shared += elements.iter().map(shared_floats).sum::<u64>();
    }

    /// Returns the states of a fold before each `stride`-th step, and the last state.
    fn states(&mut self, stride: i64, f: &Closure, a: &Value, v: &Tensor) -> Outcome {
        let mut kept = Vec::new();
        let (mut calls, mut state) = (Calls::of(f), a.clone());
        for (i, x) in v.elements().iter().enumerate() {
            if i % stride.max(1) as usize == 0 {
                kept.push(state.clone());
            }
            state = calls.value(self, Tuple(vec![state, x.clone()]))?;
        }
        kept.push(state);
        self.counts.accesses += kept.len() as u64;
        self.counts.moves += kept.iter().map(own_floats).sum::<u64>();
        self.counts.shared += kept.iter().map(shared_floats).sum::<u64>();
        Ok(Value::vector(kept))
    }

    /// Returns `v` with every `(i, x)` of `pairs` added at i, in order.
    fn add_at(&mut self, v: &Value, pairs: &Tensor) -> Outcome {
        let Value::Tensor(v) = v else { panic!("{v:?} is no tensor") };
        let mut elements = v.elements().to_vec();
        self.counts.write(v.elements().iter().map(own_floats).sum::<u64>());
        for pair in pairs.elements() {
            let Tuple(parts) = pair else { panic!("{pair:?} is no pair") };
            let offset = offset(v, &parts[0])?;
            elements[offset] = self.add(&elements[offset], &parts[1])?;
        }
        Ok(Value::Tensor(Arc::new(v.with(elements))))
    }
}

/// Returns a tensor of tuples as a tuple of tensors, of type `ty`. Nothing is written: tensors are structures of
/// arrays.
fn unzip(v: &Tensor, ty: &Type) -> Value {
    let parts = ty.as_tuple().expect("`unzip` gives a tuple").len();
    let part = |k: usize| {
        let component = |x: &Value| match x {
            Tuple(parts) => parts[k].clone(),
            _ => panic!("{x:?} is no tuple"),
        };
        Value::Tensor(Arc::new(v.with(v.elements().iter().map(component).collect())))
    };
    Tuple((0..parts).map(part).collect())
}
