//! Defines the primitives on tensors.

use super::evaluator::{Evaluator, fail};
use super::map::neutral_unless_empty;
use super::sum::Sum;
use super::value::{Outcome, Val, numbers};
use super::vector::{add, common_size, neutral, zero};
use crate::prim::Prim;
use crate::runtime_error::{ErrorKind, RuntimeError};
use crate::tensor::Position;
use crate::types::Type;
use std::time::Instant;

/// Larger tensors are refused before they are made, as the interpreter does. In elements.
const MOST_ELEMENTS: usize = 1 << 28;

impl Evaluator<'_> {
    /// Evaluates a primitive on tensors whose value has the type `ty`.
    pub(super) fn array(&self, p: Prim, args: &[Val], ty: &Type) -> Outcome {
        match (p, args) {
            (Prim::Build, [n, f]) => {
                let size = size(n)?;
                let elements = indices(&size).into_iter().map(|i| f.call(self, i));
                Ok(Val::tensor_of(size.clone(), elements.collect::<Result<_, _>>()?))
            }
            (Prim::SumBuild, [n, f]) => {
                let terms = indices(&size(n)?).into_iter().map(|i| f.call(self, i));
                sum(self, terms, ty)
            }
            (Prim::SumBuild, [w, n, f]) => {
                let indices = indices(&size(n)?);
                let start = neutral_unless_empty(indices.len() as i64, w);
                indices.into_iter().try_fold(start, |sum, i| add(self, &sum, &f.call(self, i)?))
            }
            (Prim::Sum, [v]) => sum(self, v.tensor().elements.iter().cloned().map(Ok), ty),
            (Prim::Imax, [v]) => {
                let mut best = 0;
                let mut largest = v.tensor().element(&Val::Integer(0))?;
                for (k, x) in v.tensor().elements.iter().enumerate() {
                    if x.float() > largest.float() {
                        (best, largest) = (k as i64, x.clone());
                    }
                }
                Ok(Val::Integer(best))
            }
            (Prim::Index, [i, v]) => v.tensor().element(i),
            (Prim::Size, [v]) => Ok(index_of(&v.tensor().size)),
            (Prim::CommonSize, [v, w]) => Ok(index_of(common_size(v.tensor(), w.tensor())?)),
            (Prim::AsSize, [n]) if n.integer() < 0 => fail(ErrorKind::NegativeSize(Position::from(numbers(n)))),
            (Prim::AsSize, [n]) => Ok(n.clone()),
            (Prim::SameSize, [n, m]) if n.integer() == m.integer() => Ok(Val::Bool(true)),
            (Prim::SameSize, [n, m]) => {
                let [left, right] = [n, m].map(|n| Position::from(numbers(n)));
                fail(ErrorKind::SizeMismatch { left, right })
            }
            (Prim::InRange, [k, n]) if (0..n.integer()).contains(&k.integer()) => Ok(Val::Bool(true)),
            (Prim::InRange, [k, n]) => {
                let [index, size] = [k, n].map(|n| Position::from(numbers(n)));
                fail(ErrorKind::IndexOutOfRange { index, size })
            }
            (Prim::VecInit, _) => Ok(Val::tensor_of(vec![args.len()], args.to_vec())),
            (Prim::Unzip, [v]) => Ok(unzip(v, ty)),
            (Prim::Fold, [f, start, v]) => {
                let step = |state, x: &Val| f.call(self, Val::Tuple(vec![state, x.clone()]));
                v.tensor().elements.iter().try_fold(start.clone(), step)
            }
            (Prim::Place, [c, f, start, v]) => {
                let (mut place, mut state) = (-1, start.clone());
                for (k, x) in v.tensor().elements.iter().enumerate() {
                    if c.call(self, Val::Tuple(vec![state.clone(), x.clone()]))?.boolean() {
                        (place, state) = (k as i64, f.call(self, x.clone())?);
                    }
                }
                Ok(Val::Integer(place))
            }
            (Prim::Scanl, [f, start, v]) => {
                let mut states = vec![start.clone()];
                for x in &v.tensor().elements {
                    let before = states[states.len() - 1].clone();
                    states.push(f.call(self, Val::Tuple(vec![before, x.clone()]))?);
                }
                Ok(Val::tensor_of(vec![states.len()], states))
            }
            (Prim::Map2, [f, v, w]) => {
                let (v, w) = (v.tensor(), w.tensor());
                let size = common_size(v, w)?.to_vec();
                let pairs = v.elements.iter().zip(&w.elements);
                let elements = pairs.map(|(x, y)| f.call(self, Val::Tuple(vec![x.clone(), y.clone()])));
                Ok(Val::tensor_of(size, elements.collect::<Result<_, _>>()?))
            }
            (Prim::Reduce, [f, unit, v]) => self.array(Prim::Fold, &[f.clone(), unit.clone(), v.clone()], ty),
            (Prim::Scanr, [f, start, v]) => {
                let mut states = vec![start.clone()];
                for x in v.tensor().elements.iter().rev() {
                    let after = states[states.len() - 1].clone();
                    states.push(f.call(self, Val::Tuple(vec![after, x.clone()]))?);
                }
                states.reverse();
                Ok(Val::tensor_of(vec![states.len()], states))
            }
            (Prim::Shift1L, [v]) => Ok(vector(v.tensor().elements.iter().skip(1))),
            (Prim::Shift1R, [v]) => {
                let elements = &v.tensor().elements;
                Ok(vector(elements.iter().take(elements.len().saturating_sub(1))))
            }
            (Prim::Checkpoint, [_, f, start, v]) => self.array(Prim::Fold, &[f.clone(), start.clone(), v.clone()], ty),
            (Prim::States, [stride, f, start, v]) => {
                let all = self.array(Prim::Scanl, &[f.clone(), start.clone(), v.clone()], ty)?;
                let all = &all.tensor().elements;
                let before = all[..all.len() - 1].iter().step_by(stride.integer().max(1) as usize);
                let states: Vec<Val> = before.chain(all.last()).cloned().collect();
                Ok(Val::tensor_of(vec![states.len()], states))
            }
            (Prim::Replay, [_, f, start, v]) => self.array(Prim::Scanl, &[f.clone(), start.clone(), v.clone()], ty),
            (Prim::AddAt, [v, pairs]) => {
                let mut elements = v.tensor().elements.clone();
                for pair in &pairs.tensor().elements {
                    let at = v.tensor().offset(&pair.tuple()[0])?;
                    elements[at] = add(self, &elements[at], &pair.tuple()[1])?;
                }
                Ok(Val::tensor_of(v.tensor().size.clone(), elements))
            }
            (Prim::DeltaAt, [w, i, x]) => {
                let at = w.tensor().offset(i)?;
                let mut elements: Vec<Val> = w.tensor().elements.iter().map(zero).collect();
                elements[at] = x.clone();
                Ok(Val::tensor_of(w.tensor().size.clone(), elements))
            }
            (Prim::Loop, [n, f, start, w]) => self.eval_loop(n.integer(), f, start, w),
            (Prim::Into, [w, e]) => into(self, w, e),
            (Prim::Bench, [f]) => {
                let start = Instant::now();
                f.call(self, Val::Tuple(vec![]))?;
                Ok(Val::constant(start.elapsed().as_secs_f64()))
            }
            _ => panic!("{} has no meaning on {args:?}", p.name()),
        }
    }

    /// Computes `(s, z) = f(i, s)` for each `i` below `n`. Returns the last `s`, and the sum of the `z`,
    /// which are like `w`.
    fn eval_loop(&self, n: i64, f: &Val, start: &Val, w: &Val) -> Outcome {
        let (mut state, mut sum) = (start.clone(), neutral_unless_empty(n, w));
        for i in 0..n {
            let pair = f.call(self, Val::Tuple(vec![Val::Integer(i), state]))?;
            state = pair.tuple()[0].clone();
            sum = add(self, &sum, &pair.tuple()[1])?;
        }
        Ok(Val::Tuple(vec![state, sum]))
    }
}

/// Returns `e`, which has w's shape, or is a pair whose second component has it.
///
/// Errors: it has another shape.
fn into(cx: &Evaluator, w: &Val, e: &Val) -> Outcome {
    match (w, e) {
        (Val::Tuple(ws), Val::Tuple(es)) => match (ws.as_slice(), es.as_slice()) {
            // A value has no zero: its witness is a unit.
            ([Val::Tuple(unit), w], [value, e]) if unit.is_empty() => {
                Ok(Val::Tuple(vec![value.clone(), add(cx, &neutral(w), e)?]))
            }
            _ => add(cx, &neutral(w), e),
        },
        _ => add(cx, &neutral(w), e),
    }
}

fn vector<'a>(elements: impl Iterator<Item = &'a Val>) -> Val {
    let elements: Vec<Val> = elements.cloned().collect();
    Val::tensor_of(vec![elements.len()], elements)
}

/// Returns the sum from left to right; over nothing, the zero of the type.
///
/// Errors: the type has values of several shapes.
pub(super) fn sum(cx: &Evaluator, mut terms: impl Iterator<Item = Outcome>, ty: &Type) -> Outcome {
    match terms.next() {
        Some(first) => {
            let mut sum = Sum::new(cx, first?)?;
            terms.try_for_each(|x| sum.add(x?))?;
            Ok(sum.end())
        }
        None if ty.has_fixed_shape() => Ok(Val::dummy(ty)),
        None => fail(ErrorKind::ShapeUnknown),
    }
}

/// Returns a tensor of tuples as a tuple of tensors, of type `ty`.
fn unzip(v: &Val, ty: &Type) -> Val {
    let v = v.tensor();
    let part = |k: usize| Val::tensor_of(v.size.clone(), v.elements.iter().map(|x| x.tuple()[k].clone()).collect());
    Val::Tuple((0..ty.as_tuple().expect("a tuple of tensors").len()).map(part).collect())
}

/// Returns the size of a new tensor.
///
/// Errors: it is negative, or the tensor too large.
pub(super) fn size(n: &Val) -> Result<Vec<usize>, RuntimeError> {
    let numbers = numbers(n);
    if numbers.iter().any(|n| *n < 0) {
        return fail(ErrorKind::NegativeSize(Position::from(numbers)));
    }
    let count = numbers.iter().try_fold(1usize, |count, n| count.checked_mul(*n as usize));
    if count.is_none_or(|count| count > MOST_ELEMENTS) {
        return fail(ErrorKind::TooLarge(Position::from(numbers)));
    }
    Ok(numbers.iter().map(|n| *n as usize).collect())
}

/// Returns all indices of a tensor, the last number running fastest.
pub(super) fn indices(size: &[usize]) -> Vec<Val> {
    let longer = |all: Vec<Vec<usize>>, n: &usize| -> Vec<Vec<usize>> {
        all.iter().flat_map(|index| (0..*n).map(|i| [index.as_slice(), &[i]].concat())).collect()
    };
    size.iter().fold(vec![vec![]], longer).iter().map(|index| index_of(index)).collect()
}

/// Numbers as an index, or as a size.
fn index_of(numbers: &[usize]) -> Val {
    match numbers {
        [one] => Val::Integer(*one as i64),
        many => Val::Tuple(many.iter().map(|n| Val::Integer(*n as i64)).collect()),
    }
}
